//! Blocks of liquid that slide over rough walls, without gravity towards them: all of a block moves at one speed, and
//! hydraulics has an exact solution for it. The walls hold on to the liquid, which nothing presses against them.

use super::set_up::{SLAB_CELLS, closed_box, drive};
use super::{Bar, Case, CaseError, Context, Outcome, Row};
use crate::run::FramePlan;
use fluvial_foundation::{Quat, Vec3};
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Setup, Solid, Wall};

pub const CASE: Case = Case {
    name: "friction",
    what: "a block of liquid 0.2 m deep slides over a rough floor, down a slope (Chezy), along an oblique wall, on a moving plate: its speed",
    source: "exact: du/dt = g - C_f / (2 h) |u - w| (u - w), wall stress 1/2 rho C_f u^2",
    applies: |method| method.method.capabilities().friction,
    run,
};

const DEPTH: f32 = 0.2;
const FRICTION: f32 = 0.4;
/// Rate of the exact solutions, 1/m.
const RATE: f64 = (FRICTION / (2.0 * DEPTH)) as f64;
const END_S: f64 = 1.0;
/// Speed of the block at the start, or of the plate, m/s.
const SPEED: f32 = 1.0;
/// Gravity along the slope, m/s2.
const SLOPE_M_S2: f32 = 1.5;
/// The wall's angle to the grid: what is above a piece of it along the axes then lies in the block.
const OBLIQUE_DEG: f32 = 40.0;

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let mut outcome = Outcome::default();
    let sizes: &[usize] = if context.fine { &[16, 32, 64] } else { &[16, 32] };
    let slid = f64::from(SPEED) / (1.0 + RATE * f64::from(SPEED) * END_S);
    // u = c tanh(g t / c + artanh(u0 / c)), from above: coth.
    let chezy = (f64::from(SLOPE_M_S2) / RATE).sqrt();
    let phase = f64::from(SLOPE_M_S2) * END_S / chezy;
    let on_slope = chezy * (phase + (f64::from(SPEED) / chezy).atanh()).tanh();
    for &n in sizes {
        let resolution = format!("{n} cells per metre, {:.1} deep", DEPTH * n as f32);
        let mut row = |what: &str, scene: Scene, exact: f64| -> Result<(), CaseError> {
            let row = Row::new(resolution.clone(), format!("{what}: speed / (m/s)"), scene.speed(context)?);
            // A tenth of a cell of the depth is 3 % of it at 16 cells per metre.
            outcome.rows.push(row.against(exact).bar(Bar::ErrorAtMost(0.03)));
            Ok(())
        };
        row("rough floor", on_floor(n), slid)?;
        if n > 16 && !context.fine {
            continue;
        }
        let mut slope = on_floor(n);
        slope.setup.liquid.gravity = Vec3::new(SLOPE_M_S2, 0.0, 0.0);
        row("down a slope", slope, on_slope)?;
        row("oblique wall", along_oblique_wall(n), slid)?;
        row("moving plate", on_moving_plate(n), f64::from(SPEED) - slid)?;
    }
    Ok(outcome)
}

/// A block with a place at its floor, in its middle, and the direction away from the floor.
struct Scene {
    setup: Setup,
    floor: Vec3,
    up: Vec3,
}

impl Scene {
    /// Speed at the end, over the depth of the liquid that was in the middle of the block at the start.
    fn speed(self, context: &Context) -> Result<f64, CaseError> {
        let (mut at, mut velocity, mut last_s) = (self.floor, Vec3::ZERO, 0.0);
        let plan = FramePlan { frames: (100.0 * END_S) as u32, fps: 100.0 };
        drive(context, self.setup, plan, &mut |step, solver| {
            let probes = [0.2, 0.4, 0.6, 0.8].map(|part| at + part * DEPTH * self.up);
            velocity = probes.map(|x| solver.velocity_at(x)).into_iter().sum::<Vec3>() / probes.len() as f32;
            at += velocity * (step.time_s - last_s) as f32;
            last_s = step.time_s;
        })?;
        Ok(f64::from(velocity.length()))
    }
}

/// A block in a slab of 2 m x 0.5 m that begins at `floor` and moves at `speed`.
fn block(n: usize, floor: f32, speed: f32) -> Scene {
    let shape =
        Shape::Box { min: Vec3::new(0.25, floor - 0.5, -1.0), max: Vec3::new(0.65, floor + DEPTH, 1.0) };
    let setup = weightless([2 * n, n / 2, SLAB_CELLS], n, shape, Vec3::new(speed, 0.0, 0.0));
    Scene { setup, floor: Vec3::new(0.45, floor, 2.0 / n as f32), up: Vec3::Y }
}

/// Liquid without weight that walls hold on to.
fn weightless(cells: [usize; 3], n: usize, shape: Shape, velocity: Vec3) -> Setup {
    let mut setup = closed_box(cells, 1.0 / n as f32, shape);
    setup.domain.walls = [Wall::Sticky; 6];
    setup.liquid.gravity = Vec3::ZERO;
    setup.fills[0].velocity = velocity;
    setup
}

fn on_floor(n: usize) -> Scene {
    let mut scene = block(n, 0.0, SPEED);
    scene.setup.domain.friction[2] = FRICTION;
    scene
}

fn on_moving_plate(n: usize) -> Scene {
    let mut scene = block(n, 0.1, 0.0);
    let shape = Shape::Box { min: Vec3::new(-5.0, -1.0, -1.0), max: Vec3::new(5.0, 0.1, 1.0) };
    let motion =
        Motion::Constant { linear: Vec3::new(SPEED, 0.0, 0.0), angular: Vec3::ZERO, about: Vec3::ZERO };
    scene.setup.solids.push(Solid { sticky: true, friction: FRICTION, ..Solid::new("plate", shape, motion) });
    scene
}

fn along_oblique_wall(n: usize) -> Scene {
    let rotation = Quat::from_rotation_z(OBLIQUE_DEG.to_radians());
    let corner = Vec3::new(0.2, 0.1, 0.0);
    let block = Shape::Box { min: Vec3::new(0.1, -0.5, -1.0), max: Vec3::new(0.8, DEPTH, 1.0) };
    let shape = Shape::Transform { shape: Box::new(block), scale: 1.0, rotation, translate: corner };
    let velocity = rotation * Vec3::new(SPEED, 0.0, 0.0);
    let mut setup = weightless([7 * n / 4, 3 * n / 2, SLAB_CELLS], n, shape, velocity);
    let wall = Shape::Plane { point: corner, normal: rotation * Vec3::Y };
    setup.solids.push(Solid { sticky: true, friction: FRICTION, ..Solid::new("wall", wall, Motion::Static) });
    let middle = corner + rotation * Vec3::new(0.45, 0.0, 2.0 / n as f32);
    Scene { setup, floor: middle, up: rotation * Vec3::Y }
}
