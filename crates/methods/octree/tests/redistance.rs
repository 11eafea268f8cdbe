//! Redistancing over whole trees.

use crate::common::*;
use fluvial_foundation::random::unit_f32;
use fluvial_foundation::{DVec3, Vec3, parallel};
use fluvial_grids::octree::Shape;
use fluvial_grids::{Lattice, Octree, Sides};
use fluvial_octree::contour::contour;
use fluvial_octree::redistance::{Keeps, RedistanceScratch, redistance, redistance_on_sides};
use fluvial_octree::sides::TreeSides;

#[test]
fn a_tilted_plane_gets_its_distance_everywhere() {
    let tree = random_tree(4, [4, 4, 4], 1, 4);
    let normal = DVec3::new(0.3, 1.0, -0.4).normalize();
    let middle = tree.shape().bounds().center().as_dvec3();
    let distance = |x: DVec3| (x - middle).dot(normal);
    let mut phi = at_cells(&tree, |x| 3.0 * distance(x));
    let info = redistance(&mut phi, &tree, &[], &mut RedistanceScratch::default());
    assert!(info.seeds > 100 && info.flat == 0, "{info:?}");
    let mut worst = [0.0f64; 2];
    for cell in 0..tree.cell_count() {
        let wanted = distance(tree.cell_center(cell).as_dvec3());
        // Near walls the foot of a cell may lie outside the domain: its patch ends there.
        let foot = tree.cell_center(cell) - (wanted * normal).as_vec3();
        if tree.shape().bounds().contains(foot) {
            let error = (phi[cell] as f64 - wanted).abs();
            let far = wanted.abs() > 3.0 * tree.cell_dx(cell) as f64;
            worst[far as usize] = worst[far as usize].max(error / tree.cell_dx(cell) as f64);
        }
        assert_eq!(phi[cell] < 0.0, wanted < 0.0);
    }
    println!("plane, errors in cells near and far: {:.1e}, {:.1e}", worst[0], worst[1]);
    assert!(worst[0] < 1e-5 && worst[1] < 1e-4, "{worst:?}");
}

/// A plane through cells of several sizes and through walls, with noise of a thousandth of a cell, redistanced as in
/// twenty steps: the noise does not grow.
#[test]
fn redistancing_does_not_feed_on_its_errors() {
    let normal = DVec3::new(-0.35, 1.0, 0.25).normalize();
    for seed in 0..8 {
        let tree = random_tree(3, [4, 4, 4], 1, seed);
        let middle = tree.shape().bounds().center().as_dvec3() + DVec3::new(0.0213, 0.0171, 0.0093);
        let distance = |x: DVec3| (x - middle).dot(normal);
        let mut phi = at_cells(&tree, distance);
        for (cell, phi) in phi.iter_mut().enumerate() {
            *phi += 2e-3 * tree.cell_dx(cell) * (unit_f32(seed, cell as u64) - 0.5);
        }
        let mut scratch = RedistanceScratch::default();
        for _ in 0..20 {
            redistance(&mut phi, &tree, &[], &mut scratch);
        }
        for cell in 0..tree.cell_count() {
            let (wanted, dx) = (distance(tree.cell_center(cell).as_dvec3()), tree.cell_dx(cell) as f64);
            let error_cells = (phi[cell] as f64 - wanted).abs() / dx;
            assert!(wanted.abs() > dx || error_cells < 5e-3, "tree {seed}, cell {cell}: {error_cells}");
        }
    }
}

/// Largest errors by level in cells, near the surface and far from it, on a ball across four levels whose
/// level set is no distance.
fn ball(finest: usize) -> [[f64; 4]; 2] {
    let (centre, radius) = (DVec3::splat(0.5), 0.35);
    let distance = |x: DVec3| (x - centre).length() - radius;
    let tree = quartered(finest, 0, |x, dx| distance(x.as_dvec3()).abs() < 3.0 * dx as f64);
    let mut phi = at_cells(&tree, |x| 1.5 * distance(x) * (1.0 + distance(x)));
    let info = redistance(&mut phi, &tree, &[], &mut RedistanceScratch::default());
    assert_eq!(info.flat, 0);
    let mut errors = [[0.0f64; 4]; 2];
    for cell in 0..tree.cell_count() {
        let x = tree.cell_center(cell).as_dvec3();
        // The centre is equally far from everything.
        if (x - centre).length() < 0.1 {
            continue;
        }
        let dx = tree.cell_dx(cell) as f64;
        let far = distance(x).abs() > 3.0 * dx;
        let error = &mut errors[far as usize][tree.cells()[cell].level as usize];
        *error = error.max((phi[cell] as f64 - distance(x)).abs() / dx);
    }
    errors
}

/// Errors counted in cells fall near the surface as the cell size does: those in metres with its square.
#[test]
fn distances_to_a_ball_are_of_second_order_on_every_level() {
    let (coarse, fine) = (ball(64), ball(128));
    println!("errors in cells by level, near and far: at 64 {coarse:.4?}, at 128 {fine:.4?}");
    for level in 0..4 {
        // In metres: one order more than in cells.
        let order = 1.0 + (coarse[0][level] / fine[0][level]).log2();
        assert!(order > 1.9, "level {level}: {order:.2} {coarse:?} {fine:?}");
        assert!(fine[0][level] < 0.01 && fine[1][level] < 0.02, "{fine:?}");
    }
}

/// The surface itself must not wander: volume after twenty calls, on balls of ten coarsest cells' diameter.
#[test]
fn twenty_calls_keep_the_volume() {
    for (centre, radius) in [(DVec3::splat(0.5), 0.3), (DVec3::new(0.51, 0.493, 0.507), 0.35)] {
        let distance = |x: DVec3| (x - centre).length() - radius;
        let tree = quartered(128, 1, |x, dx| distance(x.as_dvec3()).abs() < 3.0 * dx as f64);
        let mut phi = at_cells(&tree, distance);
        let (before, mut scratch) = (contour(&tree, &phi).volume(), RedistanceScratch::default());
        for _ in 0..20 {
            redistance(&mut phi, &tree, &[], &mut scratch);
        }
        let after = contour(&tree, &phi).volume() / before - 1.0;
        println!("volume after twenty calls: {after:+.2e}");
        assert!(after.abs() < 5e-4, "{after}");
    }
}

#[test]
fn without_a_surface_nothing_changes_and_threads_do_not_matter() {
    let tree = random_tree(4, [4, 3, 3], 1, 2);
    let mut all_air = vec![1.0; tree.cell_count()];
    assert_eq!(redistance(&mut all_air, &tree, &[], &mut RedistanceScratch::default()).seeds, 0);
    assert!(all_air.iter().all(|&v| v == 1.0));
    let middle = tree.shape().bounds().center().as_dvec3();
    let run = |threads| {
        parallel::with_threads(threads, || {
            let mut phi = at_cells(&tree, |x| (x - middle).length_squared() - 0.3);
            redistance(&mut phi, &tree, &[], &mut RedistanceScratch::default());
            phi
        })
    };
    assert_eq!(run(1), run(3));
}

/// A ball of air inside a closed block below a flat surface, as moving solids would carry it along: distances
/// outside are to the flat surface alone. Without the marks they are to the ball.
#[test]
fn a_change_of_sign_in_a_solid_is_no_surface() {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / 32.0, levels: 3, roots: [8; 3] };
    let tree = Octree::build(shape, 3, |cell| {
        let x = shape.center(cell);
        (x.y - 0.8).abs() < 0.1 || (x - Vec3::new(0.5, 0.3, 0.5)).abs().max_element() < 0.25
    });
    let ball = |x: DVec3| 0.12 - x.distance(DVec3::new(0.5, 0.3, 0.5));
    let phi = at_cells(&tree, |x| (x.y - 0.8).max(ball(x)));
    let closed: Vec<bool> = (0..tree.cell_count())
        .map(|c| (tree.cell_center(c) - Vec3::new(0.5, 0.3, 0.5)).abs().max_element() < 0.2)
        .collect();
    let error = |marks: &[bool]| {
        let mut phi = phi.clone();
        redistance(&mut phi, &tree, marks, &mut RedistanceScratch::default());
        let open = (0..tree.cell_count()).filter(|&c| !closed[c]);
        open.fold(0.0f32, |m, c| m.max((phi[c] - (tree.cell_center(c).y - 0.8)).abs()))
    };
    assert!(error(&closed) < 1e-3 * shape.dx, "{} cells", error(&closed) / shape.dx);
    assert!(error(&[]) > 0.1, "{}: the ball is not seen without marks either", error(&[]));
}

/// Air on both sides of a wall of two cells. What phi is inside the wall is invented: where it was negative, the air beside
/// it got a surface, and a shaken bowl lost 0.6 % in 3 s to liquid that came out of its wall.
#[test]
fn a_wall_with_sides_is_no_surface() {
    let shape = Shape { min: Vec3::ZERO, dx: 0.5, levels: 1, roots: [8, 6, 6] };
    let tree = Octree::build(shape, 0, |_| false);
    let cells = Lattice { size: [8, 6, 6], origin: Vec3::splat(0.25), spacing: 0.5 };
    let sides = Sides { own_corners: vec![0xff; cells.len()], barred: vec![Sides::NEAR; cells.len()] };
    let on_tree = TreeSides { sides: &sides, cells, offset: [0; 3] };
    let closed: Vec<bool> =
        (0..tree.cell_count()).map(|cell| (tree.cell_center(cell).x - 2.0).abs() < 0.5).collect();
    let before: Vec<f32> = closed.iter().map(|&closed| if closed { -0.1 } else { 0.5 }).collect();
    let mut phi = before.clone();
    let info = redistance_on_sides(
        &mut phi,
        &tree,
        &closed,
        (on_tree, Keeps::Curvature([None; 6])),
        &mut RedistanceScratch::default(),
    );
    assert_eq!((info.seeds, phi), (0, before));
}
