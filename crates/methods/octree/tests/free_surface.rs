//! The three forms of the free surface: order on a ball whose surface crosses four levels, and rest under
//! gravity.

use crate::common::*;
use fluvial_foundation::DVec3;
use fluvial_foundation::random::unit_vec3;
use fluvial_octree::degenerate::follow_neighbours;
use fluvial_octree::gradient::{FreeSurface, Geometry, GradientParams, PressureGradient};

/// The authors' figures (README.md of this crate, "Figures") at finest 64; `examples/order.rs` goes to 256.
#[test]
fn pressure_errors_are_at_or_below_the_authors_on_every_level() {
    let authors = [5.6e-5, 5.2e-4, 7.6e-3, 2.6e-2];
    for form in [FreeSurface::Symmetric, FreeSurface::SecondOrder] {
        let (errors, _) = ball_errors(64, 1, form, &[-4, -3, -2, -1, 0, 1, 2, 3, 4]);
        for level in 0..4 {
            assert!(errors[level] <= authors[level], "{form:?} level {level}: {errors:?}");
            assert!(errors[level] > 0.0, "the liquid has cells of level {level}");
        }
    }
}

/// Root of the mean square error of the second-order form's pressure on every level, over several radii.
fn mean_errors(finest: usize, radii: &[i32]) -> [f64; 4] {
    let (mut sum, mut count) = ([0.0f64; 4], [0.0f64; 4]);
    let centre = DVec3::new(0.507, 0.493, 0.511);
    for_ball_errors(centre, finest, 1, FreeSurface::SecondOrder, radii, |level, error| {
        sum[level] += error * error;
        count[level] += 1.0;
    });
    std::array::from_fn(|level| (sum[level] / count[level]).sqrt())
}

/// [octree eq. 24] In the mean square: the largest error is `theta (1 - theta) / 2 h^2` of the face that comes nearest to theta = 1/2,
/// which small cells come nearer to, so that orders of it between two sizes read less than 2 (README.md, "Figures"). The
/// largest cells are in the liquid from finest 128 on.
#[test]
fn the_second_order_form_is_second_order_on_every_level() {
    let [coarse, middle] = [64, 128].map(|finest| mean_errors(finest, &[-3, 2]));
    let fine = mean_errors(256, &[0]);
    let order = |level: usize| match level {
        3 => (middle[level] / fine[level]).log2(),
        _ => (coarse[level] / middle[level]).log2(),
    };
    let orders: [f64; 4] = std::array::from_fn(order);
    println!("orders {orders:.2?}");
    assert!(orders.iter().all(|&order| order > 1.9), "{orders:?} {coarse:?} {middle:?} {fine:?}");
}

/// [octree Fig. 16] Still liquid under a gravity normal to its plane surface, through T-junctions: at rest to
/// rounding in the second-order form; in the symmetric one only where no junction is degenerate; never in the
/// naive one.
#[test]
fn still_liquid_stays_still_in_the_second_order_form() {
    let tilted = DVec3::new(-0.35, 1.0, 0.25).normalize();
    let mut degenerate = 0;
    for seed in 0..12 {
        let tree = random_tree(4, [4, 4, 4], 0, seed);
        for normal in [tilted, DVec3::Y] {
            let [second, symmetric, naive] =
                [FreeSurface::SecondOrder, FreeSurface::Symmetric, FreeSurface::Naive]
                    .map(|form| speed_at_rest(&tree, normal, form));
            assert_eq!(second.2.theta_floors, 0, "no cell centre lies on the plane");
            assert!(second.0 < 1e-6, "{second:?}");
            let clamped = symmetric.2.degenerate_junctions + symmetric.2.theta_floors;
            if clamped == 0 {
                assert!(symmetric.0 < 1e-6, "{symmetric:?}");
            }
            assert!(symmetric.0 <= 1.0, "{symmetric:?}");
            if naive.2.surface_junctions > 20 {
                assert!(naive.0 > 0.1 && naive.1 > symmetric.1, "{naive:?}");
            }
            degenerate += clamped;
        }
    }
    assert!(degenerate > 20, "{degenerate}");
}

/// In the symmetric form degenerate junctions follow the faces beside them: with the pressure of the projection before,
/// three times over, liquid under a plane rests on any tree, and liquid that falls keeps falling as one.
#[test]
fn degenerate_junctions_rest_with_the_last_pressure() {
    let normal = DVec3::new(-0.35, 1.0, 0.25).normalize();
    let mut degenerate = 0;
    for seed in 0..12 {
        let tree = random_tree(4, [4, 4, 4], 1, seed);
        let middle = tree.shape().bounds().center().as_dvec3() + DVec3::new(0.0213, 0.0171, 0.0093);
        let phi_cell = at_cells(&tree, |x| (x - middle).dot(normal));
        let open_area = closed_box(&tree);
        let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
        let mut gradient = PressureGradient::default();
        let info = gradient.prepare(&geometry, &GradientParams::default());
        let falling = at_faces(&tree, |_| -normal);
        let mut q_cell = vec![0.0; tree.cell_count()];
        let mut left = vec![];
        for _ in 0..4 {
            let mut u = falling.clone();
            follow_neighbours(&mut u, &geometry, &gradient, &q_cell);
            let projected = project(&geometry, FreeSurface::Symmetric, &u, 1e-10);
            let speed = |face: usize| if gradient.acts_on(face) { projected.u_face[face].abs() } else { 0.0 };
            left.push((0..tree.face_count()).map(speed).fold(0.0, f32::max));
            q_cell = projected.p_cell;
        }
        if info.degenerate_junctions > 0 {
            assert!(left[0] > 0.1, "{left:?}");
        }
        if info.theta_floors == 0 {
            assert!(left[3] < 1e-4, "{left:?} {info:?}");
        }
        degenerate += info.degenerate_junctions;
        let mut u = falling.clone();
        follow_neighbours(&mut u, &geometry, &gradient, &vec![0.0; tree.cell_count()]);
        assert!(u.iter().zip(&falling).all(|(u, falling)| (u - falling).abs() < 1e-6));
    }
    assert!(degenerate > 20, "{degenerate}");
}

/// The same without a solver, for many planes: the exact pressure's gradient takes all that gravity gave, at
/// every face that the second-order form treats, unless a distance was floored.
#[test]
fn the_second_order_gradient_is_exact_for_linear_pressures() {
    let tree = random_tree(4, [4, 4, 4], 0, 2);
    let open_area = closed_box(&tree);
    let bounds = tree.shape().bounds();
    let mut gradient = PressureGradient::default();
    let (mut junctions, mut degenerate, mut exact) = (0, 0, 0);
    for n in 0..400 {
        let normal = (2.0 * unit_vec3(n, 0) - 1.0).as_dvec3().normalize();
        let through = (bounds.min + bounds.size() * (0.3 + 0.4 * unit_vec3(n, 1))).as_dvec3();
        let phi = |x: DVec3| (x - through).dot(normal);
        let phi_cell = at_cells(&tree, phi);
        let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
        let params = GradientParams { form: FreeSurface::SecondOrder, ..Default::default() };
        let info = gradient.prepare(&geometry, &params);
        let p_cell: Vec<f64> = phi_cell.iter().map(|&phi| -phi as f64).collect();
        let mut u_face = at_faces(&tree, |_| -normal);
        gradient.subtract(&mut u_face, &geometry, &p_cell);
        let left = |face: usize| if gradient.acts_on(face) { u_face[face].abs() } else { 0.0 };
        let most = (0..tree.face_count()).map(left).fold(0.0, f32::max);
        if info.theta_floors == 0 {
            assert!(most < 1e-5, "plane {n}: {most} {info:?}");
            exact += 1;
        }
        junctions += info.surface_junctions;
        degenerate += info.degenerate_junctions;
    }
    assert!(exact > 350 && junctions > 10_000 && degenerate > 500, "{exact} {junctions} {degenerate}");
}
