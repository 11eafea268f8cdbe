//! Particles keep their mass, and the account is theirs.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::Solid;
use fluvial_solver_sheets::{Params, SheetsSolver};

/// Two balls close in on a third in the corner of a tank: particles that no way led out for were deleted and booked as
/// outflow, and squeezed ones were missing from the volume: up to 1.5 %.
#[test]
fn nothing_is_lost_between_solids() {
    let mut setup = tank(12, 0.4);
    let solid = |center: Vec3, way: Vec3| {
        Solid::new(
            "ball",
            Shape::Sphere { center, radius: 0.19 },
            Motion::Constant { linear: way / 0.3, angular: Vec3::ZERO, about: Vec3::ZERO },
        )
    };
    let low = Vec3::new(0.12, 0.12, 0.5);
    setup.solids = vec![
        solid(low, Vec3::ZERO),
        solid(low + Vec3::new(0.5, 0.05, 0.0), Vec3::new(-0.3, 0.0, 0.0)),
        solid(low + Vec3::new(0.1, 0.4, 0.3), Vec3::new(-0.05, -0.3, -0.25)),
    ];
    let mut solver = SheetsSolver::new(setup, Params::default()).unwrap();
    let reports = advance(&mut solver, 0.3);
    for report in &reports {
        assert!(report.volume_error.abs() < 1e-12 && report.outflow_m3 == 0.0, "{report:?}");
    }
}
