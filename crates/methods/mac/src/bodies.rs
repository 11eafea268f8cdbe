//! Rigid bodies that the pressure moves [batty-2007].
//!
//! A body's velocity V (of its centre of mass, and angular) enters the divergence of a cell by the closed parts of its
//! faces, `G_i V = sum_f n_f (1 - A_f) (v + omega x r_f) . e_f`, and pressure pushes the body through the same parts,
//! `V += M^-1 rho dx^3 sum_i G_i^T q_i` with `q = p dt / (rho dx)`. So the projection becomes
//!
//! `(A + G K G^T) q = rhs - G V`, `K = rho dx^3 M^-1`,
//!
//! which is symmetric and positive definite as A is. Between cells inside the liquid the open part of a face gives the
//! water `-rho dx^3 A_f (q_high - q_low)`, and the sum over the faces of a cell along an axis is `rho dx^3 q_i (A_high -
//! A_low)`; the body gets `rho dx^3 q_i ((1 - A_high) - (1 - A_low))`, the opposite: momentum of water and body together
//! changes by what acts on them from outside alone, to rounding (test `momentum_of_body_and_water_stays` of `uniform`).
//!
//! Pressure is known at the centres of cells, and acts at the body's surface. Between the two is water that the open faces
//! do not have; its weight is the body's to carry ([`weight_at_surface`]). Without it a box of n cells would have the
//! buoyancy of n + 1, or of n - 1, and float by half a cell too high or too low.

use crate::Openings;
use fluvial_foundation::{AXES, Axis, DVec3, Vec3, parallel};
use fluvial_linear::{Block, LowRank, RANK};
use fluvial_solids::{CoupledBody, SolidFields};

/// The liquid and the solids that bodies are among.
#[derive(Clone, Copy, Debug)]
pub struct AroundBodies<'a> {
    /// The faces.
    pub openings: &'a Openings<'a>,
    /// The solids, bodies among them.
    pub solids: &'a SolidFields,
    /// For each solid that moves, in their order, its number among the bodies where it is one.
    pub among_moving: &'a [Option<usize>],
    /// Wet cells.
    pub unknown_cell: &'a [bool],
    /// What gravity adds to a velocity in the step, m/s.
    pub gravity_m_s: Vec3,
    /// The liquid's, kg/m3.
    pub density: f64,
}

impl AroundBodies<'_> {
    /// The number of the body that closes a face.
    fn body_at(&self, axis: Axis, at: [usize; 3]) -> Option<usize> {
        self.solids.mover(self.openings.grid, axis, at).and_then(|n| self.among_moving[n])
    }
}

/// The bodies' term of the projection, a block a body, its rows the cells that its surface runs through; and for each body the
/// `weight_at_surface`, corrected for what the grid's image of the body is larger or smaller than the body.
pub fn couple_bodies(
    term: &mut LowRank,
    clinging: &mut Vec<[DVec3; 2]>,
    bodies: &[CoupledBody],
    around: &AroundBodies,
) {
    let grid = around.openings.grid;
    let (cells, nodes) = (grid.cell_centers(), grid.nodes());
    let cell_kg = around.density * f64::from(grid.dx).powi(3);
    term.blocks.resize_with(bodies.len(), Block::default);
    clinging.clear();
    clinging.resize(bodies.len(), [DVec3::ZERO; 2]);
    parallel::for_each_chunk_mut2((&mut term.blocks, 1), (clinging, 1), |n, block, clinging| {
        let (body, block) = (&bodies[n], &mut block[0]);
        // What the body closes of all cells, of those at its surface, and of the wet ones among them, in cells.
        let mut image = [0.0; 3];
        block.clear();
        block.weight = body.inverse_mass_matrix(cell_kg);
        let near = |a: Axis, x: f32| ((x - grid.min[a]) / grid.dx).clamp(0.0, grid.cells[a] as f32);
        let reach = body.bounds.expand(grid.dx);
        let low = AXES.map(|a| near(a, reach.min[a]).floor() as usize);
        let high = AXES.map(|a| near(a, reach.max[a]).ceil() as usize);
        for k in low[2]..high[2] {
            for j in low[1]..high[1] {
                for i in low[0]..high[0] {
                    // Where a node is farther from all solids than the cell's diagonal, none reaches into the cell.
                    if around.solids.phi_node[nodes.index(i, j, k)] > 1.75 * grid.dx {
                        continue;
                    }
                    let cell = cells.index(i, j, k);
                    let closed = f64::from(1.0 - around.solids.open_volume[cell]);
                    let Some(row) = row_of(n, body.center, around, [i, j, k]) else { continue };
                    let is_at_surface = row != [0.0; RANK];
                    image[0] += closed;
                    if is_at_surface {
                        image[1] += closed;
                        image[2] += if around.unknown_cell[cell] { closed } else { 0.0 };
                        block.rows.push(cell as u32);
                        block.values.push(row);
                    }
                }
            }
        }
        let AtSurface { wet: [linear, angular], all, is_alone } =
            weight_at_surface((n, block, body.center), around);
        let (cell_m3, gravity_m_s) = (f64::from(grid.dx).powi(3), around.gravity_m_s.as_dvec3());
        let wet_part = if image[1] > 0.0 { image[2] / image[1] } else { 0.0 };
        let excess = body.excess_weight(cell_m3 * image[0], wet_part, gravity_m_s, around.density);
        let torque =
            if is_alone { all[1] + hydrostatic_torque(block, body.center, around) } else { DVec3::ZERO };
        clinging[0] = [linear + excess, angular - wet_part * torque];
    });
}

/// The angular momentum that pressure gives a body in a step where it holds all water at rest, N m s: `q = g . x dt / dx` in the
/// body's rows. With the weight at its surface it should be none about the centre of a body that is wholly under water; what there
/// is, is the grid's image of the body, whose centre lies elsewhere, and a neutral body would begin to turn.
fn hydrostatic_torque(block: &Block, center: Vec3, around: &AroundBodies) -> DVec3 {
    let (grid, cells) = (around.openings.grid, around.openings.grid.cell_centers());
    let mut sum = DVec3::ZERO;
    for (&cell, row) in block.rows.iter().zip(&block.values) {
        let [i, j, k] = cells.coordinates(cell as usize);
        let q = around.gravity_m_s.dot(cells.position(i, j, k) - center) / grid.dx;
        sum += f64::from(q) * Vec3::new(row[3], row[4], row[5]).as_dvec3();
    }
    around.density * f64::from(grid.dx).powi(3) * sum
}

/// See [`weight_at_surface`].
struct AtSurface {
    /// Momentum and angular momentum of wet cells, N s and N m s.
    wet: [DVec3; 2],
    /// Those of all cells, as if all were wet.
    all: [DVec3; 2],
    /// No wall and no other solid closes a part of them.
    is_alone: bool,
}

/// `sum_f n_f (1 - A_f) (e_f, r_f x e_f)` over the faces of a cell that body `n` closes; none where it closes none.
fn row_of(n: usize, center: Vec3, around: &AroundBodies, cell: [usize; 3]) -> Option<[f32; RANK]> {
    let (mut row, openings, mut is_own) = ([0.0; RANK], around.openings, false);
    let closed_part = |axis: Axis, up: usize| {
        let (faces, mut at) = (openings.grid.faces(axis), cell);
        at[axis] += up;
        1.0 - openings.area_face[axis][faces.index(at[0], at[1], at[2])]
    };
    // Inside a body all parts cancel; it is then the body of any face.
    if AXES.into_iter().all(|axis| closed_part(axis, 0) == 1.0 && closed_part(axis, 1) == 1.0) {
        let is_own = AXES.into_iter().any(|axis| around.body_at(axis, cell) == Some(n));
        return is_own.then_some(row);
    }
    for (axis, up) in AXES.into_iter().flat_map(|axis| [(axis, 0), (axis, 1)]) {
        let (faces, mut at) = (openings.grid.faces(axis), cell);
        at[axis] += up;
        let closed = 1.0 - openings.area_face[axis][faces.index(at[0], at[1], at[2])];
        if closed > 0.0 && around.body_at(axis, at) == Some(n) {
            is_own = true;
            let part = if up == 1 { closed } else { -closed };
            let arm = (faces.position(at[0], at[1], at[2]) - center).cross(Vec3::AXES[axis]);
            row[axis] += part;
            (0..3).for_each(|a| row[3 + a] += part * arm[a]);
        }
    }
    is_own.then_some(row)
}

/// The weight of the water between the centres of cells and the surface of a body, which pressure at the centres lacks.
/// Pressure that grows along an axis by `rho g` lifts a body by the weight of `sum_f (1 - A_f)` cells, which gives each cell
/// half of its two faces' closed parts where the body has the closed part of the cell, `1 - V`; so it is
/// `rho g dx^3 dt` times the difference, over wet cells. Where another solid closes a part of the cell it is not known
/// and left out. Momentum and angular momentum of body `n`, N s and N m s.
///
/// Test: `a_neutral_body_stays` of `uniform`.
fn weight_at_surface((n, block, center): (usize, &Block, Vec3), around: &AroundBodies) -> AtSurface {
    let AroundBodies { openings, solids, unknown_cell, gravity_m_s, density, .. } = *around;
    let (grid, cells) = (openings.grid, openings.grid.cell_centers());
    let cell_kg = density * f64::from(grid.dx).powi(3);
    let mut sum = AtSurface { wet: [DVec3::ZERO; 2], all: [DVec3::ZERO; 2], is_alone: true };
    for cell in block.rows.iter().map(|&row| row as usize) {
        let at = cells.coordinates(cell);
        let closed = |axis: Axis, up: usize| {
            let (faces, mut face) = (grid.faces(axis), at);
            face[axis] += up;
            let part = 1.0 - openings.area_face[axis][faces.index(face[0], face[1], face[2])];
            let is_wall = face[axis] == 0 || face[axis] == grid.cells[axis];
            (part, part == 0.0 || around.body_at(axis, face) == Some(n) || is_wall, is_wall)
        };
        let faces = AXES.map(|axis| [closed(axis, 0), closed(axis, 1)]);
        sum.is_alone &= faces.iter().flatten().all(|(_, is_own, is_wall)| *is_own && !is_wall);
        if !faces.iter().flatten().all(|(_, is_own, _)| *is_own) {
            continue;
        }
        let lacks = |axis: Axis| {
            let [low, high] = faces[axis].map(|(part, _, is_wall)| if is_wall { 0.0 } else { part });
            0.5 * (low + high) - (1.0 - solids.open_volume[cell])
        };
        let push = cell_kg * (gravity_m_s * Vec3::new(lacks(0), lacks(1), lacks(2))).as_dvec3();
        let arm = (cells.position(at[0], at[1], at[2]) - center).as_dvec3();
        let both = [push, arm.cross(push)];
        let add = |to: [DVec3; 2]| [to[0] + both[0], to[1] + both[1]];
        sum.all = add(sum.all);
        if unknown_cell[cell] {
            sum.wet = add(sum.wet);
        }
    }
    sum
}
