//! A field at cell centres continued into cells where it means nothing, e.g. phi into solids, so that the interface meets them
//! as if they were not there.

use fluvial_foundation::{DVec3, parallel};
use fluvial_grids::Octree;

/// Singular directions of a fit get no slope: this part of the trace is added to its matrix.
const REGULARISATION: f64 = 1e-5;
/// No source yet; the same for cells that the next ring has.
const UNKNOWN: u32 = u32::MAX;
const WAITING: u32 = u32::MAX - 1;

/// Memory of [`extend_cells`], to be kept from call to call.
#[derive(Debug, Default)]
pub struct ExtendScratch {
    /// The open cell that speaks for each cell.
    source: Vec<u32>,
    /// Cells of the present ring and of the next.
    ring: Vec<u32>,
    next: Vec<u32>,
}

/// Continues a field into all `closed` cells, linearly: every one takes what the open cells nearest to it say, a value and a
/// slope fitted to open cells alone. Nothing is read that was itself continued, so that errors grow with the distance from the
/// wall and not from ring to ring: a surface invented inside a solid would draw liquid in as soon as the solid moves on.
/// Cells that no open cell can reach stay as they are. Verified by `extend.rs`.
pub fn extend_cells(q_cell: &mut [f32], tree: &Octree, closed: &[bool], scratch: &mut ExtendScratch) {
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
        let found =
            parallel::map_indices(ring.len(), |n| continued(q, tree, closed, source, ring[n] as usize));
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
fn continued(q: &[f32], tree: &Octree, closed: &[bool], source: &[u32], cell: usize) -> (f32, u32) {
    let x = tree.cell_center(cell).as_dvec3();
    let (mut sum, mut count) = (0.0, 0.0);
    let mut nearest = (f64::INFINITY, UNKNOWN);
    tree.for_neighbours(cell, |other| {
        let from = source[other];
        if from < WAITING {
            let offset = x - tree.cell_center(from as usize).as_dvec3();
            sum += q[from as usize] as f64 + slope(q, tree, closed, from as usize).dot(offset);
            count += 1.0;
            if offset.length_squared() < nearest.0 {
                nearest = (offset.length_squared(), from);
            }
        }
    });
    ((sum / count) as f32, nearest.1)
}

/// Slope at an open cell: least squares over its open neighbours, as small as they allow.
fn slope(q: &[f32], tree: &Octree, closed: &[bool], cell: usize) -> DVec3 {
    let x = tree.cell_center(cell).as_dvec3();
    let (mut m, mut b) = ([[0.0; 3]; 3], DVec3::ZERO);
    tree.for_neighbours(cell, |other| {
        if !closed[other] {
            let d = tree.cell_center(other).as_dvec3() - x;
            let weight = 1.0 / d.length_squared();
            for i in 0..3 {
                for j in 0..=i {
                    m[i][j] += weight * d[i] * d[j];
                }
            }
            b += weight * (q[other] as f64 - q[cell] as f64) * d;
        }
    });
    let trace = m[0][0] + m[1][1] + m[2][2];
    if trace == 0.0 {
        return DVec3::ZERO;
    }
    for (i, row) in m.iter_mut().enumerate() {
        row[i] += REGULARISATION * trace;
    }
    solve(m, b)
}

/// Cholesky's method for a positive definite system, given by its lower half.
fn solve(m: [[f64; 3]; 3], b: DVec3) -> DVec3 {
    let (mut l, mut y) = ([[0.0; 3]; 3], [0.0; 3]);
    for i in 0..3 {
        for j in 0..i {
            l[i][j] = (m[i][j] - (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>()) / l[j][j];
        }
        l[i][i] = (m[i][i] - (0..i).map(|k| l[i][k] * l[i][k]).sum::<f64>()).sqrt();
        y[i] = (b[i] - (0..i).map(|k| l[i][k] * y[k]).sum::<f64>()) / l[i][i];
    }
    for i in (0..3).rev() {
        y[i] = (y[i] - (i + 1..3).map(|k| l[k][i] * y[k]).sum::<f64>()) / l[i][i];
    }
    DVec3::from_array(y)
}
