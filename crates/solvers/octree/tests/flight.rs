//! Liquid on its way through the air.

use fluvial_conformance::tank;
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Fill, Solver, Tracker, Wanted};
use fluvial_solver_octree::{OctreeSolver, Params};

/// The kind of drops, by its place in `fluvial_solver_interface::PARTICLE_KINDS`.
const FLYING: u8 = 3;

/// A ball that nothing acts on keeps all of its liquid: what fluxes and the carried surface differ by behind it is no liquid that flies.
#[test]
fn a_ball_in_free_flight_sheds_nothing() {
    for tracker in [Tracker::Levelset, Tracker::Flip] {
        let mut setup = tank(20, 0.5);
        setup.liquid.gravity = Vec3::ZERO;
        let shape = Shape::Sphere { center: Vec3::new(0.3, 0.5, 0.5), radius: 0.2 };
        setup.fills = vec![Fill { shape, velocity: Vec3::new(0.8, 0.13, 0.07) }];
        let mut solver = OctreeSolver::new(setup, Params { tracker, ..Params::default() }).unwrap();
        for _ in 0..24 {
            solver.step(0.5 / 24.0).unwrap();
        }
        let kinds = solver.snapshot(Wanted::PARTICLES).particles.and_then(|seen| seen.kinds);
        let flying = kinds.map_or(0, |kinds| kinds.kind.iter().filter(|&&kind| kind == FLYING).count());
        assert_eq!(flying, 0, "{tracker:?}");
    }
}
