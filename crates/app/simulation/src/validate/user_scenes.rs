//! The scenes that users write first, at the resolutions that they try first: is the water that flowed in
//! there, is it drawn, and does it move no faster than it can?

use super::set_up::{centroid, closed_box, drive};
use super::{Bar, Case, CaseError, Context, Outcome, Row, thin_walls};
use crate::guard::speed_bound_m_s;
use crate::run::FramePlan;
use fluvial_foundation::{Vec3, parallel};
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Setup, Solid, Source, SurfaceParams};

pub const CASE: Case = Case {
    name: "user-scenes",
    what: "a jet over a ball, a filling tank, a dam break, a jet on a plate, a waterfall over a ledge: volume, drift, inflow, speed and mesh, at every resolution; bowls and a sweeping plate of thin walls: water on the wrong side",
    source: "conservation of volume; section times speed; sqrt(2 g h + v^2)",
    applies: super::every_method,
    run,
};

const FRAMES_PER_SECOND: f64 = 24.0;
/// A jet thinner than this many cells is not asked to flow exactly.
const FEWEST_CELLS_ACROSS: f64 = 4.0;

/// A scene at some resolution.
struct Scene {
    name: &'static str,
    build: fn(usize) -> Setup,
    /// What flows in, m3/s, until when, s; and the least extent of its source across the flow, metres.
    inflow: Option<(f64, f64, f64)>,
}

const SCENES: [Scene; 5] = [
    Scene { name: "pouring", build: pouring, inflow: Some((PI * 0.08 * 0.08 * 1.5, 2.0, 0.16)) },
    Scene { name: "filling", build: filling, inflow: Some((PI * 0.08 * 0.08 * 1.5, 4.0, 0.16)) },
    Scene { name: "dam break", build: dam_break, inflow: None },
    Scene { name: "plate", build: plate, inflow: Some((PI * 0.1 * 0.1 * 2.0, 2.0, 0.2)) },
    Scene { name: "ledge", build: ledge, inflow: Some((0.1 * 0.6, 4.0, 0.1)) },
];
const PI: f64 = std::f64::consts::PI;

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let resolutions: &[usize] = if context.fine { &[16, 24, 32, 48, 64] } else { &[16] };
    let end_s = if context.fine { 3.0 } else { 0.75 };
    // The runs do not depend on each other: side by side they use all cores, small as they are. The longest first.
    let all = resolutions.iter().rev().flat_map(|&n| SCENES.iter().map(move |scene| (scene, n)));
    let runs: Vec<(&Scene, usize)> =
        all.filter(|(scene, n)| context.wants(&format!("{} at {n} cells", scene.name))).collect();
    let rows = parallel::map_indices(runs.len(), |run| measure(context, runs[run].0, runs[run].1, end_s));
    let mut by_scene: Vec<_> = runs.iter().zip(rows).rev().collect();
    by_scene.sort_by_key(|((scene, _), _)| SCENES.iter().position(|s| s.name == scene.name));
    let mut outcome = Outcome::default();
    for (_, rows) in by_scene {
        outcome.rows.extend(rows?);
    }
    outcome.rows.extend(thin_walls::rows(context)?);
    Ok(outcome)
}

fn measure(context: &Context, scene: &Scene, n: usize, end_s: f64) -> Result<Vec<Row>, CaseError> {
    let setup = (scene.build)(n);
    let bound_m_s = speed_bound_m_s(&setup, end_s);
    let plan = FramePlan { frames: (FRAMES_PER_SECOND * end_s) as u32, fps: FRAMES_PER_SECOND };
    let (mut error, mut raw, mut speed_m_s, mut inflow_m3, mut mesh) = (0.0f64, 0.0f64, 0.0f64, 0.0, 0.0f64);
    drive(context, setup, plan, &mut |step, solver| {
        let report = &step.report;
        error = error.max(report.volume_error.abs());
        raw = raw.max(report.raw_volume_error.abs());
        speed_m_s = speed_m_s.max(report.max_speed_m_s);
        inflow_m3 = report.inflow_m3;
        let last_of_frame = step.frame % 6 == 0 && (step.time_s * FRAMES_PER_SECOND).fract() < 1e-6;
        if last_of_frame && report.liquid_volume_m3 > 0.0 {
            let drawn_m3 = centroid(&solver.surface(&SurfaceParams { smoothing: 0 })).0;
            mesh = mesh.max((drawn_m3 / report.liquid_volume_m3 - 1.0).abs());
        }
    })?;
    let carries_particles = context.method.method.capabilities().particles;
    let [most_error, most_raw] = if carries_particles { [2e-3, 5e-3] } else { [1e-2, 5e-2] };
    let row = |quantity: &str, value: f64| {
        Row::new(format!("{n} cells per edge"), format!("{}: {quantity}", scene.name), value)
    };
    let mut rows = vec![
        row("volume against inflow, largest error", error).bar(Bar::AtMost(most_error)),
        row("drift without correction, largest", raw).bar(Bar::AtMost(most_raw)),
        row("largest speed / sqrt(2 g h + v^2)", speed_m_s / bound_m_s).bar(Bar::AtMost(2.0)),
        row("mesh / volume - 1, largest", mesh).bar(Bar::AtMost(1e-2)),
    ];
    if let Some((flow_m3_s, until_s, across_m)) = scene.inflow {
        let inflow = row("inflow / m3", inflow_m3).against(flow_m3_s * end_s.min(until_s));
        let resolved = across_m * n as f64 >= FEWEST_CELLS_ACROSS;
        rows.push(if resolved { inflow.bar(Bar::ErrorAtMost(1e-2)) } else { inflow });
    }
    (context.progress)(&rows);
    Ok(rows)
}

/// An empty box of a metre.
fn empty(n: usize) -> Setup {
    let mut setup = closed_box([n; 3], 1.0 / n as f32, ball(Vec3::ZERO, 0.0));
    setup.fills.clear();
    setup
}

fn ball(center: Vec3, radius: f32) -> Shape {
    Shape::Sphere { center, radius }
}

fn add_source(setup: &mut Setup, shape: Shape, velocity: Vec3, until_s: f64) {
    setup.sources.push(Source {
        shape,
        motion: Motion::Static,
        velocity,
        active_s: [0.0, until_s],
        measured: Default::default(),
    });
}

fn add_solid(setup: &mut Setup, shape: Shape) {
    let name = format!("solid {}", setup.solids.len());
    setup.solids.push(Solid::new(name, shape, Motion::Static));
}

/// The scene of the tutorial.
fn pouring(n: usize) -> Setup {
    let mut setup = empty(n);
    add_source(&mut setup, ball(Vec3::new(0.5, 0.85, 0.5), 0.08), Vec3::new(0.0, -1.5, 0.0), 2.0);
    add_solid(&mut setup, ball(Vec3::new(0.5, 0.4, 0.5), 0.15));
    setup
}

/// As the built-in scene `filling-tank`.
fn filling(n: usize) -> Setup {
    let mut setup = empty(n);
    let (from, to) = (Vec3::new(-0.1, 0.75, 0.5), Vec3::new(0.08, 0.75, 0.5));
    add_source(&mut setup, Shape::Cylinder { from, to, radius: 0.08 }, Vec3::new(1.5, 0.0, 0.0), 4.0);
    add_solid(&mut setup, ball(Vec3::new(0.5, 0.45, 0.5), 0.16));
    let (from, to) = (Vec3::new(0.5, -0.1, 0.5), Vec3::new(0.5, 0.4, 0.5));
    add_solid(&mut setup, Shape::Cylinder { from, to, radius: 0.05 });
    setup
}

fn dam_break(n: usize) -> Setup {
    let column = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(0.4, 0.5, 2.0) };
    closed_box([n; 3], 1.0 / n as f32, column)
}

/// A jet falls on a plate that is smaller than the box.
fn plate(n: usize) -> Setup {
    let mut setup = empty(n);
    add_source(&mut setup, ball(Vec3::new(0.52, 0.85, 0.47), 0.1), Vec3::new(0.0, -2.0, 0.0), 2.0);
    add_solid(&mut setup, Shape::Box { min: Vec3::new(0.2, 0.4, 0.2), max: Vec3::new(0.8, 0.5, 0.8) });
    setup
}

/// Water runs over a ledge and falls.
fn ledge(n: usize) -> Setup {
    let mut setup = empty(n);
    let stream = Shape::Box { min: Vec3::new(-0.1, 0.5, 0.2), max: Vec3::new(0.1, 0.6, 0.8) };
    add_source(&mut setup, stream, Vec3::new(1.0, 0.0, 0.0), 4.0);
    add_solid(&mut setup, Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(0.4, 0.5, 2.0) });
    setup
}
