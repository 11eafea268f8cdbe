//! Liquid that the pressure throws out of the surface, see [`thrown_distance`].

use crate::parting::{AtBoundaries, Parting};
use fluvial_foundation::parallel::{CHUNK, chunk_count, chunk_range, for_each_chunk_mut};
use fluvial_foundation::{AXES, Axis};
use fluvial_grids::{FaceField, ghost_theta, thrown_distance};

/// A face between liquid and air.
struct SurfaceFace {
    axis: Axis,
    face: usize,
    /// The cell of air.
    air: usize,
    /// Towards it.
    n: f32,
}

/// Cells whose columns grow, and the level set that the pressure sees there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thrown {
    found: Vec<Vec<(u32, f32)>>,
    /// How many there have been in the step.
    pub columns: usize,
}

impl Parting {
    /// Finds the cells whose liquid the impulse `q` throws farther than its column is long; returns how many there are.
    pub(crate) fn find_thrown(&mut self, q_cell: &[f32], u_face: &FaceField, liquid: &AtBoundaries) -> usize {
        let mut found = std::mem::take(&mut self.thrown.found);
        found.resize_with(chunk_count(q_cell.len(), CHUNK), Vec::new);
        for_each_chunk_mut(&mut found, 1, |chunk, found| {
            found[0].clear();
            let of_chunk = chunk_range(chunk, CHUNK, q_cell.len());
            let grown = |cell: usize| Some((cell as u32, self.grown_column(cell, q_cell, u_face, liquid)?));
            found[0].extend(of_chunk.filter_map(grown));
        });
        self.thrown.found = found;
        let count = self.thrown.found.iter().map(Vec::len).sum();
        self.thrown.columns += count;
        count
    }

    /// Lets the columns grow: the level set, and with it the push of a pressure on the surface, which is one half of a
    /// projection.
    pub(crate) fn grow_columns(
        &mut self,
        u_face: &mut FaceField,
        liquid: &AtBoundaries,
        wanted: impl Fn(usize) -> f32,
    ) {
        let cells = liquid.openings.grid.cell_centers();
        let found = std::mem::take(&mut self.thrown.found);
        for &(cell, grown) in found.iter().flatten() {
            let cell = cell as usize;
            let before = std::mem::replace(&mut self.phi_cell[cell], grown);
            if let Some(u_without_push) = liquid.u_without_push {
                for SurfaceFace { axis, face, air, .. } in self.surface_faces(cell, liquid) {
                    let [before, now] = [before, grown].map(|phi| ghost_theta(phi, self.phi_cell[air]).0);
                    let (u, without) = (&mut u_face[axis][face], u_without_push[axis][face]);
                    *u = without + (*u - without) * before / now;
                }
            }
            let at = cells.coordinates(cell);
            self.rhs_cell[cell] = wanted(cell) - liquid.openings.outflow(u_face, at);
        }
        self.thrown.found = found;
    }

    /// The level set with the column that a step sets in motion, where that is much longer than the one at its begin.
    fn grown_column(
        &self,
        cell: usize,
        q_cell: &[f32],
        u_face: &FaceField,
        liquid: &AtBoundaries,
    ) -> Option<f32> {
        let (phi, q) = (self.phi_cell[cell], q_cell[cell]);
        if !(self.unknowns.unknown_cell[cell] && phi < 0.0 && phi > -liquid.unit && q > 0.0) {
            return None;
        }
        let gained = |SurfaceFace { axis, face, air, n }: SurfaceFace| {
            let u = u_face[axis][face];
            let before =
                liquid.u_without_push.map_or(u, |without| without[axis][face]) - liquid.gravity_m_s[axis];
            n * (u - before) + q / ghost_theta(phi, self.phi_cell[air]).0
        };
        let w = self.surface_faces(cell, liquid).map(gained).fold(0.0, f32::max);
        thrown_distance(phi, liquid.unit, w, liquid.fall_m_s, liquid.dt_s / liquid.openings.grid.dx)
    }

    /// The open faces between a cell and air.
    fn surface_faces<'a>(
        &'a self,
        cell: usize,
        liquid: &'a AtBoundaries,
    ) -> impl Iterator<Item = SurfaceFace> + 'a {
        let (grid, cells) = (liquid.openings.grid, liquid.openings.grid.cell_centers());
        let at = cells.coordinates(cell);
        AXES.into_iter().flat_map(|axis| [(axis, 0), (axis, 1)]).filter_map(move |(axis, up)| {
            if at[axis] + up == up * grid.cells[axis] {
                return None;
            }
            let air = if up == 1 { cell + cells.stride(axis) } else { cell - cells.stride(axis) };
            let face = grid.faces(axis).index(at[0], at[1], at[2]) + up * grid.faces(axis).stride(axis);
            let is_air = !self.unknowns.unknown_cell[air] && self.phi_cell[air] >= 0.0;
            let n = if up == 1 { 1.0 } else { -1.0 };
            (is_air && liquid.openings.area_face[axis][face] > 0.0).then_some(SurfaceFace {
                axis,
                face,
                air,
                n,
            })
        })
    }
}
