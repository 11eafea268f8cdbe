//! Every choice of the `[method]` table does something, and the liquid stays whole with it.

use fluvial_conformance::{advance, dam_break};
use fluvial_solver_interface::{Solver, StateWriter, Tracker, VolumeCorrection};
use fluvial_solver_octree::{Advection, Interpolation, OctreeSolver, Params, SurfaceForm};

#[test]
fn every_choice_acts_and_keeps_the_liquid() {
    let run = |params: Params| {
        let mut setup = dam_break(24, 0.1);
        setup.liquid.surface_tension = 0.07;
        let mut solver = OctreeSolver::new(setup, params).unwrap();
        let reports = advance(&mut solver, 0.04);
        let last = reports.last().unwrap();
        assert!(last.volume_error.abs() < 0.03 && last.max_speed_m_s.is_finite(), "{last:?}");
        let mut bytes = vec![];
        solver.save(&mut StateWriter::new(&mut bytes)).unwrap();
        bytes
    };
    let plain = Params::default();
    let usual = run(plain.clone());
    let choices = [
        ("second order", Params { free_surface: SurfaceForm::SecondOrder, ..plain.clone() }),
        ("naive", Params { free_surface: SurfaceForm::Naive, ..plain.clone() }),
        ("continuous", Params { interpolation: Interpolation::Continuous, ..plain.clone() }),
        ("phi", Params { phi_advection: Advection::SemiLagrangian, ..plain.clone() }),
        ("velocity", Params { velocity_advection: Advection::SemiLagrangian, ..plain.clone() }),
        ("no conservation", Params { volume_correction: VolumeCorrection::Off, ..plain.clone() }),
        ("curvature", Params { curvature_weight: 1.0, ..plain.clone() }),
        ("stretching", Params { velocity_weight: 0.3, ..plain.clone() }),
        ("decay", Params { decay: 0.1, ..plain.clone() }),
        ("particles", Params { tracker: Tracker::Flip, ..plain.clone() }),
        ("tension", Params { capillary_cfl: 0.0, ..plain.clone() }),
    ];
    for (name, params) in choices {
        assert!(run(params) != usual, "{name} changes nothing");
    }
    let plain = Params { tracker: Tracker::Flip, ..plain };
    let usual = run(plain.clone());
    let choices = [
        ("detail", Params { particle_detail: 3.0, ..plain.clone() }),
        ("ratio", Params { flip_ratio: 0.5, ..plain.clone() }),
        ("band", Params { narrow_band: 1.0, ..plain.clone() }),
    ];
    for (name, params) in choices {
        assert!(run(params) != usual, "{name} changes nothing");
    }
}
