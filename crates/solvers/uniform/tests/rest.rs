//! Still water stays still on a grid that is not aligned with it.

use fluvial_foundation::{Quat, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Domain, Fill, Liquid, Setup, Solid, Solver, Tracker};
use fluvial_solver_uniform::{Params, UniformSolver};

/// Waves twice as long as the stairs of a tilted surface used to feed on rounding errors: 2e-4 m/s after five
/// seconds, 0.09 m/s after ten. The bar is what the pressure's tolerance leaves of one step's gravity.
#[test]
fn a_tilted_surface_does_not_ripple() {
    let (n, g, dt_s) = (64, 9.81, 0.01);
    let normal = Vec3::new(0.31, 1.0, 0.0).normalize();
    let dx = 1.0 / n as f32;
    let shape = Shape::Plane { point: Vec3::new(0.5, 0.5 + 0.3 * dx, 0.0), normal };
    let setup = Setup {
        domain: Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [n, n, 4], dx }),
        liquid: Liquid { gravity: -g * normal, ..Liquid::default() },
        fills: vec![Fill { shape, velocity: Vec3::ZERO }],
        solids: vec![],
        sources: vec![],
        sinks: vec![],
        refine: vec![],
        flow: None,
        cfl: 2.0,
    };
    let params = Params::default();
    let bar = 10.0 * params.pressure.pressure_tolerance * f64::from(g) * dt_s;
    let mut solver = UniformSolver::new(setup, params).unwrap();
    for _ in 0..500 {
        let speed = solver.step(dt_s).unwrap().max_speed_m_s;
        assert!(speed <= bar, "{speed:.2e} m/s at {:.2} s, bar {bar:.2e}", solver.time_s());
    }
}

/// In a tilted box with walls of a cell, waves of three cells along the contact line used to feed on the difference between what
/// the fluxes brought into the cells that the wall cuts and what the surface was taken to hold there: 2e-3 m/s after three and a
/// half seconds, 0.1 after five.
#[test]
fn no_ripple_grows_at_a_contact_line() {
    let dx = 1.0 / 24.0;
    let (half, wall, center) = (0.2437, dx, Vec3::new(0.507, 0.471, 0.507));
    let turned = |shape: Shape| Shape::Transform {
        shape: Box::new(shape),
        scale: 1.0,
        rotation: Quat::from_rotation_z(30f32.to_radians()),
        translate: center,
    };
    let outer = Shape::Box { min: Vec3::splat(-half - wall), max: Vec3::splat(half + wall) };
    let inner = Shape::Box { min: Vec3::splat(-half), max: Vec3::new(half, 2.0, half) };
    let below = Shape::Plane { point: Vec3::new(0.0, 0.411, 0.0), normal: Vec3::Y };
    let fill = Shape::Intersection(vec![turned(inner.clone()), below]);
    let setup = Setup {
        domain: Domain::closed(UniformGrid { min: Vec3::splat(2.0 * dx), cells: [20, 18, 20], dx }),
        liquid: Liquid::default(),
        fills: vec![Fill { shape: fill, velocity: Vec3::ZERO }],
        solids: vec![Solid::new(
            "box",
            turned(Shape::Difference(Box::new(outer), Box::new(inner))),
            Motion::Static,
        )],
        sources: vec![],
        sinks: vec![],
        refine: vec![],
        flow: None,
        cfl: 2.0,
    };
    let mut solver = UniformSolver::new(setup, Params::default()).unwrap();
    for _ in 0..168 {
        let speed = solver.step(1.0 / 48.0).unwrap().max_speed_m_s;
        assert!(speed < 5e-5, "{speed:.2e} m/s at {:.2} s", solver.time_s());
    }
}

/// Fastest liquid in a slab of a tank with a solid in two seconds, m/s.
fn unrest(solid: Shape, fill: Shape) -> f64 {
    let (n, dx) = (32, 1.0 / 32.0);
    let mut setup = Setup::new(Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [n, n, 4], dx }));
    setup.fills = vec![Fill { shape: fill, velocity: Vec3::ZERO }];
    setup.solids = vec![Solid::new("solid", solid, Motion::Static)];
    let mut solver = UniformSolver::new(setup, Params::default()).unwrap();
    (0..100).map(|_| solver.step(0.02).unwrap().max_speed_m_s).fold(0.0, f64::max)
}

/// The level runs out on a slope that leans twice: cells beyond the line where they meet took their distances from what was continued into
/// the solid from them, 0.2 m/s after a second.
#[test]
fn still_water_rests_where_it_ends_on_a_slope() {
    let normal = Vec3::new(-0.4, 1.0, 0.1).normalize();
    let slope = Shape::Plane { point: Vec3::new(0.5, 0.33, 0.5), normal };
    let speed = unrest(slope, Shape::Plane { point: Vec3::new(0.5, 0.47, 0.5), normal: Vec3::Y });
    assert!(speed < 2e-5, "{speed} m/s");
}

fn build(setup: Setup, tracker: Tracker) -> Box<dyn Solver> {
    Box::new(UniformSolver::new(setup, Params { tracker, ..Params::default() }).unwrap())
}

#[test]
fn water_rests_beside_slivers() {
    fluvial_conformance::water_rests_beside_slivers(|setup| build(setup, Tracker::Levelset));
}

#[test]
fn a_level_set_rests_in_tilted_boxes() {
    fluvial_conformance::water_rests_in_tilted_boxes(|setup| build(setup, Tracker::Levelset), 1e-4);
}

#[test]
fn a_surface_through_the_centre_of_a_cell_rests() {
    let rests = fluvial_conformance::a_surface_through_the_centre_of_a_cell_rests;
    rests(|setup| build(setup, Tracker::Levelset), 5e-3);
    rests(|setup| build(setup, Tracker::Flip), 5e-3);
}

/// Slanted plates of one and a half to five cells pierce the level and pass through two walls; turned about three axes they make wedges with
/// a wall.
#[test]
fn a_level_that_slanted_plates_pierce_begins_at_rest() {
    let dx = 1.0f32 / 30.0;
    let (one_axis, three_axes, steep) = ([0.0f32, 0.0, 25.0], [20.0, 30.0, 25.0], [10.0, -40.0, 35.0]);
    let hardly = [5.0, 5.0, 8.0];
    // Half of the thickness and the height of the middle, metres.
    let cases = [
        (Tracker::Levelset, (0.04f32, 0.3f32), one_axis, 40, 1e-4),
        (Tracker::Levelset, (0.04, 0.3), three_axes, 70, 2e-5),
        (Tracker::Levelset, (0.025, 0.35), steep, 30, 2e-5),
        (Tracker::Levelset, (0.08, 0.35), steep, 20, 2e-5),
        (Tracker::Levelset, (0.017, 0.35), hardly, 20, 1e-4),
        (Tracker::Flip, (0.04, 0.3), one_axis, 40, 1e-4),
        (Tracker::Flip, (0.04, 0.3), three_axes, 40, 1e-4),
    ];
    for (tracker, (thick, high), turns, steps, bar_m_s) in cases {
        let half = Vec3::new(0.2, thick, 0.5);
        let [x, y, z] = turns.map(f32::to_radians);
        let plate = Shape::Transform {
            shape: Box::new(Shape::Box { min: -half, max: half }),
            scale: 1.0,
            rotation: Quat::from_rotation_z(z) * Quat::from_rotation_y(y) * Quat::from_rotation_x(x),
            translate: Vec3::new(0.75, high, 0.4),
        };
        let mut setup = Setup::new(Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [30, 20, 21], dx }));
        let pool = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(2.0, 0.37, 2.0) };
        setup.fills = vec![Fill { shape: pool, velocity: Vec3::ZERO }];
        setup.solids = vec![Solid::new("plate", plate, Motion::Static)];
        let mut solver = UniformSolver::new(setup, Params { tracker, ..Params::default() }).unwrap();
        for step in 0..steps {
            let speed = solver.step(0.02).unwrap().max_speed_m_s;
            assert!(
                speed < bar_m_s,
                "{tracker:?}, {thick} m, turned by {turns:?}: {speed:.2e} m/s in step {step}"
            );
        }
    }
}
