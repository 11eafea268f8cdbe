//! Continuation into closed cells.

use crate::common::*;
use fluvial_foundation::{DVec3, Vec3};
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::extend::{ExtendScratch, extend_cells};

/// A plane stays the same plane through a block of closed cells of one size.
#[test]
fn a_plane_continues_into_closed_cells() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 16.0, levels: 3, roots: [4; 3] };
    let tree = Octree::build(shape, 3, |cell| (shape.center(cell) - 0.5).abs().max_element() < 0.3);
    let plane = |x: DVec3| x.dot(DVec3::new(0.3, 0.8, -0.5)) - 0.31;
    let exact = at_cells(&tree, plane);
    let closed: Vec<bool> =
        (0..tree.cell_count()).map(|c| (tree.cell_center(c) - 0.5).abs().max_element() < 0.13).collect();
    assert!(closed.iter().filter(|&&c| c).count() == 64, "a block of four cells a side");
    let mut q = exact.clone();
    (0..q.len()).filter(|&c| closed[c]).for_each(|c| q[c] = 7.0);
    extend_cells(&mut q, &tree, &closed, &[], &mut ExtendScratch::default());
    for cell in 0..tree.cell_count() {
        assert!((q[cell] - exact[cell]).abs() < 1e-5, "{} {}", q[cell], exact[cell]);
    }
}

/// On any tree no value is left and none is invented where nothing is known.
#[test]
fn every_closed_cell_that_is_reached_gets_a_value() {
    let tree = random_tree(4, [3, 3, 3], 0, 5);
    let closed: Vec<bool> = (0..tree.cell_count()).map(|c| tree.cell_center(c).x < 0.0).collect();
    let mut q: Vec<f32> = closed.iter().map(|&c| if c { f32::NAN } else { 2.0 }).collect();
    extend_cells(&mut q, &tree, &closed, &[], &mut ExtendScratch::default());
    assert!(q.iter().all(|&v| v == 2.0));
    let mut q = vec![f32::NAN; tree.cell_count()];
    extend_cells(&mut q, &tree, &vec![true; tree.cell_count()], &[], &mut ExtendScratch::default());
    assert!(q.iter().all(|v| v.is_nan()));
}

/// Noise of a tenth of a cell in the open cells around a thick block gives slopes of two tenths at most, and
/// errors of 1.7 cells in its middle, eight cells deep, where `2 q_1 - q_2` from ring to ring has hundreds: a
/// surface must not appear in a solid below deep water.
#[test]
fn noise_does_not_grow_from_ring_to_ring() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 32.0, levels: 3, roots: [8; 3] };
    let tree = Octree::build(shape, 3, |cell| (shape.center(cell) - 0.5).abs().max_element() < 0.35);
    let closed: Vec<bool> =
        (0..tree.cell_count()).map(|c| (tree.cell_center(c) - 0.5).abs().max_element() < 0.25).collect();
    let noise = |cell: usize| 0.1 * shape.dx * ((cell as f32 * 12.9898).sin() * 43758.547).fract();
    let mut q: Vec<f32> = (0..tree.cell_count()).map(|c| -0.5 + noise(c)).collect();
    extend_cells(&mut q, &tree, &closed, &[], &mut ExtendScratch::default());
    let largest = q.iter().fold(0.0f32, |m, &v| m.max((v + 0.5).abs() / shape.dx));
    assert!(largest < 1.7, "{largest} cells");
    assert!(largest > 0.1, "{largest}: nothing was continued");
}

/// A wall of closed cells between air and liquid: each half of it takes what lies beside it, also its single middle
/// layers, so that no liquid appears beyond a wall that moves on.
#[test]
fn both_sides_of_a_wall_continue_to_its_middle() {
    let shape = Shape { min: Vec3::ZERO, dx: 0.1, levels: 1, roots: [10; 3] };
    let tree = Octree::build(shape, 0, |_| false);
    for thickness in [0.12, 0.22, 0.42] {
        // The wall's middle lies a little to the right of the middle of a cell.
        let solid = |c: usize| (tree.cell_center(c).x - 0.46).abs() - 0.5 * thickness;
        let phi_solid: Vec<f32> = (0..tree.cell_count()).map(solid).collect();
        let closed: Vec<bool> = phi_solid.iter().map(|&phi| phi < 0.0).collect();
        let side = |c: usize| if tree.cell_center(c).x < 0.46 { 0.4 } else { -0.4 };
        let mut q: Vec<f32> = (0..tree.cell_count()).map(|c| if closed[c] { 7.0 } else { side(c) }).collect();
        extend_cells(&mut q, &tree, &closed, &phi_solid, &mut ExtendScratch::default());
        for cell in 0..tree.cell_count() {
            assert!(
                (q[cell] - side(cell)).abs() < 1e-6,
                "{thickness}: {} at {}",
                q[cell],
                tree.cell_center(cell)
            );
        }
    }
}
