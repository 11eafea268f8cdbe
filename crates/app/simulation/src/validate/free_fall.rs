//! A drop in vacuum falls as a rigid body.

use super::set_up::{centroid, closed_box, drive_solver};
use super::{Bar, Case, CaseError, Context, Outcome, Row};
use crate::run::FramePlan;
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_interface::SurfaceParams;

pub const CASE: Case = Case {
    name: "free-fall",
    what: "drop R = 0.15 m falling in vacuum: the integrator's exact parabola, no internal motion, shape unchanged",
    source: "exact for the integrator x += u dt; u += g dt",
    applies: super::every_method,
    run,
};

const G: f64 = 9.81;
const RADIUS: f32 = 0.15;

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let n = if context.fine { 64 } else { 32 };
    let dx = 1.0 / n as f32;
    let start = Vec3::new(0.5, 0.75, 0.5) + Vec3::new(0.31, 0.17, 0.43) * dx;
    let shape = Shape::Sphere { center: start, radius: RADIUS };
    let setup = closed_box([n; 3], dx, shape);
    let (mut fallen, mut speed) = (0.0, 0.0);
    let (mut first, mut velocity_error) = (None, 0.0f64);
    // 0.25 s: about 0.3 m, two diameters of a 32-cell drop.
    let solver = context.method.uncorrected.build(setup)?;
    let solver = drive_solver(context, solver, FramePlan { frames: 10, fps: 40.0 }, &mut |step, solver| {
        fallen += speed * step.dt_s;
        speed += G * step.dt_s;
        if step.step == 0 {
            first = Some(centroid(&solver.surface(&SurfaceParams::default())));
            return;
        }
        let expected = Vec3::new(0.0, -speed as f32, 0.0);
        let center = start - Vec3::new(0.0, fallen as f32, 0.0);
        for offset in [Vec3::ZERO, Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z] {
            let u = solver.velocity_at(center + 0.6 * RADIUS * offset);
            velocity_error = velocity_error.max(f64::from((u - expected).length()) / speed);
        }
    })?;
    let (volume_0, center_0) = first.expect("the initial state is recorded");
    let (volume, center) = centroid(&solver.surface(&SurfaceParams::default()));
    let moved = center - center_0;
    let shape_error = shape_error(&solver.surface(&SurfaceParams::default()), center.as_vec3(), RADIUS);
    let resolution = format!("{:.1} cells per diameter", 2.0 * RADIUS / dx);
    let row = |quantity: &str, value: f64| Row::new(resolution.clone(), quantity, value);
    Ok(Outcome {
        rows: vec![
            row("internal velocity error, relative", velocity_error).bar(Bar::AtMost(1e-5)),
            row("centre of mass, fallen / m", -moved.y).against(fallen).bar(Bar::ErrorAtMost(1e-5)),
            row("sideways / fallen", moved.x.hypot(moved.z) / fallen).bar(Bar::AtMost(1e-5)),
            row("largest shape error / dx", shape_error / f64::from(dx)),
            row("volume change", volume / volume_0 - 1.0),
        ],
        plots: vec![],
    })
}

/// Largest distance of a surface vertex from the sphere.
pub fn shape_error(mesh: &fluvial_grids::TriangleMesh, center: Vec3, radius: f32) -> f64 {
    mesh.positions.iter().map(|p| f64::from((p.distance(center) - radius).abs())).fold(0.0, f64::max)
}
