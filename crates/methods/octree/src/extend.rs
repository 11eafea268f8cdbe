//! A field at cell centres continued into cells where it means nothing, e.g. phi into solids, so that the
//! interface meets them as if they were not there.

use crate::slope::slopes;
use fluvial_foundation::{DVec3, parallel};
use fluvial_grids::Octree;

/// No source yet; the same for cells that the next ring has.
const UNKNOWN: u32 = u32::MAX;
const WAITING: u32 = u32::MAX - 1;

/// Memory of [`extend_cells`], to be kept from call to call.
#[derive(Debug, Default)]
pub struct ExtendScratch {
    /// The open cell from which each cell is continued.
    source: Vec<u32>,
    /// Cells of the present ring and of the next.
    ring: Vec<u32>,
    next: Vec<u32>,
}

/// Continues a field linearly into all `closed` cells: each takes the value and slope of the open cells
/// nearest to it, with slopes fitted to open cells alone. Values that were themselves continued are never
/// read, so errors grow with the distance from the wall and not from ring to ring. A false surface inside a
/// solid would draw liquid in as soon as the solid moves on. With the distance
/// to solids, `phi_solid_cell`, or else empty, a cell inside a wall is continued from the side that it is nearer to. Cells that no open cell can reach stay as they
/// are. Verified by `extend.rs`.
pub fn extend_cells(
    q_cell: &mut [f32],
    tree: &Octree,
    closed: &[bool],
    phi_solid_cell: &[f32],
    scratch: &mut ExtendScratch,
) {
    assert_eq!(q_cell.len(), tree.cell_count(), "one value per cell");
    assert_eq!(closed.len(), tree.cell_count(), "one mark per cell");
    let ExtendScratch { source, ring, next } = scratch;
    source.clear();
    source.extend(closed.iter().zip(0..).map(|(&closed, cell)| if closed { UNKNOWN } else { cell }));
    ring.clear();
    ring.extend((0..closed.len() as u32).filter(|&cell| {
        let mut beside_open = false;
        if closed[cell as usize] {
            tree.for_neighbours(cell as usize, |other| beside_open |= !closed[other]);
        }
        beside_open
    }));
    while !ring.is_empty() {
        let q = &*q_cell;
        let found = parallel::map_indices(ring.len(), |n| {
            let cell = ring[n] as usize;
            let toward = match phi_solid_cell.is_empty() {
                true => DVec3::ZERO,
                false => slopes(tree, cell, |_| true, |cell| [phi_solid_cell[cell]])[0],
            };
            continued(q, tree, closed, source, cell, toward)
        });
        for (&cell, (value, from)) in ring.iter().zip(found) {
            (q_cell[cell as usize], source[cell as usize]) = (value, from);
        }
        next.clear();
        for &cell in &*ring {
            tree.for_neighbours(cell as usize, |other| {
                if source[other] == UNKNOWN {
                    source[other] = WAITING;
                    next.push(other as u32);
                }
            });
        }
        std::mem::swap(ring, next);
    }
}

/// The mean of what the sources of a cell's neighbours continue to, and the nearest of them.
/// Where `toward` is not zero, only neighbours in its direction count, as long as there are any.
fn continued(
    q: &[f32],
    tree: &Octree,
    closed: &[bool],
    source: &[u32],
    cell: usize,
    toward: DVec3,
) -> (f32, u32) {
    let x = tree.cell_center(cell).as_dvec3();
    let (mut sum, mut count) = (0.0, 0.0);
    let mut nearest = (f64::INFINITY, UNKNOWN);
    let lies_toward = |other: usize| (tree.cell_center(other).as_dvec3() - x).dot(toward) > 0.0;
    let mut any = false;
    tree.for_neighbours(cell, |other| any |= source[other] < WAITING && lies_toward(other));
    tree.for_neighbours(cell, |other| {
        let from = source[other];
        if from < WAITING && (!any || lies_toward(other)) {
            let offset = x - tree.cell_center(from as usize).as_dvec3();
            let [slope] = slopes(tree, from as usize, |cell| !closed[cell], |cell| [q[cell]]);
            sum += q[from as usize] as f64 + slope.dot(offset);
            count += 1.0;
            if offset.length_squared() < nearest.0 {
                nearest = (offset.length_squared(), from);
            }
        }
    });
    ((sum / count) as f32, nearest.1)
}
