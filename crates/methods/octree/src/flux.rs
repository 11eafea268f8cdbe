//! Liquid that leaves through open sides of the domain.

use crate::gradient::Geometry;
use fluvial_grids::octree::Side;

/// Liquid that leaves through the open sides of the domain (x low, x high, y low, y high, z low, z high),
/// over the wet part of each face, `1/2 - phi / dx` of it: `add(cell, m3/s)` is called once for every wet
/// face. Verified by `an_open_wall_passes_velocity_times_area`.
pub fn wall_outflow(
    geometry: &Geometry,
    u_face: &[f32],
    open_walls: [bool; 6],
    mut add: impl FnMut(usize, f64),
) {
    let Geometry { tree, phi_cell, open_area } = *geometry;
    for (wall, _) in open_walls.iter().enumerate().filter(|(_, open)| **open) {
        let (axis, high) = (wall / 2, wall % 2);
        for face in tree.faces(axis) {
            let sides = tree.sides(face);
            let (Side::Outside, Side::Cell(cell)) = (sides[high], sides[1 - high]) else { continue };
            let (cell, dx) = (cell as usize, tree.face_dx(face));
            let wet = (0.5 - phi_cell[cell] / dx).clamp(0.0, 1.0) * open_area[face];
            let out = if high == 1 { u_face[face] } else { -u_face[face] };
            if wet > 0.0 {
                add(cell, (out * wet) as f64 * (dx as f64).powi(2));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_foundation::Vec3;
    use fluvial_grids::Octree;
    use fluvial_grids::octree::Shape;

    #[test]
    fn an_open_wall_passes_velocity_times_area() {
        let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 16.0, levels: 2, roots: [8; 3] };
        let tree = Octree::build(shape, 1, |cell| cell.level == 1 && shape.center(cell).x < 0.5);
        let phi: Vec<f32> = (0..tree.cell_count()).map(|c| tree.cell_center(c).y - 0.4).collect();
        let area = vec![1.0; tree.face_count()];
        // u = (x, 0, 0) has the divergence 1.
        let along = |face: usize| if tree.face_axis(face) == 0 { tree.face_center(face, 0).x } else { 0.0 };
        let u: Vec<f32> = (0..tree.face_count()).map(along).collect();
        let geometry = Geometry { tree: &tree, phi_cell: &phi, open_area: &area };
        // Through the high side of x, where u = 1, over a height of 0.4; nothing through the low one, where u
        // = 0.
        for (wall, exact) in [(1, 0.4), (0, 0.0)] {
            let (mut open, mut outflow) = ([false; 6], 0.0);
            open[wall] = true;
            wall_outflow(&geometry, &u, open, |_, m3_s| outflow += m3_s);
            assert!((outflow - exact).abs() < 1e-6, "{outflow}");
        }
    }
}
