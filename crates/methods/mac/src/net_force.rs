//! The net force of a pressure on the surface of free bodies of liquid, which there should be none of.

use crate::short_waves::SurfaceCells;
use crate::surface::SurfacePush;
use crate::{FaceCells, Openings, for_each_face};
use fluvial_foundation::AXES;
use fluvial_foundation::parallel::map_indices;
use fluvial_grids::{FaceField, GHOST_DISTANCE_FLOOR, floored_distance, ghost_theta};

/// The velocity that a pressure on the surface gives every body of liquid as a whole.
///
/// Tension does not move a closed surface: the integral of kappa n vanishes. Curvatures with errors do, and a drop in free
/// fall would start to move. With the masses of the projection, 1 for a face between liquid cells and theta for one that
/// the surface crosses, pressures inside cancel in the sum of mass times change over the faces of an axis. What is left is
/// `sum_f -n s dt / dx` over the crossed faces, and the body's velocity is that over the sum of the masses,
/// `cells - sum_f (1/2 - theta)`: each face between two cells is one half of each. A uniform velocity is free of
/// divergence, so that the projection leaves it as it is.
#[derive(Clone, Debug, Default)]
pub struct NetForce {
    /// The body of every cell, `u32::MAX` outside the liquid.
    pub label_cell: Vec<u32>,
    /// By body and axis, m/s; none of those that are not free.
    velocities: Vec<[f32; 3]>,
    sums: Vec<Body>,
}

#[derive(Clone, Copy, Debug)]
struct Body {
    cells: f64,
    is_free: bool,
    /// By axis: `sum_f -n s dt / dx`, m/s, and `sum_f (1/2 - theta)`.
    push_m_s: [f64; 3],
    missing: [f64; 3],
}

const NO_BODY: Body = Body { cells: 0.0, is_free: true, push_m_s: [0.0; 3], missing: [0.0; 3] };

impl NetForce {
    /// Finds the velocities of the bodies that `label_cell` numbers, `count` of them. Bodies that touch a wall, a solid or a
    /// source keep theirs, since what they touch may push back.
    pub fn find(
        &mut self,
        count: usize,
        surface: &SurfaceCells,
        push: &SurfacePush,
        openings: &Openings,
        value: impl Fn(usize, usize) -> f32,
    ) {
        let NetForce { label_cell, velocities, sums } = self;
        sums.clear();
        sums.resize(count, NO_BODY);
        for (label, cells, is_free) in count_cells(label_cell, openings).into_iter().flatten() {
            let body = &mut sums[label as usize];
            body.cells += cells;
            body.is_free &= is_free;
        }
        let (phi, cells) = (push.phi_cell, openings.grid.cell_centers());
        for (high, at) in surface.iter() {
            for axis in AXES.into_iter().filter(|&axis| at[axis] > 0) {
                let low = high - cells.stride(axis);
                if (phi[low] < 0.0) == (phi[high] < 0.0) {
                    continue;
                }
                let (inside, outside, n) = if phi[low] < 0.0 { (low, high, 1.0) } else { (high, low, -1.0) };
                let Some(body) = sums.get_mut(label_cell[inside] as usize) else { continue };
                let liquid = floored_distance(phi[inside], push.unit, GHOST_DISTANCE_FLOOR);
                let theta = f64::from(ghost_theta(liquid, phi[outside]).0);
                body.missing[axis] += 0.5 - theta;
                if push.unknown_cell[inside] {
                    body.push_m_s[axis] -= n * f64::from(push.strength * value(inside, outside));
                }
            }
        }
        velocities.clear();
        velocities.extend(sums.iter().map(|body| match body.is_free {
            true => AXES.map(|axis| (body.push_m_s[axis] / (body.cells - body.missing[axis])) as f32),
            false => [0.0; 3],
        }));
    }

    /// Takes these velocities off the bodies' faces.
    pub fn subtract(&self, u_face: &mut FaceField, openings: &Openings) {
        if self.velocities.iter().all(|velocity| *velocity == [0.0; 3]) {
            return;
        }
        for axis in AXES {
            for_each_face(&mut u_face[axis], openings.grid, axis, |_, FaceCells { low, high }, u| {
                let velocity = |cell: usize| self.velocities.get(self.label_cell[cell] as usize);
                if let Some(velocity) = low.and_then(velocity).or(high.and_then(velocity)) {
                    *u -= velocity[axis];
                }
            });
        }
    }
}

/// Cells of each body and whether all of their faces are open, run by run, slab by slab.
fn count_cells(label_cell: &[u32], openings: &Openings) -> Vec<Vec<(u32, f64, bool)>> {
    let cells = openings.grid.cell_centers();
    let lattices = AXES.map(|axis| openings.grid.faces(axis));
    let is_free = |cell: usize, at: [usize; 3]| {
        !openings.is_at_source(cell)
            && AXES.into_iter().all(|axis| {
                let face = lattices[axis].index(at[0], at[1], at[2]);
                let area = &openings.area_face[axis];
                let is_inner = at[axis] > 0 && at[axis] + 1 < cells.size[axis];
                is_inner && area[face] == 1.0 && area[face + lattices[axis].stride(axis)] == 1.0
            })
    };
    map_indices(cells.size[2], |k| {
        let mut runs: Vec<(u32, f64, bool)> = vec![];
        for cell in k * cells.slab()..(k + 1) * cells.slab() {
            let label = label_cell[cell];
            if label == u32::MAX {
                continue;
            }
            let is_free = is_free(cell, cells.coordinates(cell));
            match runs.last_mut() {
                Some(run) if run.0 == label => *run = (label, run.1 + 1.0, run.2 && is_free),
                _ => runs.push((label, 1.0, is_free)),
            }
        }
        runs
    })
}
