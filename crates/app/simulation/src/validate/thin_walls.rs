//! Round bowls with thin walls, and a thin plate that sweeps through a tank: water stays on its side of them. Part of
//! `user-scenes`.

use super::set_up::{closed_box, drive};
use super::{Bar, CaseError, Context, Row};
use crate::run::FramePlan;
use fluvial_foundation::{Quat, Vec3, parallel};
use fluvial_solids::{Key, Motion, Shape};
use fluvial_solver_interface::{Setup, Solid, Solver};

const FRAMES_PER_SECOND: f64 = 24.0;
/// Water that may get lost, as a part of all.
const LARGEST_LOSS: f64 = 5e-3;

/// A bowl: half a hollow ball, in metres. Its place is nowhere special on a grid.
const CENTER: Vec3 = Vec3::new(0.493, 0.507, 0.511);
const RADIUS: f32 = 0.3;
/// The water's level below the centre, in radii: below the lower rim of a bowl tilted by 30 degrees, which is at 0.5.
const LEVEL: f32 = 0.6;
const TILT_DEGREES: f32 = 30.0;
/// A shaken bowl goes so far to both sides, metres, and back and forth in so many seconds: half of the water's weight at most.
const SHAKEN_M: f64 = 0.02;
const SHAKEN_S: f64 = 0.4;

/// What a plate that reaches from wall to wall sweeps in its first second, metres along x: from faces of cells to faces of cells,
/// where no cell holds water of both sides when it is measured.
const SWEEP_M: [f32; 2] = [0.25, 0.5];
const TANK_LEVEL_M: f32 = 0.4;

/// What happens to a thin wall.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// The bowl stands.
    Rest,
    /// It stands tilted.
    Tilted,
    /// It is shaken; with a lid, or water would go over the rim.
    Shaken,
    /// A plate sweeps through a tank.
    Sweep,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Rest => "bowl at rest",
            Kind::Tilted => "tilted bowl",
            Kind::Shaken => "shaken bowl",
            Kind::Sweep => "sweeping plate",
        }
    }

    fn moves(self) -> bool {
        matches!(self, Kind::Shaken | Kind::Sweep)
    }
}

/// The rows of all thin walls, or of the least two; none of a method that says that they leak, and none of walls that move of one
/// that holds solids still.
pub fn rows(context: &Context) -> Result<Vec<Row>, CaseError> {
    let capabilities = context.method.method.capabilities();
    if !capabilities.thin_walls {
        return Ok(vec![]);
    }
    let bowls = [Kind::Rest, Kind::Tilted, Kind::Shaken];
    let walls: Vec<(Kind, f32)> = match context.fine {
        true => bowls.iter().flat_map(|&kind| [0.1, 0.5, 1.0, 1.4, 2.0].map(|wall| (kind, wall))).collect(),
        false => vec![(Kind::Rest, 0.1)],
    };
    let plates: &[f32] = if context.fine { &[0.3, 1.0] } else { &[0.3] };
    let wanted = |(kind, wall): &(Kind, f32)| {
        (capabilities.moving_solids || !kind.moves())
            && context.wants(&format!("{}, {wall} cells thick", kind.name()))
    };
    let runs: Vec<(Kind, f32)> =
        walls.into_iter().chain(plates.iter().map(|&wall| (Kind::Sweep, wall))).filter(wanted).collect();
    let rows = parallel::map_indices(runs.len(), |n| measure(context, runs[n].0, runs[n].1));
    Ok(rows.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}

fn measure(context: &Context, kind: Kind, wall_cells: f32) -> Result<Vec<Row>, CaseError> {
    let (cells, end_s) = match (context.fine, kind) {
        (true, _) => (24, 5.0),
        (false, Kind::Sweep) => (16, 1.0),
        (false, _) => (16, 0.5),
    };
    let setup = setup(kind, wall_cells, cells);
    let dx = setup.domain.grid.dx;
    let plan = FramePlan { frames: (FRAMES_PER_SECOND * end_s) as u32, fps: FRAMES_PER_SECOND };
    let (mut start, mut speed_m_s) = (None, 0.0f64);
    let solver = drive(context, setup, plan, &mut |step, solver| {
        start.get_or_insert_with(|| held_m3(kind, dx, solver));
        speed_m_s = speed_m_s.max(step.report.max_speed_m_s);
    })?;
    let (start_m3, end_m3) = (start.unwrap_or(0.0), held_m3(kind, dx, solver.as_ref()));
    let row = |quantity: &str, value: f64| {
        let what = format!("{}, {wall_cells} cells thick: {quantity}", kind.name());
        Row::new(format!("{cells} cells per edge"), what, value)
    };
    let rows = vec![
        row("water on the wrong side / all", (1.0 - end_m3 / start_m3).abs()).bar(Bar::AtMost(LARGEST_LOSS)),
        row("largest speed / m/s", speed_m_s),
    ];
    (context.progress)(&rows);
    Ok(rows)
}

/// Water on its side of the wall, m3: all that has not fallen below the bowl, and what is before the plate where it has come
/// to rest.
fn held_m3(kind: Kind, dx: f32, solver: &dyn Solver) -> f64 {
    let far = Vec3::splat(2.0);
    let part = |min: Vec3, max: Vec3| solver.volume_in(&Shape::Box { min, max });
    match kind {
        Kind::Sweep => part(-far, Vec3::new(plate_m(solver.time_s()), 2.0, 2.0)),
        _ => part(Vec3::new(-2.0, CENTER.y - RADIUS - dx, -2.0), far),
    }
}

/// The middle of the plate, metres along x.
fn plate_m(time_s: f64) -> f32 {
    SWEEP_M[0] + (SWEEP_M[1] - SWEEP_M[0]) * time_s.min(1.0) as f32
}

fn setup(kind: Kind, wall_cells: f32, cells: usize) -> Setup {
    let dx = 1.0 / cells as f32;
    let wall_m = wall_cells * dx;
    let (fill, shape, motion) = match kind {
        Kind::Sweep => {
            let tank = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(2.0, TANK_LEVEL_M, 2.0) };
            let half = 0.5 * wall_m;
            let (min, max) = (Vec3::new(-half, -1.0, -1.0), Vec3::new(half, 2.0, 2.0));
            let key = |time_s: f64| Key {
                time_s,
                translate: Vec3::new(plate_m(time_s), 0.0, 0.0),
                rotation: Quat::IDENTITY,
            };
            let keys = vec![key(0.0), key(1.0)];
            (tank, Shape::Box { min, max }, Motion::Keys { about: Vec3::ZERO, keys })
        }
        _ => {
            let level = CENTER - LEVEL * RADIUS * Vec3::Y;
            // It reaches into the wall: it touches it.
            let water = Shape::Intersection(vec![
                Shape::Sphere { center: CENTER, radius: RADIUS - 0.5 * wall_m },
                Shape::Plane { point: level, normal: Vec3::Y },
            ]);
            (water, bowl(kind, wall_m), if kind == Kind::Shaken { shaking() } else { Motion::Static })
        }
    };
    let mut setup = closed_box([cells; 3], dx, fill);
    setup.solids.push(Solid::new("wall", shape, motion));
    setup
}

fn bowl(kind: Kind, wall_m: f32) -> Shape {
    let [outer, inner] = [RADIUS, RADIUS - wall_m].map(|radius| Shape::Sphere { center: CENTER, radius });
    let tilt = if kind == Kind::Tilted { TILT_DEGREES.to_radians() } else { 0.0 };
    let normal = Quat::from_rotation_z(tilt) * Vec3::Y;
    let half = Shape::Plane { point: CENTER, normal };
    match kind {
        Kind::Shaken => Shape::Difference(Box::new(outer), Box::new(inner)),
        _ => Shape::Difference(Box::new(Shape::Intersection(vec![outer, half])), Box::new(inner)),
    }
}

/// Back and forth along x, from rest at one end.
fn shaking() -> Motion {
    const KEYS_1_S: f64 = 100.0;
    let key = |n: u32| {
        let time_s = f64::from(n) / KEYS_1_S;
        let turn = std::f64::consts::TAU * time_s / SHAKEN_S;
        let translate = Vec3::new((SHAKEN_M * (1.0 - turn.cos())) as f32, 0.0, 0.0);
        Key { time_s, translate, rotation: Quat::IDENTITY }
    };
    Motion::Keys { about: Vec3::ZERO, keys: (0..=500).map(key).collect() }
}
