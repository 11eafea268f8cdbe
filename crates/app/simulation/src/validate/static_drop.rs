//! A round drop at rest: the pressure jump of Laplace's law, and the currents that discrete curvature drives.

use super::set_up::{closed_box, drive};
use super::{Bar, Case, CaseError, Context, Outcome, Row};
use crate::run::FramePlan;
use fluvial_foundation::Vec3;
use fluvial_output::{Axis, Plot, Style};
use fluvial_solids::Shape;

pub const CASE: Case = Case {
    name: "static-drop",
    what: "drop R = 1 cm, sigma = 0.0728 N/m, no gravity: jump 2 sigma / R, parasitic speed U sqrt(rho D / sigma)",
    source: "Laplace's law; height-function volume of fluid reaches 1e-8",
    applies: super::with_tension,
    run,
};

const RADIUS: f64 = 0.01;
const SIGMA: f64 = 0.0728;

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let per_diameter = if context.fine { 25.6 } else { 12.8 };
    let dx = 2.0 * RADIUS / per_diameter;
    let n = (1.5 * per_diameter).round() as usize;
    let center = Vec3::splat((0.5 * n as f64 * dx) as f32) + Vec3::new(0.13, 0.29, -0.21) * dx as f32;
    let mut setup = closed_box([n; 3], dx as f32, Shape::Sphere { center, radius: RADIUS as f32 });
    setup.liquid.gravity = Vec3::ZERO;
    setup.liquid.surface_tension = SIGMA as f32;
    let seconds = if context.fine { 1.0 } else { 0.25 };
    let fps = 100.0;
    let scale = (1000.0 * 2.0 * RADIUS / SIGMA).sqrt();
    let (mut speeds, mut jumps) = (vec![], vec![]);
    let plan = FramePlan { frames: (seconds * fps) as u32, fps };
    drive(context, setup, plan, &mut |step, solver| {
        speeds.push([step.time_s, step.report.max_speed_m_s * scale]);
        if step.step > 0 {
            jumps.push(solver.pressure_at(center));
        }
    })?;
    let exact_pa = 2.0 * SIGMA / RADIUS;
    let mean_jump = jumps.iter().sum::<f64>() / jumps.len() as f64;
    let half = speeds.len() / 2;
    let peak = |part: &[[f64; 2]]| part.iter().map(|s| s[1]).fold(0.0, f64::max);
    let (early, late) = (peak(&speeds[..half]), peak(&speeds[half..]));
    let resolution = format!("{per_diameter} cells per diameter");
    let row = |quantity: &str, value: f64| Row::new(resolution.clone(), quantity, value);
    let plot = Plot {
        title: "Static drop: parasitic currents".into(),
        x: Axis::linear("t / s"),
        y: Axis::log("U (rho D / sigma)^½"),
        series: vec![],
    };
    Ok(Outcome {
        rows: vec![
            row("pressure jump / Pa", mean_jump).against(exact_pa).bar(Bar::ErrorAtMost(0.02)),
            row("parasitic speed U sqrt(rho D / sigma)", early.max(late)),
            row("parasitic speed, 2nd half / 1st half", late / early).bar(Bar::AtMost(1.5)),
        ],
        plots: vec![("static-drop".into(), plot.with("largest speed", Style::Line, speeds))],
    })
}
