//! What lies on the faces: how much of each is open, and how fast the rest moves.

use fluvial_foundation::{AXES, Axis};
use fluvial_grids::{FaceField, UniformGrid};

/// The faces of a grid as the projection sees them.
#[derive(Clone, Copy, Debug)]
pub struct Openings<'a> {
    /// Where they are.
    pub grid: &'a UniformGrid,
    /// The part of each face that liquid flows through, 0 to 1.
    pub area_face: &'a FaceField,
    /// Velocity of the solids that close the rest, m/s.
    pub u_boundary: &'a FaceField,
    /// What sources let into each cell over dx^2, m/s; empty where none is active.
    pub inflow_cell: &'a [f32],
    /// Cells with a face that a source covers; empty where none is active. Liquid does not let go of a boundary
    /// there: behind it the source flows on.
    pub at_source_cell: &'a [bool],
}

impl Openings<'_> {
    /// Net flux out of a cell over dx^2, m/s, open and closed parts of its faces together, less what sources
    /// let in: `sum_f n_f (A_f u_f + (1 - A_f) u_boundary,f) - inflow`.
    ///
    /// Test: `a_linear_velocity_flows_out_by_its_divergence`.
    #[inline]
    pub fn outflow(&self, u_face: &FaceField, at: [usize; 3]) -> f32 {
        self.outflow_with(at, |axis, face| u_face[axis][face])
    }

    /// The same with the velocities `u(axis, face)`.
    #[inline]
    pub fn outflow_with(&self, at: [usize; 3], u: impl Fn(Axis, usize) -> f32) -> f32 {
        let out =
            self.outflow_along(0, &u, at) + self.outflow_along(1, &u, at) + self.outflow_along(2, &u, at);
        if self.inflow_cell.is_empty() {
            return out;
        }
        out - self.inflow_at(at)
    }

    #[inline]
    fn inflow_at(&self, [i, j, k]: [usize; 3]) -> f32 {
        self.inflow_cell[self.grid.cell_centers().index(i, j, k)]
    }

    /// Does a source cover a part of the cell's faces?
    #[inline]
    pub fn is_at_source(&self, cell: usize) -> bool {
        !self.at_source_cell.is_empty() && self.at_source_cell[cell]
    }

    /// Does a boundary that moves close a part of the cell's faces?
    pub fn has_moving_boundary(&self, [i, j, k]: [usize; 3]) -> bool {
        AXES.into_iter().any(|axis| {
            let lattice = self.grid.faces(axis);
            let low = lattice.index(i, j, k);
            let moves = |face: usize| self.area_face[axis][face] < 1.0 && self.u_boundary[axis][face] != 0.0;
            moves(low) || moves(low + lattice.stride(axis))
        })
    }

    /// The part of a cell's faces that liquid flows through, 0 to 1.
    pub fn open_part(&self, [i, j, k]: [usize; 3]) -> f32 {
        let along = |axis: Axis| {
            let lattice = self.grid.faces(axis);
            let low = lattice.index(i, j, k);
            self.area_face[axis][low] + self.area_face[axis][low + lattice.stride(axis)]
        };
        (along(0) + along(1) + along(2)) / 6.0
    }

    /// The mean square of the speed of the liquid in a cell, m2/s2. Along each axis both faces count by their open part
    /// over the larger one of the two, and what is left with the boundary's velocity: what flows through the sliver that a
    /// solid leaves of one face may be fast, but is next to nothing, while liquid that glides along a wall in the middle
    /// of the cell is as fast as its faces say.
    ///
    /// Tests: `slivers_of_faces_do_not_count_for_the_speed`, `liquid_beside_a_wall_in_the_cell_is_as_fast_as_its_faces`.
    #[inline]
    pub fn mean_square_speed(&self, u_face: &FaceField, at: [usize; 3]) -> f32 {
        self.flow_along(0, u_face, at)[0]
            + self.flow_along(1, u_face, at)[0]
            + self.flow_along(2, u_face, at)[0]
    }

    /// [`Self::mean_square_speed`] and [`Self::outflow`] of a cell, from one look at its faces.
    #[inline]
    pub fn flow(&self, u_face: &FaceField, at: [usize; 3]) -> [f32; 2] {
        let [x, y, z] = AXES.map(|axis| self.flow_along(axis, u_face, at));
        let out = x[1] + y[1] + z[1];
        [x[0] + y[0] + z[0], if self.inflow_cell.is_empty() { out } else { out - self.inflow_at(at) }]
    }

    /// The mean square of the speed and the outflow along an axis. Faces that are open all over ask nothing of the
    /// boundaries.
    #[inline(always)]
    fn flow_along(&self, axis: Axis, u_face: &FaceField, [i, j, k]: [usize; 3]) -> [f32; 2] {
        let lattice = self.grid.faces(axis);
        let low = lattice.index(i, j, k);
        let high = low + lattice.stride(axis);
        let (area, u) = (
            [self.area_face[axis][low], self.area_face[axis][high]],
            [u_face[axis][low], u_face[axis][high]],
        );
        if area == [1.0; 2] {
            return [0.5 * (u[0] * u[0] + u[1] * u[1]), u[1] - u[0]];
        }
        let u_boundary = [self.u_boundary[axis][low], self.u_boundary[axis][high]];
        let larger = area[0].max(area[1]);
        let square = |side: usize| {
            let part = if larger > 0.0 { area[side] / larger } else { 0.0 };
            part * u[side] * u[side] + (1.0 - part) * u_boundary[side] * u_boundary[side]
        };
        let flux = |side: usize| area[side] * u[side] + (1.0 - area[side]) * u_boundary[side];
        [0.5 * (square(0) + square(1)), flux(1) - flux(0)]
    }

    #[inline(always)]
    fn outflow_along(&self, axis: Axis, u: &impl Fn(Axis, usize) -> f32, [i, j, k]: [usize; 3]) -> f32 {
        let lattice = self.grid.faces(axis);
        let low = lattice.index(i, j, k);
        let high = low + lattice.stride(axis);
        let (area, u_boundary) = (&self.area_face[axis], &self.u_boundary[axis]);
        let flux = |f: usize| area[f] * u(axis, f) + (1.0 - area[f]) * u_boundary[f];
        flux(high) - flux(low)
    }
}

/// Marks the cells without any open face.
pub fn find_closed_cells(closed_cell: &mut [bool], open_area: &FaceField, grid: &UniformGrid) {
    let faces = AXES.map(|axis| (grid.faces(axis), grid.faces(axis).stride(axis)));
    grid.cell_centers().for_each_mut(closed_cell, |_, [i, j, k], closed| {
        *closed = AXES.iter().all(|&axis| {
            let (lattice, stride) = faces[axis];
            let face = lattice.index(i, j, k);
            open_area[axis][face] == 0.0 && open_area[axis][face + stride] == 0.0
        });
    });
}

/// A bound of the fastest boundary's speed, m/s: the length of the vector of the largest components.
pub fn fastest_boundary_m_s(u_boundary: &FaceField) -> f64 {
    let fastest = |axis: usize| u_boundary[axis].iter().fold(0.0f32, |m, v| m.max(v.abs())) as f64;
    AXES.iter().map(|&a| fastest(a).powi(2)).sum::<f64>().sqrt()
}
