//! Right side, first guess and gradient of the projection.

use crate::{FaceCells, Openings, Unknowns, for_each_face};
use fluvial_foundation::AXES;
use fluvial_foundation::parallel::for_each_beside_mut;
use fluvial_grids::{FaceField, ghost_theta};

/// Fills the right side of the projection: `c dx V` less what flows out of each unknown cell, 0 elsewhere.
/// `wanted(cell)` is `c dx V`, m/s, with the divergence c that the cell shall have and its open volume V.
///
/// Test: `a_quadratic_pressure_in_a_ball_converges_in_second_order`.
pub fn right_side(
    rhs_cell: &mut [f32],
    unknown_cell: &[bool],
    openings: &Openings,
    u_face: &FaceField,
    wanted: impl Fn(usize) -> f32 + Sync + Send,
) {
    openings.grid.cell_centers().for_each_mut(rhs_cell, |cell, at, rhs| {
        *rhs = if unknown_cell[cell] { wanted(cell) - openings.outflow(u_face, at) } else { 0.0 };
    });
}

/// The impulse of the last step of `last_dt_s`, scaled to a step of `dt_s`: pressure changes less than the
/// length of steps. Zero before the first step.
pub fn first_guess(q_cell: &mut [f32], last_q_cell: &[f32], last_dt_s: f64, dt_s: f64) {
    let scale = if last_dt_s > 0.0 { (dt_s / last_dt_s) as f32 } else { 0.0 };
    for_each_beside_mut(q_cell, last_q_cell, |q, last| *q = *last * scale);
}

/// A pressure impulse in the cells.
#[derive(Clone, Copy, Debug)]
pub struct Impulse<'a> {
    /// p dt / (rho dx), m/s.
    pub q_cell: &'a [f32],
    /// The liquid's level set; only ratios of neighbours matter.
    pub phi_cell: &'a [f32],
    /// Where the impulse is known.
    pub unknown_cell: &'a [bool],
}

impl Impulse<'_> {
    /// `q_high - q_low` across a face, with ghost values in air and zero beyond an open wall; `None` where
    /// neither cell is an unknown.
    #[inline]
    pub fn difference(&self, cells: FaceCells) -> Option<f32> {
        let q = self.q_cell;
        match (self.unknown(cells.low), self.unknown(cells.high)) {
            (Some(low), Some(high)) => Some(q[high] - q[low]),
            (Some(low), None) => Some(-q[low] / self.distance(low, cells.high)),
            (None, Some(high)) => Some(q[high] / self.distance(high, cells.low)),
            (None, None) => None,
        }
    }

    /// The part of the way between the centres beside a face that liquid fills: with its open area the liquid that pressure moves
    /// there. `None` where neither cell is an unknown.
    pub fn wet_part(&self, cells: FaceCells) -> Option<f32> {
        match (self.unknown(cells.low), self.unknown(cells.high)) {
            (Some(_), Some(_)) => Some(1.0),
            (Some(low), None) => Some(self.distance(low, cells.high)),
            (None, Some(high)) => Some(self.distance(high, cells.low)),
            (None, None) => None,
        }
    }

    #[inline]
    fn unknown(&self, cell: Option<usize>) -> Option<usize> {
        cell.filter(|&c| self.unknown_cell[c])
    }

    /// From an unknown's centre to where the impulse is none, in cells: the surface, or an open wall.
    #[inline]
    fn distance(&self, inside: usize, outside: Option<usize>) -> f32 {
        outside.map_or(1.0, |air| ghost_theta(self.phi_cell[inside], self.phi_cell[air]).0)
    }
}

/// `u -= q_high - q_low` on the open faces of unknowns. Open faces beside which nothing is unknown get
/// `without_pressure(cells, u)`; closed faces stay as they are.
///
/// Tests: `a_quadratic_pressure_in_a_ball_converges_in_second_order`, `still_water_stays_still_at_any_level`.
pub fn subtract_gradient(
    u_face: &mut FaceField,
    openings: &Openings,
    impulse: &Impulse,
    without_pressure: impl Fn(FaceCells, &mut f32) + Sync + Send,
) {
    for axis in AXES {
        let area = &openings.area_face[axis];
        for_each_face(&mut u_face[axis], openings.grid, axis, |face, cells, u| {
            if area[face] > 0.0 {
                match impulse.difference(cells) {
                    Some(change) => *u -= change,
                    None => without_pressure(cells, u),
                }
            }
        });
    }
}

/// The velocity of liquid among solids that have set out at once: the pressure of that moment is an impulse,
/// `u = u_before - grad q`, and nothing else has had time to act, neither gravity nor walls that let go. A scene
/// begins with it: without it the solids would cut into liquid that stands still, and tear it off behind them.
/// `solve(impulse, level set, right side, open areas)` is the linear solve.
///
/// Test: `liquid_sets_out_with_the_solids_in_it`.
pub fn follow_solids<E>(
    u_face: &mut FaceField,
    q_cell: &mut [f32],
    unknowns: &Unknowns,
    phi_cell: &[f32],
    openings: &Openings,
    mut solve: impl FnMut(&mut [f32], &[f32], &[f32], [&[f32]; 3]) -> Result<(), E>,
) -> Result<(), E> {
    let unknown_cell = &unknowns.unknown_cell;
    let mut rhs_cell = vec![0.0; q_cell.len()];
    right_side(&mut rhs_cell, unknown_cell, openings, u_face, |_| 0.0);
    q_cell.fill(0.0);
    solve(q_cell, phi_cell, &rhs_cell, AXES.map(|axis| openings.area_face[axis].as_slice()))?;
    let impulse = Impulse { q_cell, phi_cell, unknown_cell };
    subtract_gradient(u_face, openings, &impulse, |_, _| {});
    Ok(())
}
