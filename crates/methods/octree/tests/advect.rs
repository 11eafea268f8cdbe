use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::advect::{
    AdvectScratch, Transport, advect_surface, advect_velocity, correct_surface, correct_velocity,
    largest_speed,
};
use fluvial_octree::interpolate::{Interpolation, Tracing};
use fluvial_octree::sides::TreeSides;

const V: Vec3 = Vec3::new(0.4, -0.3, 0.2);
const DT_S: f32 = 0.1;

/// Two sizes of cells that meet at a plane.
fn tree(finest: usize, meet_x: f32) -> Octree {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / finest as f32, levels: 2, roots: [finest / 2; 3] };
    Octree::build(shape, 1, |cell| cell.level == 1 && shape.center(cell).x < meet_x)
}

fn uniform_tracing(tree: &Octree) -> Tracing {
    let u: Vec<f32> = (0..tree.face_count()).map(|face| V[tree.face_axis(face)]).collect();
    let mut tracing = Tracing::default();
    tracing.fill(tree, &u);
    tracing
}

/// Root of the mean square error of a ball's phi at the surface, metres: carried, and corrected.
fn ball_errors(finest: usize) -> [f64; 2] {
    let (old, new) = (tree(finest, 0.5), tree(finest, 0.6));
    let ball = |x: Vec3| x.distance(Vec3::new(0.45, 0.55, 0.45)) - 0.25;
    let phi_old: Vec<f32> = (0..old.cell_count()).map(|c| ball(old.cell_center(c))).collect();
    let size_old = vec![1.0; old.cell_count()];
    let tracing = uniform_tracing(&old);
    let path = Transport {
        with_surface: true,
        old: &old,
        new: &new,
        tracing: &tracing,
        interpolation: Interpolation::Mls,
        sides: TreeSides::NONE,
        dt_s: DT_S,
    };
    let (mut phi, mut size, mut scratch) = (vec![], vec![], AdvectScratch::default());
    let reach_m =
        largest_speed(&old, &(0..old.face_count()).map(|f| V[old.face_axis(f)]).collect::<Vec<_>>());
    assert!((reach_m - V.length()).abs() < 1e-6);
    advect_surface((&mut phi, &mut size), &path, (&phi_old, &size_old), DT_S * reach_m, &mut scratch);
    let near: Vec<usize> = (0..new.cell_count())
        .filter(|&c| ball(new.cell_center(c) - DT_S * V).abs() < new.cell_dx(c))
        .collect();
    assert!(near.iter().all(|&cell| (size[cell] - 1.0).abs() < 1e-5), "sizes come along");
    let error = |phi: &[f32]| {
        let square = |&c: &usize| ((phi[c] - ball(new.cell_center(c) - DT_S * V)) as f64).powi(2);
        (near.iter().map(square).sum::<f64>() / near.len() as f64).sqrt()
    };
    let carried = error(&phi);
    assert_eq!(correct_surface(&mut phi, &path, &phi_old, &mut scratch), 0);
    [carried, error(&phi)]
}

/// Across a change of tree as well as of cell size. Interpolation is of second order, and the correction
/// takes most of its error away.
#[test]
fn a_ball_is_carried_in_second_order() {
    let (coarse, fine) = (ball_errors(32), ball_errors(64));
    let orders = [0, 1].map(|n| (coarse[n] / fine[n]).log2());
    println!("{coarse:?} {fine:?} {orders:?}");
    assert!(orders.iter().all(|&order| order > 1.8), "{coarse:?} {fine:?}: {orders:?}");
    assert!(fine[1] < 0.5 * fine[0], "{fine:?}");
}

/// Interpolation keeps linear fields and a uniform flow is traced without error, so that nothing is left
/// to correct.
#[test]
fn a_linear_velocity_is_carried_exactly() {
    let (old, new) = (tree(32, 0.5), tree(32, 0.6));
    let linear = |x: Vec3| Vec3::new(x.y - x.z, 2.0 * x.x, x.x + x.y + x.z);
    let u_old: Vec<f32> = (0..old.face_count())
        .map(|f| linear(old.face_center(f, old.face_axis(f)))[old.face_axis(f)])
        .collect();
    let tracing = uniform_tracing(&old);
    for new in [&new, &old] {
        let path = Transport {
            with_surface: true,
            old: &old,
            new,
            tracing: &tracing,
            interpolation: Interpolation::Mls,
            sides: TreeSides::NONE,
            dt_s: DT_S,
        };
        let (mut u, mut scratch) = (vec![], AdvectScratch::default());
        let phi_new = vec![-1.0; new.cell_count()];
        advect_velocity(&mut u, &path, &u_old, (&phi_new, 1.7), &mut scratch);
        let inside = |face: usize, margin: f32| {
            let x = new.face_center(face, new.face_axis(face));
            x.min_element() > margin && x.max_element() < 1.0 - margin
        };
        let worst = |u: &[f32], margin: f32| {
            let exact = |f: usize| linear(new.face_center(f, new.face_axis(f)) - DT_S * V)[new.face_axis(f)];
            let faces = (0..u.len()).filter(|&face| inside(face, margin));
            faces.map(|face| (u[face] - exact(face)).abs()).fold(0.0, f32::max)
        };
        assert!(worst(&u, 0.05) < 1e-5, "{}", worst(&u, 0.05));
        correct_velocity(&mut u, &path, &u_old, (&vec![-1.0; old.cell_count()], &phi_new), &mut scratch);
        assert!(worst(&u, 0.25) < 1e-5, "{}", worst(&u, 0.25));
    }
}

/// Shear under a flat surface, constant beyond it, rising by a third of a cell: the topmost faces lose less than
/// first order takes from them, `c D - c (1 - c)^2 D / 2` instead of `c D`, but for what fades out with the way.
#[test]
fn the_topmost_faces_are_carried_to_second_order() {
    let (tree, dx, c) = (tree(16, 2.0), 1.0 / 16.0, 1.0 / 3.0);
    let flow = |x: Vec3| Vec3::new(x.y.min(0.5 - 0.5 * dx), 1.0, 0.0);
    let u: Vec<f32> = (0..tree.face_count())
        .map(|f| flow(tree.face_center(f, tree.face_axis(f)))[tree.face_axis(f)])
        .collect();
    let phi = |level: f32| (0..tree.cell_count()).map(|c| tree.cell_center(c).y - level).collect::<Vec<_>>();
    let (phi_old, phi_new) = (phi(0.52), phi(0.52 + c * dx));
    let mut tracing = Tracing::default();
    tracing.fill(&tree, &u);
    let path = Transport {
        with_surface: true,
        old: &tree,
        new: &tree,
        tracing: &tracing,
        interpolation: Interpolation::Mls,
        sides: TreeSides::NONE,
        dt_s: c * dx,
    };
    let (mut out, mut scratch) = (vec![], AdvectScratch::default());
    advect_velocity(&mut out, &path, &u, (&phi_new, 3.0), &mut scratch);
    correct_velocity(&mut out, &path, &u, (&phi_old, &phi_new), &mut scratch);
    let top = tree.faces(0).find(|&f| {
        tree.face_center(f, 0).distance(Vec3::new(0.5, 0.5 - 0.5 * dx, 0.5 + 0.5 * dx)) < 0.1 * dx
    });
    let top = top.expect("a face in the middle of the topmost row");
    let lost = (u[top] - out[top]) / dx;
    // The face lies 0.82 cells below the surface and moves by 0.37.
    let part = 1.0 - (1.5 - 0.82) * 0.37;
    let expected = c - 0.5 * part * c * (1.0 - c) * (1.0 - c);
    assert!((lost - expected).abs() < 0.003, "{lost} of the difference to the next row");
}
