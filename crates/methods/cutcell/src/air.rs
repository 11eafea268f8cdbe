//! The air beside the liquid, made free of divergence.
//!
//! The surface runs through cells whose dry faces continue what the surface and the faces beside say. Where such a
//! continuation diverges, the surface that a step has moved into it gains or loses volume to the second order of its way: a
//! front that runs against a wall lost a fifth of what it moved by. The dry faces of cells with liquid, and of those beside
//! them, are changed as little as possible for every such cell to let out what it lets in; faces with liquid keep their
//! velocity. Tests: tests/transport.rs.

use crate::mesh::CutCells;
use fluvial_foundation::{AXES, Axis, parallel};
use fluvial_grids::FaceField;
use fluvial_linear::amg::{Amg, AmgParams};
use fluvial_linear::krylov::{CgScratch, conjugate_gradients};
use fluvial_linear::sparse::{Csr, FluxMatrix};
use fluvial_linear::{Params, SolveError};

/// Part of the outflow that is left.
const TOLERANCE: f64 = 1e-4;
const UNKNOWN: u32 = u32::MAX;
const CELLS: usize = 512;

/// What is known of the grid's faces, by axis.
#[derive(Clone, Copy)]
pub struct Faces<'a> {
    /// Does the face have its velocity from liquid, or from a wall?
    pub is_fixed: &'a [Vec<bool>; 3],
    /// Parts that are outside solids; empty without solids.
    pub open: &'a [Vec<f32>; 3],
}

impl Faces<'_> {
    fn open(&self, axis: Axis, face: usize) -> f64 {
        self.open[axis].get(face).map_or(1.0, |a| f64::from(*a))
    }
}

/// Memory of the kernel, kept from step to step.
#[derive(Default)]
pub struct AirScratch {
    row_of: Vec<u32>,
    cell_of: Vec<u32>,
    cg: CgScratch<f32>,
}

/// A face of a cell: axis, index, 1 on the cell's high side, and the cell beyond, if any.
fn faces_of(mesh: &CutCells, cell: usize) -> [(Axis, usize, usize, Option<usize>); 6] {
    let cells = mesh.grid.cell_centers();
    let at = cells.coordinates(cell);
    std::array::from_fn(|n| {
        let (axis, side) = (n / 2, n % 2);
        let lattice = mesh.grid.faces(axis);
        let face = lattice.index(at[0], at[1], at[2]) + side * lattice.stride(axis);
        let other = match side {
            0 => (at[axis] > 0).then(|| cell - cells.stride(axis)),
            _ => (at[axis] + 1 < cells.size[axis]).then(|| cell + cells.stride(axis)),
        };
        (axis, face, side, other)
    })
}

impl AirScratch {
    /// Numbers the cells with liquid, and those beside them, that have a face to change.
    fn find_rows(&mut self, mesh: &CutCells, faces: &Faces) {
        let cells = mesh.grid.cell_centers();
        let wet: Vec<bool> = parallel::map_indices(cells.len(), |c| !mesh.pieces_of(c).is_empty());
        let is_row = parallel::map_indices(cells.len(), |cell| {
            let at = cells.coordinates(cell);
            let is_near = wet[cell]
                || (0..27usize).any(|n| {
                    let to = [n % 3, n / 3 % 3, n / 9];
                    let at: [usize; 3] = std::array::from_fn(|a| (at[a] + to[a]).wrapping_sub(1));
                    (0..3).all(|a| at[a] < cells.size[a]) && wet[cells.index(at[0], at[1], at[2])]
                });
            let may_change = |(axis, face, ..): (Axis, usize, usize, Option<usize>)| {
                !faces.is_fixed[axis][face] && faces.open(axis, face) > 0.0
            };
            is_near && faces_of(mesh, cell).into_iter().any(may_change)
        });
        self.row_of.clear();
        self.cell_of.clear();
        for (cell, is_row) in is_row.into_iter().enumerate() {
            self.row_of.push(if is_row { self.cell_of.len() as u32 } else { UNKNOWN });
            self.cell_of.extend(is_row.then_some(cell as u32));
        }
    }

    /// Changes the free faces of `u_face`, m/s.
    pub fn balance(
        &mut self,
        u_face: &mut FaceField,
        mesh: &CutCells,
        faces: &Faces,
    ) -> Result<(), SolveError> {
        self.find_rows(mesh, faces);
        let AirScratch { row_of, cell_of, cg } = self;
        let rows = cell_of.len();
        let row = |row: usize| {
            let cell = cell_of[row] as usize;
            let (mut entries, mut excess, mut outflow) = (vec![], 0.0, 0.0);
            for (axis, face, side, other) in faces_of(mesh, cell) {
                let open = faces.open(axis, face);
                let out = if side == 1 { 1.0 } else { -1.0 };
                outflow += out * open * f64::from(u_face[axis][face]);
                if open == 0.0 || faces.is_fixed[axis][face] {
                    continue;
                }
                match other.map_or(UNKNOWN, |c| row_of[c]) {
                    UNKNOWN => excess += open,
                    column => entries.push((column, -open as f32)),
                }
            }
            entries.sort_unstable_by_key(|e| e.0);
            (entries, excess, -outflow)
        };
        let parts = parallel::map_indices(parallel::chunk_count(rows, CELLS), |chunk| {
            parallel::chunk_range(chunk, CELLS, rows).map(row).collect::<Vec<_>>()
        });
        let (mut start, mut column, mut value, mut excess, mut rhs) =
            (vec![0u32], vec![], vec![], vec![], vec![]);
        for (entries, own_excess, right) in parts.into_iter().flatten() {
            entries.into_iter().for_each(|(c, v)| {
                column.push(c);
                value.push(v);
            });
            start.push(column.len() as u32);
            excess.push(own_excess);
            rhs.push(right);
        }
        let matrix = FluxMatrix::from_sorted(Csr::new(rows, start, column, value), excess);
        let mut q = vec![0.0f64; rows];
        let stop = Params { relative_tolerance: TOLERANCE, max_iterations: 200, ..Params::DEFAULT };
        let mut amg = Amg::new(&matrix, AmgParams::default());
        conjugate_gradients(&mut q, &matrix, &mut amg.on(&matrix), &rhs, &stop, cg)?;
        for axis in AXES {
            let (lattice, cells) = (mesh.grid.faces(axis), mesh.grid.cell_centers());
            let (is_fixed, row_of, q) = (&faces.is_fixed[axis], &*row_of, &q);
            parallel::for_each_indexed_mut(&mut u_face[axis], |face, u| {
                if is_fixed[face] || faces.open(axis, face) == 0.0 {
                    return;
                }
                let at = lattice.coordinates(face);
                let value = |at: [usize; 3]| match row_of[cells.index(at[0], at[1], at[2])] {
                    UNKNOWN => 0.0,
                    row => q[row as usize],
                };
                let mut low = at;
                low[axis] = low[axis].wrapping_sub(1);
                let low = if at[axis] > 0 { value(low) } else { 0.0 };
                let high = if at[axis] < cells.size[axis] { value(at) } else { 0.0 };
                *u -= (high - low) as f32;
            });
        }
        Ok(())
    }
}
