//! A standing wave in a tank that gravity and surface tension drive in equal parts.

use super::set_up::{SLAB_CELLS, closed_box, drive, liquid_below};
use super::{Bar, Case, CaseError, Context, Outcome, Row, signal};
use crate::run::FramePlan;
use fluvial_foundation::Vec3;
use fluvial_output::{Axis, Plot, Style};
use std::f64::consts::{PI, TAU};

pub const CASE: Case = Case {
    name: "gravity-capillary-wave",
    what: "water in a tank one wavelength long and half as deep, surface a cos(k x) between walls at 90 degrees, sigma k^2 = rho g: omega^2 = (g k + sigma k^3 / rho) tanh(k h)",
    source: "Lamb 1932 §267",
    // Particles do not carry a wave of a fraction of a cell.
    applies: |method| super::with_tension(method) && !method.method.capabilities().particles,
    run,
};

const G: f64 = 9.80665;
const SIGMA: f64 = 0.0728;
const DENSITY: f64 = 1000.0;
/// Amplitude over wavelength.
const STEEPNESS: f64 = 0.01;
/// The same of a wave whose frequency is linear theory's to 1e-5: the order is measured on it.
const LEAST_STEEPNESS: f64 = 0.002;
/// What the amplitude changes is given for this many periods, whatever the length of the run.
const PERIODS: f64 = 4.0;
const SAMPLES_PER_PERIOD: f64 = 64.0;

/// Wave number at which gravity and tension have equal parts, 1/m.
fn wave_number() -> f64 {
    (DENSITY * G / SIGMA).sqrt()
}

fn exact_hz() -> f64 {
    (2.0 * G * wave_number() * PI.tanh()).sqrt() / TAU
}

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let mut outcome = Outcome::default();
    let resolutions: &[usize] = if context.fine { &[16, 32, 64] } else { &[16] };
    let mut plot = Plot {
        title: "Gravity-capillary wave".into(),
        x: Axis::linear("t f"),
        y: Axis::linear("first mode / a"),
        series: vec![],
    };
    let mut errors = vec![];
    for &n in resolutions {
        let samples = swing(context, n, STEEPNESS)?;
        let resolution = format!("{n} cells per wavelength");
        let row = |quantity: &str, value: f64| Row::new(resolution.clone(), quantity, value);
        let (frequency, loss) = match signal::analyse(&samples, 0.0) {
            Some(found) => (1.0 / found.period_s, found.loss_over(PERIODS)),
            None => (f64::NAN, f64::NAN),
        };
        if context.fine {
            let small = signal::analyse(&swing(context, n, LEAST_STEEPNESS)?, 0.0);
            errors.push(small.map_or(f64::NAN, |found| (1.0 / found.period_s / exact_hz() - 1.0).abs()));
        }
        let bar = if n < 32 { 0.04 } else { 0.01 };
        outcome.rows.push(row("frequency / Hz", frequency).against(exact_hz()).bar(Bar::ErrorAtMost(bar)));
        outcome.rows.push(row("amplitude lost in 4 periods", loss).bar(Bar::AtMost(0.02)));
        outcome.rows.push(row("amplitude gained in 4 periods", -loss).bar(Bar::AtMost(0.02)));
        let amplitude = STEEPNESS * TAU / wave_number();
        let scaled = samples.iter().map(|s| [s[0] * exact_hz(), s[1] / amplitude]).collect();
        plot = plot.with(resolution, Style::Line, scaled);
    }
    if context.fine {
        // Between 16 and 32 cells.
        let order = (errors[0] / errors[1]).log2();
        let row =
            Row::new("all", format!("order of the frequency at a = {LEAST_STEEPNESS} wavelengths"), order);
        outcome.rows.push(row.bar(Bar::AtLeast(1.8)));
    }
    let exact = (0..=400).map(|i| 0.0105 * f64::from(i)).map(|t| [t, (TAU * t).cos()]).collect();
    outcome.plots.push(("gravity-capillary-wave".into(), plot.with("linear theory", Style::Dashed, exact)));
    Ok(outcome)
}

/// Amplitude of a wave over time.
fn swing(context: &Context, n: usize, steepness: f64) -> Result<Vec<[f64; 2]>, CaseError> {
    let (k, length) = (wave_number(), TAU / wave_number());
    let (dx, depth, amplitude) = (length / n as f64, 0.5 * length, steepness * length);
    let shape = liquid_below([-length, 2.0 * length], 24 * n, |x| depth + amplitude * (k * x).cos());
    let mut setup = closed_box([n, 3 * n / 4, SLAB_CELLS], dx as f32, shape);
    setup.liquid.gravity = Vec3::new(0.0, -G as f32, 0.0);
    setup.liquid.surface_tension = SIGMA as f32;
    let fps = SAMPLES_PER_PERIOD * exact_hz();
    let frames = (SAMPLES_PER_PERIOD * (PERIODS + 0.3)).ceil() as u32;
    let z = (0.5 * SLAB_CELLS as f64 * dx) as f32;
    let mut samples = Vec::new();
    drive(context, setup, FramePlan { frames, fps }, &mut |step, solver| {
        // Projection onto the mode; exact for it and blind to all others on this lattice.
        let mode = |i: usize| {
            let x = (i as f64 + 0.5) * dx;
            (solver.height_at(x as f32, z) - depth) * (k * x).cos()
        };
        samples.push([step.time_s, 2.0 * (0..n).map(mode).sum::<f64>() / n as f64]);
    })?;
    Ok(samples)
}
