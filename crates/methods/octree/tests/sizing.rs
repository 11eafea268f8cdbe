//! The sizing function and the trees that follow from it.

use crate::common::*;
use fluvial_foundation::{DVec3, Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::sizing::{Scene, SizingParams, build, build_first, evaluate, keep, spread};

fn sizes(tree: &Octree, phi: impl Fn(DVec3) -> f64, u: impl Fn(DVec3) -> DVec3) -> Vec<f32> {
    let (phi_cell, u_face) = (at_cells(tree, phi), at_faces(tree, u));
    let mut out = vec![0.0; tree.cell_count()];
    let scene = Scene { tree, phi_cell: &phi_cell, phi_solid_cell: None, u_face: &u_face };
    evaluate(&mut out, &scene, &SizingParams::default());
    out
}

/// Mean of the sizes at the surface.
fn mean(sizes: &[f32]) -> f32 {
    let at_surface: Vec<f32> = sizes.iter().copied().filter(|&s| s != 0.0).collect();
    at_surface.iter().sum::<f32>() / at_surface.len() as f32
}

#[test]
fn a_ball_asks_for_its_curvature_and_a_plane_for_nothing() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 64.0, levels: 1, roots: [64; 3] };
    let tree = Octree::build(shape, 0, |_| false);
    let middle = DVec3::splat(0.5);
    for radius in [0.2, 0.4] {
        let ball = sizes(&tree, |x| (x - middle).length() - radius, |_| DVec3::ZERO);
        // The Laplacian of a distance is twice the mean curvature.
        let wanted = 4.0 * 2.0 / radius as f32;
        assert!((mean(&ball) / wanted - 1.0).abs() < 0.02, "{} {wanted}", mean(&ball));
        assert!(ball.iter().filter(|&&s| s > 0.0).all(|&s| (s / wanted - 1.0).abs() < 0.15));
    }
    let plane = sizes(&tree, |x| (x - middle).dot(DVec3::new(0.3, 1.0, 0.2)) - 0.01, |_| DVec3::ZERO);
    assert!(plane.iter().all(|&s| s < 1e-2));
}

#[test]
fn stretching_counts_and_rigid_translation_does_not() {
    let tree = random_tree(4, [4, 4, 4], 1, 3);
    let middle = tree.shape().bounds().center().as_dvec3();
    let plane = |x: DVec3| x.y - middle.y;
    let moving = sizes(&tree, plane, |_| DVec3::new(3.0, -1.0, 2.0));
    assert!(moving.iter().all(|&s| s < 1e-2));
    let stretched = sizes(&tree, plane, |x| DVec3::new(2.0 * x.x, -x.y, -x.z));
    let wanted = 3.0 * 6f32.sqrt();
    let at_surface: Vec<f32> = stretched.iter().copied().filter(|&s| s != 0.0).collect();
    assert!(at_surface.len() > 50 && at_surface.iter().all(|&s| (s - wanted).abs() < 2e-2));
}

#[test]
fn sizes_decay_as_told_and_keep_the_larger() {
    let params = SizingParams::default();
    assert!((params.remaining(0.01) - 0.9).abs() < 1e-6 && (params.remaining(0.02) - 0.81).abs() < 1e-6);
    let mut size = vec![1.0, 5.0];
    keep(&mut size, &[4.0, 4.0], 0.5);
    assert_eq!(size, [2.0, 5.0]);
}

/// [octree eq. 38] and the criterion's limits.
#[test]
fn strength_blends_from_adaptive_to_uniform() {
    let with = |strength| SizingParams { strength, ..SizingParams::default() };
    assert_eq!(with(1.0).pseudo_dx(8.0, 1.0), 8.0);
    assert!(with(0.4).pseudo_dx(2.0, 1.0) > 3.0);
    assert!(with(0.0).divides(2.0, 1.0, 1.9, 0.0), "the calmest surface has the finest cells");
    assert!(!with(0.0).divides(2.0, 1.0, 2.1, 9.0), "and the liquid away from it has not");
    assert_eq!(with(0.4).pseudo_dx(1.0, 1.0), 1.0);
    assert!(with(1.0).divides(2.0, 1.0, 1.9, 0.51));
    assert!(!with(1.0).divides(2.0, 1.0, 2.1, 0.51) && !with(1.0).divides(2.0, 1.0, 1.9, 0.49));
}

#[test]
fn spreading_reaches_one_ring_a_sweep_and_takes_nothing_away() {
    let tree = random_tree(4, [5, 4, 3], 1, 3);
    let before: Vec<f32> =
        (0..tree.cell_count()).map(|c| if c % 97 == 0 { 1.0 + c as f32 } else { 0.0 }).collect();
    let (mut size, mut scratch) = (before.clone(), vec![]);
    spread(&mut size, &mut scratch, &tree, 1);
    for (cell, faces) in tree.cell_faces().iter().enumerate() {
        assert!(size[cell] >= before[cell]);
        let touched = faces.iter().enumerate().any(|(side, &face)| {
            use fluvial_grids::octree::Side;
            match tree.sides(face as usize)[side % 2] {
                Side::Outside => false,
                Side::Cell(other) => before[other as usize] > 0.0,
                Side::Quad(others) => others.iter().any(|&other| before[other as usize] > 0.0),
            }
        });
        assert_eq!(size[cell] > 0.0, touched || before[cell] > 0.0);
    }
    let most = before.iter().copied().fold(0.0, f32::max);
    assert!(size.iter().all(|&s| s <= most));
}

/// A drop over a pool [octree Fig. 11]: the drop's small radius and its neighbourhood get fine cells, the
/// flat pool does not, and a place of one's own is met exactly.
#[test]
fn the_first_tree_is_fine_where_the_surface_is_curved() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 128.0, levels: 5, roots: [8, 8, 8] };
    let centre = Vec3::new(0.4, 0.7, 0.5);
    let phi = |x: Vec3| ((x - centre).length() - 0.1).min(x.y - 0.301);
    let here = Vec3::new(0.9, 0.1, 0.9);
    let wanted = |x: Vec3, r: f32| if (x - here).length() < 0.05 + r { shape.dx } else { f32::INFINITY };
    let tree = build_first(shape, 3, 3, &SizingParams::default(), phi, None, wanted);
    let level_at = |x: Vec3| tree.locate(x).level;
    // Curvature 2 / 0.1 times 4 asks for cells of 1/80 m.
    for direction in [Vec3::X, Vec3::Y, Vec3::Z, Vec3::NEG_X, Vec3::new(0.6, 0.0, 0.8)] {
        assert!(level_at(centre + 0.1 * direction) <= 1, "{direction}");
    }
    assert!(level_at(Vec3::new(0.9, 0.301, 0.2)) >= 3, "the pool far from the drop is coarse");
    assert_eq!(level_at(here), 0);
    assert!(tree.cell_count() < 60_000, "{}", tree.cell_count());
    let uniform = SizingParams { strength: 0.0, ..SizingParams::default() };
    let fine =
        build_first(shape, 3, 3, &uniform, |x: Vec3| (x - centre).length() - 0.1, None, |_, _| f32::INFINITY);
    assert_eq!(fine.locate(centre + Vec3::new(0.1, 0.0, 0.0)).level, 0);
}

#[test]
fn trees_follow_sizes_and_not_threads() {
    let tree = random_tree(4, [4, 4, 4], 1, 3);
    let middle = tree.shape().bounds().center();
    let phi = |x: Vec3| (x - middle).length() - 0.5;
    let size_cell: Vec<f32> =
        (0..tree.cell_count()).map(|c| if tree.cell_center(c).x < middle.x { 40.0 } else { 0.0 }).collect();
    let next = |threads| {
        parallel::with_threads(threads, || {
            let sizes = (&tree, &size_cell[..]);
            build(3, &SizingParams::default(), sizes, phi, |x| x, |_, _| f32::INFINITY)
                .expect("another tree than the random one")
        })
    };
    let (one, three) = (next(1), next(3));
    assert_eq!(one.cells(), three.cells());
    assert_eq!(one.locate(middle - Vec3::new(0.5, 0.0, 0.0)).level, 0);
    assert!(one.locate(middle + Vec3::new(0.5, 0.0, 0.0)).level >= 2);
}
