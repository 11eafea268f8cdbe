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
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pressed {
    /// Air.
    Dry,
    /// Water of this pressure, Pa.
    Wet(f32),
    /// Other solids alone. The water around the body is taken to reach in between.
    Enclosed,
}

/// Samples whose weights add up to less than this say nothing about a place.
const LEAST_WEIGHT: f32 = 1e-3;

/// What lies at a point (in cells), from the samples around it that are not solid. `weight_pa` is the weight of a cell of
/// water by area, `rho g dx`: pressures are taken to the point's height as those of water at rest.
pub fn pressed(
    grid: &TallGrid,
    (phi, fraction, p): (&[f32], &[f32], &[f32]),
    point: [f32; 3],
    weight_pa: f32,
) -> Pressed {
    let near = around(grid, point);
    let slab = grid.nx * grid.rows();
    let (mut open, mut distance, mut wet, mut sum) = (0.0f32, 0.0f32, 0.0f32, 0.0f32);
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
                wet += w;
                sum += w * (p[index] + weight_pa * (grid.y(i, j, k) as f32 - point[1]));
            }
        }
    }
    if open < LEAST_WEIGHT {
        return Pressed::Enclosed;
    }
    if distance > 0.0 || wet < LEAST_WEIGHT { Pressed::Dry } else { Pressed::Wet(sum / wet) }
}

/// [`pressed`] of all elements.
pub fn press(
    out: &mut [Pressed],
    elements: &[Element],
    grid: &TallGrid,
    fields: (&[f32], &[f32], &[f32]),
    weight_pa: f32,
) {
    parallel::for_each_indexed_mut(out, |n, out| *out = pressed(grid, fields, elements[n].at, weight_pa));
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
    /// Velocity before the pressure acts, m/s and rad/s.
    pub before: Pair,
    /// Velocity that the water meets.
    pub now: Pair,
    /// What the last step has lent it, N s and N m s.
    pub owed: Pair,
    /// What the water gives it in this step, N s and N m s.
    pub given: Pair,
    /// What this step lends it.
    pub lent: Pair,
}

/// A body takes up the pressure on its elements: [`Coupled::now`] becomes the velocity after it.
pub fn push(body: &mut Coupled, elements: &[Element], pressed: &[Pressed], (dx, weight_pa): (f32, f32), dt_s: f64) {
    let (elements, pressed) = (&elements[body.elements.clone()], &pressed[body.elements.clone()]);
    let vector = |v: [f32; 3]| DVec3::new(v[0].into(), v[1].into(), v[2].into());
    let weight = f64::from(weight_pa);
    // The head of the water at the body, and the part of its surface that is wet.
    let (mut wet_m2, mut all_m2, mut heads, mut reference) = (0.0, 0.0, 0.0, None);
    for (element, pressed) in elements.iter().zip(pressed) {
        let area = vector(element.area).length();
        all_m2 += area;
        if let Pressed::Wet(p) = pressed {
            wet_m2 += area;
            heads += area * (f64::from(*p) + weight * f64::from(element.at[1]));
            reference = reference.or(Some(f64::from(*p)));
        }
    }
    // The surface is closed, so that a constant may be subtracted from the pressure: that of the first wet element.
    let reference = reference.unwrap_or(0.0);
    let (mut force, mut torque) = (DVec3::ZERO, DVec3::ZERO);
    for (element, pressed) in elements.iter().zip(pressed) {
        let p = match pressed {
            Pressed::Dry => 0.0,
            Pressed::Wet(p) => f64::from(*p),
            Pressed::Enclosed if wet_m2 > 0.0 => (heads / wet_m2 - weight * f64::from(element.at[1])).max(0.0),
            Pressed::Enclosed => 0.0,
        };
        let part = (reference - p) * vector(element.area);
        force += part;
        torque += (f64::from(dx) * (vector(element.at) - body.center)).cross(part);
    }
    let share = if all_m2 > 0.0 { wet_m2 / all_m2 } else { 0.0 };
    let masses = [
        (DMat3::from_diagonal(body.inverse_mass), share * body.added_mass),
        (body.inverse_inertia, share * body.added_inertia),
    ];
    for (n, (inverse, added)) in masses.into_iter().enumerate() {
        let (met, sum) = (body.now[n], dt_s * [force, torque][n] + body.owed[n]);
        let right = body.before[n] + inverse * (sum + added * met);
        body.now[n] = (DMat3::IDENTITY + inverse * added).inverse() * right;
        body.lent[n] = added * (body.now[n] - met);
        body.given[n] = sum - body.lent[n];
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
const LARGER: f64 = 1.5;
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
        let turned = if below.abs() > 1e-9 * sum { difference * difference * (alpha[k] - alpha[j]) / below } else { 0.0 };
        0.2 * mass * (turned + round)
    };
    [LARGER * DVec3::new(along(0), along(1), along(2)), LARGER * DVec3::new(about(0), about(1), about(2))]
}
