//! Liquid on a tree that lets go of walls and solids [batty-2007 §5].
//!
//! A wall can push liquid, it cannot pull it: in cells that touch a boundary `p >= 0`, `div u >= 0`,
//! `p div u = 0` instead of `div u = 0`; with surface tension it takes a pull of `adhesion` to make a new surface. Which cells have let go is found by an active set, as in
//! `fluvial_mac::project`. A cell that has let go keeps its phi while it loses volume: what it lacks is the gap
//! at the boundary, until that reaches the cell's centre and is air like any other.

use crate::divergence::signed_area;
use crate::gradient::{Geometry, PressureGradient};
use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::{OUTSIDE, Side};

/// Pressures count as negative from this part of `g dt` on, over one cell: below it is the solver's residual.
const LEAST_PULL: f64 = 1e-2;
/// A cell that has let go has air's pressure: phi as neighbours see it, in its edges.
const BEYOND_CELLS: f32 = 1e-4;
/// A gap thinner than this is closed, in edges of the cell.
const LEAST_GAP_CELLS: f32 = 1e-3;

/// Which cells touch a boundary that liquid may let go of. `open_area` is what solids and closed walls leave of the
/// faces; `holds_wall` and `holds(x, dx)` say which walls, and which solids near a cell, hold on to it.
/// Test: `cells_part_from_boundaries_that_do_not_hold`.
pub fn parting_cells(
    tree: &Octree,
    open_area: &[f32],
    holds_wall: [bool; 6],
    holds: impl Fn(Vec3, f32) -> bool + Sync + Send,
) -> Vec<bool> {
    parallel::map_indices(tree.cell_count(), |cell| {
        let mut sides = tree.cell_faces()[cell].iter().enumerate();
        sides.any(|(side, &face)| {
            let is_wall = tree.leaf_across(cell, side) == Some(OUTSIDE);
            let is_held =
                || if is_wall { holds_wall[side] } else { holds(tree.cell_center(cell), tree.cell_dx(cell)) };
            open_area[face as usize] < 1.0 && !is_held()
        })
    })
}

/// The liquid that may let go, as a projection finds it.
#[derive(Clone, Copy)]
pub struct AtBoundaries<'a> {
    /// The liquid and its faces, sources closed.
    pub liquid: Geometry<'a>,
    /// Velocity of boundaries at what they close of faces, m/s.
    pub u_boundary: &'a [f32],
    /// Cells that touch a boundary which does not hold on to it.
    pub may_part_cell: &'a [bool],
    /// What each cell lacks of its volume is negative here.
    pub residual_cell: &'a [f32],
    /// What gravity adds to a velocity in the step, m/s.
    pub fall_m_s: f64,
    /// The impulse `p dt / rho` with which surface tension holds a cell's liquid at the boundary, m2/s.
    pub adhesion: &'a (dyn Fn(usize) -> f64 + Sync),
}

impl AtBoundaries<'_> {
    /// Is there a gap in a cell that has let go?
    fn has_gap(&self, cell: usize) -> bool {
        self.residual_cell[cell] < -LEAST_GAP_CELLS
    }

    /// Air in the cells that have let go.
    pub fn show(&self, seen_cell: &mut [f32], parted_cell: &[bool]) {
        for cell in (0..parted_cell.len()).filter(|&cell| parted_cell[cell]) {
            seen_cell[cell] = BEYOND_CELLS * self.liquid.tree.cell_dx(cell);
        }
    }

    /// Behind a solid that moves there is nothing but liquid: it holds on until air comes from the surface or from a
    /// gap beside the cell, see `fluvial_mac::AtBoundaries`. `seen_cell` has air in the gaps.
    /// Test: `liquid_holds_on_to_a_moving_solid_until_air_gets_in`.
    fn air_gets_in(&self, cell: usize, seen_cell: &[f32]) -> bool {
        let Geometry { tree, open_area, .. } = self.liquid;
        let faces = || tree.cell_faces()[cell].iter().map(|&face| face as usize);
        let moves = |face: usize| open_area[face] < 1.0 && self.u_boundary[face] != 0.0;
        let is_airy = |face: usize| {
            open_area[face] > 0.0
                && (tree.sides(face).contains(&Side::Outside)
                    || tree.cells_beside(face).any(|other| seen_cell[other] >= 0.0))
        };
        !faces().any(moves) || faces().any(is_airy)
    }

    /// Faces of cells that have let go, and that no pressure acts on, have no part of what presses on the surface: there is
    /// none that could answer it. `u_without_push` is the velocity without it, empty where nothing presses.
    pub fn take_pushes_back(
        &self,
        u: &mut [f32],
        parted_cell: &[bool],
        gradient: &PressureGradient,
        u_without_push: &[f32],
    ) {
        if u_without_push.is_empty() {
            return;
        }
        for cell in (0..parted_cell.len()).filter(|&cell| parted_cell[cell]) {
            let faces = self.liquid.tree.cell_faces()[cell].map(|face| face as usize);
            faces
                .into_iter()
                .filter(|&face| !gradient.acts_on(face))
                .for_each(|face| u[face] = u_without_push[face]);
        }
    }

    /// Lets cells go whose pressure is negative, and takes those back whose gap is closed and that the projected
    /// velocity presses together; returns how many there were. `seen_cell` is phi as the pressure saw it.
    pub fn revise(
        &self,
        parted_cell: &mut [bool],
        seen_cell: &[f32],
        impulse_cell: &[f64],
        u: &[f32],
    ) -> usize {
        let Geometry { tree, open_area, .. } = self.liquid;
        let mut changes = 0;
        for (cell, parted) in parted_cell.iter_mut().enumerate().filter(|(cell, _)| self.may_part_cell[*cell])
        {
            let dx = f64::from(tree.cell_dx(cell));
            let least_m_s = LEAST_PULL * self.fall_m_s.max(1e-6);
            let parts = if *parted {
                let out = |(side, &face): (usize, &u32)| {
                    let (face, area) = (face as usize, open_area[face as usize]);
                    -signed_area(dx, side) * f64::from(area * u[face] + (1.0 - area) * self.u_boundary[face])
                };
                let outflow: f64 = tree.cell_faces()[cell].iter().enumerate().map(out).sum();
                self.has_gap(cell) || outflow >= -least_m_s * dx * dx
            } else {
                seen_cell[cell] < 0.0
                    && impulse_cell[cell] < -least_m_s * dx
                    && impulse_cell[cell] < -(self.adhesion)(cell)
                    && self.air_gets_in(cell, seen_cell)
            };
            changes += (parts != *parted) as usize;
            *parted = parts;
        }
        changes
    }
}

/// Where liquid has let go of a boundary, and where one cell of air is between the two, the velocity at the closed
/// face is that of the other side, if that leads away from the boundary: the gap opens as fast as the liquid leaves.
/// Test: `a_closed_face_goes_with_liquid_that_leaves`.
pub fn let_go(u: &mut [f32], parted_cell: &[bool], seen_cell: &[f32], at: &AtBoundaries) {
    let Geometry { tree, open_area: area, .. } = at.liquid;
    for cell in (0..parted_cell.len()).filter(|&cell| at.may_part_cell[cell]) {
        if !parted_cell[cell] && seen_cell[cell] < 0.0 {
            continue;
        }
        let faces = tree.cell_faces()[cell].map(|face| face as usize);
        // A face of a larger cell has other cells beside it too.
        let is_own = |side: usize| tree.face_dx(faces[side]) == tree.cell_dx(cell);
        let is_liquid = |side: usize| match tree.sides(faces[side])[side % 2] {
            Side::Cell(other) => seen_cell[other as usize] < 0.0,
            _ => false,
        };
        for axis in AXES {
            for (closed, open) in [(2 * axis, 2 * axis + 1), (2 * axis + 1, 2 * axis)] {
                let (face, from) = (faces[closed], faces[open]);
                if area[face] == 0.0
                    && is_own(closed)
                    && area[from] > 0.0
                    && (parted_cell[cell] || is_liquid(open))
                {
                    let away = if closed % 2 == 0 { f32::max } else { f32::min };
                    u[face] = away(u[from], at.u_boundary[face]);
                }
            }
        }
    }
}

/// Gaps that have reached the centres of their cells become air: `phi = gap - d`, d the centre's distance from the
/// boundary, which `distance(cell)` gives. The cells around them, whose distances know nothing of it, follow. What
/// has become air has no longer let go. Test: `a_gap_at_the_centre_is_air`.
pub fn open_gaps(
    phi: &mut [f32],
    parted_cell: &mut [bool],
    residual_cell: &[f32],
    tree: &Octree,
    distance: impl Fn(usize) -> f32,
) -> bool {
    let mut opened = vec![];
    for (cell, parted) in parted_cell.iter_mut().enumerate().filter(|(_, parted)| **parted) {
        let gap_m = -residual_cell[cell] * tree.cell_dx(cell);
        let beyond_m = gap_m - distance(cell);
        if phi[cell] >= 0.0 || beyond_m >= 0.0 {
            phi[cell] = phi[cell].max(beyond_m);
            *parted = false;
            opened.push(cell);
        }
    }
    for &cell in &opened {
        let (x, here, reach) = (tree.cell_center(cell), phi[cell], 3.5 * tree.cell_dx(cell));
        let (mut ring, mut known) = (vec![cell], vec![cell]);
        for _ in 0..3 {
            let mut next = vec![];
            for &from in &ring {
                tree.for_neighbours(from, |other| {
                    let away = tree.cell_center(other).distance(x);
                    if away < reach && !known.contains(&other) {
                        phi[other] = phi[other].max(here - away);
                        known.push(other);
                        next.push(other);
                    }
                });
            }
            ring = next;
        }
    }
    !opened.is_empty()
}
