//! Liquid at rest stays at rest: flat, under tilted gravity, and above a sloped solid.

use super::set_up::{SLAB_CELLS, closed_box, drive};
use super::{Bar, Case, CaseError, Context, Outcome, Row};
use crate::run::FramePlan;
use fluvial_foundation::Vec3;
use fluvial_output::{Axis, Plot, Style};
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Setup, Solid};

pub const CASE: Case = Case {
    name: "hydrostatic",
    what: "closed box at rest: u = 0 and p = rho g (h - y); flat, tilted gravity, sloped solid",
    source: "exact; Basilisk asserts |u| < 1e-6 in its hydrostatic tests",
    applies: super::every_method,
    run,
};

const G: f32 = 9.81;
const DT_S: f64 = 0.01;

struct Rest {
    name: &'static str,
    setup: Setup,
    /// A point of the surface and its upward normal.
    surface: (Vec3, Vec3),
    probe: Vec3,
}

fn variants(n: usize) -> Vec<Rest> {
    let dx = 1.0 / n as f32;
    // Between cell centres, so that no symmetry helps.
    let level = Vec3::new(0.5, 0.5 + 0.3 * dx, 0.0);
    let rest = |name, normal: Vec3| {
        let fill = Shape::Plane { point: level, normal };
        let mut setup = closed_box([n, n, SLAB_CELLS], dx, fill);
        setup.liquid.gravity = -G * normal;
        let probe = Vec3::new(0.53, 0.22, 1.5 * dx);
        Rest { name, setup, surface: (level, normal), probe }
    };
    let mut sloped = rest("sloped solid", Vec3::Y);
    let slope =
        Shape::Plane { point: Vec3::new(0.5, 0.13, 0.0), normal: Vec3::new(-0.4, 1.0, 0.0).normalize() };
    sloped.setup.solids = vec![Solid::new("slope", slope, Motion::Static)];
    sloped.probe.y = 0.3;
    vec![rest("flat", Vec3::Y), rest("tilted gravity", Vec3::new(0.31, 1.0, 0.0).normalize()), sloped]
}

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let n = if context.fine { 64 } else { 24 };
    let seconds = if context.fine { 10.0 } else { 1.0 };
    let frames = (seconds / DT_S).round() as u32;
    let mut outcome = Outcome::default();
    let mut plot = Plot {
        title: "Hydrostatic rest: speed over time".into(),
        x: Axis::linear("t / s"),
        y: Axis::log("max speed / (g h)^½"),
        series: vec![],
    };
    let any_gravity = context.method.method.capabilities().any_gravity;
    let known = variants(n).into_iter().filter(|rest| any_gravity || rest.surface.1 == Vec3::Y);
    for Rest { name, setup, surface: (point, normal), probe } in known {
        let wave_speed = f64::from(G * point.y).sqrt();
        let depth = f64::from(normal.dot(point - probe));
        let (mut speeds, mut energies, mut drift) = (vec![], vec![], 0.0f64);
        let solver = drive(context, setup, FramePlan { frames, fps: 1.0 / DT_S }, &mut |step, _| {
            let report = &step.report;
            speeds.push([step.time_s, report.max_speed_m_s]);
            energies.push(report.kinetic_energy_j);
            drift = drift.max(report.raw_volume_error.abs());
        })?;
        let fastest = speeds.iter().map(|s| s[1]).fold(0.0, f64::max);
        let resolution = format!("{n} cells per box side, {frames} steps");
        let row =
            |quantity: &str, value: f64| Row::new(resolution.clone(), format!("{name}: {quantity}"), value);
        if context.method.method.capabilities().particles {
            outcome.rows.push(row("max speed / sqrt(g h)", fastest / wave_speed).bar(Bar::AtMost(1e-3)));
        } else {
            // What the solver's tolerance leaves of one step's gravity.
            let bar = 10.0 * context.method.method.pressure_tolerance() * f64::from(G) * DT_S;
            outcome.rows.push(row("max speed / (m/s)", fastest).bar(Bar::AtMost(bar)));
        }
        outcome.rows.push(row("volume drift", drift).bar(Bar::AtMost(1e-3)));
        let half = energies.len() / 2;
        let peak = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
        outcome.rows.push(row(
            "kinetic energy, 2nd half / 1st half",
            peak(&energies[half..]) / peak(&energies[..half]),
        ));
        let exact_pa = 1000.0 * f64::from(G) * depth;
        let pressure = row("pressure / Pa", solver.pressure_at(probe)).against(exact_pa);
        outcome.rows.push(pressure.bar(Bar::ErrorAtMost(1e-3)));
        let curve = speeds.iter().map(|s| [s[0], s[1] / wave_speed]).collect();
        plot = plot.with(name, Style::Line, curve);
    }
    outcome.plots.push(("hydrostatic".into(), plot));
    Ok(outcome)
}
