//! A step that is given up leaves nothing behind, sources and sinks included.

use fluvial_conformance::tank;
use fluvial_foundation::Vec3;
use fluvial_octree::{OctreeSolver, Params};
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Setup, Sink, Solid, Solver, Source, StateWriter, StepError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn setup() -> Setup {
    let ball = |x: f32, y: f32, radius: f32| Shape::Sphere { center: Vec3::new(x, y, 0.5), radius };
    let mut setup = tank(16, 0.35);
    setup.cfl = 2.0;
    setup.solids.push(Solid {
        name: "ball".into(),
        shape: ball(0.6, 0.4, 0.2),
        motion: Motion::Constant { linear: Vec3::new(0.5, 0.0, 0.0), angular: Vec3::ZERO, about: Vec3::ZERO },
    });
    setup.sources.push(Source { shape: ball(0.2, 0.7, 0.12), velocity: -Vec3::Y, active_s: [0.005, 9.0] });
    setup.sinks.push(Sink { shape: ball(0.9, 0.1, 0.1), active_s: [0.0, 9.0] });
    setup
}

fn saved(solver: &OctreeSolver) -> Vec<u8> {
    let mut bytes = vec![];
    solver.save(&mut StateWriter::new(&mut bytes)).unwrap();
    bytes
}

#[test]
fn a_step_given_up_anywhere_changes_no_bit_of_what_follows() {
    let mut undisturbed = OctreeSolver::new(setup(), Params::default()).unwrap();
    let mut disturbed = OctreeSolver::new(setup(), Params::default()).unwrap();
    let (questions, yes_at) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(usize::MAX)));
    let (asked, yes) = (questions.clone(), yes_at.clone());
    disturbed
        .stop_when(Arc::new(move || asked.fetch_add(1, Ordering::Relaxed) == yes.load(Ordering::Relaxed)));
    let mut given_up = 0;
    for step in 0..5 {
        undisturbed.step(0.01).unwrap();
        let before = saved(&disturbed);
        for place in 0.. {
            questions.store(0, Ordering::Relaxed);
            yes_at.store(place, Ordering::Relaxed);
            match disturbed.step(0.01) {
                Ok(_) => break,
                Err(StepError::Stopped) => given_up += 1,
                Err(error) => panic!("{error}"),
            }
            assert!(saved(&disturbed) == before, "step {step}, question {place}");
        }
        assert!(saved(&disturbed) == saved(&undisturbed), "step {step}");
    }
    assert!(given_up >= 5 * 5, "{given_up}");
}
