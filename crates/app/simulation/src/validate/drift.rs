//! A drop at constant velocity: nothing but its place may change.

use super::free_fall::shape_error;
use super::set_up::{centroid, closed_box, drive_solver};
use super::{Bar, Case, CaseError, Context, Outcome, Row};
use crate::run::FramePlan;
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_interface::SurfaceParams;

pub const CASE: Case = Case {
    name: "galilean-drift",
    what: "drop R = 0.15 m at constant velocity, g = 0: u = U, shape unchanged",
    source: "exact: Galilean invariance",
    applies: super::every_method,
    run,
};

const RADIUS: f32 = 0.15;

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let n = if context.fine { 64 } else { 32 };
    let dx = 1.0 / n as f32;
    let velocity = Vec3::new(0.45, 0.23, 0.31);
    let start = Vec3::splat(0.3);
    let mut setup = closed_box([n; 3], dx, Shape::Sphere { center: start, radius: RADIUS });
    setup.liquid.gravity = Vec3::ZERO;
    setup.fills[0].velocity = velocity;
    let mut velocity_error = 0.0f64;
    let mut first = None;
    let plan = FramePlan { frames: 20, fps: 25.0 };
    let solver = context.method.uncorrected.build(setup)?;
    let solver = drive_solver(context, solver, plan, &mut |step, solver| {
        if step.step == 0 {
            first = Some(centroid(&solver.surface(&SurfaceParams::default())));
        }
        let center = start + step.time_s as f32 * velocity;
        for offset in [Vec3::ZERO, Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z] {
            let u = solver.velocity_at(center + 0.6 * RADIUS * offset);
            velocity_error = velocity_error.max(f64::from((u - velocity).length() / velocity.length()));
        }
    })?;
    let (volume_0, center_0) = first.expect("the initial state is recorded");
    let mesh = solver.surface(&SurfaceParams::default());
    let (volume, center) = centroid(&mesh);
    let path = solver.time_s() * velocity.as_dvec3();
    let resolution = format!("{:.1} cells per diameter", 2.0 * RADIUS / dx);
    let row = |quantity: &str, value: f64| Row::new(resolution.clone(), quantity, value);
    let expected = start + path.as_vec3();
    Ok(Outcome {
        rows: vec![
            row("velocity error, relative", velocity_error).bar(Bar::AtMost(1e-5)),
            row("centre of mass, path error, relative", (center - center_0 - path).length() / path.length()),
            row("largest shape error / dx", shape_error(&mesh, expected, RADIUS) / f64::from(dx)),
            row("volume change", volume / volume_0 - 1.0),
        ],
        plots: vec![],
    })
}
