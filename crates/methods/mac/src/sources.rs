//! Sources on a grid: cells whose faces have a prescribed velocity.
//!
//! A source is a boundary with a prescribed flux, not a region whose velocity is overwritten: only so does
//! the inflow equal flux times time when the source is under water. Its faces are closed for the pressure and
//! move at the source's velocity.

use crate::Openings;
use fluvial_foundation::{AXES, Axis, Vec3};
use fluvial_grids::{FaceField, UniformGrid};

/// A face of a cell in a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceFace {
    /// Its axis.
    pub axis: Axis,
    /// Its place in the arrays of that axis.
    pub face: usize,
    /// What the source gives it, m/s.
    pub u_source: f32,
}

/// The cells and faces of active sources; empty when none is active.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The number of the source plus one in its cells, 0 elsewhere.
    pub tag_cell: Vec<u8>,
    /// The faces of those cells, each once.
    pub faces: Vec<SourceFace>,
}

/// Open area and boundary velocity with active sources on top of the solids; old or empty when none is
/// active.
#[derive(Clone, Debug, Default)]
pub struct Cover {
    area_face: FaceField,
    u_boundary: FaceField,
}

impl Sources {
    /// No source is active.
    pub fn clear(&mut self) {
        self.tag_cell.clear();
        self.faces.clear();
    }

    /// Makes room for the tags of active sources.
    pub fn begin(&mut self, cells: usize) {
        self.clear();
        self.tag_cell.resize(cells, 0);
    }

    /// Is the cell in an active source?
    #[inline]
    pub fn has(&self, cell: usize) -> bool {
        self.tag_cell.get(cell).is_some_and(|&tag| tag != 0)
    }

    /// Lists the faces of the tagged cells. `u_source(axis, [low, high], x)` is the velocity of the face at
    /// `x` between cells with these tags, one of which is not 0.
    ///
    /// Test: `a_source_under_water_pushes_out_its_flux`.
    pub fn list_faces(&mut self, grid: &UniformGrid, u_source: impl Fn(Axis, [u8; 2], Vec3) -> f32) {
        let (tags, cells) = (&self.tag_cell, grid.cell_centers());
        let lattices = AXES.map(|axis| grid.faces(axis));
        self.faces.clear();
        for (cell, &tag) in tags.iter().enumerate().filter(|(_, tag)| **tag != 0) {
            let at = cells.coordinates(cell);
            for (axis, up) in AXES.into_iter().flat_map(|axis| [(axis, false), (axis, true)]) {
                let stride = cells.stride(axis);
                let is_wall = if up { at[axis] + 1 == cells.size[axis] } else { at[axis] == 0 };
                let beyond = if is_wall { 0 } else { tags[if up { cell + stride } else { cell - stride }] };
                if beyond != 0 && up {
                    continue; // It is the other cell's low face.
                }
                let mut on = at;
                on[axis] += up as usize;
                let (face, x) =
                    (lattices[axis].index(on[0], on[1], on[2]), lattices[axis].position(on[0], on[1], on[2]));
                let beside = if up { [tag, beyond] } else { [beyond, tag] };
                self.faces.push(SourceFace { axis, face, u_source: u_source(axis, beside, x) });
            }
        }
    }

    /// Lays the listed faces over those of the solids: what was open moves at the source's velocity.
    pub fn cover(&self, out: &mut Cover, open_area: &FaceField, u_solid: &FaceField) {
        if self.faces.is_empty() {
            return;
        }
        out.area_face.clone_from(open_area);
        out.u_boundary.clone_from(u_solid);
        for &SourceFace { axis, face, u_source } in &self.faces {
            let (area, u) = (&mut out.area_face[axis][face], &mut out.u_boundary[axis][face]);
            *u = *area * u_source + (1.0 - *area) * *u;
            *area = 0.0;
        }
    }

    /// Gives the faces the velocity of the boundary and marks them as known, so that it spreads with the rest
    /// when velocity is extended.
    pub fn prescribe(&self, u_face: &mut FaceField, valid_face: &mut [Vec<u8>; 3], u_boundary: &FaceField) {
        for &SourceFace { axis, face, .. } in &self.faces {
            valid_face[axis][face] = 1;
            u_face[axis][face] = u_boundary[axis][face];
        }
    }
}

impl Cover {
    /// The faces as the projection sees them: those of the solids, given here, with those of the sources on
    /// top.
    pub fn openings<'a>(
        &'a self,
        sources: &Sources,
        grid: &'a UniformGrid,
        open_area: &'a FaceField,
        u_solid: &'a FaceField,
    ) -> Openings<'a> {
        if sources.faces.is_empty() {
            return Openings { grid, area_face: open_area, u_boundary: u_solid };
        }
        Openings { grid, area_face: &self.area_face, u_boundary: &self.u_boundary }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_under_water_pushes_out_its_flux() {
        let grid = UniformGrid { min: Vec3::ZERO, cells: [6, 5, 5], dx: 0.1 };
        let cells = grid.cell_centers();
        let (mut open, still) = (FaceField::constant(&grid, 1.0), FaceField::constant(&grid, 0.0));
        // A quarter of one of its faces lies in a solid that does not move.
        open[0][grid.faces(0).index(4, 2, 2)] = 0.75;
        let (mut sources, mut cover) = (Sources::default(), Cover::default());
        let solids_alone = cover.openings(&sources, &grid, &open, &still);
        assert!(!sources.has(0) && std::ptr::eq(solids_alone.area_face, &open));
        sources.begin(grid.cell_count());
        let inside = [cells.index(2, 2, 2), cells.index(3, 2, 2)];
        inside.iter().for_each(|&cell| sources.tag_cell[cell] = 1);
        // Along x at 2 m/s, through the end ahead and inside, none behind.
        let outward = |axis: Axis, tags: [u8; 2], _: Vec3| if axis == 0 && tags[0] != 0 { 2.0 } else { 0.0 };
        sources.list_faces(&grid, outward);
        assert_eq!(sources.faces.len(), 11);
        sources.cover(&mut cover, &open, &still);
        let openings = cover.openings(&sources, &grid, &open, &still);
        let zero = FaceField::constant(&grid, 0.0);
        let out = |i: usize| openings.outflow(&zero, [i, 2, 2]);
        assert_eq!([1, 2, 3, 4].map(out), [0.0, 2.0, -0.5, -1.5]);
        let (mut u, mut valid) = (zero.clone(), AXES.map(|axis| vec![0; grid.faces(axis).len()]));
        sources.prescribe(&mut u, &mut valid, openings.u_boundary);
        assert_eq!(valid.iter().flatten().filter(|&&v| v == 1).count(), 11);
        assert_eq!(u[0].iter().sum::<f32>(), 3.5);
        sources.clear();
        assert!(!sources.has(inside[0]) && sources.faces.is_empty());
    }
}
