//! Rigid bodies that water moves.

use super::set_up::{closed_box, drive, drive_solver};
use super::{Bar, Case, CaseError, Context, Outcome, Row, signal};
use crate::run::FramePlan;
use fluvial_foundation::{Quat, Vec3};
use fluvial_solids::{Pose, Shape};
use fluvial_solver_interface::{BodyReport, FreeBody, Setup, Solid, Solver, Start, Weight};

pub const CASE: Case = Case {
    name: "bodies",
    what: "bodies in water: start of a sphere, where a box floats, its heave and roll, a neutral one, a stack of crates, mirrored twins",
    source: "a = g (s - 1) / (s + 1/2) of a sphere; periods of the linear potential flow in the tank (see `HEAVE_S`); Archimedes",
    applies: |method| method.method.capabilities().bodies,
    run,
};

const G: f64 = 9.81;
const WATER: f64 = 1000.0;

/// Tank of the floating boxes: its width and its depth of water with the box half under; and the edge of the boxes, metres.
const TANK: f32 = 0.6;
const DEPTH: f32 = 0.5;
const EDGE: f32 = 0.3;
/// Periods of a cube that heaves, and of a box of two thirds of its height that rolls about its centre, both half as dense as
/// water: roots of `K = omega^2 (m + a(omega))`, `a = rho b . (L - omega^2 / g M)^-1 b`, with the Laplacian L of the water, M its
/// surface's mass, b the flux of the body's unit motion. Finite differences of 24 and 36 cells across the tank, continued to none.
const HEAVE_S: f64 = 0.924;
const ROLL_S: f64 = 1.510;
const ROLL_HEIGHT: f32 = 0.2;

/// A run that gives one row.
type Run = fn(&Context) -> Result<Row, CaseError>;

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let mut rows = vec![];
    if !context.fine {
        rows.push(start_of_sphere(context, 8, 0.5, 0.1)?);
        return Ok(Outcome { rows, plots: vec![] });
    }
    for density in [0.01, 0.5, 2.0, 8.0] {
        if context.wants(&format!("sphere of density {density}")) {
            rows.push(start_of_sphere(context, 16, density, 0.05)?);
        }
    }
    if context.wants("heave") {
        rows.extend(heave(context)?);
    }
    let others: [(&str, Run); 4] =
        [("roll", roll), ("neutral", neutral), ("stack", stack), ("mirrored", mirrored)];
    for (_, run) in others.iter().filter(|(name, _)| context.wants(name)) {
        rows.push(run(context)?);
    }
    Ok(Outcome { rows, plots: vec![] })
}

fn cuboid(size: Vec3) -> Shape {
    Shape::Box { min: -0.5 * size, max: 0.5 * size }
}

/// A body at a place, `density` in that of water.
fn body(shape: Shape, density: f64, at: Vec3) -> Solid {
    let pose = Pose { translate: at, ..Pose::IDENTITY };
    let start =
        Start { weight: Weight::Density(density * WATER), pose, restitution: 0.0, ..Start::default() };
    Solid::body("body", shape, FreeBody { start, joints: vec![] })
}

/// A tank with water up to a height.
fn tank(cells: [usize; 3], dx: f32, height: f32) -> Setup {
    let mut setup =
        closed_box(cells, dx, Shape::Box { min: Vec3::splat(-10.0), max: Vec3::new(20.0, height, 20.0) });
    setup.liquid.gravity = Vec3::new(0.0, -G as f32, 0.0);
    setup
}

fn first(solver: &dyn Solver) -> BodyReport {
    solver.bodies().swap_remove(0)
}

/// A sphere of `across` cells is let go in the middle of a tank of four diameters; walls and surface change its added
/// mass by about 1 %.
fn start_of_sphere(context: &Context, across: usize, density: f64, bar: f64) -> Result<Row, CaseError> {
    let (diameter, cells) = (0.5f32, 4 * across);
    let dx = diameter / across as f32;
    let mut setup = tank([cells; 3], dx, 3.5 * diameter);
    // Not centred on the grid: no symmetry helps.
    let at = diameter * Vec3::new(2.0, 1.75, 2.0) + dx * Vec3::new(0.31, 0.17, 0.43);
    let ball = Shape::Sphere { center: Vec3::ZERO, radius: 0.5 * diameter };
    setup.solids.push(body(ball, density, at));
    let mut found = f64::NAN;
    drive(context, setup, FramePlan { frames: 2, fps: 1000.0 }, &mut |step, solver| {
        found = f64::from(first(solver).twist.linear.y) / step.time_s;
    })?;
    let exact = G * (1.0 - density) / (density + 0.5);
    let quantity = format!("sphere of density {density} let go: acceleration / (m/s2)");
    let resolution = format!("{across} cells across");
    Ok(Row::new(resolution, quantity, found).against(exact).bar(Bar::ErrorAtMost(bar)))
}

/// A box in the tank of the periods, `moved` from where it floats; it keeps the freedoms that `locked` leaves.
fn floating(height: f32, at: Pose, locked_translation: [bool; 3], locked_rotation: [bool; 3]) -> Setup {
    let n = 24;
    let mut setup = tank([n, 4 * n / 3, n], TANK / n as f32, DEPTH);
    let mut solid = body(cuboid(Vec3::new(EDGE, height, EDGE)), 0.5, Vec3::ZERO);
    let mut free = solid.free.take().unwrap_or_default();
    free.start.pose = at;
    (free.start.locked_translation, free.start.locked_rotation) = (locked_translation, locked_rotation);
    setup.solids.push(Solid::body("body", solid.shape, free));
    setup
}

/// The period of a signal about its mean over whole periods, and that mean.
fn period(samples: &[[f64; 2]], guess_s: f64) -> (f64, f64) {
    let (last_s, mut mean) = (samples.last().map_or(0.0, |s| s[0]), 0.0);
    let mut found_s = guess_s;
    for _ in 0..3 {
        let whole_s = (last_s / found_s).floor() * found_s;
        let mut sum = 0.0;
        for pair in samples.windows(2).filter(|pair| pair[1][0] <= whole_s + 1e-9) {
            sum += 0.5 * (pair[0][1] + pair[1][1]) * (pair[1][0] - pair[0][0]);
        }
        mean = sum / whole_s;
        found_s = signal::analyse(samples, mean).map_or(f64::NAN, |found| found.period_s);
        if !(0.3 * guess_s..3.0 * guess_s).contains(&found_s) {
            return (f64::NAN, mean);
        }
    }
    (found_s, mean)
}

fn heave(context: &Context) -> Result<[Row; 2], CaseError> {
    let lifted = 0.02;
    let at = Pose { translate: Vec3::new(0.5 * TANK, DEPTH + lifted, 0.5 * TANK), ..Pose::IDENTITY };
    let setup = floating(EDGE, at, [true, false, true], [true; 3]);
    let mut samples = vec![];
    let frames = (3.2 * HEAVE_S * 100.0) as u32;
    drive(context, setup, FramePlan { frames, fps: 100.0 }, &mut |step, solver| {
        samples.push([step.time_s, f64::from(first(solver).pose.translate.y)]);
    })?;
    let (period_s, mean) = period(&samples, HEAVE_S);
    // The water that there is, and the level when the box is half under.
    let (plan, area) = (f64::from(EDGE).powi(2), f64::from(TANK).powi(2));
    let level = f64::from(DEPTH) + plan / area * f64::from(lifted);
    let under = 0.5 + (level - mean) / f64::from(EDGE);
    let row = |quantity: &str, value: f64| Row::new("12 cells per edge", quantity, value);
    Ok([
        row("part of a cube of density 0.5 under water", under).against(0.5).bar(Bar::ErrorAtMost(0.02)),
        row("heave: period / s", period_s).against(HEAVE_S).bar(Bar::ErrorAtMost(0.05)),
    ])
}

fn roll(context: &Context) -> Result<Row, CaseError> {
    let at =
        Pose { rotation: Quat::from_rotation_z(0.08), translate: Vec3::new(0.5 * TANK, DEPTH, 0.5 * TANK) };
    let setup = floating(ROLL_HEIGHT, at, [true, false, true], [true, true, false]);
    let mut samples = vec![];
    let frames = (2.3 * ROLL_S * 100.0) as u32;
    drive(context, setup, FramePlan { frames, fps: 100.0 }, &mut |step, solver| {
        let up = first(solver).pose.rotation * Vec3::Y;
        samples.push([step.time_s, f64::from((-up.x).atan2(up.y))]);
    })?;
    let found = signal::analyse(&samples, 0.0).map_or(f64::NAN, |found| found.period_s);
    let row = Row::new("12 cells per edge", "roll: period / s", found);
    Ok(row.against(ROLL_S).bar(Bar::ErrorAtMost(0.05)))
}

/// A cube of the water's density under water for 10 s.
fn neutral(context: &Context) -> Result<Row, CaseError> {
    let (at, edge) = (Vec3::new(0.52, 0.31, 0.49), 0.25);
    let mut setup = tank([16, 16, 16], 1.0 / 16.0, 0.7);
    setup.solids.push(body(cuboid(Vec3::splat(edge)), 1.0, at));
    let mut away = 0.0f32;
    drive(context, setup, FramePlan { frames: 100, fps: 10.0 }, &mut |_, solver| {
        away = away.max(first(solver).pose.translate.distance(at));
    })?;
    let row = Row::new("4 cells per edge", "neutral cube, 10 s: way / edge", f64::from(away / edge));
    Ok(row.bar(Bar::AtMost(0.02)))
}

/// Ten crates on each other for 10 s, the lowest in a puddle.
fn stack(context: &Context) -> Result<Row, CaseError> {
    let edge = 0.2f32;
    let mut setup = tank([8, 24, 8], 0.1, 0.15);
    let place = |n: usize| Vec3::new(0.4, (n as f32 + 0.5) * edge, 0.4);
    for n in 0..10 {
        let mut solid = body(cuboid(Vec3::splat(edge)), 0.5, place(n));
        solid.name = format!("crate {n}");
        setup.solids.push(solid);
    }
    let mut away = 0.0f32;
    drive(context, setup, FramePlan { frames: 100, fps: 10.0 }, &mut |_, solver| {
        for (n, report) in solver.bodies().iter().enumerate() {
            away = away.max(report.pose.translate.distance(place(n)));
        }
    })?;
    let row = Row::new("2 cells per edge", "stack of ten, 10 s: way / edge", f64::from(away / edge));
    Ok(row.bar(Bar::AtMost(0.1)))
}

/// A slanted block falls into the water, and its mirror image does: how far apart the two come.
fn mirrored(context: &Context) -> Result<Row, CaseError> {
    let edge = 0.3f32;
    let path = |mirror: f32| -> Result<Vec<Vec3>, CaseError> {
        let mut setup = tank([20; 3], 0.05, 0.5);
        let mut solid = body(cuboid(edge * Vec3::new(1.0, 0.6, 0.8)), 0.4, Vec3::ZERO);
        let mut free = solid.free.take().unwrap_or_default();
        let turn = Vec3::new(0.3, 0.2 * mirror, 0.5 * mirror);
        free.start.pose = Pose {
            rotation: Quat::from_scaled_axis(turn),
            translate: Vec3::new(0.5 - 0.12 * mirror, 0.68, 0.5),
        };
        setup.solids.push(Solid::body("body", solid.shape, free));
        let solver = context.method.method.build(setup)?;
        let mut path = vec![];
        drive_solver(context, solver, FramePlan { frames: 25, fps: 50.0 }, &mut |_, solver| {
            path.push(first(solver).pose.translate);
        })?;
        Ok(path)
    };
    let (here, there) = (path(1.0)?, path(-1.0)?);
    // Their steps may differ by rounding; frames do not.
    let mirror = |x: Vec3| Vec3::new(1.0 - x.x, x.y, x.z);
    let apart = here.last().zip(there.last()).map_or(f32::NAN, |(a, b)| a.distance(mirror(*b)));
    let row = Row::new("6 cells per edge", "mirrored twins, 0.5 s: apart / edge", f64::from(apart / edge));
    Ok(row.bar(Bar::AtMost(0.02)))
}
