//! Particles that cross each other collide.

use crate::Particles;
use crate::sight::Sight;
use crate::sort::Locator;
use crate::transfer::on_side;
use crate::velocity::{LANES, VelocitySampler};
use fluvial_foundation::Vec3;
use fluvial_foundation::parallel::{self, CHUNK};
use fluvial_grids::{FaceField, Sides, UniformGrid};
use std::ops::Range;

/// The particles by cell.
pub struct Members<'a, R, W>
where
    R: Fn(usize) -> Range<usize> + Sync + Send,
    W: Fn(usize) -> f32 + Sync + Send,
{
    /// The particles of a cell, which lie one after the other.
    pub of_cell: R,
    /// The mass of a particle, in any unit.
    pub weight: W,
    /// Cells that the liquid reaches, not 0, see [`mark_near`](crate::mark_near): particles of others fly and meet nobody.
    /// Empty: it reaches all.
    pub near_cell: &'a [u8],
}

/// Working memory of [`collide`].
#[derive(Clone, Debug, Default)]
pub struct Collisions {
    /// Velocity of the flow at the particles.
    flow: Vec<Vec3>,
    /// What the particles of a cell keep of their velocity beside the flow's.
    kept_cell: Vec<f32>,
}

/// Lets particles that cross each other collide. With w the velocity of a particle beside that of the flow at its place,
///
/// `dw/dt = -w |w| / dx`, and so `w <- w / (1 + |w| dt / dx)`, whatever the length of steps:
///
/// liquid flows no farther than about a cell through other liquid. |w| is the root mean square of a cell's particles, so that
/// what one loses the others receive. Linear flows are interpolated exactly and lose nothing.
///
/// FLIP alone knows of no collisions. Where a stream is stopped by what it runs into, the pressure that stops it pushes
/// all particles of the cell alike, also those that stand there already, step after step: beside a wall one took
/// up 9 m/s while its place and the liquid around it stood still.
///
/// Tests: `streams_that_cross_stop_each_other`, `collisions_leave_linear_flows_alone`.
pub fn collide<R, W>(
    particles: &mut Particles,
    u_face: &FaceField,
    (grid, sides): (&UniformGrid, &Sides),
    members: &Members<R, W>,
    dt_s: f32,
    scratch: &mut Collisions,
) where
    R: Fn(usize) -> Range<usize> + Sync + Send,
    W: Fn(usize) -> f32 + Sync + Send,
{
    let Particles { x, v, .. } = particles;
    let Collisions { flow, kept_cell } = scratch;
    flow.resize(x.len(), Vec3::ZERO);
    sample(flow, x, &VelocitySampler::new(u_face, grid), &Sight::new(sides, grid));
    let (flow, crossings) = (&*flow, dt_s / grid.dx);
    kept_cell.resize(grid.cell_count(), 1.0);
    parallel::for_each_indexed_mut(kept_cell, |cell, kept| {
        *kept = 1.0;
        let of_cell = (members.of_cell)(cell);
        if of_cell.len() > 1 && members.near_cell.get(cell).is_none_or(|&near| near != 0) {
            let (mut squares, mut weights) = (0.0, 0.0);
            for p in of_cell {
                let weight = (members.weight)(p);
                squares += weight * (v[p] - flow[p]).length_squared();
                weights += weight;
            }
            *kept = 1.0 / (1.0 + (squares / weights).sqrt() * crossings);
        }
    });
    let (kept_cell, locate) = (&*kept_cell, Locator::new(grid));
    parallel::for_each_indexed_mut(v, |p, v| {
        *v = flow[p] + kept_cell[locate.cell(x[p]) as usize] * (*v - flow[p]);
    });
}

/// The flow's velocity at points.
fn sample(out: &mut [Vec3], x: &[Vec3], field: &VelocitySampler, sight: &Sight) {
    parallel::for_each_chunk_mut(out, CHUNK, |chunk, out| {
        let x = &x[parallel::chunk_range(chunk, CHUNK, x.len())];
        for (out, x) in out.chunks_mut(LANES).zip(x.chunks(LANES)) {
            let u = field.at(&field.in_cells(x));
            for (l, out) in out.iter_mut().enumerate() {
                *out = match on_side(field, sight, x[l]) {
                    Some((u, _)) => u,
                    None => Vec3::new(u[0][l], u[1][l], u[2][l]),
                };
            }
        }
    });
}
