//! Splashes in closed boxes: nothing gives the liquid energy.

use super::set_up::{closed_box, drive};
use super::{Bar, Case, CaseError, Context, Outcome, Row};
use crate::run::FramePlan;
use fluvial_foundation::{Vec3, parallel};
use fluvial_output::{Axis, Plot, Style};
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Fill, Setup, Solid};

pub const CASE: Case = Case {
    name: "closed-splash",
    what: "drops, dam breaks and waves in closed boxes, aligned with the grid and not: energy never above that of the start",
    source: "the first law: walls at rest do no work",
    applies: super::every_method,
    run,
};

const FRAMES_PER_SECOND: f64 = 24.0;
/// Cells between a tank and the walls of the domain, and of the tank's own wall.
const AROUND: f32 = 4.0;
/// Where the corner of a tank of solids lies in its cell.
const OFF_GRID: Vec3 = Vec3::new(0.5, 0.3, 0.65);

/// A splash.
struct Splash {
    name: &'static str,
    build: fn(usize) -> Placed,
    /// How long it is watched, coarse and fine.
    end_s: [f64; 2],
}

/// A scene, and the height of the floor that energies are counted from.
struct Placed {
    setup: Setup,
    floor: f32,
}

const SPLASHES: [Splash; 5] = [
    Splash { name: "dam break", build: dam_break, end_s: [0.8, 3.0] },
    Splash { name: "against a box", build: against_a_box, end_s: [0.8, 3.0] },
    Splash { name: "tank off the grid", build: off_the_grid, end_s: [0.8, 3.0] },
    Splash { name: "drop into a pool", build: drop_into_pool, end_s: [0.6, 2.0] },
    Splash { name: "wave in a round basin", build: round_basin, end_s: [0.8, 3.0] },
];

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let cells = if context.fine { 32 } else { 16 };
    let splashes: Vec<&Splash> = SPLASHES.iter().filter(|splash| context.wants(splash.name)).collect();
    let found = parallel::map_indices(splashes.len(), |n| watch(context, splashes[n], cells));
    let mut outcome = Outcome::default();
    let mut plot = Plot {
        title: "Closed splashes: energy over that of the start".into(),
        x: Axis::linear("time / s"),
        y: Axis::linear("E / E0"),
        series: vec![],
    };
    for (splash, energies) in splashes.iter().zip(found) {
        let energies = energies?;
        let row = |quantity: &str, value: f64| {
            Row::new(format!("{cells} cells per length"), format!("{}: {quantity}", splash.name), value)
        };
        let most = energies.iter().map(|e| e[1] - 1.0).fold(0.0, f64::max);
        let last = energies.last().map_or(0.0, |e| e[1]);
        outcome.rows.push(row("energy above the start's, part of it", most).bar(Bar::AtMost(5e-3)));
        outcome
            .rows
            .push(row("largest rise from a moment to a later one, part of the start's", rise(&energies)));
        outcome.rows.push(row("energy at the end / start", last));
        plot = plot.with(splash.name, Style::Line, energies);
    }
    outcome.plots.push(("closed-splash".into(), plot));
    Ok(outcome)
}

/// The most that energy gains from a moment to a later one.
fn rise(energies: &[[f64; 2]]) -> f64 {
    let rises = energies.iter().scan(f64::MAX, |least, e| {
        *least = least.min(e[1]);
        Some(e[1] - *least)
    });
    rises.fold(0.0, f64::max)
}

/// Times and energies, over that of the start above the floor.
fn watch(context: &Context, splash: &Splash, cells: usize) -> Result<Vec<[f64; 2]>, CaseError> {
    let Placed { setup, floor } = (splash.build)(cells);
    let end_s = splash.end_s[context.fine as usize];
    let plan = FramePlan { frames: (FRAMES_PER_SECOND * end_s) as u32, fps: FRAMES_PER_SECOND };
    let weight_n_m3 = -f64::from(setup.liquid.density * setup.liquid.gravity.y);
    let (mut energies, mut start_j) = (vec![], None);
    drive(context, setup, plan, &mut |step, _| {
        let report = &step.report;
        let on_floor_j = weight_n_m3 * f64::from(floor) * report.liquid_volume_m3;
        let energy_j = report.kinetic_energy_j + report.potential_energy_j - on_floor_j;
        energies.push([step.time_s, energy_j / *start_j.get_or_insert(energy_j)]);
    })?;
    Ok(energies)
}

fn boxed(min: [f32; 3], max: [f32; 3]) -> Shape {
    Shape::Box { min: Vec3::from(min), max: Vec3::from(max) }
}

fn dam_break(n: usize) -> Placed {
    let setup = closed_box([n; 3], 1.0 / n as f32, boxed([-1.0; 3], [0.4, 0.5, 2.0]));
    Placed { setup, floor: 0.0 }
}

/// A dam break against a box that stands across the way.
fn against_a_box(n: usize) -> Placed {
    let mut placed = dam_break(n);
    let obstacle = boxed([0.57, -1.0, 0.22], [0.71, 0.23, 0.58]);
    placed.setup.solids.push(Solid::new("box", obstacle, Motion::Static));
    placed
}

/// A dam break in a tank of solids that cut cells.
fn off_the_grid(n: usize) -> Placed {
    let dx = 1.0 / n as f32;
    let corner = (Vec3::splat(AROUND) + OFF_GRID) * dx;
    let wall = Vec3::splat(3.0 * dx);
    let block = |min: Vec3, max: Vec3| Shape::Box { min: corner + min, max: corner + max };
    let column = block(-0.5 * wall, Vec3::new(0.4, 0.5, 0.5 + 0.5 * wall.z));
    let size = Vec3::new(1.0, 0.75, 0.5);
    let cells = (size * n as f32).to_array().map(|cells| cells as usize + 2 * AROUND as usize + 1);
    let mut setup = closed_box(cells, dx, column);
    let tank = Shape::Difference(Box::new(block(-wall, size + wall)), Box::new(block(Vec3::ZERO, size)));
    setup.solids.push(Solid::new("tank", tank, Motion::Static));
    Placed { setup, floor: corner.y }
}

fn drop_into_pool(n: usize) -> Placed {
    let mut setup = closed_box([n; 3], 1.0 / n as f32, boxed([-1.0; 3], [2.0, 0.27, 2.0]));
    let drop = Shape::Sphere { center: Vec3::new(0.53, 0.7, 0.48), radius: 0.17 };
    setup.fills.push(Fill { shape: drop, velocity: Vec3::ZERO });
    Placed { setup, floor: 0.0 }
}

/// Water that leans in a round basin with a rim.
fn round_basin(n: usize) -> Placed {
    let dx = 1.0 / n as f32;
    let lower =
        Shape::Plane { point: Vec3::new(0.5, 0.45, 0.5), normal: Vec3::new(-0.4, 1.0, 0.15).normalize() };
    let mut setup = closed_box([n; 3], dx, lower);
    let hollow = Shape::Sphere { center: Vec3::new(0.5, 0.62, 0.5), radius: 0.44 };
    let block = boxed([-1.0; 3], [2.0; 3]);
    let basin = Shape::Difference(Box::new(block), Box::new(hollow));
    setup.solids.push(Solid::new("basin", basin, Motion::Static));
    Placed { setup, floor: 0.18 }
}

#[cfg(test)]
mod tests {
    use super::rise;

    #[test]
    fn a_rise_is_seen_from_the_lowest_moment_before_it() {
        let energies = [1.0, 0.7, 0.8, 0.6, 0.65, 0.75, 0.5].map(|e| [0.0, e]);
        assert!((rise(&energies) - 0.15).abs() < 1e-12, "{}", rise(&energies));
    }
}
