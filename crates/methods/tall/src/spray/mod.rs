//! Spray, mist and foam [tall §3.9.3]: particles that the water throws off, for the eye. Twins in `spray.wgsl`.
//!
//! Just below the surface trial particles leave the water on paths of their own. After a time ([`Params::trial_s`]) one of which the
//! surface has stayed behind by more than twice its depth has escaped and becomes drops. Drops fly; where they fall into the water they become foam
//! with some chance, and they whiten the map of foam ([`crate::maps`]).
//!
//! The paper tests trial particles after each step, so that the number of drops depends on its length: in short steps nothing gets away from a
//! surface that moves along. Here the time is a parameter (by default the paper's step), births have moments of their own within a
//! step, and paths are exact solutions: what comes out does not depend on how time is cut into steps.
//!
//! Chance is a function of counters. Particles keep their order; on the GPU a prefix sum says where each goes.

mod seed;
mod step;

pub use seed::{seed_column, trial_count};
pub use step::{Landing, Moved, advance, children, step};

use crate::field::{Velocity, interpolate};
use crate::maps::Shown;
use fluvial_grids::TallGrid;

/// A drop in the air.
pub const SPRAY: u32 = 0;
/// On the surface.
pub const FOAM: u32 = 1;
/// Small drops, which the air holds back. (2 are bubbles, of which this method has none.)
pub const MIST: u32 = 3;
/// Not seen: below the surface, until it is known whether it gets away.
pub const TRIAL: u32 = 4;

/// Drops that one escape makes; trial particles keep as many numbers free.
pub const CHILDREN: u32 = 4;

/// A particle, as three `vec4` on the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "gpu", derive(bytemuck::Pod, bytemuck::Zeroable))]
#[repr(C)]
pub struct Particle {
    /// Place in cells, whole at cell centres.
    pub x: [f32; 3],
    /// Metres; of a trial particle its depth.
    pub radius_m: f32,
    /// Velocity, m/s.
    pub v: [f32; 3],
    /// Of a trial particle: until it is tested. Of all others: how long it can still be foam. Seconds.
    pub left_s: f32,
    /// What it is.
    pub kind: u32,
    /// Of its chance.
    pub seed: u32,
    /// Unique through the run.
    pub id: u32,
    /// Since its birth, seconds.
    pub age_s: f32,
}

/// Everything that particles depend on, beside the water; the layout of the shader's uniform.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "gpu", derive(bytemuck::Pod, bytemuck::Zeroable))]
#[repr(C)]
pub struct Params {
    /// Gravity, m/s2.
    pub gravity: [f32; 3],
    /// Length of the step, s.
    pub dt_s: f32,
    /// Lower corner of the domain, cells.
    pub low: [f32; 3],
    /// Trial particles a cell and second.
    pub trials_1_s: f32,
    /// Upper corner of the domain, cells.
    pub high: [f32; 3],
    /// Time after which they are tested, s.
    pub trial_s: f32,
    /// Times in which spray and mist take on the air's velocity, s.
    pub spray_tau_s: f32,
    /// See `spray_tau_s`.
    pub mist_tau_s: f32,
    /// Mean lifetime of foam, s; from half to one and a half of it.
    pub foam_s: f32,
    /// Middle radius of a drop, m; from half to twice of it.
    pub radius_m: f32,
    /// Part of the drops that are mist.
    pub mist_part: f32,
    /// Part of the drops that become foam where they fall in.
    pub foam_part: f32,
    /// Open sides of the domain, a bit each: x low, x high, y low, y high, z low, z high.
    pub open: u32,
    /// Steps taken, for chance.
    pub step: u32,
    /// Particles at one time.
    pub most: u32,
    /// Nothing: uniforms are multiples of 16 bytes.
    pub pad: [u32; 3],
}

/// What goes on from step to step, beside the particles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Number of the next trial particle.
    pub next_id: u32,
    /// Trial particles that the last step would have made with room for all.
    pub wanted: u32,
    /// Drops that have escaped, since the start.
    pub escaped: u32,
    /// Drops that fell into the water, since the start.
    pub fallen: u32,
    /// Those of them that became foam.
    pub foam: u32,
    /// Particles that found no room, since the start.
    pub refused: u32,
}

/// Particles and maps at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SprayFields {
    /// In the order of their birth.
    pub particles: Vec<Particle>,
    /// What goes on from step to step.
    pub counters: Counters,
    /// The maps, by column.
    pub shown: Vec<Shown>,
}

/// The water of a step: as it was and as it is.
#[derive(Clone, Copy)]
pub struct Water<'a> {
    /// Columns before the step.
    pub before: &'a TallGrid,
    /// Level set before it.
    pub phi_before: &'a [f32],
    /// Velocity before it, known in the air too.
    pub u: &'a [Velocity],
    /// Columns after the step.
    pub grid: &'a TallGrid,
    /// Level set after it.
    pub phi: &'a [f32],
    /// Solid part of every cell after it.
    pub fraction: &'a [f32],
}

impl Water<'_> {
    /// Velocity that carried the surface through the step, m/s.
    pub fn velocity(&self, x: [f32; 3]) -> [f32; 3] {
        let [a, b, c, _] = interpolate(self.before, self.u, x);
        [a, b, c]
    }

    /// Distance to the surface `at_s` after the step's beginning: what is there now was upstream before and will be downstream at its end.
    pub fn phi_at(&self, x: [f32; 3], at_s: f32, dt_s: f32) -> f32 {
        let u = self.velocity(x);
        let (back, forth) = (at_s / self.grid.dx_m, (dt_s - at_s) / self.grid.dx_m);
        let before = interpolate(self.before, self.phi_before, std::array::from_fn(|c| x[c] - back * u[c]));
        let after = interpolate(self.grid, self.phi, std::array::from_fn(|c| x[c] + forth * u[c]));
        let part = at_s / dt_s;
        before * (1.0 - part) + after * part
    }

    /// Is a place solid, or below the ground?
    pub fn is_solid(&self, x: [f32; 3]) -> bool {
        let near = |v: f32, n: usize| ((v + 0.5).floor().max(0.0) as usize).min(n - 1);
        let [terrain, _] = self.grid.column(near(x[0], self.grid.nx), near(x[2], self.grid.nz));
        x[1] + 0.5 < terrain as f32 || interpolate(self.grid, self.fraction, x) > 0.5
    }
}

/// Scrambles 32 bits; a bijection without fixed structure that a GPU can do.
pub fn mix(mut v: u32) -> u32 {
    v = (v ^ (v >> 16)).wrapping_mul(0x7feb_352d);
    v = (v ^ (v >> 15)).wrapping_mul(0x846c_a68b);
    v ^ (v >> 16)
}

/// Draw `n` of a seed, from 0 to 1 without 1.
pub fn chance(seed: u32, n: u32) -> f32 {
    (mix(seed ^ mix(n.wrapping_add(0x9e37_79b9))) >> 8) as f32 / 16_777_216.0
}

/// `e^a - 1` for a >= 0 by operations that every device does alike, with all its digits also for small a: the series up to the sixth power at a/16, and
/// `e^2x - 1 = (e^x - 1) (2 + (e^x - 1))` four times. `e^-a` is then within 1e-6; it grows everywhere.
pub fn growth(a: f32) -> f32 {
    let x = a / 16.0;
    let mut e = x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0)))));
    for _ in 0..4 {
        e *= 2.0 + e;
    }
    // Beyond, nothing is left of what decays.
    e.min(1e30)
}

/// A path of linear drag towards `tau_s` times gravity, exact as `fluvial_whitewater::relax` is: the velocity and how far it has come, m.
pub fn fly(v: [f32; 3], gravity: [f32; 3], tau_s: f32, h_s: f32) -> ([f32; 3], [f32; 3]) {
    let grown = growth(h_s / tau_s);
    let (kept, lost) = (1.0 / (1.0 + grown), grown / (1.0 + grown));
    let terminal: [f32; 3] = std::array::from_fn(|c| tau_s * gravity[c]);
    let way = std::array::from_fn(|c| h_s * terminal[c] + tau_s * lost * (v[c] - terminal[c]));
    (std::array::from_fn(|c| terminal[c] + kept * (v[c] - terminal[c])), way)
}

/// Part of the trial particles that a step makes, `wanted` being all that the last step would have made: not many more than there is room for, so
/// that what is held back is held back evenly over the surface. With room for eight steps nothing is.
pub fn share(most: u32, live: u32, wanted: u32) -> f32 {
    let room = (most - live.min(most)) as f32;
    (room / (8.0 * wanted.max(1) as f32)).clamp(LEAST_SHARE, 1.0)
}

/// Some are made in any case, to see how many there would be.
const LEAST_SHARE: f32 = 1.0 / 64.0;
