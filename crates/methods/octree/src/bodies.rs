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
use fluvial_solids::{Beside, Contact, CoupledBody, FILM_PART, Films, SeenBody, is_film, keep_dead_ends};

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

    /// Is no face of a cell open?
    fn is_closed(&self, cell: usize) -> bool {
        self.tree.cell_faces()[cell].iter().all(|&face| self.open_area[face as usize] == 0.0)
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

/// Closes the faces of cells that hold no more than a film of water between a body and something else, see [`Films`]; returns how
/// many were open. `body_faces` are as in [`AroundBodies`], of faces that are open in part or not at all.
pub fn close_films(
    open_area: &mut [f32],
    open_volume: &[f32],
    body_faces: &[(u32, u32)],
    tree: &Octree,
) -> usize {
    let body_at = |face: u32| {
        let found = body_faces.binary_search_by_key(&face, |(face, _)| *face).ok()?;
        Some(body_faces[found].1)
    };
    let is_film_of = |cell: usize| {
        let faces = tree.cell_faces()[cell];
        let open = faces.map(|face| open_area[face as usize]);
        let owners = faces.map(body_at);
        let closed_by =
            |body: u32| std::array::from_fn(|n| if owners[n] == Some(body) { 1.0 - open[n] } else { 0.0 });
        open != [0.0; 6] && owners.into_iter().flatten().any(|body| is_film(open, closed_by(body)))
    };
    let beside = body_faces.iter().flat_map(|(face, _)| tree.cells_beside(*face as usize));
    let mut films: Vec<usize> =
        beside.filter(|&cell| (1e-9..FILM_PART).contains(&open_volume[cell]) && is_film_of(cell)).collect();
    films.sort_unstable();
    films.dedup();
    keep_dead_ends(&mut films, tree.cell_count(), |cell, visit| {
        let open = tree.cell_faces()[cell].into_iter().filter(|face| open_area[*face as usize] > 0.0);
        open.flat_map(|face| tree.cells_beside(face as usize)).filter(|other| *other != cell).for_each(visit);
    });
    let mut closed = 0;
    for face in films.into_iter().flat_map(|cell| tree.cell_faces()[cell]) {
        closed += usize::from(open_area[face as usize] > 0.0);
        open_area[face as usize] = 0.0;
    }
    closed
}

/// What bodies are to the projection, see `fluvial_mac`.
#[derive(Debug)]
pub struct BodyTerms<'a> {
    /// The bodies' term of it, a block a body, its rows the cells that its surface runs through and those at the rim of a film between it
    /// and what it touches ([`Films`]).
    pub term: &'a mut LowRank,
    /// The films' part of that.
    pub film: &'a mut LowRank,
    /// The weight of the water between the centres of cells and the body's surface, which pressure at the centres lacks, corrected for what
    /// the tree's image of the body is larger or smaller than the body: momentum and angular momentum of each body, N s and N m s.
    pub clinging: &'a mut Vec<[DVec3; 2]>,
    /// The films.
    pub films: &'a mut Films,
}

/// Finds [`BodyTerms`].
///
/// Tests: `pressure_lifts_a_body_by_the_water_it_displaces`, `a_body_on_the_floor_is_lifted_by_the_water_it_displaces`.
pub fn couple_bodies(terms: BodyTerms, bodies: &[CoupledBody], around: &AroundBodies) {
    let BodyTerms { term, film, clinging, films } = terms;
    let AroundBodies { tree, phi_cell, .. } = *around;
    term.blocks.resize_with(bodies.len(), Block::default);
    film.blocks.resize_with(bodies.len(), Block::default);
    films.clear(bodies.len());
    clinging.clear();
    clinging.resize(bodies.len(), [DVec3::ZERO; 2]);
    parallel::for_each_chunk_mut2((&mut term.blocks, 1), (&mut films.bodies, 1), |n, block, seen| {
        let (body, block) = (&bodies[n], &mut block[0]);
        block.clear();
        block.weight = body.inverse_mass_matrix(around.density);
        find_rows((n, body), block, &mut seen[0], around);
    });
    films.find(
        |cell| tree.cell_center(cell as usize),
        |cell, offset| {
            let (x, dx) = (tree.cell_center(cell as usize), tree.cell_dx(cell as usize));
            let x = x + dx * Vec3::from_array(offset.map(|o| o as f32));
            tree.shape().bounds().contains(x).then(|| {
                let other = tree.locate_near(x, tree.cells()[cell as usize].level as usize).cell;
                let beside = match (around.is_closed(other as usize), phi_cell[other as usize] < 0.0) {
                    (true, _) => Beside::Closed,
                    (false, true) => Beside::Wet,
                    (false, false) => Beside::Dry,
                };
                (other, beside)
            })
        },
    );
    for (n, body) in bodies.iter().enumerate() {
        clinging[n] = weight_of((n, body), &term.blocks[n], films, around);
        let Block { rows, values, .. } = &mut film.blocks[n];
        films.hand_over(n, rows, values);
        rows.iter().zip(values).for_each(|(row, values)| term.blocks[n].add_row(*row, values));
    }
}

/// The rows of a body, and what the tree makes of it, in m3.
fn find_rows(
    (n, body): (usize, &CoupledBody),
    block: &mut Block,
    seen: &mut SeenBody,
    around: &AroundBodies,
) {
    for cell in around.cells_of(n) {
        let row = row_of(n, body.center, around, cell as usize);
        let cell_m3 = f64::from(around.tree.cell_dx(cell as usize)).powi(3);
        let closed = cell_m3 * f64::from(1.0 - around.open_volume[cell as usize]);
        seen.closed += closed;
        if row == [0.0; RANK] {
            continue;
        }
        seen.at_surface += closed;
        if row[..3] != [0.0; 3] && around.is_closed(cell as usize) {
            seen.contacts.push(Contact { cell, row, closed });
            continue;
        }
        seen.wet += if around.phi_cell[cell as usize] < 0.0 { closed } else { 0.0 };
        block.rows.push(cell);
        block.values.push(row);
    }
}

/// See [`BodyTerms::clinging`].
fn weight_of(
    (n, body): (usize, &CoupledBody),
    block: &Block,
    films: &Films,
    around: &AroundBodies,
) -> [DVec3; 2] {
    let (gravity_m_s, wet_part) = (around.gravity_m_s.as_dvec3(), films.wet_part(n));
    let mut sum = [DVec3::ZERO; 2];
    // The angular momentum that water at rest would give the body if all of it were wet, and should not: see `fluvial_mac`.
    let (mut turning, mut is_alone) = (DVec3::ZERO, true);
    let arm = |cell: usize| (around.tree.cell_center(cell) - body.center).as_dvec3();
    for (&cell, row) in block.rows.iter().zip(&block.values) {
        let (cell, row) = (cell as usize, row.map(f64::from));
        let push = weight_at_surface(n, around, cell, &mut is_alone);
        let moment = arm(cell).cross(push);
        turning += around.density * gravity_m_s.dot(arm(cell)) * DVec3::from_slice(&row[3..]) + moment;
        if around.phi_cell[cell] < 0.0 {
            sum = [sum[0] + push, sum[1] + moment];
        }
    }
    for (contact, mean) in films.means(n) {
        let push = f64::from(mean.wet) * weight_at_surface(n, around, contact.cell as usize, &mut is_alone);
        // What the film's place adds to the pressure at its rim is known as the weight is.
        let p = around.density * gravity_m_s.dot(mean.beside_m.as_dvec3());
        let row = contact.row.map(|v| p * f64::from(v));
        sum[0] += push + DVec3::from_slice(&row[..3]);
        sum[1] += arm(contact.cell as usize).cross(push) + DVec3::from_slice(&row[3..]);
    }
    let image_m3 = films.bodies[n].closed;
    sum[0] += body.excess_weight(image_m3, wet_part, gravity_m_s, around.density);
    sum[1] -= if is_alone { wet_part * turning } else { DVec3::ZERO };
    sum
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

/// Momentum by the weight of the water between the centre of a cell and the surface of body `n`, N s; a wall or another solid that closes
/// a part of the cell makes `is_alone` false.
fn weight_at_surface(n: usize, around: &AroundBodies, cell: usize, is_alone: &mut bool) -> DVec3 {
    let AroundBodies { tree, open_area, open_volume, gravity_m_s, density, .. } = *around;
    let closed = tree.cell_faces()[cell].map(|face| {
        let part = 1.0 - open_area[face as usize];
        let is_own = around.body_at(face) == Some(n as u32);
        let is_wall = tree.sides(face as usize).contains(&Side::Outside);
        *is_alone &= (part == 0.0 || is_own) && !is_wall;
        if is_own { part } else { 0.0 }
    });
    let lacks = AXES.map(|a| 0.5 * (closed[2 * a] + closed[2 * a + 1]) - (1.0 - open_volume[cell]));
    let cell_kg = density * f64::from(tree.cell_dx(cell)).powi(3);
    cell_kg * (gravity_m_s * Vec3::from_array(lacks)).as_dvec3()
}
