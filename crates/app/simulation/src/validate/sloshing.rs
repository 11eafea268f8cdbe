//! A standing wave in a tank: its frequency is known.

use super::set_up::{SLAB_CELLS, closed_box, drive, liquid_below};
use super::{Bar, Case, CaseError, Context, Outcome, Row, signal};
use crate::run::FramePlan;
use fluvial_foundation::Vec3;
use fluvial_output::{Axis, Plot, Style};
use std::f64::consts::{PI, TAU};

pub const CASE: Case = Case {
    name: "sloshing",
    what: "tank L = 1 m, depth h, surface h + a0 cos(pi x / L): omega^2 = g k tanh(k h), k = pi / L",
    source: "linear wave theory; interFoam at 100 cells per L: 0.30 % and 0.000 %",
    applies: super::every_method,
    run,
};

const G: f64 = 9.80665;
/// Losses are given for this many periods, whatever the length of the run.
const PERIODS: f64 = 4.0;
const STEPS_PER_PERIOD: f64 = 64.0;

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let mut outcome = Outcome::default();
    let resolutions: &[usize] = if context.fine { &[32, 64, 128] } else { &[32] };
    for &depth in &[0.3, 0.5] {
        let exact_hz = (G * PI * (PI * depth).tanh()).sqrt() / TAU;
        let mut plot = Plot {
            title: format!("Sloshing, h/L = {depth}"),
            x: Axis::linear("t f"),
            y: Axis::linear("first mode / a0"),
            series: vec![],
        };
        for &n in resolutions {
            let (amplitude, samples) = slosh(context, n, depth, exact_hz)?;
            let resolution = format!("{n} cells per L");
            let row = |quantity: &str, value: f64| {
                Row::new(resolution.clone(), format!("h/L {depth}: {quantity}"), value)
            };
            let (frequency, loss) = match signal::analyse(&samples, 0.0) {
                Some(found) => (1.0 / found.period_s, found.loss_over(PERIODS)),
                None => (f64::NAN, f64::NAN),
            };
            outcome.rows.push(row("frequency / Hz", frequency).against(exact_hz).bar(Bar::ErrorAtMost(0.01)));
            outcome.rows.push(row("amplitude lost in 4 periods", loss).bar(Bar::AtMost(0.1)));
            outcome.rows.push(
                row("initial amplitude / m", samples[0][1]).against(amplitude).bar(Bar::ErrorAtMost(0.02)),
            );
            let scaled = samples.iter().map(|s| [s[0] * exact_hz, s[1] / amplitude]).collect();
            plot = plot.with(resolution, Style::Line, scaled);
        }
        let exact = (0..=400)
            .map(|i| f64::from(i) * 0.01 * PERIODS / 4.0 * 1.05)
            .map(|t| [t, (TAU * t).cos()])
            .collect();
        plot = plot.with("linear theory", Style::Dashed, exact);
        outcome.plots.push((format!("sloshing-{:.0}", 10.0 * depth), plot));
    }
    Ok(outcome)
}

/// Returns a0 and the amplitude of the first mode over time.
fn slosh(context: &Context, n: usize, depth: f64, exact_hz: f64) -> Result<(f64, Vec<[f64; 2]>), CaseError> {
    let amplitude = 0.01 * depth;
    let dx = 1.0 / n as f32;
    let height_cells = (1.5 * depth * n as f64).ceil() as usize;
    // Chords are 2e-6 m off the cosine. Triangles as long as the tank are near to every point: finer, finding which side of them
    // a point lies on takes longer than the run.
    let shape = liquid_below([-0.2, 1.2], 96, |x| depth + amplitude * (PI * x).cos());
    let mut setup = closed_box([n, height_cells, SLAB_CELLS], dx, shape);
    setup.liquid.gravity = Vec3::new(0.0, -G as f32, 0.0);
    let fps = STEPS_PER_PERIOD * exact_hz;
    let periods = if context.fine { PERIODS } else { 0.5 * PERIODS };
    let frames = (STEPS_PER_PERIOD * (periods + 0.3)).ceil() as u32;
    let mut samples = Vec::new();
    drive(context, setup, FramePlan { frames, fps }, &mut |step, solver| {
        // Projection onto the first mode; exact for it and blind to all others on this lattice.
        let z = 0.5 * SLAB_CELLS as f32 * dx;
        let mode: f64 = (0..n)
            .map(|i| (i as f64 + 0.5) / n as f64)
            .map(|x| (solver.height_at(x as f32, z) - depth) * (PI * x).cos())
            .sum();
        samples.push([step.time_s, 2.0 * mode / n as f64]);
    })?;
    Ok((amplitude, samples))
}
