//! Liquid that crosses the boundary of the domain: through sources and through open sides.

use crate::divergence::signed_area;
use crate::gradient::Geometry;
use fluvial_grids::octree::Side;

/// Liquid that flows out of the cells that `is_source` picks, over their faces' open areas: `add(cell, m3/s)`
/// is called once for every face. Verified by `a_source_and_an_open_wall_pass_velocity_times_area`.
pub fn source_inflow(
    geometry: &Geometry,
    u_face: &[f32],
    is_source: impl Fn(usize) -> bool,
    mut add: impl FnMut(usize, f64),
) {
    let tree = geometry.tree;
    for cell in (0..tree.cell_count()).filter(|&cell| is_source(cell)) {
        let dx = tree.cell_dx(cell) as f64;
        for (side, &face) in tree.cell_faces()[cell].iter().enumerate() {
            let u = (geometry.open_area[face as usize] * u_face[face as usize]) as f64;
            add(cell, -signed_area(dx, side) * u);
        }
    }
}

/// Liquid that leaves through the open sides of the domain (x low, x high, y low, y high, z low, z high),
/// over the wet part of each face, `1/2 - phi / dx` of it: `add(cell, m3/s)` is called once for every wet
/// face. Verified by `a_source_and_an_open_wall_pass_velocity_times_area`.
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
    fn a_source_and_an_open_wall_pass_velocity_times_area() {
        let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 16.0, levels: 2, roots: [8; 3] };
        let tree = Octree::build(shape, 1, |cell| cell.level == 1 && shape.center(cell).x < 0.5);
        let phi: Vec<f32> = (0..tree.cell_count()).map(|c| tree.cell_center(c).y - 0.4).collect();
        let area = vec![1.0; tree.face_count()];
        // u = (x, 0, 0) has the divergence 1.
        let along = |face: usize| if tree.face_axis(face) == 0 { tree.face_center(face, 0).x } else { 0.0 };
        let u: Vec<f32> = (0..tree.face_count()).map(along).collect();
        let geometry = Geometry { tree: &tree, phi_cell: &phi, open_area: &area };
        let is_source = |cell: usize| (tree.cell_center(cell) - 0.5).abs().max_element() < 0.125;
        let (mut inflow, mut volume) = (0.0, 0.0);
        source_inflow(&geometry, &u, is_source, |_, m3_s| inflow += m3_s);
        (0..tree.cell_count())
            .filter(|&c| is_source(c))
            .for_each(|c| volume += tree.cell_dx(c).powi(3) as f64);
        assert!(volume > 0.01 && (inflow - volume).abs() < 1e-6, "{inflow} {volume}");
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
