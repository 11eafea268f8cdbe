//! Bodies that the water moves [tall §3.9.1]. Twins in `bodies.wgsl`.
//!
//! The paper sums buoyancy and drag over the voxels that hold both. Here the pressure of the water acts on the body's own surface, cut into
//! small flat [`Element`]s: its static part is buoyancy, exact where the pressure is linear, and its dynamic part is what the flow does,
//! the inertia of displaced water included.
//!
//! Water and bodies do not take turns: bodies receive the pressure after every cycle of its solution, and the next cycle meets them as fast as
//! they then are. What the pressure gives a body depends on the body's own acceleration, `F(a) = F(0) - A a` with the added mass A, so that a light
//! body in turns with the water would shake without bounds. Each turn therefore counts with an estimate E of A
//! ([`Coupled::added_mass`]): `M (v - v_before) = F dt + E (v_met - v) + owed`, whose error falls by `(E - A) / (M + E)` a turn, stable for
//! every mass where `E > A / 2`. What E has lent in the last turn of a step is owed in the next one ([`Coupled::owed`]), so
//! that over steps the bodies receive what the pressure gives, no more and no less.

use crate::field::{Velocity, around};
use crate::pressure::stencil::{SOLID_ABOVE, is_unknown};
use fluvial_foundation::{DMat3, DVec3, parallel};
use fluvial_grids::TallGrid;
use fluvial_grids::tall::LEAST_TALL;
use std::ops::Range;

/// A flat part of a body's surface.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Element {
    /// Its middle, in cells (whole at cell centres).
    pub at: [f32; 3],
    /// Its area along its outward normal, m2.
    pub area: [f32; 3],
}

/// What lies at an [`Element`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beside {
    /// Air.
    #[default]
    Dry,
    /// Water.
    Wet,
    /// Water of a tall cell, whose flow around the body is not resolved.
    Deep,
    /// Other solids alone. The water around the body is taken to reach in between.
    Enclosed,
}

/// What lies at an [`Element`], and the pressure and velocity of water there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressed {
    /// Water, air or a solid.
    pub beside: Beside,
    /// Pa; zero where there is no water.
    pub pressure_pa: f32,
    /// m/s.
    pub u: [f32; 3],
}

/// What water is seen by bodies.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// The columns.
    pub grid: &'a TallGrid,
    /// Level set.
    pub phi: &'a [f32],
    /// Solid fraction.
    pub fraction: &'a [f32],
    /// Pressure, Pa.
    pub p: &'a [f32],
    /// Velocity before the pressure acts, m/s.
    pub u: &'a [Velocity],
    /// What gravity has added to it in this step.
    pub fallen_m_s: f32,
    /// Weight of a cell of water by area, `rho g dx`.
    pub weight_pa: f32,
    /// kg/m3.
    pub density_kg_m3: f32,
    /// Length of the step, s.
    pub dt_s: f32,
}

/// Samples whose weights add up to less than this say nothing about a place.
const LEAST_WEIGHT: f32 = 1e-3;

/// What lies at an element of a body that moves with `u_body` there, from the samples around it that are not solid.
///
/// Their pressures are taken to the element by the gradient that there is beside it: that of water at rest, and along the
/// element's normal what makes the water as fast as the body. With the first alone the water receives more than a body loses:
/// pressures lie half a cell before it. `resolved` is one less [`Coupled::coarse`].
pub fn pressed(water: &Around, element: &Element, u_body: [f32; 3], resolved: f32) -> Pressed {
    let &Around { grid, phi, fraction, p, u, weight_pa, fallen_m_s, density_kg_m3, dt_s } = water;
    let (point, area) = (element.at, element.area);
    let m2 = (area[0] * area[0] + area[1] * area[1] + area[2] * area[2]).sqrt();
    let normal = area.map(|a| a / m2);
    let stops_pa = resolved * density_kg_m3 * grid.dx_m / dt_s;
    let near = around(grid, point);
    let slab = grid.nx * grid.rows();
    let (mut open, mut distance, mut wet, mut sum) = (0.0f32, 0.0f32, 0.0f32, 0.0f32);
    let (mut flow, mut deep) = ([0.0f32; 3], 0.0f32);
    for (n, place) in near.places.iter().enumerate() {
        let wx = if n % 2 == 1 { near.wx } else { 1.0 - near.wx };
        let wz = if n / 2 == 1 { near.wz } else { 1.0 - near.wz };
        for (index, wy) in [(place.low, 1.0 - place.weight), (place.high, place.weight)] {
            if fraction[index] > SOLID_ABOVE {
                continue;
            }
            let w = wx * wz * wy;
            open += w;
            distance += w * phi[index];
            if is_unknown(phi[index], fraction[index]) {
                let (i, j, k) = (index % grid.nx, index % slab / grid.nx, index / slab);
                let above = grid.y(i, j, k) as f32 - point[1];
                let v = [u[index][0], u[index][1] - fallen_m_s, u[index][2]];
                let mut here = p[index] + weight_pa * above;
                if grid.column(i, k)[1] > LEAST_TALL && j < 2 {
                    deep += w;
                } else {
                    let away = (i as f32 - point[0]) * normal[0]
                        + above * normal[1]
                        + (k as f32 - point[2]) * normal[2];
                    let lead = (u_body[0] - v[0]) * normal[0]
                        + (u_body[1] - v[1]) * normal[1]
                        + (u_body[2] - v[2]) * normal[2];
                    here += stops_pa * away * lead;
                }
                wet += w;
                sum += w * here;
                (0..3).for_each(|c| flow[c] += w * v[c]);
            }
        }
    }
    if open < LEAST_WEIGHT {
        return Pressed { beside: Beside::Enclosed, ..Pressed::default() };
    }
    if distance > 0.0 || wet < LEAST_WEIGHT {
        return Pressed::default();
    }
    let beside = if deep > 0.5 * wet { Beside::Deep } else { Beside::Wet };
    Pressed { beside, pressure_pa: sum / wet, u: flow.map(|v| v / wet) }
}

/// [`pressed`] of all elements of a body.
pub fn press(out: &mut [Pressed], elements: &[Element], body: &Coupled, water: &Around) {
    let dx = f64::from(water.grid.dx_m);
    parallel::for_each_indexed_mut(&mut out[body.elements.clone()], |n, out| {
        let element = &elements[body.elements.start + n];
        let v = body.now[0] + body.now[1].cross(dx * (vector(element.at) - body.center));
        *out = pressed(water, element, v.as_vec3().to_array(), 1.0 - body.coarse as f32);
    });
}

fn vector(v: [f32; 3]) -> DVec3 {
    DVec3::new(v[0].into(), v[1].into(), v[2].into())
}

/// Linear and angular parts of a velocity or an impulse, about the centre of mass.
pub type Pair = [DVec3; 2];

/// A body in a step's pressure solve.
#[derive(Clone, Debug)]
pub struct Coupled {
    /// Its elements.
    pub elements: Range<usize>,
    /// Centre of mass, in cells.
    pub center: DVec3,
    /// Along the axes, 1/kg; zero where it is held.
    pub inverse_mass: DVec3,
    /// 1/(kg m2).
    pub inverse_inertia: DMat3,
    /// Estimate of the mass of water that moves with it when all of it is wet, kg.
    pub added_mass: DMat3,
    /// The same for its rotation, kg m2.
    pub added_inertia: DMat3,
    /// Both as they are where the flow around it is not resolved.
    pub carried: [DMat3; 2],
    /// Part of it that the grid does not resolve, because it is small: 0 from two cells on, 1 at one.
    pub coarse: f64,
    /// Velocity at the begin of the step, m/s and rad/s.
    pub start: Pair,
    /// Velocity before the pressure acts.
    pub before: Pair,
    /// Velocity that the water meets.
    pub now: Pair,
    /// What the last step has lent it, N s and N m s.
    pub owed: Pair,
    /// What the water gives it in this step, N s and N m s.
    pub given: Pair,
    /// What this step lends it.
    pub lent: Pair,
    /// What it gives to water whose flow around it is not resolved, by drag and by moving it along, N s.
    pub shed: DVec3,
    /// Surface that lies in tall cells, m2.
    pub deep_m2: f64,
}

/// Drag coefficient of a body whose flow is not resolved, by a quarter of its surface: a ball's.
const DRAG: f64 = 0.5;

/// Sums over the elements of a body.
struct Sums {
    /// Of the pressure, N and N m.
    force: Pair,
    /// Surface that is wet, that lies in tall cells, and all of it, m2.
    wet_m2: f64,
    deep_m2: f64,
    all_m2: f64,
    /// Mean velocity of the water at it, m/s.
    u: DVec3,
}

fn sums(body: &Coupled, elements: &[Element], pressed: &[Pressed], water: &Around) -> Sums {
    let both = || elements[body.elements.clone()].iter().zip(&pressed[body.elements.clone()]);
    let (weight, dx) = (f64::from(water.weight_pa), f64::from(water.grid.dx_m));
    let (mut wet_m2, mut deep_m2, mut all_m2, mut heads, mut u) = (0.0, 0.0, 0.0, 0.0, DVec3::ZERO);
    for (element, pressed) in both() {
        let area = vector(element.area).length();
        all_m2 += area;
        if matches!(pressed.beside, Beside::Wet | Beside::Deep) {
            let p = f64::from(pressed.pressure_pa);
            wet_m2 += area;
            u += area * vector(pressed.u);
            heads += area * (p + weight * f64::from(element.at[1]));
        }
        if pressed.beside == Beside::Deep {
            deep_m2 += area;
        }
    }
    let head = if wet_m2 > 0.0 { heads / wet_m2 } else { 0.0 };
    // The surface is closed, so that a constant may be subtracted from the pressure: that of water at rest at the body's centre.
    let reference = if wet_m2 > 0.0 { head - weight * body.center.y } else { 0.0 };
    let mut force = Pair::default();
    for (element, pressed) in both() {
        let p = match pressed.beside {
            Beside::Enclosed if wet_m2 > 0.0 => (head - weight * f64::from(element.at[1])).max(0.0),
            _ => f64::from(pressed.pressure_pa),
        };
        let part = (reference - p) * vector(element.area);
        force[0] += part;
        force[1] += (dx * (vector(element.at) - body.center)).cross(part);
    }
    Sums { force, wet_m2, deep_m2, all_m2, u: if wet_m2 > 0.0 { u / wet_m2 } else { u } }
}

/// A body takes up the pressure on its elements: [`Coupled::now`] becomes the velocity after it.
///
/// In tall cells, and where bodies are smaller than cells, the flow around them is not resolved and the pressure knows nothing of it. As much of a body
/// moves the estimated mass of water with it and feels drag, as in the paper.
pub fn push(body: &mut Coupled, elements: &[Element], pressed: &[Pressed], water: &Around) {
    let dt_s = f64::from(water.dt_s);
    let sums = sums(body, elements, pressed, water);
    let share = if sums.all_m2 > 0.0 { sums.wet_m2 / sums.all_m2 } else { 0.0 };
    // What moves around a body half of which lies in cubic cells is resolved there.
    let deep = if sums.wet_m2 > 0.0 {
        (2.0 * sums.deep_m2 / sums.wet_m2 - 1.0).max(body.coarse) * share
    } else {
        0.0
    };
    let speed = (body.start[0] - sums.u).length();
    let drag = 0.5 * DRAG * f64::from(water.density_kg_m3) * 0.25 * deep * sums.all_m2 * speed;
    let masses = [
        (DMat3::from_diagonal(body.inverse_mass), body.added_mass, body.carried[0], drag * dt_s, sums.u),
        (body.inverse_inertia, body.added_inertia, body.carried[1], 0.0, DVec3::ZERO),
    ];
    for (n, (inverse, added, carried, drag, u)) in masses.into_iter().enumerate() {
        let (lends, carries) = ((share - deep) * added, deep * carried);
        let drags = DMat3::from_diagonal(DVec3::splat(drag));
        let (met, sum) =
            (body.now[n], dt_s * sums.force[n] + body.owed[n] + carries * body.start[n] + drags * u);
        let right = body.before[n] + inverse * (sum + lends * met);
        body.now[n] = (DMat3::IDENTITY + inverse * (lends + carries + drags)).inverse() * right;
        body.lent[n] = lends * (body.now[n] - met);
        body.given[n] = sum - (carries + drags) * body.now[n] - body.lent[n];
        if n == 0 {
            body.shed = (carries + drags) * body.now[n] - carries * body.start[n] - drags * u;
        }
    }
    body.deep_m2 = sums.deep_m2;
}

/// The tall cells around a body receive what it gives to unresolved flow, by how much of its surface lies in each: all of a tall cell moves faster by as much. The
/// pressure knows of it in the next step. What a body smaller than two cells gives off in cubic cells they do not receive. Test: `tall_cells_receive_what_a_body_loses`.
pub fn shed(
    u: &mut [Velocity],
    grid: &TallGrid,
    body: &Coupled,
    (elements, pressed): (&[Element], &[Pressed]),
    density_kg_m3: f32,
) {
    if body.deep_m2 <= 0.0 {
        return;
    }
    let column = |at: [f32; 3]| {
        let near = |v: f32, n: usize| ((v + 0.5).floor().max(0.0) as usize).min(n - 1);
        [near(at[0], grid.nx), near(at[2], grid.nz)]
    };
    let deep = || body.elements.clone().filter(|n| pressed[*n].beside == Beside::Deep);
    let (mut low, mut high) = ([usize::MAX; 2], [0; 2]);
    for [i, k] in deep().map(|n| column(elements[n].at)) {
        (low, high) = ([low[0].min(i), low[1].min(k)], [high[0].max(i), high[1].max(k)]);
    }
    for (k, i) in (low[1]..=high[1]).flat_map(|k| (low[0]..=high[0]).map(move |i| (k, i))) {
        let here = deep().filter(|n| column(elements[*n].at) == [i, k]);
        let m2: f64 = here.map(|n| vector(elements[n].area).length()).sum();
        let water_kg =
            f64::from(density_kg_m3) * f64::from(grid.dx_m).powi(3) * f64::from(grid.column(i, k)[1]);
        let by = m2 / body.deep_m2 / water_kg * body.shed;
        for n in [0, 1].map(|j| grid.index(i, j, k)) {
            (0..3).for_each(|c| u[n][c] += by[c] as f32);
        }
    }
}

/// The velocity of what is solid, where it is a body: those samples have the body's number, from 1 on, as their fourth component.
pub fn body_velocities(u_solid: &mut [Velocity], grid: &TallGrid, bodies: &[Coupled]) {
    let slab = grid.nx * grid.rows();
    parallel::for_each_chunk_mut(u_solid, slab, |k, values| {
        for (local, value) in values.iter_mut().enumerate().filter(|(_, value)| value[3] >= 1.0) {
            let (i, j, body) = (local % grid.nx, local / grid.nx, &bodies[value[3] as usize - 1]);
            let at = DVec3::new(i as f64, f64::from(grid.y(i, j, k)), k as f64) - body.center;
            let v = body.now[0] + body.now[1].cross(f64::from(grid.dx_m) * at);
            *value = [v.x as f32, v.y as f32, v.z as f32, value[3]];
        }
    });
}

/// By how much estimates of added masses are larger than those of ellipsoids: walls, edges and the voxels add to them. Too large
/// ones take more turns, those below half of what they estimate would shake light bodies.
pub const LARGER: f64 = 1.5;
/// Least added inertia as a part of the inertia of the water in the body's place: a ball has none, a cube does.
const LEAST_INERTIA: f64 = 0.2;
/// Points of the integral over confocal ellipsoids.
const POINTS: usize = 400;

/// Mass and inertia of the water that an ellipsoid moves with it, along and about its axes, for a body of `size` (along its axes) and
/// volume in water of `density` [lamb-1932 §114, §115].
///
/// Test: `ellipsoids_have_their_added_masses`.
pub fn added_masses(size: DVec3, volume_m3: f64, density: f64) -> [DVec3; 2] {
    let scale = (volume_m3 / (std::f64::consts::PI / 6.0 * size.element_product())).cbrt();
    let square = (0.5 * scale * size) * (0.5 * scale * size);
    let unit = square.element_product().cbrt();
    // alpha_i = a b c int_0^inf dl / ((a_i^2 + l) sqrt((a^2 + l) (b^2 + l) (c^2 + l))), l = unit (t / (1 - t))^2.
    let mut alpha = DVec3::ZERO;
    for n in 0..POINTS {
        let t = (n as f64 + 0.5) / POINTS as f64;
        let root = t / (1.0 - t);
        let (l, step) = (unit * root * root, unit * 2.0 * root / (1.0 - t).powi(2) / POINTS as f64);
        let shifted = square + DVec3::splat(l);
        alpha += step * (square.element_product() / shifted.element_product()).sqrt() / shifted;
    }
    let mass = density * volume_m3;
    let along = |i: usize| mass * alpha[i] / (2.0 - alpha[i]);
    let about = |i: usize| {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        let (sum, difference) = (square[j] + square[k], square[j] - square[k]);
        let below = 2.0 * difference + sum * (alpha[j] - alpha[k]);
        let round = LEAST_INERTIA * sum;
        let turned = if below.abs() > 1e-9 * sum {
            difference * difference * (alpha[k] - alpha[j]) / below
        } else {
            0.0
        };
        0.2 * mass * (turned + round)
    };
    [DVec3::new(along(0), along(1), along(2)), DVec3::new(about(0), about(1), about(2))]
}
