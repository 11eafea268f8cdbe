//! Curvature where the surface crosses faces, and what surface tension makes of it.

use crate::common::*;
use fluvial_foundation::{DVec3, Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::curvature::{CurvatureInfo, CurvatureScratch, WallContact, curvature};
use fluvial_octree::gradient::{FreeSurface, Geometry, GradientParams, PressureGradient};
use fluvial_octree::redistance::{RedistanceScratch, redistance};

const CENTRE: DVec3 = DVec3::new(0.507, 0.493, 0.511);

/// Two levels of which each has half of the unit cube, fine cells at low x.
fn halves(finest: usize) -> Octree {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / finest as f32, levels: 2, roots: [finest / 2; 3] };
    Octree::build(shape, 0, |cell| shape.center(cell).x < 0.5)
}

/// Nothing is known of walls: surfaces go on beyond them as they are.
fn of_field(tree: &Octree, phi_cell: &[f32]) -> (Vec<f32>, CurvatureInfo) {
    of_field_between(tree, phi_cell, &[None; 6])
}

fn of_field_between(tree: &Octree, phi_cell: &[f32], contact: &WallContact) -> (Vec<f32>, CurvatureInfo) {
    let mut kappa_face = vec![];
    let info = curvature(&mut kappa_face, tree, phi_cell, contact, &mut CurvatureScratch::default());
    (kappa_face, info)
}

/// Largest relative error by what the face is: fine, coarse, T-junction.
fn ball_errors_of(finest: usize, radius: f64, again: bool) -> [f64; 3] {
    let tree = halves(finest);
    let mut phi_cell = at_cells(&tree, |x| (x - CENTRE).length() - radius);
    if again {
        redistance(&mut phi_cell, &tree, &[], &mut RedistanceScratch::default());
    }
    let (kappa_face, info) = of_field(&tree, &phi_cell);
    assert!(info.cells > 500 && info.limited == 0, "{info:?}");
    let mut errors = [0.0f64; 3];
    for (face, &kappa) in kappa_face.iter().enumerate().filter(|(_, kappa)| **kappa != 0.0) {
        let kind = if tree.is_junction(face) { 2 } else { tree.face_places()[face].level as usize };
        errors[kind] = errors[kind].max((kappa as f64 * 0.5 * radius - 1.0).abs());
    }
    assert!(errors.iter().all(|&error| error > 0.0), "the surface crosses all kinds of faces");
    errors
}

/// On a ball across two levels the largest error falls with the square of the cell size, at T-junctions too.
#[test]
fn a_ball_across_levels_has_second_order_curvature() {
    let errors = [32, 64].map(|finest| ball_errors_of(finest, 0.36, false));
    println!("relative errors on fine faces, coarse ones, T-junctions: {errors:.5?}");
    for kind in 0..3 {
        let order = (errors[0][kind] / errors[1][kind]).log2();
        assert!(order > 1.8, "{kind}: {order:.2} {errors:?}");
        assert!(errors[1][kind] < 0.02, "{errors:?}");
    }
    let again = ball_errors_of(64, 0.36, true);
    println!("after redistancing: {again:.5?}");
    assert!(again.iter().all(|&error| error < 0.02), "{again:?}");
}

/// Largest relative error on the faces of the cells at the floor, where a ball meets it at an angle, on cells of two sizes.
fn error_at_the_floor(finest: usize, degrees: f64) -> f64 {
    let (tree, radius, cosine) = (halves(finest), 0.36, degrees.to_radians().cos());
    let centre = DVec3::new(CENTRE.x, -radius * cosine, CENTRE.z);
    let phi_cell = at_cells(&tree, |x| (x - centre).length() - radius);
    let mut contact = [None; 6];
    contact[2] = Some(cosine as f32);
    let (kappa_face, _) = of_field_between(&tree, &phi_cell, &contact);
    let is_at_floor = |face: usize| {
        let mut cells = tree.cells_beside(face);
        cells.all(|cell| tree.cell_center(cell).y < 0.75 * tree.cell_dx(cell))
    };
    let faces = (0..tree.face_count()).filter(|&face| kappa_face[face] != 0.0 && is_at_floor(face));
    faces.map(|face| (kappa_face[face] as f64 * 0.5 * radius - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn balls_that_meet_a_wall_at_its_contact_angle() {
    for (degrees, least_order) in [(90.0, 1.8), (60.0, 0.9), (120.0, 0.9)] {
        let [coarse, fine] = [32, 64].map(|finest| error_at_the_floor(finest, degrees));
        let order = (coarse / fine).log2();
        println!("{degrees} degrees: {coarse:.5} {fine:.5}, order {order:.2}");
        assert!(fine > 0.0 && coarse < 0.05 && order > least_order, "{degrees}: {coarse} {fine}");
    }
}

/// A cylinder has one curvature, a plane none, a ball of air a negative one.
#[test]
fn signs_and_single_curvatures() {
    let tree = halves(64);
    let largest = |phi: &dyn Fn(DVec3) -> f64, wanted: f64| {
        let (kappa_face, _) = of_field(&tree, &at_cells(&tree, phi));
        let found = kappa_face.iter().filter(|kappa| **kappa != 0.0);
        found.map(|&kappa| (kappa as f64 - wanted).abs()).fold(0.0, f64::max)
    };
    let normal = DVec3::new(0.6, 0.64, 0.48);
    assert!(largest(&|x| (x - CENTRE).dot(normal), 0.0) < 2e-3);
    let cylinder = |x: DVec3| (x - CENTRE).reject_from(DVec3::Y).length() - 0.3;
    let error = largest(&cylinder, 1.0 / 0.3);
    assert!(error < 0.02 / 0.3, "{error}");
    let error = largest(&|x| 0.35 - (x - CENTRE).length(), -2.0 / 0.35);
    assert!(error < 0.15, "{error}");
}

/// Largest speed that is left of a ball at rest under tension, in units of what its pressure would do across
/// a finest cell, and the pressure inside over 2/R; with one curvature everywhere, or with what was computed.
fn left_at_rest(finest: usize, form: FreeSurface, exact: bool) -> (f64, f64) {
    let (tree, radius) = (halves(finest), 0.36);
    let phi_cell = at_cells(&tree, |x| (x - CENTRE).length() - radius);
    let open_area = closed_box(&tree);
    let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
    let (mut kappa_face, _) = of_field(&tree, &phi_cell);
    if exact {
        kappa_face.iter_mut().filter(|k| **k != 0.0).for_each(|k| *k = 2.0 / radius as f32);
    }
    let mut gradient = PressureGradient::default();
    gradient.prepare(&geometry, &GradientParams { form, ..GradientParams::default() });
    let mut u_face = vec![0.0; tree.face_count()];
    gradient.add_surface_pressure(&mut u_face, &geometry, &kappa_face);
    let projected = project(&geometry, form, &u_face, 1e-10);
    let wet = (0..tree.face_count()).filter(|&face| gradient.acts_on(face));
    let left = wet.map(|face| projected.u_face[face].abs()).fold(0.0f32, f32::max) as f64;
    let inside = projected.p_cell[tree.locate(CENTRE.as_vec3()).cell as usize];
    (left * 0.5 * radius / finest as f64, inside * 0.5 * radius)
}

/// With one curvature everywhere a constant pressure balances tension on a ball exactly; with the computed
/// one what is left is largest where cells meet whose curvatures are of the fourth and of the second order.
#[test]
fn a_ball_stays_at_rest_under_tension() {
    for form in [FreeSurface::Symmetric, FreeSurface::SecondOrder] {
        // Faces close to a cell centre have large numbers, in f32.
        let (left, inside) = left_at_rest(32, form, true);
        assert!(left < 1e-4 && (inside - 1.0).abs() < 1e-5, "{form:?} {left} {inside}");
        let [coarse, fine] = [32, 64].map(|finest| left_at_rest(finest, form, false));
        println!("{form:?}: left {:.1e} and {:.1e} of p/dx, pressure {:.4} of 2/R", coarse.0, fine.0, fine.1);
        assert!(fine.0 < 0.004 && coarse.0 / fine.0 > 2.8, "{form:?} {coarse:?} {fine:?}");
        assert!((fine.1 - 1.0).abs() < 1e-3, "{form:?} {fine:?}");
    }
}

#[test]
fn threads_do_not_matter_and_walls_do_no_harm() {
    let tree = random_tree(4, [4, 4, 4], 1, 8);
    let middle = tree.shape().bounds().center().as_dvec3();
    let phi_cell =
        at_cells(&tree, |x| (x - middle).dot(DVec3::new(0.6, 0.8, 0.0)) + 0.03 * (4.0 * x.z).sin());
    let run = |threads| parallel::with_threads(threads, || of_field(&tree, &phi_cell));
    let (kappa_face, info) = run(1);
    assert_eq!((kappa_face.clone(), info), run(3));
    assert!(info.cells > 100 && kappa_face.iter().all(|kappa| kappa.is_finite()));
}

/// How the curvature of a ball of `r` cells answers to a bend of `a` P2 cells, as a part of `4 a P2 / r^2`, after redistancings.
fn answer(r: f64, a: f64, redistancings: usize) -> f64 {
    let n = 24;
    let shape = Shape { min: Vec3::ZERO, dx: 1.0, levels: 1, roots: [n; 3] };
    let (tree, centre) = (Octree::build(shape, 0, |_| false), DVec3::splat(0.5 * n as f64));
    let p2 = |x: DVec3| 0.5 * (3.0 * (x.y - centre.y).powi(2) / (x - centre).length_squared() - 1.0);
    let bent = |a: f64| {
        let mut phi_cell = at_cells(&tree, |x| (x - centre).length() - r - a * p2(x));
        for _ in 0..redistancings {
            redistance(&mut phi_cell, &tree, &[], &mut RedistanceScratch::default());
        }
        let (mut sum, mut squares) = (0.0, 0.0);
        for (face, &kappa) in of_field(&tree, &phi_cell).0.iter().enumerate().filter(|(_, k)| **k != 0.0) {
            let away = tree.face_center(face, tree.face_axis(face)).as_dvec3() - centre;
            let area = (away[tree.face_axis(face)] / away.length()).abs();
            sum += area * (f64::from(kappa) - 2.0 / r) * p2(away + centre);
            squares += area * p2(away + centre).powi(2);
        }
        sum / squares
    };
    (bent(a) - bent(-a)) / (2.0 * a) * r * r / 4.0
}

/// Tension is what curvature answers to a bend of the surface. Fits of second order are right in each cell to 1 % of a ball's
/// curvature, but by where the surface lies in the cell, and their answer to a fortieth of a cell was 0.6 to 0.84 of what it should be.
#[test]
fn redistancing_keeps_how_curvature_answers() {
    for r in [8.0, 8.25, 8.5] {
        let answers = [0, 1, 5].map(|redistancings| answer(r, 0.024, redistancings));
        println!("{r} cells: {answers:.4?}");
        assert!(answers.iter().all(|answer| (answer - 1.0).abs() < 0.015), "{r}: {answers:?}");
    }
}
