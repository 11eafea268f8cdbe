//! Advection and external forces [tall §3.5]: MacCormack's scheme for velocity with a fallback,
//! semi-Lagrangian for phi, one trace for both. Twins in `advect.wgsl`.

use crate::field::{Around, Sample, Velocity, around, for_each_sample, interpolate};
use crate::redistance::holds_a_surface;
use crate::walls::Walls;
use fluvial_foundation::parallel;
use fluvial_grids::TallGrid;

/// Where a sample's liquid is after `scale` cells' worth of velocity along the flow (negative: was before),
/// by the midpoint rule. `scale` is a time over dx.
fn trace(grid: &TallGrid, u: &[Velocity], point: [f32; 3], here: Velocity, scale: f32) -> [f32; 3] {
    let half: [f32; 3] = std::array::from_fn(|c| point[c] + 0.5 * scale * here[c]);
    let middle = interpolate(grid, u, half);
    std::array::from_fn(|c| point[c] + scale * middle[c])
}

/// First half: traces every sample back once, and reads velocity and phi there.
///
/// `carried` receives (u, v, w, phi), `from` the point in cells that they came from, and what phi is there at least: walls
/// that liquid has let go of are its surface.
pub fn trace_back(
    (carried, from): (&mut [[f32; 4]], &mut [[f32; 4]]),
    grid: &TallGrid,
    (u, phi): (&[Velocity], &[f32]),
    (walls, pressure): (&Walls, &[f32]),
    dt_s: f32,
) {
    let slab = grid.nx * grid.rows();
    let scale = -dt_s / grid.dx_m;
    parallel::for_each_chunk_mut2((carried, slab), (from, slab), |k, carried, from| {
        for j in 0..grid.rows() {
            for i in 0..grid.nx {
                let local = i + grid.nx * j;
                let point = [i as f32, grid.y(i, j, k) as f32, k as f32];
                let [x, y, z] = trace(grid, u, point, u[slab * k + local], scale);
                let there = around(grid, [x, y, z]);
                let [a, b, c, _] = there.value(u);
                let least = grid.dx_m * walls.beyond(grid, pressure, [x, y, z]);
                let s = Sample { i, j, k, y: grid.y(i, j, k), index: slab * k + local };
                let is_line = holds_a_surface(grid, phi, s);
                let phi_there = if is_line { phi[s.index] } else { there.value(phi).max(least) };
                carried[local] = [a, b, c, phi_there];
                from[local] = [x, y, z, least];
            }
        }
    });
}

/// Least and largest of the values that an interpolation read, by component.
fn bounds(u: &[Velocity], there: &Around) -> ([f32; 3], [f32; 3]) {
    let (mut least, mut most) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for place in there.places {
        for value in [u[place.low], u[place.high]] {
            (0..3).for_each(|c| least[c] = least[c].min(value[c]));
            (0..3).for_each(|c| most[c] = most[c].max(value[c]));
        }
    }
    (least, most)
}

/// Second half: MacCormack's correction, and forces by one Euler step.
///
/// What was carried is carried forth again along the same flow; half of what it misses of the old velocity is
/// the correction. A component that leaves the range of the values it was interpolated from falls back to the
/// carried one (selle2008maccormack). Second order where it does not: `maccormack_is_second_order`.
pub fn correct(
    out: &mut [Velocity],
    grid: &TallGrid,
    u: &[Velocity],
    (carried, from): (&[[f32; 4]], &[[f32; 4]]),
    acceleration_m_s2: [f32; 3],
    dt_s: f32,
) {
    let scale = dt_s / grid.dx_m;
    for_each_sample(grid, out, |s| {
        let (old, once) = (u[s.index], carried[s.index]);
        let forth = trace(grid, u, s.point(), old, scale);
        let again = interpolate(grid, carried, forth);
        let [x, y, z, _] = from[s.index];
        let (least, most) = bounds(u, &around(grid, [x, y, z]));
        let mut new = [0.0, 0.0, 0.0, 1.0];
        for c in 0..3 {
            let corrected = once[c] + 0.5 * (old[c] - again[c]);
            let kept = if corrected < least[c] || corrected > most[c] { once[c] } else { corrected };
            new[c] = kept + dt_s * acceleration_m_s2[c];
        }
        new
    });
}

/// phi out of what [`trace_back`] carried.
pub fn carried_phi(out: &mut [f32], carried: &[[f32; 4]]) {
    out.iter_mut().zip(carried).for_each(|(phi, c)| *phi = c[3]);
}

/// phi by MacCormack's scheme, as [`correct`] does it for velocity: out of the range of the values that it was
/// interpolated from it falls back to the carried one. The paper stays at first order, because corrected surfaces get
/// rough; where volume is kept by columns, what first order loses would have to be put back in every step.
pub fn correct_phi(
    out: &mut [f32],
    grid: &TallGrid,
    (u, phi): (&[Velocity], &[f32]),
    (carried, from): (&[[f32; 4]], &[[f32; 4]]),
    dt_s: f32,
) {
    let scale = dt_s / grid.dx_m;
    for_each_sample(grid, out, |s| {
        let once = carried[s.index][3];
        if holds_a_surface(grid, phi, s) {
            return once;
        }
        let forth = trace(grid, u, s.point(), u[s.index], scale);
        let again = interpolate(grid, carried, forth)[3];
        let [x, y, z, at_walls] = from[s.index];
        let (mut least, mut most) = (f32::INFINITY, f32::NEG_INFINITY);
        for place in around(grid, [x, y, z]).places {
            for value in [phi[place.low], phi[place.high]] {
                (least, most) = (least.min(value), most.max(value));
            }
        }
        let corrected = once + 0.5 * (phi[s.index] - again);
        if corrected < least || corrected > most { once } else { corrected.max(at_walls) }
    });
}

/// phi on a grid of its own, finer than the velocity's [tall Table 2]. `ratio` is the number of
/// cells of the surface grid in a cell of the velocity's along an axis. Twin in `surface.wgsl`;
/// `a_finer_surface_is_carried_exactly`.
pub fn surface_back(
    out: &mut [f32],
    (surface, phi): (&TallGrid, &[f32]),
    (grid, u): (&TallGrid, &[Velocity]),
    ratio: f32,
    dt_s: f32,
) {
    let scale = -dt_s / grid.dx_m;
    for_each_sample(surface, out, |s| {
        let coarse = s.point().map(|c| (c + 0.5) / ratio - 0.5);
        let there = trace(grid, u, coarse, interpolate(grid, u, coarse), scale);
        interpolate(surface, phi, there.map(|c| (c + 0.5) * ratio - 0.5))
    });
}
