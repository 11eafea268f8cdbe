//! Liquid at rest through cells of several sizes that surface, walls and solids cross.

use super::set_up::{closed_box, drive_solver};
use super::{Bar, Case, CaseError, Context, Outcome, Row};
use crate::run::FramePlan;
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Refine, Setup, SetupError, Solid, Solver, Wanted};

pub const CASE: Case = Case {
    name: "rest-through-sizes",
    what: "closed box at rest, the surface through three sizes of cells at walls, a slope and a shelf: u = 0",
    source: "exact; Ando and Batty 2020 Fig. 16 for the tilted one",
    applies: |method| method.method.capabilities().adaptive,
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

fn with_solid(shape: Shape) -> Setup {
    let solid = Solid::new("solid", shape, Motion::Static);
    Setup { solids: vec![solid], ..tank(Vec3::Y) }
}

/// Names and set-ups, with the fewest sizes that the surface must pass: a solid's edge asks for fine cells all around.
fn variants() -> Vec<(&'static str, Setup, usize)> {
    let slope =
        Shape::Plane { point: Vec3::new(0.5, 0.33, 0.5), normal: Vec3::new(-0.4, 1.0, 0.1).normalize() };
    let shelf = Shape::Box { min: Vec3::new(0.8, -1.0, -1.0), max: Vec3::new(2.0, LEVEL_M, 2.0) };
    vec![
        ("flat", tank(Vec3::Y), 3),
        ("tilted gravity", tank(Vec3::new(-3.0, 8.6, 2.15).normalize()), 3),
        ("sloped solid", with_solid(slope), 3),
        ("shelf at the level", with_solid(shelf), 2),
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

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let seconds = if context.fine { 10.0 } else { 0.4 };
    let frames = (seconds / DT_S).round() as u32;
    // Particles bring noise of their own.
    let bar = if context.method.method.capabilities().particles { 1e-3 } else { 1e-4 };
    let wave_m_s = f64::from(G * LEVEL_M).sqrt();
    // Methods call the size of cells where nothing asks for smaller ones by either name.
    let coarse = 4.0 / CELLS as f32;
    let coarse = serde_json::json!({ "max_dx": coarse, "surface_dx": coarse });
    let mut outcome = Outcome::default();
    for (name, setup, fewest) in variants().into_iter().filter(|(name, ..)| context.wants(name)) {
        let method = context
            .method
            .with_params(coarse.clone())
            .map_err(|error| SetupError::Invalid(error.to_string()))?;
        let solver = method.build(setup)?;
        let sizes = CUTS_M.map(|z| sizes_at_surface(solver.as_ref(), z)).into_iter().max().unwrap_or(0);
        let at_wall = sizes_at_surface(solver.as_ref(), CUTS_M[0]);
        let before_m = solver.height_at(0.13, 0.87);
        let (mut fastest, mut moved) = (0.0f64, 0.0f64);
        drive_solver(context, solver, FramePlan { frames, fps: 1.0 / DT_S }, &mut |step, solver| {
            fastest = fastest.max(step.report.max_speed_m_s);
            moved = moved.max((solver.height_at(0.13, 0.87) / before_m - 1.0).abs());
        })?;
        let resolution = format!("{CELLS} cells per box side, {frames} steps");
        let row =
            |quantity: &str, value: f64| Row::new(resolution.clone(), format!("{name}: {quantity}"), value);
        outcome.rows.push(row("sizes at the surface", sizes as f64).bar(Bar::AtLeast(fewest as f64)));
        outcome
            .rows
            .push(row("sizes at surface and wall", at_wall as f64).bar(Bar::AtLeast((fewest - 1) as f64)));
        outcome.rows.push(row("max speed / sqrt(g h)", fastest / wave_m_s).bar(Bar::AtMost(bar)));
        outcome.rows.push(row("level", moved).bar(Bar::AtMost(1e-4)));
    }
    Ok(outcome)
}
