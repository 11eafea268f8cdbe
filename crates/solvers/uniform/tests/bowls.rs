//! Water that falls into round bowls with thin walls.

use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Domain, Fill, Setup, Solid, Solver, StepReport, Tracker};
use fluvial_solver_uniform::{Params, UniformSolver};

const CENTER: Vec3 = Vec3::new(0.5, 0.45, 0.5);
/// The bowl's inner radius and wall, metres.
const RADIUS_M: f32 = 0.297;
const WALL_M: f32 = 0.003;

/// A bowl in a box of a metre; its water begins 3 cm above the wall, 5 cm below the rim.
fn bowl(cells: usize, tracker: Tracker) -> UniformSolver {
    let ball = |radius| Shape::Sphere { center: CENTER, radius };
    let below = |y: f32| Shape::Plane { point: Vec3::new(0.0, y, 0.0), normal: Vec3::Y };
    let dx = 1.0 / cells as f32;
    let mut setup = Setup::new(Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [cells; 3], dx }));
    let shape = Shape::Intersection(vec![ball(0.265), below(0.4)]);
    setup.fills.push(Fill { shape, velocity: Vec3::ZERO });
    let half = Shape::Intersection(vec![ball(RADIUS_M + WALL_M), below(CENTER.y)]);
    let wall = Shape::Difference(Box::new(half), Box::new(ball(RADIUS_M)));
    setup.solids.push(Solid::new("bowl", wall, Motion::Static));
    UniformSolver::new(setup, Params { tracker, ..Params::default() }).unwrap()
}

fn run(solver: &mut UniformSolver, end_s: f64) -> StepReport {
    loop {
        let report = solver.step(1.0 / 48.0).unwrap();
        if solver.time_s() >= end_s - 1e-9 {
            return report;
        }
    }
}

/// Through the cells below the rim, which the way round the rim joins, 0.6 % were on the floor by now.
#[test]
fn water_stays_in_a_bowl_up_to_its_rim() {
    for tracker in [Tracker::Levelset, Tracker::Flip] {
        let mut solver = bowl(24, tracker);
        let report = run(&mut solver, 0.5);
        let floor = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(2.0, 0.12, 2.0) };
        let lost = solver.volume_in(&floor) / report.liquid_volume_m3;
        assert!(lost < 2e-4, "{tracker:?}: {lost}");
    }
}

/// Cells that the wall leaves a corner of are overfull when the water has struck it. What they hold too much comes out again:
/// soon the water is as high as its volume fills the bowl. A tenth of its potential energy was missing.
#[test]
fn water_that_falls_into_a_bowl_is_not_squeezed_into_its_wall() {
    let report = run(&mut bowl(36, Tracker::Levelset), 0.75);
    // Water of depth h in a ball of radius R: V = pi h^2 (R - h / 3), its moment above the bottom pi h^3 (2 R / 3 - h / 4).
    let (radius, volume) = (f64::from(RADIUS_M), report.liquid_volume_m3);
    let mut depth = 0.2f64;
    for _ in 0..20 {
        let slope = std::f64::consts::PI * depth * (2.0 * radius - depth);
        depth -= (std::f64::consts::PI * depth * depth * (radius - depth / 3.0) - volume) / slope;
    }
    let moment = std::f64::consts::PI * depth.powi(3) * (2.0 * radius / 3.0 - depth / 4.0);
    let rest_j = 9810.0 * (moment + volume * (f64::from(CENTER.y) - radius));
    let part = report.potential_energy_j / rest_j;
    assert!((0.96..1.02).contains(&part), "{part} of {rest_j} J");
}
