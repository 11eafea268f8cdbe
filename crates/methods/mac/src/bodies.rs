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
use fluvial_foundation::{AXES, Aabb, Axis, DMat3, DVec3, Vec3};
use fluvial_linear::{Block, LowRank, RANK};

/// A body in the liquid.
#[derive(Clone, Copy, Debug)]
pub struct CoupledBody {
    /// World position of its centre of mass.
    pub center: Vec3,
    /// World box around it.
    pub bounds: Aabb,
    /// Along the axes, 1/kg; zero where it is held.
    pub inverse_mass: DVec3,
    /// About the centre of mass in the world's frame, 1/(kg m2).
    pub inverse_inertia: DMat3,
}

/// The bodies' term of the projection: a block a body, its rows the cells that its surface runs through. `body_at(axis,
/// face)` is the number of the body that closes a face, `density` the liquid's.
pub fn couple_bodies(
    term: &mut LowRank,
    bodies: &[CoupledBody],
    openings: &Openings,
    body_at: impl Fn(Axis, [usize; 3]) -> Option<usize> + Sync,
    density: f64,
) {
    let grid = openings.grid;
    let (cells, cell_kg) = (grid.cell_centers(), density * f64::from(grid.dx).powi(3));
    term.blocks = fluvial_foundation::parallel::map_indices(bodies.len(), |n| {
        let body = &bodies[n];
        let mut block = Block { weight: weight(body, cell_kg), ..Block::default() };
        let near = |a: Axis, x: f32| ((x - grid.min[a]) / grid.dx).clamp(0.0, grid.cells[a] as f32);
        let reach = body.bounds.expand(grid.dx);
        let low = AXES.map(|a| near(a, reach.min[a]).floor() as usize);
        let high = AXES.map(|a| near(a, reach.max[a]).ceil() as usize);
        for k in low[2]..high[2] {
            for j in low[1]..high[1] {
                for i in low[0]..high[0] {
                    let row = row_of(n, body.center, openings, &body_at, [i, j, k]);
                    if row != [0.0; RANK] {
                        block.rows.push(cells.index(i, j, k) as u32);
                        block.values.push(row);
                    }
                }
            }
        }
        block
    });
}

/// `sum_f n_f (1 - A_f) (e_f, r_f x e_f)` over the faces of a cell that body `n` closes.
fn row_of(
    n: usize,
    center: Vec3,
    openings: &Openings,
    body_at: &(impl Fn(Axis, [usize; 3]) -> Option<usize> + Sync),
    cell: [usize; 3],
) -> [f32; RANK] {
    let mut row = [0.0; RANK];
    for (axis, up) in AXES.into_iter().flat_map(|axis| [(axis, 0), (axis, 1)]) {
        let (faces, mut at) = (openings.grid.faces(axis), cell);
        at[axis] += up;
        let closed = 1.0 - openings.area_face[axis][faces.index(at[0], at[1], at[2])];
        if closed > 0.0 && body_at(axis, at) == Some(n) {
            let part = if up == 1 { closed } else { -closed };
            let arm = (faces.position(at[0], at[1], at[2]) - center).cross(Vec3::AXES[axis]);
            row[axis] += part;
            (0..3).for_each(|a| row[3 + a] += part * arm[a]);
        }
    }
    row
}

/// `rho dx^3 M^-1`.
fn weight(body: &CoupledBody, cell_kg: f64) -> [[f64; RANK]; RANK] {
    let mut weight = [[0.0; RANK]; RANK];
    for a in AXES {
        weight[a][a] = cell_kg * body.inverse_mass[a];
        (0..3).for_each(|b| weight[3 + a][3 + b] = cell_kg * body.inverse_inertia.col(b)[a]);
    }
    weight
}

/// The weight of the water between the centres of cells and the surface of a body, which pressure at the centres lacks.
/// Pressure that grows along an axis by `rho g` lifts a body by the weight of `sum_f (1 - A_f)` cells, which gives each cell
/// half of its two faces' closed parts where the body has the closed part of the cell, `1 - V`; so it is
/// `rho g dx^3 dt` times the difference, over wet cells. Where another solid closes a part of the cell it is not known
/// and left out. Momentum and angular momentum of body `n`, N s and N m s.
///
/// Test: `a_neutral_body_stays` of `uniform`.
pub fn weight_at_surface(
    (n, block, center): (usize, &Block, Vec3),
    openings: &Openings,
    body_at: impl Fn(Axis, [usize; 3]) -> Option<usize>,
    (unknown_cell, open_volume): (&[bool], &[f32]),
    gravity_m_s: Vec3,
    density: f64,
) -> [DVec3; 2] {
    let (grid, cells) = (openings.grid, openings.grid.cell_centers());
    let cell_kg = density * f64::from(grid.dx).powi(3);
    let mut sum = [DVec3::ZERO; 2];
    for cell in block.rows.iter().map(|&row| row as usize).filter(|&cell| unknown_cell[cell]) {
        let at = cells.coordinates(cell);
        let closed = |axis: Axis, up: usize| {
            let (faces, mut face) = (grid.faces(axis), at);
            face[axis] += up;
            let part = 1.0 - openings.area_face[axis][faces.index(face[0], face[1], face[2])];
            let is_wall = face[axis] == 0 || face[axis] == grid.cells[axis];
            (part, part == 0.0 || body_at(axis, face) == Some(n) || is_wall, is_wall)
        };
        let faces = AXES.map(|axis| [closed(axis, 0), closed(axis, 1)]);
        if !faces.iter().flatten().all(|(_, is_own, _)| *is_own) {
            continue;
        }
        let lacks = |axis: Axis| {
            let [low, high] = faces[axis].map(|(part, _, is_wall)| if is_wall { 0.0 } else { part });
            0.5 * (low + high) - (1.0 - open_volume[cell])
        };
        let push = cell_kg * (gravity_m_s * Vec3::new(lacks(0), lacks(1), lacks(2))).as_dvec3();
        let arm = (cells.position(at[0], at[1], at[2]) - center).as_dvec3();
        sum = [sum[0] + push, sum[1] + arm.cross(push)];
    }
    sum
}

/// What the impulse q gives a body: momentum and angular momentum about its centre of mass, N s and N m s.
pub fn impulse_on_body(block: &Block, q_cell: &[f32], density: f64, dx: f32) -> [DVec3; 2] {
    let cell_kg = density * f64::from(dx).powi(3);
    let sum = block.gather(q_cell).map(|v| cell_kg * v);
    [DVec3::new(sum[0], sum[1], sum[2]), DVec3::new(sum[3], sum[4], sum[5])]
}
