//! The divergence at cells: minus the transpose of the gradient [octree §4.3, 4.4].

use crate::gradient::Geometry;
use fluvial_foundation::parallel;

/// Volume of a face, the diagonal of `[V]`: its area times the distance of the centres, `dx^3` between equal
/// cells and `6 dx^3` of the small ones' at a T-junction [octree §4.4].
pub fn face_volume(tree: &fluvial_grids::Octree, face: usize) -> f64 {
    let dx = tree.face_dx(face) as f64;
    if tree.is_junction(face) { 0.75 * dx * dx * dx } else { dx * dx * dx }
}

/// Area of a cell's side with the sign that the gradient's transpose gives it: `[grad]_ki [V]_k`, which is
/// minus the cell's own area on its high sides (at T-junctions too: a quarter of the face for a small cell).
#[inline(always)]
pub fn signed_area(dx: f64, side: usize) -> f64 {
    if side.is_multiple_of(2) { dx * dx } else { -dx * dx }
}

/// The system's right side, `[grad]^T [V A] u` plus what solids bring in: minus the flux out of every cell,
/// m3/s [octree eq. 3; ng-2009]. Closed parts of faces move with `u_solid` (nothing moves where it is
/// None). Verified as the gradient's transpose with random vectors in `operators.rs`.
pub fn inflow(out_cell: &mut [f64], geometry: &Geometry, u_face: &[f32], u_solid: Option<&[f32]>) {
    let tree = geometry.tree;
    assert_eq!(out_cell.len(), tree.cell_count(), "one value per cell");
    assert_eq!(u_face.len(), tree.face_count(), "one velocity per face");
    parallel::for_each_indexed_mut(out_cell, |cell, out| {
        let dx = tree.cell_dx(cell) as f64;
        let mut sum = 0.0;
        for (side, &face) in tree.cell_faces()[cell].iter().enumerate() {
            let face = face as usize;
            let open = geometry.open_area[face] as f64;
            let solid = u_solid.map_or(0.0, |u| (1.0 - open) * u[face] as f64);
            sum += signed_area(dx, side) * (open * u_face[face] as f64 + solid);
        }
        *out = sum;
    });
}
