//! Still water stays still.

use fluvial_conformance::{advance, tank};
use fluvial_solver_interface::Solver;
use fluvial_solver_sheets::{Params, PositionCorrection, SheetsSolver};

/// Nothing but the flow moves the particles: without the drag on short waves they grow by 2 a second out of
/// rounding errors, to 4e-3 m/s after 6 s; with it they reach 1.5e-4. With correction, sheets and sampling they still
/// grow, by 1.4 a second.
#[test]
fn waves_do_not_grow_out_of_nothing() {
    let params = Params {
        position_correction: PositionCorrection::Off,
        adaptive_sampling: false,
        preserve_sheets: false,
        ..Params::default()
    };
    let mut solver = SheetsSolver::new(tank(16, 0.3), params).unwrap();
    let fastest = |reports: Vec<fluvial_solver_interface::StepReport>| {
        reports.iter().fold(0.0f64, |most, report| most.max(report.max_speed_m_s))
    };
    advance(&mut solver, 4.0);
    let later = fastest(advance(&mut solver, 6.0));
    assert!(later < 5e-4, "{later} m/s from 4 to 6 s");
    assert!((solver.initial_report().liquid_volume_m3 / 0.3 - 1.0).abs() < 2e-3);
}
