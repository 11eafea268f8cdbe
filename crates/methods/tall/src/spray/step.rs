//! How particles move, and what becomes of them.

use super::{
    CHILDREN, Counters, FOAM, MIST, Params, Particle, SPRAY, TRIAL, Water, chance, fly, mix, seed_column,
    share,
};
use crate::field::interpolate;
use fluvial_foundation::parallel;

/// Foam covers so many times the section of the drop that made it: bubbles of foam are many in one.
const FOAM_COVER: f32 = 7.0;
/// Rounds in which foam is put back onto the surface; distances are of first order in the flow's own bending.
const ON_SURFACE: usize = 2;
/// Draws of a drop: velocity, whether it is mist, size, lifetime as foam, whether it becomes foam.
const NOISE: u32 = 8;
const IS_MIST: u32 = 11;
const SIZE: u32 = 12;
const LIFE: u32 = 13;
const BECOMES_FOAM: u32 = 14;

/// What fell into the water: the column and how much foam it makes there, in areas of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Landing {
    /// Column along x and z.
    pub column: [usize; 2],
    /// Cover, parts of a column's area.
    pub cover: f32,
}

/// A particle after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// The particle; what has escaped is where and as it was then, with the slip as its radius and the rest of the step as its time left.
    pub particle: Particle,
    /// What is left of it: 0 where it is gone, 1, or [`CHILDREN`] where it has escaped.
    pub count: u32,
    /// Where it has fallen into the water.
    pub landing: Option<Landing>,
}

/// Keeps a place within the walls, which take the speed into them; `false` where it has left through an open side.
fn hold(p: &mut Particle, params: &Params) -> bool {
    for c in 0..3 {
        let (side, at) = match p.x[c] {
            x if x < params.low[c] => (2 * c, params.low[c]),
            x if x > params.high[c] => (2 * c + 1, params.high[c]),
            _ => continue,
        };
        if params.open >> side & 1 == 1 {
            return false;
        }
        (p.x[c], p.v[c]) = (at, 0.0);
    }
    true
}

fn moved(p: Particle, h_s: f32, tau_s: f32, dx_m: f32, params: &Params) -> Particle {
    let (v, way) = fly(p.v, params.gravity, tau_s, h_s);
    Particle { x: std::array::from_fn(|c| p.x[c] + way[c] / dx_m), v, ..p }
}

/// Takes a particle to the end of the step.
pub fn advance(p: &Particle, water: &Water, params: &Params) -> Moved {
    // A negative age is the moment of birth within this step.
    let from_s = (-p.age_s).max(0.0);
    let h_s = params.dt_s - from_s;
    let p = Particle { age_s: p.age_s.max(0.0) + h_s, ..*p };
    match p.kind {
        TRIAL => wait(p, from_s, h_s, water, params),
        FOAM => drift(p, h_s, water, params),
        _ => drop(p, h_s, water, params),
    }
}

const GONE: Moved = Moved {
    particle: Particle {
        x: [0.0; 3],
        radius_m: 0.0,
        v: [0.0; 3],
        left_s: 0.0,
        kind: TRIAL,
        seed: 0,
        id: 0,
        age_s: 0.0,
    },
    count: 0,
    landing: None,
};

/// A trial particle: tested at its moment.
fn wait(p: Particle, from_s: f32, h_s: f32, water: &Water, params: &Params) -> Moved {
    let dx_m = water.grid.dx_m;
    let is_tested = p.left_s <= h_s;
    let used_s = if is_tested { p.left_s } else { h_s };
    let mut there = moved(p, used_s, params.spray_tau_s, dx_m, params);
    if !hold(&mut there, params) || water.is_solid(there.x) {
        return GONE;
    }
    if !is_tested {
        there.left_s = p.left_s - h_s;
        return Moved { particle: there, count: 1, landing: None };
    }
    if water.phi_at(there.x, from_s + used_s, params.dt_s) <= 2.0 * p.radius_m {
        return GONE;
    }
    let u = water.velocity(there.x);
    let slip2 = (0..3).fold(0.0, |sum, c| sum + (there.v[c] - u[c]) * (there.v[c] - u[c]));
    let particle = Particle { radius_m: slip2.sqrt(), left_s: h_s - used_s, age_s: h_s - used_s, ..there };
    Moved { particle, count: CHILDREN, landing: None }
}

/// A drop that an escaped particle makes, at the end of the step. Its velocity has a chance part of up to half of what the escaped one slips through
/// what surrounds it: equal parts of both, mixed, have as much.
pub fn children(p: &Particle, n: u32, dx_m: f32, params: &Params) -> Particle {
    let seed = mix(p.seed.wrapping_add(n + 1));
    let noise = |c: usize| p.radius_m * (chance(seed, NOISE + c as u32) - 0.5);
    let is_mist = chance(seed, IS_MIST) < params.mist_part;
    let size = chance(seed, SIZE);
    let drop = Particle {
        x: p.x,
        // From half to twice the size, few of them large.
        radius_m: params.radius_m * (0.5 + 1.5 * size * size) * if is_mist { 0.5 } else { 1.0 },
        v: std::array::from_fn(|c| p.v[c] + noise(c)),
        left_s: params.foam_s * (0.5 + chance(seed, LIFE)),
        kind: if is_mist { MIST } else { SPRAY },
        seed,
        id: p.id.wrapping_add(n),
        age_s: p.age_s,
    };
    let tau_s = if is_mist { params.mist_tau_s } else { params.spray_tau_s };
    moved(drop, p.left_s, tau_s, dx_m, params)
}

/// Spray and mist: through the air until they meet the water or something solid.
fn drop(p: Particle, h_s: f32, water: &Water, params: &Params) -> Moved {
    let dx_m = water.grid.dx_m;
    let tau_s = if p.kind == MIST { params.mist_tau_s } else { params.spray_tau_s };
    let mut there = moved(p, h_s, tau_s, dx_m, params);
    if !hold(&mut there, params) || water.is_solid(there.x) {
        return GONE;
    }
    let phi = interpolate(water.grid, water.phi, there.x);
    if phi >= 0.0 {
        return Moved { particle: there, count: 1, landing: None };
    }
    // Where it met the surface, by the distances at both ends of its way.
    let above = interpolate(water.before, water.phi_before, p.x).max(0.0);
    let part = above / (above - phi);
    let met: [f32; 3] = std::array::from_fn(|c| p.x[c] + part * (there.x[c] - p.x[c]));
    let landing = Some(landing(met, p.radius_m, water, params));
    if p.kind == MIST || chance(p.seed, BECOMES_FOAM) >= params.foam_part {
        return Moved { landing, ..GONE };
    }
    let foam = Particle { kind: FOAM, x: met, v: water.velocity(met), ..there };
    Moved { particle: foam, count: 1, landing }
}

fn landing(x: [f32; 3], radius_m: f32, water: &Water, params: &Params) -> Landing {
    let near = |c: usize| (x[c].max(params.low[c]).min(params.high[c]) + 0.5).floor() as usize;
    let section = std::f32::consts::PI * radius_m * radius_m / (water.grid.dx_m * water.grid.dx_m);
    Landing {
        column: [near(0).min(water.grid.nx - 1), near(2).min(water.grid.nz - 1)],
        cover: FOAM_COVER * section,
    }
}

/// Foam: carried with the water by the midpoint rule, on its surface.
fn drift(p: Particle, h_s: f32, water: &Water, params: &Params) -> Moved {
    let dx_m = water.grid.dx_m;
    let scale = h_s / dx_m;
    let first = water.velocity(p.x);
    let middle = water.velocity(std::array::from_fn(|c| p.x[c] + 0.5 * scale * first[c]));
    let mut foam = Particle { v: middle, left_s: p.left_s - h_s, ..p };
    foam.x = std::array::from_fn(|c| p.x[c] + scale * middle[c]);
    if foam.left_s <= 0.0 || !hold(&mut foam, params) || water.is_solid(foam.x) {
        return GONE;
    }
    for _ in 0..ON_SURFACE {
        let (phi, slope) = slope(water, foam.x);
        let length2 = slope[0] * slope[0] + slope[1] * slope[1] + slope[2] * slope[2];
        // phi / |grad phi| along grad phi / |grad phi|; nothing where phi has no slope.
        let by = phi / length2.max(0.01) / dx_m;
        foam.x = std::array::from_fn(|c| foam.x[c] - by * slope[c]);
    }
    if !hold(&mut foam, params) {
        return GONE;
    }
    let phi = interpolate(water.grid, water.phi, foam.x);
    if phi < -dx_m {
        return GONE;
    }
    foam.kind = if phi > dx_m { SPRAY } else { FOAM };
    Moved { particle: foam, count: 1, landing: None }
}

/// phi and its slope by central differences over a cell.
fn slope(water: &Water, x: [f32; 3]) -> (f32, [f32; 3]) {
    let at = |c: usize, by: f32| {
        let mut x = x;
        x[c] += by;
        interpolate(water.grid, water.phi, x)
    };
    let dx_m = water.grid.dx_m;
    let slope = std::array::from_fn(|c| (at(c, 0.5) - at(c, -0.5)) / dx_m);
    (interpolate(water.grid, water.phi, x), slope)
}

/// A whole step of all particles. `landed` receives what fell in, in 65536ths of a column's area, by column; `moved` is scratch.
pub fn step(
    particles: &mut Vec<Particle>,
    counters: &mut Counters,
    landed: &mut [u32],
    moved: &mut Vec<Moved>,
    (water, params): (&Water, &Params),
) {
    let share = share(params.most, particles.len() as u32, counters.wanted);
    let mut born = 0u32;
    for column in 0..water.before.columns.len() {
        seed_column(water, column, share, params, |trial| {
            match particles.len() < params.most as usize {
                true => particles.push(Particle { id: counters.next_id, ..trial }),
                false => counters.refused += 1,
            }
            born += 1;
            counters.next_id = counters.next_id.wrapping_add(CHILDREN);
        });
    }
    counters.wanted = (born as f32 / share) as u32;
    moved.clear();
    moved.resize(particles.len(), GONE);
    parallel::for_each_indexed_mut(moved, |n, moved| *moved = advance(&particles[n], water, params));
    landed.fill(0);
    for m in &*moved {
        counters.escaped += if m.count > 1 { m.count } else { 0 };
        if let Some(Landing { column: [i, k], cover }) = m.landing {
            landed[i + water.grid.nx * k] += (65536.0 * cover) as u32;
            counters.fallen += 1;
            counters.foam += m.count;
        }
    }
    counters.refused += compact(particles, moved, water.grid.dx_m, params);
}

/// What is left of all particles, in their order, into `out`; returns how many found no room.
fn compact(out: &mut Vec<Particle>, moved: &[Moved], dx_m: f32, params: &Params) -> u32 {
    out.clear();
    let mut refused = 0;
    for m in moved {
        for n in 0..m.count {
            if out.len() == params.most as usize {
                refused += 1;
            } else if m.count == 1 {
                out.push(m.particle);
            } else {
                out.push(children(&m.particle, n, dx_m, params));
            }
        }
    }
    refused
}
