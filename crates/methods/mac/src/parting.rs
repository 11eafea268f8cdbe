//! Liquid that lets go of walls and solids.
//!
//! A wall can push liquid, it cannot pull it: in cells that touch a boundary
//!
//! `p >= 0`,  `div u >= 0`,  `p div u = 0`
//!
//! instead of `div u = 0` [batty-2007 §5]; with surface tension it takes a pull of `adhesion` to make a new surface. Where the pressure would be negative, the cell lets go: its pressure
//! is that of air, and the liquid may leave a gap at the boundary. Which cells do is found by an active set:
//! a cell whose pressure comes out negative lets go, one that is pressed together again is taken back, and
//! the problem is solved anew until neither happens.

use crate::thrown::Thrown;
use crate::{FaceCells, Impulse, Openings, Unknowns, right_side, subtract_gradient};
use fluvial_foundation::parallel::{
    CHUNK, chunk_count, chunk_range, for_each_chunk_mut, for_each_indexed_mut, for_each_indexed_mut2,
};
use fluvial_foundation::{AXES, Axis, Vec3};
use fluvial_grids::{FaceField, GHOST_DISTANCE_FLOOR, UniformGrid, floored_distance};

/// Pressures count as negative from this part of `g dt` on, over one cell: below it is the solver's residual.
const LEAST_PULL: f32 = 1e-2;
/// Cells whose pressure is air's have the surface at their centres, as neighbours see it: this far beyond, in
/// cells, so that it has a sign.
const BEYOND_CELLS: f32 = 1e-4;

/// A gap thinner than this is closed, cells: what the solver's residual opens is none.
const LEAST_GAP_CELLS: f32 = 1e-3;

/// Marks the cells that touch a boundary which liquid may let go of. `open_area` is what solids and closed
/// walls leave of the faces; `holds_wall` and `holds(x)` say which walls and solids hold on to it.
pub fn find_parting_cells(
    may_part_cell: &mut [bool],
    grid: &UniformGrid,
    open_area: &FaceField,
    holds_wall: [bool; 6],
    holds: impl Fn(Vec3) -> bool + Sync + Send,
) {
    let cells = grid.cell_centers();
    let lattices = AXES.map(|axis| grid.faces(axis));
    cells.for_each_mut(may_part_cell, |_, at, may_part| {
        *may_part = false;
        for (axis, up) in AXES.into_iter().flat_map(|axis| [(axis, 0), (axis, 1)]) {
            let face = lattices[axis].index(at[0], at[1], at[2]) + up * lattices[axis].stride(axis);
            if *may_part || open_area[axis][face] >= 1.0 {
                continue;
            }
            let is_wall = at[axis] + up == up * grid.cells[axis];
            let holds =
                if is_wall { holds_wall[2 * axis + up] } else { holds(cells.position(at[0], at[1], at[2])) };
            *may_part = !holds;
        }
    });
}

/// The value of a cell without a gap: liquid and boundary touch.
pub const NO_GAP: f32 = -1.0;

/// The cells that have let go, and how the pressure sees the liquid then.
#[derive(Clone, Debug, Default)]
pub struct Parting {
    /// Has the cell let go?
    pub parted_cell: Vec<bool>,
    /// The level set with air in those cells, and no liquid nearer to the surface than [`floored_distance`] says.
    pub phi_cell: Vec<f32>,
    /// How many cells' distances to the surface were floored.
    pub floored_distances: usize,
    /// The unknowns without those cells.
    pub unknowns: Unknowns,
    /// The right side of the projection.
    pub(crate) rhs_cell: Vec<f32>,
    /// Cells that the pressure throws out of the surface.
    pub(crate) thrown: Thrown,
    /// Cells that a round of the search lets go or takes back, chunk by chunk.
    changed: Vec<Vec<u32>>,
}

/// The liquid that may let go.
#[derive(Clone, Copy)]
pub struct AtBoundaries<'a> {
    /// The faces.
    pub openings: &'a Openings<'a>,
    /// Cells that touch a boundary which does not hold on to it.
    pub may_part_cell: &'a [bool],
    /// Thickness of the gap where a cell has let go, metres; [`NO_GAP`] elsewhere.
    pub gap_cell: &'a [f32],
    /// All unknowns.
    pub unknowns: &'a Unknowns,
    /// The liquid's level set.
    pub phi_cell: &'a [f32],
    /// What it is at a distance of one cell.
    pub unit: f32,
    /// Cells farther than this below the surface do not part, metres: where particles carry the liquid, a gap
    /// must not open where there are none.
    pub deepest_m: f32,
    /// What gravity adds to a velocity in the step, m/s.
    pub fall_m_s: f32,
    /// The same along each axis, m/s.
    pub gravity_m_s: Vec3,
    /// Length of the step, seconds.
    pub dt_s: f32,
    /// The impulse `p dt / (rho dx)` with which surface tension holds a cell's liquid at the boundary, m/s.
    pub adhesion_m_s: &'a (dyn Fn(usize) -> f32 + Sync),
    /// Velocity without the push of a pressure on the surface ([`crate::push_at_surface`]), where there is one:
    /// a cell that lets go has no pressure that could balance the push.
    pub u_without_push: Option<&'a FaceField>,
}

impl AtBoundaries<'_> {
    /// phi as the pressure sees it.
    fn seen(&self, phi: f32) -> f32 {
        floored_distance(phi, self.unit, GHOST_DISTANCE_FLOOR)
    }

    fn may_part(&self, cell: usize) -> bool {
        self.may_part_cell[cell]
            && self.unknowns.unknown_cell[cell]
            && self.phi_cell[cell] > -self.deepest_m
            && !self.openings.is_at_source(cell)
    }

    /// Behind a solid that moves there is nothing but liquid: it holds on until air comes from the surface or from a
    /// gap beside the cell. Where walls stand still and it is the weight that pulls, air is not waited for: it would
    /// come in fingers that no grid shows. `phi_cell` has air in the gaps.
    fn air_gets_in(&self, cell: usize, phi_cell: &[f32]) -> bool {
        let Openings { grid, area_face, .. } = *self.openings;
        let (cells, at) = (grid.cell_centers(), grid.cell_centers().coordinates(cell));
        let sides = || AXES.into_iter().flat_map(|axis| [(axis, 0), (axis, 1)]);
        let face = |axis: Axis, up: usize| {
            grid.faces(axis).index(at[0], at[1], at[2]) + up * grid.faces(axis).stride(axis)
        };
        let is_airy = |(axis, up): (Axis, usize)| {
            let is_wall = at[axis] + up == up * grid.cells[axis];
            let other = || if up == 1 { cell + cells.stride(axis) } else { cell - cells.stride(axis) };
            area_face[axis][face(axis, up)] > 0.0 && (is_wall || phi_cell[other()] >= 0.0)
        };
        !self.openings.has_moving_boundary(at) || sides().any(is_airy)
    }
}

impl Parting {
    /// Starts from the cells that had let go before, where they are still liquid and at a boundary.
    fn begin(&mut self, liquid: &AtBoundaries) {
        let still = |cell: usize| {
            liquid.gap_cell[cell] >= 0.0
                && liquid.may_part_cell[cell]
                && liquid.unknowns.unknown_cell[cell]
                && !liquid.openings.is_at_source(cell)
        };
        self.parted_cell.resize(liquid.phi_cell.len(), false);
        for_each_indexed_mut(&mut self.parted_cell, |cell, parted| *parted = still(cell));
        self.phi_cell.clear();
        self.phi_cell.extend(liquid.phi_cell.iter().map(|phi| liquid.seen(*phi)));
        let pairs = self.phi_cell.iter().zip(liquid.phi_cell);
        self.floored_distances = pairs.filter(|(seen, phi)| seen != phi).count();
        self.unknowns.clone_from(liquid.unknowns);
        self.thrown.columns = 0;
        for cell in 0..self.parted_cell.len() {
            if self.parted_cell[cell] {
                self.look(liquid, cell);
            }
        }
    }

    /// How many cells the pressure would have thrown farther than their columns are long (`thrown.rs`).
    pub fn thrown_columns(&self) -> usize {
        self.thrown.columns
    }

    /// Air in a cell that has let go, liquid in one that has not.
    fn look(&mut self, liquid: &AtBoundaries, cell: usize) {
        let parted = self.parted_cell[cell];
        self.phi_cell[cell] = match parted {
            true => BEYOND_CELLS * liquid.openings.grid.dx,
            false => liquid.seen(liquid.phi_cell[cell]),
        };
        self.unknowns.unknown_cell[cell] = !parted && liquid.unknowns.unknown_cell[cell];
    }

    /// Finds the cells to let go, whose pressure is negative, and those to take back, whose gap is closed and that
    /// the projected velocity presses together; returns how many there are.
    fn find_changes(&mut self, q_cell: &[f32], u_face: &FaceField, liquid: &AtBoundaries) -> usize {
        let mut changed = std::mem::take(&mut self.changed);
        changed.resize_with(chunk_count(q_cell.len(), CHUNK), Vec::new);
        for_each_chunk_mut(&mut changed, 1, |chunk, changed| {
            changed[0].clear();
            let of_chunk = chunk_range(chunk, CHUNK, q_cell.len());
            let changes = |&cell: &usize| self.changes(cell, q_cell, u_face, liquid);
            changed[0].extend(of_chunk.filter(changes).map(|cell| cell as u32));
        });
        self.changed = changed;
        self.changed.iter().map(Vec::len).sum()
    }

    fn changes(&self, cell: usize, q_cell: &[f32], u_face: &FaceField, liquid: &AtBoundaries) -> bool {
        if !liquid.may_part(cell) {
            return false;
        }
        let least = LEAST_PULL * liquid.fall_m_s.max(1e-6);
        if self.parted_cell[cell] {
            liquid.gap_cell[cell] <= LEAST_GAP_CELLS * liquid.openings.grid.dx
                && self.outflow_of_parted(cell, q_cell, u_face, liquid) < -least
        } else {
            q_cell[cell] < -least
                && q_cell[cell] < -(liquid.adhesion_m_s)(cell)
                && liquid.air_gets_in(cell, &self.phi_cell)
        }
    }

    /// What will flow out of a cell that has let go, once the gradient of the impulse is subtracted from `u_face`.
    fn outflow_of_parted(
        &self,
        cell: usize,
        q_cell: &[f32],
        u_face: &FaceField,
        liquid: &AtBoundaries,
    ) -> f32 {
        let (openings, impulse) = (liquid.openings, self.impulse(q_cell));
        let at = openings.grid.cell_centers().coordinates(cell);
        openings.outflow_with(at, |axis, face| {
            let cells = FaceCells::beside(openings.grid, axis, face);
            let change = impulse.difference(cells).filter(|_| openings.area_face[axis][face] > 0.0);
            match liquid.u_without_push {
                Some(u) if !cells.any(|cell| impulse.unknown_cell[cell]) => u[axis][face],
                _ => u_face[axis][face] - change.unwrap_or(0.0),
            }
        })
    }

    /// A pressure impulse as the projection saw it.
    pub fn impulse<'a>(&'a self, q_cell: &'a [f32]) -> Impulse<'a> {
        Impulse { q_cell, phi_cell: &self.phi_cell, unknown_cell: &self.unknowns.unknown_cell }
    }

    /// Makes the changes that have been found.
    fn change(&mut self, liquid: &AtBoundaries, mut each: impl FnMut(&mut Self, usize)) {
        let changed = std::mem::take(&mut self.changed);
        for cell in changed.iter().flatten().map(|cell| *cell as usize) {
            self.parted_cell[cell] = !self.parted_cell[cell];
            self.look(liquid, cell);
            each(self, cell);
        }
        self.changed = changed;
    }
}

/// Rounds of the search for the cells that let go; it goes on in the next step.
const MOST_ROUNDS: usize = 3;

/// Makes velocity free of divergence, but for `wanted(cell)` (see [`right_side`]), and lets liquid part from
/// boundaries that would pull on it. `solve(impulse, level set, right side)` is the linear solve;
/// `without_pressure(cells, u)` is for open faces beside which no cell of liquid is. Returns how many cells
/// were still between contact and gap.
///
/// Tests: `water_falls_off_a_ceiling_and_presses_against_it`, `a_rising_plate_leaves_the_water_behind` of
/// `uniform`.
pub fn project<E>(
    u_face: &mut FaceField,
    q_cell: &mut [f32],
    parting: &mut Parting,
    liquid: &AtBoundaries,
    wanted: impl Fn(usize) -> f32 + Sync + Send,
    mut solve: impl FnMut(&mut [f32], &[f32], &[f32]) -> Result<(), E>,
    without_pressure: impl Fn(FaceCells, &mut f32) + Sync + Send,
) -> Result<usize, E> {
    let openings = liquid.openings;
    let cells = openings.grid.cell_centers();
    parting.begin(liquid);
    parting.rhs_cell.resize(q_cell.len(), 0.0);
    right_side(&mut parting.rhs_cell, &parting.unknowns.unknown_cell, openings, u_face, &wanted);
    let mut round = 1;
    let changes = loop {
        solve(q_cell, &parting.phi_cell, &parting.rhs_cell)?;
        let changes = parting.find_changes(q_cell, u_face, liquid);
        if round == MOST_ROUNDS || parting.find_thrown(q_cell, u_face, liquid) + changes == 0 {
            break changes;
        }
        parting.grow_columns(u_face, liquid, &wanted);
        parting.change(liquid, |parting, cell| {
            let is_unknown = parting.unknowns.unknown_cell[cell];
            let wanted = || wanted(cell) - openings.outflow(u_face, cells.coordinates(cell));
            parting.rhs_cell[cell] = if is_unknown { wanted() } else { 0.0 };
        });
        round += 1;
    };
    let parted_cell = &parting.parted_cell;
    subtract_gradient(u_face, openings, &parting.impulse(q_cell), |cells, u| {
        if !cells.any(|cell| parted_cell[cell]) {
            without_pressure(cells, u);
        }
    });
    take_pushes_back(u_face, parting, liquid);
    // What is still between contact and gap begins the next step on its new side.
    parting.change(liquid, |_, _| {});
    Ok(changes)
}

/// Faces of parted cells that no pressure acts on have no part of what presses on the surface.
fn take_pushes_back(u_face: &mut FaceField, parting: &Parting, liquid: &AtBoundaries) {
    let Some(u_without_push) = liquid.u_without_push else { return };
    let (grid, cells) = (liquid.openings.grid, liquid.openings.grid.cell_centers());
    let unknown_cell = &parting.unknowns.unknown_cell;
    for cell in (0..parting.parted_cell.len()).filter(|&cell| parting.parted_cell[cell]) {
        let at = cells.coordinates(cell);
        for (axis, up) in AXES.into_iter().flat_map(|axis| [(axis, 0), (axis, 1)]) {
            let face = grid.faces(axis).index(at[0], at[1], at[2]) + up * grid.faces(axis).stride(axis);
            let is_wall = at[axis] + up == up * grid.cells[axis];
            let other = || if up == 1 { cell + cells.stride(axis) } else { cell - cells.stride(axis) };
            if is_wall || !unknown_cell[other()] {
                u_face[axis][face] = u_without_push[axis][face];
            }
        }
    }
}

/// The gaps after the projection: those of cells that have let go, [`NO_GAP`] elsewhere, and no pressure
/// there.
pub fn keep_gaps(gap_cell: &mut [f32], q_cell: &mut [f32], parting: &Parting) {
    for_each_indexed_mut2(gap_cell, q_cell, |cell, gap, q| {
        let parted = parting.parted_cell[cell];
        *gap = if parted { gap.max(0.0) } else { NO_GAP };
        *q = if parted { 0.0 } else { *q };
    });
}

/// Where liquid has let go of a boundary, and where one cell of air is between the two, the velocity at the
/// closed face is that of the other side, if that leads away from the boundary: the gap opens as fast as the
/// liquid leaves.
///
/// Test: `a_gap_opens_as_fast_as_the_liquid_leaves`.
pub fn let_go(
    u_face: &mut FaceField,
    parted_cell: &[bool],
    may_part_cell: &[bool],
    unknown_cell: &[bool],
    openings: &Openings,
) {
    let (grid, cells) = (openings.grid, openings.grid.cell_centers());
    for cell in (0..parted_cell.len()).filter(|&cell| may_part_cell[cell]) {
        if !parted_cell[cell] && unknown_cell[cell] || openings.is_at_source(cell) {
            continue;
        }
        let at = cells.coordinates(cell);
        for axis in AXES {
            let (lattice, stride) = (grid.faces(axis), cells.stride(axis));
            let low = lattice.index(at[0], at[1], at[2]);
            let high = low + lattice.stride(axis);
            let (area, u_boundary) = (&openings.area_face[axis], &openings.u_boundary[axis]);
            let u = &mut u_face[axis];
            let leaves = |other: usize| parted_cell[cell] || unknown_cell[other];
            if area[low] == 0.0 && area[high] > 0.0 && leaves(cell + stride) {
                u[low] = u[high].max(u_boundary[low]);
            } else if area[high] == 0.0 && area[low] > 0.0 && leaves(cell - stride) {
                u[high] = u[low].min(u_boundary[high]);
            }
        }
    }
}

/// Thickness of the gaps at the boundaries after `dt_s`, and the level set with them: what flows out of a cell that
/// has let go leaves a gap, `gap += dx div u dt`, and what flows in closes it. A gap that reaches the cell's centre, `d` from the
/// boundary, is air like any other, `phi = gap - d`; thinner ones are beside phi, whose zero they would not
/// move. `solid_distance(x)` is the distance to the solids.
///
/// Test: `a_gap_opens_as_fast_as_the_liquid_leaves`.
pub fn open_gaps(
    gap_cell: &mut [f32],
    phi_cell: &mut [f32],
    u_face: &FaceField,
    openings: &Openings,
    solid_distance: impl Fn(Vec3) -> f32 + Sync + Send,
    dt_s: f32,
) {
    let grid = openings.grid;
    let cells = grid.cell_centers();
    let lattices = AXES.map(|axis| grid.faces(axis));
    cells.for_each_mut2(gap_cell, phi_cell, |_, at, gap, phi| {
        if *gap < 0.0 {
            return;
        }
        let mut distance_m = solid_distance(cells.position(at[0], at[1], at[2]));
        let mut is_at_boundary = false;
        for (axis, up) in AXES.into_iter().flat_map(|axis| [(axis, 0), (axis, 1)]) {
            let face = lattices[axis].index(at[0], at[1], at[2]) + up * lattices[axis].stride(axis);
            if openings.area_face[axis][face] < 1.0 {
                is_at_boundary = true;
                if at[axis] + up == up * grid.cells[axis] {
                    distance_m = distance_m.min(0.5 * grid.dx);
                }
            }
        }
        *gap = if is_at_boundary { (*gap + dt_s * openings.outflow(u_face, at)).max(0.0) } else { NO_GAP };
        if *gap >= distance_m {
            *phi = phi.max(*gap - distance_m);
        } else if *phi >= 0.0 {
            *gap = NO_GAP;
        }
    });
    // The surface of a new gap runs between its cell and the next ones, whose distances know nothing of it;
    // redistancing finds it by a cubic through four cells.
    for cell in 0..gap_cell.len() {
        if gap_cell[cell] >= 0.0 && phi_cell[cell] >= 0.0 {
            gap_cell[cell] = NO_GAP;
            let at = cells.coordinates(cell);
            let phi = phi_cell[cell];
            for (axis, away) in AXES.into_iter().flat_map(|axis| (1..=3).map(move |away| (axis, away))) {
                let below = (at[axis] >= away).then(|| cell - away * cells.stride(axis));
                let above = (at[axis] + away < cells.size[axis]).then(|| cell + away * cells.stride(axis));
                for other in below.into_iter().chain(above) {
                    phi_cell[other] = phi_cell[other].max(phi - away as f32 * grid.dx);
                }
            }
        }
    }
}
