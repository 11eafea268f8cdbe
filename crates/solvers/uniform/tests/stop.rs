//! A step that is given up leaves nothing behind.

use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{
    Domain, Fill, Liquid, Setup, Solid, Solver, Source, StateWriter, StepError, Wall,
};
use fluvial_uniform::{Params, Tracker, UniformSolver};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn setup(with_source: bool) -> Setup {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [12, 12, 12], dx: 1.0 / 12.0 };
    let ball = |x: f32, radius: f32| Shape::Sphere { center: Vec3::new(x, 0.5, 0.5), radius };
    let pool = Shape::Box { min: -Vec3::ONE, max: Vec3::new(2.0, 0.35, 2.0) };
    let moves = Motion::Constant { linear: Vec3::new(0.5, 0.0, 0.0), angular: Vec3::ZERO, about: Vec3::ZERO };
    Setup {
        domain: Domain { grid, walls: [Wall::Solid; 6] },
        liquid: Liquid::default(),
        fills: vec![
            Fill { shape: pool, velocity: Vec3::X },
            Fill { shape: ball(0.3, 0.15), velocity: -Vec3::Y },
        ],
        solids: vec![Solid { name: "ball".into(), shape: ball(0.6, 0.2), motion: moves }],
        sources: if !with_source {
            vec![]
        } else {
            vec![Source { shape: ball(0.15, 0.12), velocity: -Vec3::Y, active_s: [0.0, 9.0] }]
        },
        sinks: vec![],
        refine: vec![],
        cfl: 2.0,
    }
}

fn saved(solver: &UniformSolver) -> Vec<u8> {
    let mut bytes = vec![];
    solver.save(&mut StateWriter::new(&mut bytes)).unwrap();
    bytes
}

#[test]
fn a_step_given_up_anywhere_changes_no_bit_of_what_follows() {
    for tracker in [Tracker::Levelset, Tracker::Flip, Tracker::Apic] {
        let params = Params { tracker, ..Params::default() };
        let mut undisturbed = UniformSolver::new(setup(false), params.clone()).unwrap();
        let mut disturbed = UniformSolver::new(setup(false), params).unwrap();
        let (questions, yes_at) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(usize::MAX)));
        let (asked, yes) = (questions.clone(), yes_at.clone());
        disturbed.stop_when(Arc::new(move || {
            asked.fetch_add(1, Ordering::Relaxed) == yes.load(Ordering::Relaxed)
        }));
        let mut given_up = 0;
        for step in 0..4 {
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
                assert!(saved(&disturbed) == before, "{tracker:?}, step {step}, question {place}");
            }
            assert!(saved(&disturbed) == saved(&undisturbed), "{tracker:?}, step {step}");
        }
        assert!(given_up >= 4 * 5, "{given_up}");
    }
}

#[test]
fn a_source_has_acted_when_the_question_comes_so_that_the_step_is_finished() {
    let mut solver = UniformSolver::new(setup(true), Params::default()).unwrap();
    solver.stop_when(Arc::new(|| true));
    solver.step(0.01).unwrap();
    assert_eq!(solver.time_s(), 0.01);
}
