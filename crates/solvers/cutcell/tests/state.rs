//! What is saved goes on as it was, and what is lacking is refused.

use fluvial_conformance::dam_break;
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_cutcell::{CutCellSolver, Params, Transfer};
use fluvial_solver_interface::{Method, Setup, Sink, Solid, Solver, Source, StateReader, StateWriter, Wall};

/// Everything that a scene may have at once: a source that starts and ends, a sink, an open wall, a solid, tension.
fn busy() -> Setup {
    let mut setup = dam_break(8, 1.0);
    setup.liquid.surface_tension = 0.07;
    setup.domain.walls[1] = Wall::Open;
    setup.sources.push(Source {
        shape: Shape::Sphere { center: Vec3::new(0.3, 0.8, 0.5), radius: 0.15 },
        motion: Motion::Static,
        velocity: Vec3::new(1.0, -0.5, 0.0),
        active_s: [0.01, 0.08],
        measured: Default::default(),
    });
    let corner = Shape::Box { min: Vec3::ZERO, max: Vec3::new(0.2, 0.1, 0.2) };
    setup.sinks.push(Sink { shape: corner, active_s: [0.0, f64::INFINITY] });
    let block = Shape::Box { min: Vec3::new(0.5, -0.1, 0.2), max: Vec3::new(0.65, 0.3, 0.8) };
    setup.solids.push(Solid::new("block", block, Motion::Static));
    setup
}

fn build(transfer: Transfer) -> CutCellSolver {
    let params = Params { tracker_factor: 2, transfer, ..Params::default() };
    CutCellSolver::new(busy(), params).unwrap()
}

fn saved(solver: &CutCellSolver) -> Vec<u8> {
    let mut bytes = vec![];
    solver.save(&mut StateWriter::new(&mut bytes)).unwrap();
    bytes
}

#[test]
fn a_restored_state_goes_on_bit_for_bit() {
    for transfer in [Transfer::Flip, Transfer::Apic] {
        let mut first = build(transfer);
        for step in 0..5 {
            let bytes = saved(&first);
            let mut second = build(transfer);
            let mut source = bytes.as_slice();
            second.restore(&mut StateReader::new(&mut source, bytes.len() as u64)).unwrap();
            assert!(saved(&second) == bytes, "step {step}: not what was saved");
            assert_eq!(first.suggest_dt().dt_s, second.suggest_dt().dt_s);
            let (one, other) = (first.step(0.02).unwrap(), second.step(0.02).unwrap());
            assert!(saved(&first) == saved(&second), "step {step}: another state");
            assert_eq!((one.clamps, one.kinetic_energy_j), (other.clamps, other.kinetic_energy_j));
            assert_eq!(first.surface(&Default::default()), second.surface(&Default::default()));
            assert!(one.volume_error.abs() < 1e-5, "the account does not add up: {}", one.volume_error);
        }
        let good = saved(&first);
        for part in [0.1, 0.5, 0.99] {
            let mut short = &good[..(part * good.len() as f64) as usize];
            let length = short.len() as u64;
            assert!(first.restore(&mut StateReader::new(&mut short, length)).is_err());
            assert!(saved(&first) == good, "a failed restore has left a trace");
        }
        assert!(first.step(f64::NAN).is_err() && first.step(1e30).is_err());
        assert!(saved(&first) == good, "a failed step has left a trace");
    }
}

#[test]
fn what_is_lacking_is_refused_by_name() {
    let refused = |change: fn(&mut Setup)| {
        let mut setup = dam_break(4, 1.0);
        change(&mut setup);
        Method::build(&Params::default(), setup).err().map(|e| e.to_string()).unwrap_or_default()
    };
    let with_moving = |setup: &mut Setup| {
        let motion = Motion::Constant { linear: Vec3::X, angular: Vec3::ZERO, about: Vec3::ZERO };
        let ball = Shape::Sphere { center: Vec3::splat(0.7), radius: 0.1 };
        setup.solids.push(Solid::new("ball", ball, motion));
    };
    assert!(refused(with_moving).contains("moving solids"));
    assert!(refused(|setup| setup.domain.friction = [0.1; 6]).contains("friction"));
}
