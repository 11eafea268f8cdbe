//! Meshes of the surface: closed and manifold on random trees, exact on planes, second order on balls.

use crate::common::*;
use fluvial_foundation::random::unit_f32;
use fluvial_foundation::{DVec3, Vec3, parallel};
use fluvial_grids::TriangleMesh;
use fluvial_octree::contour::{SolidClip, contour, contour_outside};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random signs are the hardest case: every configuration of every kind of node occurs.
    #[test]
    fn random_signs_on_random_trees_give_closed_manifold_meshes(
        levels in 1usize..5,
        passes in 0u32..3,
        density in 0.1f32..0.9,
        seed in 0u64..1_000_000,
    ) {
        let tree = random_tree(levels, [4, 3, 3], passes, seed);
        let phi: Vec<f32> = (0..tree.cell_count())
            .map(|c| (0.1 + unit_f32(c as u64, seed)) * if unit_f32(c as u64, seed + 1) < density { -1.0 } else { 1.0 })
            .collect();
        let mesh = contour(&tree, &phi);
        let defects = mesh.defects();
        prop_assert!(defects.is_clean(), "{:?} of {} triangles", defects, mesh.triangles.len());
        prop_assert!(!mesh.triangles.is_empty() && mesh.volume() > 0.0);
    }
}

#[test]
fn a_tilted_plane_is_met_exactly_away_from_walls() {
    let tree = random_tree(4, [4, 4, 4], 1, 4);
    let normal = DVec3::new(0.3, 1.0, -0.4).normalize();
    let middle = tree.shape().bounds().center().as_dvec3();
    let mesh = contour(&tree, &at_cells(&tree, |x| (x - middle).dot(normal)));
    assert!(mesh.defects().is_clean());
    let bounds = tree.shape().bounds();
    let margin = tree.shape().dx_of(3);
    let inner: Vec<f64> = mesh
        .positions
        .iter()
        .filter(|&&x| bounds.expand(-margin).contains(x))
        .map(|x| (x.as_dvec3() - middle).dot(normal).abs())
        .collect();
    assert!(
        inner.len() > 100 && inner.iter().all(|&d| d < 1e-5),
        "{:?}",
        inner.iter().cloned().fold(0.0, f64::max)
    );
}

/// A tank between cells, of one size and of several: its edges, its corners and the line around the water are not cut off.
#[test]
fn liquid_fills_the_edges_of_a_tank() {
    for (levels, roots, bar) in [(1, 12, 2e-3), (1, 24, 2e-3), (3, 8, 3e-3)] {
        let tree = random_tree(levels, [roots; 3], 0, 5);
        let bounds = tree.shape().bounds();
        let place = |x: Vec3| bounds.min + x * bounds.size();
        let (low, high) = (place(Vec3::new(0.217, 0.141, 0.183)), place(Vec3::new(0.831, 0.905, 0.722)));
        let level = place(Vec3::splat(0.52)).y;
        let distance = |x: Vec3| {
            let out = (low - x).max(x - high);
            -(out.max(Vec3::ZERO).length() + out.max_element().min(0.0))
        };
        let distance_cell: Vec<f32> = (0..tree.cell_count()).map(|c| distance(tree.cell_center(c))).collect();
        let phi = at_cells(&tree, |x| x.y - f64::from(level));
        let solid = SolidClip { distance_cell: &distance_cell, distance: &distance };
        let mesh = contour_outside(&tree, &phi, &solid);
        assert!(mesh.defects().is_clean());
        let size = (high.with_y(level) - low).as_dvec3();
        let off = |mesh: TriangleMesh| mesh.volume() / (size.x * size.y * size.z) - 1.0;
        let clipped: Vec<f32> = phi.iter().zip(&distance_cell).map(|(phi, d)| phi.max(-d)).collect();
        let (off, cut_off) = (off(mesh), off(contour(&tree, &clipped)));
        println!("{off}, {cut_off} with what is cut off");
        assert!(off.abs() < bar, "{off}");
    }
}

/// A box filled to the brim has the box's volume and walls that are flat.
#[test]
fn a_full_box_is_the_box() {
    let tree = random_tree(4, [4, 3, 3], 0, 9);
    let mesh = contour(&tree, &vec![-1.0; tree.cell_count()]);
    assert!(mesh.defects().is_clean());
    let size = tree.shape().bounds().size().as_dvec3();
    let volume = size.x * size.y * size.z;
    // Edges and corners of the box are cut by one vertex each at most.
    assert!((mesh.volume() / volume - 1.0).abs() < 1e-6, "{}", mesh.volume() / volume);
}

#[test]
fn a_ball_across_four_levels_converges_with_second_order() {
    let (centre, radius) = (DVec3::splat(0.5), 0.4);
    let measure = |finest: usize| {
        let tree = quartered(finest, 0, |x, dx| (x.as_dvec3() - centre).length() - radius < 3.0 * dx as f64);
        let mesh = contour(&tree, &at_cells(&tree, |x| (x - centre).length() - radius));
        assert!(mesh.defects().is_clean());
        let distance = |x: &fluvial_foundation::Vec3| ((x.as_dvec3() - centre).length() - radius).abs();
        let exact = 4.0 / 3.0 * std::f64::consts::PI * radius * radius * radius;
        (mesh.positions.iter().map(distance).fold(0.0, f64::max), (mesh.volume() / exact - 1.0).abs())
    };
    let (coarse, fine) = (measure(128), measure(256));
    assert!((coarse.0 / fine.0).log2() > 1.8, "{coarse:?} {fine:?}");
    assert!((coarse.1 / fine.1).log2() > 1.8, "{coarse:?} {fine:?}");
}

#[test]
fn meshes_are_the_same_with_any_number_of_threads() {
    let tree = random_tree(4, [4, 3, 3], 1, 2);
    let phi = at_cells(&tree, |x| (x - tree.shape().bounds().center().as_dvec3()).length() - 0.6);
    let mesh = |threads| parallel::with_threads(threads, || contour(&tree, &phi));
    assert_eq!(mesh(1), mesh(3));
}
