//! Rigid bodies that the pressure moves on a tree [batty-2007], as `fluvial_mac::couple_bodies` on a uniform grid.
//!
//! A body's velocity V (of its centre of mass, and angular) flows out of a cell through the closed parts of its faces, `G_i V
//! = sum_f n_f dx^2 (1 - A_f) (v + omega x r_f) . e_f`, and pressure pushes the body through the same parts, `V += M^-1 rho sum_i
//! G_i^T p_i` with the impulse over density `p` that the system is solved for. So the system becomes `(A + G K G^T) p = rhs -
//! G V`, `K = rho M^-1`, symmetric where A is. A cell beside a larger one has its own part of the face, as in
//! [`crate::divergence::inflow`].

use crate::divergence::signed_area;
use fluvial_foundation::{AXES, DVec3, Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;
use fluvial_linear::{Block, LowRank, RANK};
use fluvial_solids::CoupledBody;

/// The liquid and the solids that bodies are among.
#[derive(Clone, Copy, Debug)]
pub struct AroundBodies<'a> {
    /// The tree.
    pub tree: &'a Octree,
    /// Faces that bodies close, and the body that does: by face, ascending.
    pub body_faces: &'a [(u32, u32)],
    /// What solids leave of faces and cells.
    pub open_area: &'a [f32],
    /// Of cells.
    pub open_volume: &'a [f32],
    /// The liquid's level set.
    pub phi_cell: &'a [f32],
    /// What gravity adds to a velocity in the step, m/s.
    pub gravity_m_s: Vec3,
    /// The liquid's, kg/m3.
    pub density: f64,
}

impl AroundBodies<'_> {
    /// The number of the body that closes a face.
    fn body_at(&self, face: u32) -> Option<u32> {
        let found = self.body_faces.binary_search_by_key(&face, |(face, _)| *face).ok()?;
        Some(self.body_faces[found].1)
    }

    /// Cells beside faces that body `n` closes, ascending.
    fn cells_of(&self, n: usize) -> Vec<u32> {
        let faces = self.body_faces.iter().filter(|(_, body)| *body as usize == n);
        let mut cells: Vec<u32> = faces
            .flat_map(|(face, _)| self.tree.cells_beside(*face as usize))
            .map(|cell| cell as u32)
            .collect();
        cells.sort_unstable();
        cells.dedup();
        cells
    }
}

/// The bodies' term of the projection, a block a body, its rows the cells that its surface runs through; and the
/// weight of the water between the centres of cells and the body's surface, which pressure at the centres lacks
/// (see `fluvial_mac`), corrected for what the tree's image of the body is larger or smaller than the body: momentum and angular momentum of each body, N s and N m s.
///
/// Tests: `pressure_lifts_a_body_by_the_water_it_displaces`, `the_term_is_what_flows_out_of_cells`.
pub fn couple_bodies(
    term: &mut LowRank,
    clinging: &mut Vec<[DVec3; 2]>,
    bodies: &[CoupledBody],
    around: &AroundBodies,
) {
    term.blocks.resize_with(bodies.len(), Block::default);
    clinging.clear();
    clinging.resize(bodies.len(), [DVec3::ZERO; 2]);
    parallel::for_each_chunk_mut2((&mut term.blocks, 1), (clinging, 1), |n, block, clinging| {
        let (body, block) = (&bodies[n], &mut block[0]);
        block.clear();
        block.weight = body.inverse_mass_matrix(around.density);
        // What the body closes of all cells, of those at its surface, and of the wet ones among them, m3.
        let mut image = [0.0; 3];
        // The angular momentum that water at rest would give the body if all of it were wet, and should not: see `fluvial_mac`.
        let (mut turning, mut is_alone, gravity_m_s) = (DVec3::ZERO, true, around.gravity_m_s.as_dvec3());
        for cell in around.cells_of(n) {
            let row = row_of(n, body.center, around, cell as usize);
            let cell_m3 = f64::from(around.tree.cell_dx(cell as usize)).powi(3);
            let closed_m3 = cell_m3 * f64::from(1.0 - around.open_volume[cell as usize]);
            image[0] += closed_m3;
            if row != [0.0; RANK] {
                image[1] += closed_m3;
                image[2] += if around.phi_cell[cell as usize] < 0.0 { closed_m3 } else { 0.0 };
                block.rows.push(cell);
                block.values.push(row);
                let arm = (around.tree.cell_center(cell as usize) - body.center).as_dvec3();
                turning +=
                    around.density * gravity_m_s.dot(arm) * DVec3::from_slice(&row.map(f64::from)[3..]);
                let weight = weight_at_surface(n, around, cell as usize);
                is_alone &= weight.is_some_and(|(_, is_at_wall)| !is_at_wall);
                let push = weight.map_or(DVec3::ZERO, |(push, _)| push);
                turning += arm.cross(push);
                if around.phi_cell[cell as usize] < 0.0 {
                    clinging[0] = [clinging[0][0] + push, clinging[0][1] + arm.cross(push)];
                }
            }
        }
        let wet_part = if image[1] > 0.0 { image[2] / image[1] } else { 0.0 };
        clinging[0][0] += body.excess_weight(image[0], wet_part, gravity_m_s, around.density);
        if is_alone {
            clinging[0][1] -= wet_part * turning;
        }
    });
}

/// `sum_f n_f dx^2 (1 - A_f) (e_f, r_f x e_f)` over the faces of a cell that body `n` closes.
fn row_of(n: usize, center: Vec3, around: &AroundBodies, cell: usize) -> [f32; RANK] {
    let (mut row, tree) = ([0.0f64; RANK], around.tree);
    let dx = f64::from(tree.cell_dx(cell));
    for (side, &face) in tree.cell_faces()[cell].iter().enumerate() {
        if around.body_at(face) == Some(n as u32) {
            let axis = side / 2;
            let part = -signed_area(dx, side) * (1.0 - f64::from(around.open_area[face as usize]));
            let arm = (tree.face_center(face as usize, axis) - center).cross(Vec3::AXES[axis]).as_dvec3();
            row[axis] += part;
            (0..3).for_each(|a| row[3 + a] += part * arm[a]);
        }
    }
    row.map(|v| v as f32)
}

/// Momentum by the weight of the water between the centre of a cell and the surface of body `n`, N s, and whether the cell lies at
/// a wall; `None` where another solid closes a part of the cell.
fn weight_at_surface(n: usize, around: &AroundBodies, cell: usize) -> Option<(DVec3, bool)> {
    let AroundBodies { tree, open_area, open_volume, gravity_m_s, density, .. } = *around;
    let closed = tree.cell_faces()[cell].map(|face| {
        let part = 1.0 - open_area[face as usize];
        let is_wall = tree.sides(face as usize).contains(&Side::Outside);
        (part, part == 0.0 || around.body_at(face) == Some(n as u32) || is_wall, is_wall)
    });
    if !closed.iter().all(|(_, is_own, _)| *is_own) {
        return None;
    }
    let part = |side: usize| if closed[side].2 { 0.0 } else { closed[side].0 };
    let lacks = AXES.map(|a| 0.5 * (part(2 * a) + part(2 * a + 1)) - (1.0 - open_volume[cell]));
    let cell_kg = density * f64::from(tree.cell_dx(cell)).powi(3);
    let push = cell_kg * (gravity_m_s * Vec3::from_array(lacks)).as_dvec3();
    Some((push, closed.iter().any(|(.., is_wall)| *is_wall)))
}
