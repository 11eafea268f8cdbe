//! Tests of `nozzle`.

use fluvial_foundation::{AXES, Aabb, Vec3};
use fluvial_solids::{Measured, Motion, Nozzle, PlacedSolids, Shape};
use std::f64::consts::PI;

const ALL: Aabb = Aabb { min: Vec3::splat(-10.0), max: Vec3::splat(10.0) };

fn still(shape: Shape, velocity: Vec3) -> Nozzle {
    within(shape, velocity, ALL)
}

fn within(shape: Shape, velocity: Vec3, domain: Aabb) -> Nozzle {
    Nozzle::new(&shape, velocity, &Motion::Static, 0.0, domain)
}

fn ball(radius: f32) -> Shape {
    Shape::Sphere { center: Vec3::new(0.013, -0.021, 0.034), radius }
}

#[test]
fn sections_of_simple_shapes_are_exact() {
    let oblique = Vec3::new(1.0, -2.0, 0.5);
    let near = |found: f64, exact: f64| assert!((found / exact - 1.0).abs() < 0.005, "{found} {exact}");
    let free = |_: Vec3| false;
    near(still(ball(0.3), oblique).section_m2(free), PI * 0.09);
    let slab = Shape::Box { min: Vec3::new(-0.5, -0.01, -0.2), max: Vec3::new(0.5, 0.01, 0.2) };
    near(still(slab.clone(), -Vec3::Y).section_m2(free), 0.4);
    // Half of it lies outside the box, the other half is blocked to a quarter of the whole.
    let half = Aabb { min: Vec3::new(0.0, -10.0, -10.0), max: ALL.max };
    near(within(slab.clone(), -Vec3::Y, half).section_m2(free), 0.2);
    near(within(slab, -Vec3::Y, half).section_m2(|x| x.x > 0.25), 0.1);
    let pipe = Shape::Cylinder { from: -Vec3::X, to: Vec3::X, radius: 0.25 };
    near(still(pipe, Vec3::X).section_m2(free), PI * 0.0625);
}

#[test]
fn columns_have_the_section_of_the_flow_and_begin_where_it_enters() {
    let oblique = Vec3::new(1.0, -2.0, 0.5);
    let ball_m = Vec3::new(0.013, -0.021, 0.034);
    for width in [0.03f32, 0.05, 0.1] {
        let nozzle = still(ball(0.3), oblique);
        let found = nozzle.columns(width, 0.0, |_| false);
        let section: f64 = found.iter().map(|c| c.section_m2).sum();
        assert!((section / (PI * 0.09) - 1.0).abs() < 0.005, "{section}");
        assert!(found.iter().all(|c| c.section_m2 <= f64::from(width * width) * 1.0001));
        // All on the half that faces back.
        for column in found.iter().filter(|c| c.section_m2 > 0.9 * f64::from(width * width)) {
            let from_middle = column.entry - ball_m;
            assert!((from_middle.length() - 0.3).abs() < 0.15 * width, "{from_middle}");
            assert!(from_middle.dot(oblique) < 0.1 * width, "{from_middle}");
        }
    }
    // A pipe through the wall begins at the wall; where its mouth is blocked it has no column.
    let pipe = Shape::Cylinder { from: -Vec3::X, to: Vec3::X, radius: 0.25 };
    let half = Aabb { min: Vec3::new(0.0, -10.0, -10.0), max: ALL.max };
    let found = within(pipe, Vec3::X, half).columns(0.05, 0.2, |x| x.y > 0.0);
    assert!(found.iter().all(|c| c.entry.x.abs() < 0.01 && c.entry.y < 0.0), "{found:?}");
    let section: f64 = found.iter().map(|c| c.section_m2).sum();
    assert!((section / (0.5 * PI * 0.0625) - 1.0).abs() < 0.03, "{section}");
}

/// Flow out of cells of size `dx` over |v|, section m2, and the largest deviation of a cell's outflow
/// from the flux through what its faces leave open if the jet flows on at v.
fn section_on_grid(nozzle: &Nozzle, dx: f32) -> f64 {
    let bounds = nozzle.cover_bounds(dx);
    let low = (bounds.min / dx).floor();
    let size = (bounds.size() / dx).ceil();
    let v = nozzle.outflow();
    let mut sum = 0.0;
    for n in 0..(size.x * size.y * size.z) as usize {
        let at = [n % size.x as usize, n / size.x as usize % size.y as usize, n / (size.x * size.y) as usize];
        let center = (low + Vec3::from_array(at.map(|v| v as f32)) + 0.5) * dx;
        let out: f32 = AXES
            .map(|axis| {
                let half = 0.5 * dx * Vec3::AXES[axis];
                let part = |x: Vec3| nozzle.covered_part(x, axis, dx);
                v[axis] * (part(center - half) - part(center + half))
            })
            .iter()
            .sum();
        sum += f64::from(out.max(0.0) * dx * dx);
    }
    sum / f64::from(v.length())
}

#[test]
fn what_leaves_through_faces_is_section_times_speed() {
    let directions = [Vec3::NEG_Y, Vec3::new(1.0, 1.0, 0.0), Vec3::new(0.3, -1.0, 0.55)];
    let disc = Shape::Cylinder { from: Vec3::ZERO, to: Vec3::new(0.0, 0.01, 0.0), radius: 0.2 };
    let shapes = [ball(0.2), disc, Shape::Box { min: Vec3::splat(-0.17), max: Vec3::splat(0.17) }];
    for (shape, direction) in shapes.iter().flat_map(|s| directions.map(|d| (s, d))) {
        let nozzle = still(shape.clone(), 1.7 * direction);
        let exact = nozzle.section_m2(|_| false);
        // Two to eight cells across.
        for dx in [0.2, 0.1, 0.07, 0.05] {
            let found = section_on_grid(&nozzle, dx) / exact;
            let bar = if dx > 0.1 { 0.1 } else { 0.03 };
            assert!((found - 1.0).abs() < bar, "{shape:?} {direction} {dx}: {found}");
        }
    }
}

#[test]
fn a_nozzle_fills_from_behind_at_its_own_flow() {
    let nozzle = still(ball(0.3), Vec3::new(0.0, -2.0, 0.0));
    let flow = nozzle.section_m2(|_| false) * 2.0;
    let n = 64;
    let volume = |since_s: f64| {
        let inside = (0..n * n * n).filter(|&c| {
            let at = [c % n, c / n % n, c / (n * n)].map(|v| (v as f32 + 0.5) / n as f32 - 0.5);
            nozzle.filled_distance(Vec3::from_array(at), since_s) < 0.0
        });
        inside.count() as f64 / (n * n * n) as f64
    };
    assert_eq!(volume(0.0), 0.0);
    for since_s in [0.01, 0.03, 0.05] {
        // Only lines longer than the way have none of their liquid outside yet.
        assert!(volume(since_s) <= flow * since_s * 1.01);
    }
    assert!((volume(0.02) / (flow * 0.02) - 1.0).abs() < 0.03, "{} {}", volume(0.02), flow * 0.02);
    assert!((volume(1.0) / (4.0 / 3.0 * PI * 0.027) - 1.0).abs() < 0.01);
    // Through a wall at y = 0.1 the lower part fills at once.
    let below = Aabb { min: ALL.min, max: Vec3::new(10.0, 0.1, 10.0) };
    let through = within(ball(0.3), Vec3::new(0.0, -2.0, 0.0), below);
    let at = Vec3::new(0.0, 0.08, 0.0);
    assert!(through.filled_distance(at, 0.02) < 0.0 && nozzle.filled_distance(at, 0.02) > 0.0);
}

#[test]
fn a_moving_nozzle_turns_its_flow_and_adds_its_own_velocity() {
    let motion = Motion::Constant {
        linear: Vec3::X,
        angular: Vec3::new(0.0, 0.0, 0.5 * std::f32::consts::PI),
        about: Vec3::ZERO,
    };
    let nozzle = Nozzle::new(&ball(0.3), Vec3::X, &motion, 1.0, ALL);
    // A quarter turn about z, one metre along x.
    assert!(nozzle.outflow().distance(Vec3::Y) < 1e-6);
    assert!(nozzle.velocity(Vec3::X).distance(Vec3::new(1.0, 1.0, 0.0)) < 1e-6);
    assert!((nozzle.distance(Vec3::new(1.021, 0.013, 0.034)) + 0.3).abs() < 1e-5);
}

/// What a source measures where nothing is near holds wherever it moves, and no longer where a solid blocks its mouth.
#[test]
fn a_free_source_is_measured_once() {
    let shape = Shape::Box { min: Vec3::new(-0.1, -0.05, -0.2), max: Vec3::new(0.1, 0.05, 0.2) };
    let motion = Motion::Constant { linear: Vec3::X, angular: Vec3::new(0.3, 0.0, 1.0), about: Vec3::ZERO };
    let (measured, none) = (Measured::default(), PlacedSolids::default());
    let at = |time_s: f64| Nozzle::measured(&shape, -Vec3::Y, &motion, time_s, ALL, &measured);
    let first = at(0.0).section_among(&none, 0.1);
    assert!((first / 0.08 - 1.0).abs() < 0.005, "{first}");
    let sizes = (0.02, 0.25);
    for time_s in [0.4, 1.7] {
        let nozzle = at(time_s);
        assert_eq!(nozzle.section_among(&none, 0.1).to_bits(), first.to_bits());
        let (kept, anew) =
            (nozzle.columns_among(sizes, &none, 0.1), nozzle.columns(sizes.0, sizes.1, |_| false));
        let sum = |columns: &[fluvial_solids::Column]| columns.iter().map(|c| c.section_m2).sum::<f64>();
        assert!((sum(&kept) / sum(&anew) - 1.0).abs() < 0.1, "{} {}", sum(&kept), sum(&anew));
        assert!(kept.iter().all(|column| nozzle.distance(column.entry).abs() < 0.01));
    }
    // The half of the mouth that lies in a wall does not flow.
    let wall = Shape::Box { min: Vec3::splat(-5.0), max: Vec3::new(0.0, 5.0, 5.0) };
    let walls = PlacedSolids::new([(&wall, &Motion::Static)].into_iter(), 0.0);
    let half = at(0.0).section_among(&walls, 0.1);
    assert!((half / first - 0.5).abs() < 0.01, "{half} of {first}");
    // Another source with the same memory is measured for itself.
    let other = Nozzle::measured(&ball(0.1), -Vec3::Y, &motion, 0.0, ALL, &measured);
    assert!((other.section_among(&none, 0.1) / (PI * 0.01) - 1.0).abs() < 0.005);
}

#[test]
fn overlapping_sources_flow_as_their_union() {
    let v = Vec3::new(0.0, -1.5, 0.0);
    let at = |x: f32| still(Shape::Sphere { center: Vec3::new(x, 0.0, 0.0), radius: 0.2 }, v);
    let pair = |a: f32, b: f32| [at(a).beside([(at(b), false)]), at(b).beside([(at(a), true)])];
    // Discs of radius r whose centres lie d apart share a lens of area 2 r^2 acos(d/2r) - d/2 sqrt(4r^2 - d^2).
    let union = |d: f64| {
        let r = 0.2f64;
        let lens = 2.0 * r * r * (d / (2.0 * r)).acos() - 0.5 * d * (4.0 * r * r - d * d).sqrt();
        2.0 * PI * r * r - lens
    };
    for d in [0.0, 0.05, 0.15, 0.3] {
        let nozzles = pair(0.01, 0.01 + d);
        let exact = union(f64::from(d));
        let found: f64 = nozzles.iter().map(|nozzle| nozzle.section_m2(|_| false)).sum();
        assert!((found / exact - 1.0).abs() < 0.01, "{d}: {found} of {exact}");
        let columns: f64 =
            nozzles.iter().flat_map(|n| n.columns(0.03, 0.0, |_| false)).map(|c| c.section_m2).sum();
        assert!((columns / exact - 1.0).abs() < 0.01, "{d}: {columns} of {exact} in columns");
        // What the second covers of what the first leaves open makes the cover of both.
        let (dx, both) = (0.07, |x: Vec3, axis| {
            1.0 - (1.0 - nozzles[0].newly_covered_part(x, axis, 0.07))
                * (1.0 - nozzles[1].newly_covered_part(x, axis, 0.07))
        });
        let mut section = 0.0;
        for n in 0..20 * 20 {
            // Through a plane below the middles, where the cover is as wide as the flow.
            let x = Vec3::new(dx * ((n % 20) as f32 - 8.0), 0.0, dx * ((n / 20) as f32 - 10.0));
            section += f64::from(both(x, 1) * dx * dx);
        }
        assert!((section / exact - 1.0).abs() < 0.01, "{d}: covers {section} of {exact}");
    }
}
