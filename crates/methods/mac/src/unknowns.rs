//! Which cells have a pressure.

use crate::Openings;
use fluvial_foundation::AXES;
use fluvial_grids::UniformGrid;

/// The liquid cells by what the projection does to them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unknowns {
    /// Cells whose pressure is unknown.
    pub unknown_cell: Vec<bool>,
    /// Liquid cells without a liquid neighbour, away from solids: no pressure acts on them, they fly.
    pub lone_cell: Vec<bool>,
}

impl Unknowns {
    /// No cell is liquid.
    pub fn none(grid: &UniformGrid) -> Self {
        let none = vec![false; grid.cell_count()];
        Unknowns { unknown_cell: none.clone(), lone_cell: none }
    }
}

/// An unknown is a liquid cell with at least one open face. A lone one, a drop smaller than the grid can turn
/// or squeeze, is left to fly: its ghost distances are noise, and the face with the shortest would take the
/// flux of all.
///
/// Test: `a_lone_cell_is_no_unknown`.
pub fn mark_unknowns(out: &mut Unknowns, phi_cell: &[f32], openings: &Openings) {
    let (grid, area, phi) = (openings.grid, openings.area_face, phi_cell);
    let cells = grid.cell_centers();
    let lattices = AXES.map(|axis| grid.faces(axis));
    let Unknowns { unknown_cell, lone_cell } = out;
    cells.for_each_mut2(unknown_cell, lone_cell, |cell, at, unknown, lone| {
        (*unknown, *lone) = (false, false);
        if phi[cell] >= 0.0 {
            return;
        }
        let (mut any_open, mut alone) = (false, true);
        for axis in AXES {
            let face = lattices[axis].index(at[0], at[1], at[2]);
            let (low, high) = (area[axis][face], area[axis][face + lattices[axis].stride(axis)]);
            let stride = cells.stride(axis);
            any_open |= low > 0.0 || high > 0.0;
            alone &= low == 1.0 && high == 1.0;
            alone &= at[axis] > 0 && phi[cell - stride] >= 0.0;
            alone &= at[axis] + 1 < cells.size[axis] && phi[cell + stride] >= 0.0;
        }
        (*unknown, *lone) = (any_open && !alone, any_open && alone);
    });
}
