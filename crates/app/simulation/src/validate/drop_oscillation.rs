//! A drop in its lowest mode, driven by surface tension alone.

use super::set_up::{centroid, closed_box, drive_solver, second_moments, star};
use super::{Bar, Case, CaseError, Context, Outcome, Row, signal};
use crate::run::FramePlan;
use fluvial_foundation::{DVec3, Vec3};
use fluvial_output::{Axis, Plot, Style};
use fluvial_solids::Shape;
use fluvial_solver_interface::{Refine, Setup, SetupError, Solver, SurfaceParams};
use std::f64::consts::{PI, TAU};

pub const CASE: Case = Case {
    name: "drop-oscillation",
    what: "drop R = 1 cm, sigma = 0.0728 N/m, mode n = 2: omega^2 = n (n - 1) (n + 2) sigma / (rho R^3)",
    source: "Lamb 1932 §275 (Rayleigh 1879); 2-D codes: 1.4 % at 6.4, 0.5 % at 12.8 cells per diameter",
    applies: super::with_tension,
    run,
};

/// The same drop on cells of two sizes.
pub const ACROSS_LEVELS: Case = Case {
    name: "drop-across-levels",
    what: "the drop of drop-oscillation, one half of it in cells twice as large as the other's",
    source: "Lamb 1932 §275 (Rayleigh 1879); Ando and Batty 2020 §4.6",
    // Trackers share the pressure jump at the surface.
    applies: |method| {
        let has = method.method.capabilities();
        has.adaptive && has.surface_tension && !has.particles
    },
    run: across_levels,
};

const RADIUS: f64 = 0.01;
const SIGMA: f64 = 0.0728;
const DENSITY: f64 = 1000.0;
/// Small enough for linear theory: the frequency shifts with its square.
const AMPLITUDE: f64 = 0.03;

/// Period of mode 2.
fn exact_s() -> f64 {
    TAU / (8.0 * SIGMA / (DENSITY * RADIUS.powi(3))).sqrt()
}

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let exact_s = exact_s();
    let resolutions: &[f64] = if context.fine { &[12.8, 16.0, 25.6] } else { &[16.0] };
    // Three zero crossings are the fewest that give a period.
    let periods: f64 = if context.fine { 4.0 } else { 1.3 };
    let mut outcome = Outcome::default();
    let mut plot = Plot {
        title: "Drop oscillation, n = 2".into(),
        x: Axis::linear("t / T"),
        y: Axis::linear("mode amplitude / R"),
        series: vec![],
    };
    for &per_diameter in resolutions {
        let plan = FramePlan { frames: (40.0 * periods).ceil() as u32, fps: 40.0 / exact_s };
        // The mode is symmetric about three planes: an eighth of the drop between walls oscillates as the whole does.
        let mirrored = [!context.fine; 3];
        let solver = context.method.method.build(drop(per_diameter, mirrored))?;
        let samples = oscillate(context, solver, plan, mirrored)?;
        let (period, loss) = match signal::analyse(&samples, 0.0) {
            Some(found) => (found.period_s, lost_in_a_period(&samples, &found)),
            None => (f64::NAN, f64::NAN),
        };
        let resolution = format!("{per_diameter} cells per diameter");
        let row = |quantity: &str, value: f64| Row::new(resolution.clone(), quantity, value);
        outcome.rows.push(row("period / s", period).against(exact_s).bar(Bar::ErrorAtMost(0.02)));
        outcome.rows.push(row("amplitude lost in a period", loss));
        outcome
            .rows
            .push(row("initial amplitude / R", samples[0][1]).against(AMPLITUDE).bar(Bar::ErrorAtMost(0.05)));
        plot = plot.with(resolution, Style::Line, samples.iter().map(|s| [s[0] / exact_s, s[1]]).collect());
    }
    let exact = |i: i32| f64::from(i) * 0.01 * periods;
    let curve = (0..=100).map(exact).map(|t| [t, AMPLITUDE * (TAU * t).cos()]).collect();
    outcome.plots.push(("drop-oscillation".into(), plot.with("linear theory", Style::Dashed, curve)));
    Ok(outcome)
}

/// From the start, which is a peak, to the last peak of the same sign. The moment that is measured is `a + 4/7 a^2` of a drop `R (1 + a P2)`:
/// peaks of a long drop read higher than those of a flat one, by 3.4 % here, which half a period apart looked like a gain of
/// 7 % a period.
fn lost_in_a_period(samples: &[[f64; 2]], found: &signal::Oscillation) -> f64 {
    let [start_s, start] = samples[0];
    let last = found.peaks.iter().rev().find(|peak| peak[1] * start > 0.0);
    last.map_or(f64::NAN, |last| 1.0 - (last[1] / start).powf(found.period_s / (last[0] - start_s)))
}

fn across_levels(context: &Context) -> Result<Outcome, CaseError> {
    let per_diameter = if context.fine { 32.0 } else { 20.0 };
    // Walls through the drop would add contact lines that cross sizes, which is another case.
    let mirrored = [false; 3];
    let mut setup = drop(per_diameter, mirrored);
    let (dx, bounds) = (setup.domain.grid.dx, setup.domain.grid.bounds());
    let middle = 0.5 * (bounds.min.x + bounds.max.x);
    let half =
        Shape::Box { min: bounds.min - 1.0, max: Vec3::new(middle, bounds.max.y + 1.0, bounds.max.z + 1.0) };
    setup.refine.push(Refine { shape: half, dx });
    let coarse = serde_json::json!({ "min_dx": 2.0 * dx });
    let method =
        context.method.with_params(coarse).map_err(|error| SetupError::Invalid(error.to_string()))?;
    let solver = method.build(setup)?;
    let plan = FramePlan { frames: 52, fps: 40.0 / exact_s() };
    let samples = oscillate(context, solver, plan, mirrored)?;
    let period_s = signal::analyse(&samples, 0.0).map_or(f64::NAN, |found| found.period_s);
    let resolution = format!("{} and {per_diameter} cells per diameter", 0.5 * per_diameter);
    let row = Row::new(resolution, "period / s", period_s).against(exact_s()).bar(Bar::ErrorAtMost(0.02));
    Ok(Outcome { rows: vec![row], ..Outcome::default() })
}

/// A drop in the middle of a box, its cells across the diameter given. Along `mirrored` axes a wall passes through its
/// centre and half of it is left out.
fn drop(per_diameter: f64, mirrored: [bool; 3]) -> Setup {
    let dx = 2.0 * RADIUS / per_diameter;
    let half = (0.625 * per_diameter).round() as usize;
    // An even number where cells are to be twice as large.
    let cells = mirrored.map(|mirrored| if mirrored { half } else { 2 * half });
    // r = R (1 + a P2(cos)), cos measured from the y axis.
    let shape = star(
        center(&mirrored, half as f64 * dx).as_vec3(),
        |direction| RADIUS * (1.0 + AMPLITUDE * 0.5 * (3.0 * direction.y * direction.y - 1.0)),
        64,
    );
    let mut setup = closed_box(cells, dx as f32, shape);
    setup.liquid.gravity = Vec3::ZERO;
    setup.liquid.surface_tension = SIGMA as f32;
    setup
}

/// The drop's centre where its box is twice `half_m` long along axes that are not mirrored.
fn center(mirrored: &[bool; 3], half_m: f64) -> DVec3 {
    DVec3::from_array(mirrored.map(|mirrored| if mirrored { 0.0 } else { half_m }))
}

/// Amplitude of mode 2 over R, over time.
fn oscillate(
    context: &Context,
    solver: Box<dyn Solver>,
    plan: FramePlan,
    mirrored: [bool; 3],
) -> Result<Vec<[f64; 2]>, CaseError> {
    let mut samples = Vec::new();
    drive_solver(context, solver, plan, &mut |step, solver| {
        // Forty samples a period give its crossings; a mesh for every step would take longer than the steps.
        if step.time_s < (samples.len() as f64 - 1e-6) / plan.fps {
            return;
        }
        // Iyy - (Ixx + Izz) / 2 is the integral of r^2 P2 over the volume: 4 pi / 5 R^5 a = 3/5 V R^2 a.
        let mesh = solver.surface(&SurfaceParams::default());
        // The whole drop drifts by a little, what walls hold does not.
        let mut about = centroid(&mesh).1;
        (0..3).filter(|&axis| mirrored[axis]).for_each(|axis| about[axis] = 0.0);
        let parts = 1 << mirrored.iter().filter(|&&mirrored| mirrored).count();
        let moments = f64::from(parts) * second_moments(&mesh, about);
        let unit = 4.0 / 3.0 * PI * RADIUS.powi(5) * 3.0 / 5.0;
        samples.push([step.time_s, (moments.y - 0.5 * (moments.x + moments.z)) / unit]);
    })?;
    Ok(samples)
}
