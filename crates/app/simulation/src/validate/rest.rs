//! Liquid at rest between walls and solids; where a method has cells of several sizes, these cross the surface.

use super::set_up::{closed_box, drive_solver};
use super::{Bar, Case, CaseError, Context, Outcome, Row};
use crate::run::FramePlan;
use fluvial_foundation::{Quat, Vec3};
use fluvial_solids::{Key, Motion, Shape};
use fluvial_solver_interface::{Fill, Refine, Setup, SetupError, Solid, Solver, Wanted};

pub const CASE: Case = Case {
    name: "rest-through-sizes",
    what: "closed box at rest, the surface at walls, a slope, a shelf and plates, in adaptive methods through three sizes of cells, which may move: u = 0",
    source: "exact; Ando and Batty 2020 Fig. 16 for the tilted one",
    applies: super::every_method,
    run,
};

const G: f32 = 9.81;
const DT_S: f64 = 0.02;
const CELLS: usize = 32;
const LEVEL_M: f32 = 0.47;
/// Planes in which sizes are looked for: along a wall, and through the middle.
const CUTS_M: [f32; 2] = [0.01, 0.49];

/// Water of one level, with finest cells in a corner and those of the next size beside another wall.
fn tank(normal: Vec3) -> Setup {
    let dx = 1.0 / CELLS as f32;
    let fill = Shape::Plane { point: Vec3::new(0.5, LEVEL_M, 0.5), normal };
    let mut setup = closed_box([CELLS; 3], dx, fill);
    setup.liquid.gravity = -G * normal;
    let region = |min: Vec3, max: Vec3, dx: f32| Refine { shape: Shape::Box { min, max }, dx };
    setup.refine = vec![
        region(Vec3::ZERO, Vec3::new(0.25, 1.0, 0.25), dx),
        region(Vec3::new(0.3, 0.0, 0.0), Vec3::new(0.5, 1.0, 0.6), 2.0 * dx),
    ];
    setup
}

fn with_solid(solid: Solid) -> Setup {
    Setup { solids: vec![solid], ..tank(Vec3::Y) }
}

fn fixed(shape: Shape) -> Setup {
    with_solid(Solid::new("solid", shape, Motion::Static))
}

/// Water on a block and below a lid, with fills that end exactly on their faces.
fn between_plates() -> Setup {
    let boxed = |min: [f32; 3], max: [f32; 3]| Shape::Box { min: Vec3::from(min), max: Vec3::from(max) };
    let lid = boxed([0.6, 0.4, -1.0], [2.0, 0.52, 2.0]);
    let block = boxed([-1.0, -1.0, -1.0], [0.3, 0.2, 2.0]);
    let mut setup = with_solid(Solid::new("lid", lid, Motion::Static));
    setup.solids.push(Solid::new("block", block, Motion::Static));
    let fills = [
        boxed([-1.0, 0.2, -1.0], [0.3, LEVEL_M, 2.0]),
        boxed([0.3, -1.0, -1.0], [0.6, LEVEL_M, 2.0]),
        boxed([0.6, -1.0, -1.0], [2.0, 0.4, 2.0]),
    ];
    setup.fills = fills.into_iter().map(|shape| Fill { shape, velocity: Vec3::ZERO }).collect();
    setup
}

/// Water below a thin plate that moves to and fro above it and takes the finest cells along.
fn below_a_moving_plate() -> Setup {
    let shape = Shape::Box { min: Vec3::new(0.62, 0.6, 0.42), max: Vec3::new(0.72, 0.62, 0.52) };
    let speed_m_s = 0.2;
    let key = |n: usize| {
        let side = if n.is_multiple_of(2) { 0.0 } else { -1.0 };
        Key { time_s: n as f64, translate: Vec3::new(speed_m_s * side, 0.0, 0.0), rotation: Quat::IDENTITY }
    };
    let motion = Motion::Keys { about: Vec3::ZERO, keys: (0..=10).map(key).collect() };
    with_solid(Solid::new("plate", shape, motion))
}

/// Names and set-ups, with the fewest sizes that the surface of an adaptive method must pass: a solid's edge asks for fine
/// cells all around.
fn variants() -> Vec<(&'static str, Setup, usize)> {
    let slope =
        Shape::Plane { point: Vec3::new(0.5, 0.33, 0.5), normal: Vec3::new(-0.4, 1.0, 0.1).normalize() };
    let shelf = Shape::Box { min: Vec3::new(0.8, -1.0, -1.0), max: Vec3::new(2.0, LEVEL_M, 2.0) };
    vec![
        ("flat", tank(Vec3::Y), 3),
        ("tilted gravity", tank(Vec3::new(-3.0, 8.6, 2.15).normalize()), 3),
        ("sloped solid", fixed(slope), 3),
        ("shelf at the level", fixed(shelf), 2),
        ("fills that end on plates", between_plates(), 2),
        ("below a moving plate", below_a_moving_plate(), 2),
    ]
}

/// How many sizes the cells have through which the surface passes in a plane.
fn sizes_at_surface(solver: &dyn Solver, z: f32) -> usize {
    let wanted = Wanted { cut_at_z: Some(z), ..Wanted::default() };
    let cells = solver.snapshot(wanted).cut_cells.unwrap_or_default();
    let mut sizes: Vec<f32> =
        cells.iter().filter(|cell| cell.phi.abs() < 0.5 * cell.dx).map(|cell| cell.dx).collect();
    sizes.sort_by(f32::total_cmp);
    sizes.dedup();
    sizes.len()
}

/// What the steps of a run found.
#[derive(Default)]
struct Found {
    /// Over sqrt(g h), step by step.
    speeds: Vec<f64>,
    /// Largest change of the level, as a part of it.
    moved: f64,
}

impl Found {
    /// The fastest of some steps.
    fn fastest(speeds: &[f64]) -> f64 {
        speeds.iter().copied().fold(0.0, f64::max)
    }

    /// The fastest of the last third against the fastest of the first one; less than `least` counts as that.
    fn growth(&self, least: f64) -> f64 {
        let third = self.speeds.len() / 3;
        let [first, last] = [&self.speeds[..third], &self.speeds[2 * third..]].map(Found::fastest);
        last.max(least) / first.max(least)
    }
}

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let seconds = if context.fine { 10.0 } else { 0.4 };
    let frames = (seconds / DT_S).round() as u32;
    let capabilities = context.method.method.capabilities();
    // Particles bring noise of their own.
    let bar: f64 = if capabilities.particles { 1e-3 } else { 1e-4 };
    let wave_m_s = f64::from(G * LEVEL_M).sqrt();
    // Methods call the size of cells where nothing asks for smaller ones by either name.
    let coarse = 4.0 / CELLS as f32;
    let coarse = serde_json::json!({ "max_dx": coarse, "surface_dx": coarse });
    let mut outcome = Outcome::default();
    let is_known = |setup: &Setup| {
        (capabilities.any_gravity || setup.liquid.gravity.x == 0.0)
            && (capabilities.moving_solids || !setup.has_moving_solids())
    };
    let known = variants().into_iter().filter(|(name, setup, _)| context.wants(name) && is_known(setup));
    for (name, mut setup, fewest) in known {
        let method = if capabilities.adaptive {
            let method = context.method.with_params(coarse.clone());
            method.map_err(|error| SetupError::Invalid(error.to_string()))?
        } else {
            setup.refine.clear();
            context.method.method.clone()
        };
        let solver = method.build(setup)?;
        let [at_wall, inside] = CUTS_M.map(|z| sizes_at_surface(solver.as_ref(), z));
        let before_m = solver.height_at(0.13, 0.87);
        let mut found = Found::default();
        drive_solver(context, solver, FramePlan { frames, fps: 1.0 / DT_S }, &mut |step, solver| {
            found.speeds.push(step.report.max_speed_m_s / wave_m_s);
            found.moved = found.moved.max((solver.height_at(0.13, 0.87) / before_m - 1.0).abs());
        })?;
        let resolution = format!("{CELLS} cells per box side, {frames} steps");
        let row =
            |quantity: &str, value: f64| Row::new(resolution.clone(), format!("{name}: {quantity}"), value);
        let first = outcome.rows.len();
        if capabilities.adaptive {
            let sizes = at_wall.max(inside) as f64;
            outcome.rows.push(row("sizes at the surface", sizes).bar(Bar::AtLeast(fewest as f64)));
            let least = Bar::AtLeast((fewest - 1) as f64);
            outcome.rows.push(row("sizes at surface and wall", at_wall as f64).bar(least));
        }
        let fastest = Found::fastest(&found.speeds);
        outcome.rows.push(row("max speed / sqrt(g h)", fastest).bar(Bar::AtMost(bar)));
        outcome.rows.push(row("level", found.moved).bar(Bar::AtMost(1e-4)));
        let growth = row("max speed, last third / first third", found.growth(0.1 * bar));
        // The first steps of a short run begin with speeds of zero.
        outcome.rows.push(if context.fine { growth.bar(Bar::AtMost(2.0)) } else { growth });
        (context.progress)(&outcome.rows[first..]);
    }
    Ok(outcome)
}
