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

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_foundation::Vec3;
    use fluvial_grids::FaceField;

    #[test]
    fn a_lone_cell_is_no_unknown() {
        let grid = UniformGrid { min: Vec3::ZERO, cells: [8, 5, 5], dx: 1.0 };
        let cells = grid.cell_centers();
        let mut area = FaceField::constant(&grid, 1.0);
        let mut phi = vec![1.0; cells.len()];
        // Alone; a pair; alone but beside a solid; alone at the wall; closed.
        let [alone, pair, other] = [cells.index(1, 1, 1), cells.index(3, 3, 3), cells.index(3, 3, 2)];
        let [beside, wall, closed] = [cells.index(5, 1, 1), cells.index(0, 3, 3), cells.index(6, 3, 3)];
        for cell in [alone, pair, other, beside, wall, closed] {
            phi[cell] = -0.1;
        }
        area[0][grid.faces(0).index(5, 1, 1)] = 0.5;
        for axis in AXES {
            let (faces, mut at) = (grid.faces(axis), [6, 3, 3]);
            area[axis][faces.index(6, 3, 3)] = 0.0;
            at[axis] += 1;
            area[axis][faces.index(at[0], at[1], at[2])] = 0.0;
        }
        let still = FaceField::constant(&grid, 0.0);
        let mut found = Unknowns::none(&grid);
        let openings = Openings {
            grid: &grid,
            area_face: &area,
            u_boundary: &still,
            inflow_cell: &[],
            at_source_cell: &[],
        };
        mark_unknowns(&mut found, &phi, &openings);
        let all = |marks: &[bool]| (0..marks.len()).filter(|&c| marks[c]).collect::<Vec<_>>();
        let mut unknown = vec![pair, other, beside, wall];
        unknown.sort_unstable();
        assert_eq!(all(&found.unknown_cell), unknown);
        assert_eq!(all(&found.lone_cell), [alone]);
    }
}
