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
use fluvial_solids::{Beside, Contact, CoupledBody, Films, SeenBody, SolidFields};

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

/// What bodies are to the projection.
#[derive(Debug)]
pub struct BodyTerms<'a> {
    /// The bodies' term of it, a block a body, its rows the cells that its surface runs through and those at the rim of a film between it
    /// and what it touches ([`Films`]).
    pub term: &'a mut LowRank,
    /// The films' part of that.
    pub film: &'a mut LowRank,
    /// For each body the `weight_at_surface`, corrected for what the grid's image of the body is larger or smaller than the body.
    pub clinging: &'a mut Vec<[DVec3; 2]>,
    /// The films.
    pub films: &'a mut Films,
}

/// Finds [`BodyTerms`].
///
/// Tests: `a_body_on_the_floor_is_lifted_by_what_it_displaces`, `momentum_of_body_and_water_stays` of `uniform`.
pub fn couple_bodies(terms: BodyTerms, bodies: &[CoupledBody], around: &AroundBodies) {
    let BodyTerms { term, film, clinging, films } = terms;
    let grid = around.openings.grid;
    let cells = grid.cell_centers();
    let cell_kg = around.density * f64::from(grid.dx).powi(3);
    term.blocks.resize_with(bodies.len(), Block::default);
    film.blocks.resize_with(bodies.len(), Block::default);
    films.clear(bodies.len());
    clinging.clear();
    clinging.resize(bodies.len(), [DVec3::ZERO; 2]);
    parallel::for_each_chunk_mut2((&mut term.blocks, 1), (&mut films.bodies, 1), |n, block, seen| {
        let (body, block) = (&bodies[n], &mut block[0]);
        block.clear();
        block.weight = body.inverse_mass_matrix(cell_kg);
        find_rows((n, body), block, &mut seen[0], around);
    });
    let place = |cell: u32| cells.coordinates(cell as usize);
    films.find(
        |cell| cells.position(place(cell)[0], place(cell)[1], place(cell)[2]),
        |cell, offset| {
            let at: [Option<usize>; 3] =
                [0, 1, 2].map(|a| place(cell)[a].checked_add_signed(offset[a] as isize));
            let at = [at[0]?, at[1]?, at[2]?];
            (0..3).all(|a| at[a] < cells.size[a]).then(|| {
                let other = cells.index(at[0], at[1], at[2]);
                let beside = match around.unknown_cell[other] {
                    true => Beside::Wet,
                    false if around.openings.open_part(at) > 0.0 => Beside::Dry,
                    false => Beside::Closed,
                };
                (other as u32, beside)
            })
        },
    );
    let gravity_m_s = around.gravity_m_s.as_dvec3();
    for (n, body) in bodies.iter().enumerate() {
        let AtSurface { wet: [linear, angular], all, is_alone } =
            weight_at_surface((n, body.center), (&term.blocks[n], films), around);
        let (cell_m3, wet_part) = (f64::from(grid.dx).powi(3), films.wet_part(n));
        let image_m3 = cell_m3 * films.bodies[n].closed;
        let excess = body.excess_weight(image_m3, wet_part, gravity_m_s, around.density);
        let turning = if is_alone {
            all[1] + hydrostatic_torque(&term.blocks[n], body.center, around)
        } else {
            DVec3::ZERO
        };
        clinging[n] = [linear + excess, angular - wet_part * turning];
        let Block { rows, values, .. } = &mut film.blocks[n];
        films.hand_over(n, rows, values);
        rows.iter().zip(values).for_each(|(row, values)| term.blocks[n].add_row(*row, values));
    }
}

/// The rows of a body, and what the grid makes of it, in cells.
fn find_rows(
    (n, body): (usize, &CoupledBody),
    block: &mut Block,
    seen: &mut SeenBody,
    around: &AroundBodies,
) {
    let grid = around.openings.grid;
    let (cells, nodes) = (grid.cell_centers(), grid.nodes());
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
                seen.closed += closed;
                if row == [0.0; RANK] {
                    continue;
                }
                seen.at_surface += closed;
                if around.openings.open_part([i, j, k]) == 0.0 {
                    seen.contacts.push(Contact { cell: cell as u32, row, closed });
                    continue;
                }
                seen.wet += if around.unknown_cell[cell] { closed } else { 0.0 };
                block.rows.push(cell as u32);
                block.values.push(row);
            }
        }
    }
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
    // Deep in a body all parts cancel; it is then the body of any face.
    let node = openings.grid.nodes().index(cell[0], cell[1], cell[2]);
    if around.solids.phi_node[node] < -1.75 * openings.grid.dx {
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
/// `rho g dx^3 dt` times the difference, over wet cells. Where another solid closes a part of a cell, `1 - V` holds that as well; so
/// does the image that [`CoupledBody::excess_weight`] corrects, and all in all the body has its own buoyancy. Momentum and angular
/// momentum of body `n`, N s and N m s.
///
/// Tests: `a_neutral_body_stays`, `a_body_on_the_floor_is_lifted_by_what_it_displaces` of `uniform`.
fn weight_at_surface(
    (n, center): (usize, Vec3),
    (block, films): (&Block, &Films),
    around: &AroundBodies,
) -> AtSurface {
    let AroundBodies { openings, solids, unknown_cell, gravity_m_s, density, .. } = *around;
    let (grid, cells) = (openings.grid, openings.grid.cell_centers());
    let cell_kg = density * f64::from(grid.dx).powi(3);
    let mut sum = AtSurface { wet: [DVec3::ZERO; 2], all: [DVec3::ZERO; 2], is_alone: true };
    let look = |cell: usize, is_alone: &mut bool| {
        let at = cells.coordinates(cell);
        let mut closed = |axis: Axis, up: usize| {
            let (faces, mut face) = (grid.faces(axis), at);
            face[axis] += up;
            let part = 1.0 - openings.area_face[axis][faces.index(face[0], face[1], face[2])];
            let is_own = around.body_at(axis, face) == Some(n);
            let is_wall = face[axis] == 0 || face[axis] == grid.cells[axis];
            *is_alone &= (part == 0.0 || is_own) && !is_wall;
            if is_own { part } else { 0.0 }
        };
        let parts = AXES.map(|axis| closed(axis, 0) + closed(axis, 1));
        let lacks = parts.map(|part| 0.5 * part - (1.0 - solids.open_volume[cell]));
        let push = cell_kg * (gravity_m_s * Vec3::from_array(lacks)).as_dvec3();
        (push, (cells.position(at[0], at[1], at[2]) - center).as_dvec3())
    };
    for cell in block.rows.iter().map(|&row| row as usize) {
        let (push, arm) = look(cell, &mut sum.is_alone);
        let both = [push, arm.cross(push)];
        sum.all = [0, 1].map(|n| sum.all[n] + both[n]);
        if unknown_cell[cell] {
            sum.wet = [0, 1].map(|n| sum.wet[n] + both[n]);
        }
    }
    for (contact, mean) in films.means(n) {
        let (push, arm) = look(contact.cell as usize, &mut sum.is_alone);
        // What the film's place adds to the pressure at its rim is known as the weight is.
        let (q, push) = (f64::from(gravity_m_s.dot(mean.beside_m) / grid.dx), f64::from(mean.wet) * push);
        let row = contact.row.map(|v| cell_kg * q * f64::from(v));
        let both = [push + DVec3::from_slice(&row[..3]), arm.cross(push) + DVec3::from_slice(&row[3..])];
        sum.wet = [0, 1].map(|n| sum.wet[n] + both[n]);
    }
    sum
}
