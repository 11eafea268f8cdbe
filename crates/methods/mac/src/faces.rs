//! Faces and the cells beside them.

use fluvial_foundation::Axis;
use fluvial_foundation::parallel::for_each_chunk_mut;
use fluvial_grids::UniformGrid;

/// The two cells of a face; a face on the domain's boundary has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaceCells {
    /// The cell on the low side.
    pub low: Option<usize>,
    /// The cell on the high side.
    pub high: Option<usize>,
}

impl FaceCells {
    /// The cells beside a face of an axis.
    pub fn beside(grid: &UniformGrid, axis: Axis, face: usize) -> FaceCells {
        let (at, cells) = (grid.faces(axis).coordinates(face), grid.cell_centers());
        let cell = |below: usize| {
            let mut on = at;
            on[axis] = on[axis].checked_sub(below)?;
            (on[axis] < grid.cells[axis]).then(|| cells.index(on[0], on[1], on[2]))
        };
        FaceCells { low: cell(1), high: cell(0) }
    }

    /// Is it true of a cell beside the face?
    #[inline]
    pub fn any(self, is: impl Fn(usize) -> bool) -> bool {
        [self.low, self.high].into_iter().flatten().any(is)
    }
}

/// Runs `body(face, cells, value)` over all faces of one axis in parallel, a z-slab a chunk.
///
/// Test: `every_face_lies_between_its_cells`.
pub fn for_each_face<T: Send>(
    out: &mut [T],
    grid: &UniformGrid,
    axis: Axis,
    body: impl Fn(usize, FaceCells, &mut T) + Sync + Send,
) {
    let faces = grid.faces(axis);
    let cells = grid.cell_centers();
    let stride = cells.stride(axis);
    let last = grid.cells[axis];
    for_each_chunk_mut(out, faces.slab(), |k, slab| {
        let slab_start = k * faces.slab();
        for (j, row) in slab.chunks_mut(faces.size[0]).enumerate() {
            // Flat index of the cell on the high side of the row's first face; beyond the wall it is not
            // read.
            let row_cell = grid.cells[0] * (j + grid.cells[1] * k);
            for (i, value) in row.iter_mut().enumerate() {
                let along = [i, j, k][axis];
                let high = row_cell + i;
                let cells = FaceCells {
                    low: (along > 0).then(|| high.wrapping_sub(stride)),
                    high: (along < last).then_some(high),
                };
                body(slab_start + j * faces.size[0] + i, cells, value);
            }
        }
    });
}
