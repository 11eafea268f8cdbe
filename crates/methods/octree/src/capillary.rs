//! Curvature without the waves that a time step cannot carry: surface tension for steps of any length.
//!
//! Waves of number k on deep liquid have `omega^2 = sigma k^3 / rho`. Tension that acts on the present
//! surface is stable up to `omega dt = 2` on the shortest of them [brackbill-1992]. Here the
//! curvature is first filtered,
//!
//! `(I + L G L) kappa_f = kappa`, `G = STRENGTH dx (sigma dt^2 / rho) / pi`,
//!
//! L the Laplacian along the surface, on the cells beside it. A wave then keeps `1 / (1 + G k^4)` of its
//! tension: `omega_f dt` stays below the bound for every k and dt, and a wave of `k dx` far below pi loses
//! only `(omega dt)^2 k dx STRENGTH / pi` of it. It is the linear implicit treatment `1 / (1 + omega^2 dt^2)`
//! with one wave number replaced by the largest one, which makes it local to the surface; nothing is damped,
//! short waves only become slow.

use fluvial_foundation::parallel;
use fluvial_grids::Octree;

/// Differences see `4 / dx^2` where the shortest wave has `(pi / dx)^2`: its square is six times too small.
const STRENGTH: f64 = 8.0;
/// The filter's residual, relative.
const TOLERANCE: f64 = 1e-6;
/// Iterations after which the filtered values are taken as they are.
const MOST_ITERATIONS: usize = 2000;
/// Surface cells that one task treats.
const TASK: usize = 2048;

/// Memory of [`filter_curvature`], to be kept from call to call.
#[derive(Clone, Debug, Default)]
pub struct CapillaryScratch {
    row_of_cell: Vec<u32>,
    cells: Vec<u32>,
    /// Rows of the Laplacian: first entry of each, columns, weights in 1/m2.
    start: Vec<u32>,
    column: Vec<u32>,
    weight: Vec<f64>,
    /// `G` of each row, m4.
    strength: Vec<f64>,
    vectors: [Vec<f64>; 6],
}

/// Filters the curvature of the cells beside the surface (NaN elsewhere) for a step with
/// `sigma_dt2 = sigma dt^2 / rho`, m3. Returns whether the filter's residual was met. Verified by
/// `capillary.rs`.
pub fn filter_curvature(
    kappa_cell: &mut [f32],
    tree: &Octree,
    sigma_dt2: f64,
    scratch: &mut CapillaryScratch,
) -> bool {
    assert_eq!(kappa_cell.len(), tree.cell_count(), "one curvature per cell");
    scratch.link(kappa_cell, tree, sigma_dt2);
    let [x, b, r, p, q, half] = &mut scratch.vectors;
    let rows = scratch.cells.len();
    b.clear();
    b.extend(scratch.cells.iter().map(|&cell| kappa_cell[cell as usize] as f64));
    x.clone_from(b);
    [&mut *r, &mut *p, &mut *q, &mut *half].into_iter().for_each(|v| v.resize(rows, 0.0));
    let matrix = Matrix {
        start: &scratch.start,
        column: &scratch.column,
        weight: &scratch.weight,
        strength: &scratch.strength,
    };
    // Conjugate gradients, from the unfiltered curvature.
    matrix.apply(q, half, x);
    (0..rows).for_each(|i| r[i] = b[i] - q[i]);
    p.clone_from(r);
    let mut square = dot(r, r);
    let goal = TOLERANCE * TOLERANCE * dot(b, b);
    let mut iterations = 0;
    while square > goal && iterations < MOST_ITERATIONS {
        matrix.apply(q, half, p);
        let step = square / dot(p, q);
        (0..rows).for_each(|i| {
            x[i] += step * p[i];
            r[i] -= step * q[i];
        });
        let next = dot(r, r);
        (0..rows).for_each(|i| p[i] = r[i] + next / square * p[i]);
        square = next;
        iterations += 1;
    }
    for (&cell, &value) in scratch.cells.iter().zip(&*x) {
        kappa_cell[cell as usize] = value as f32;
    }
    square <= goal
}

impl CapillaryScratch {
    /// Lists the cells and links those that share a face.
    fn link(&mut self, kappa_cell: &[f32], tree: &Octree, sigma_dt2: f64) {
        self.row_of_cell.clear();
        self.row_of_cell.resize(tree.cell_count(), u32::MAX);
        self.cells.clear();
        for (cell, _) in kappa_cell.iter().enumerate().filter(|(_, kappa)| !kappa.is_nan()) {
            self.row_of_cell[cell] = self.cells.len() as u32;
            self.cells.push(cell as u32);
        }
        self.start.clear();
        self.start.push(0);
        self.column.clear();
        self.weight.clear();
        self.strength.clear();
        for &cell in &self.cells {
            let x = tree.cell_center(cell as usize);
            tree.for_neighbours(cell as usize, |other| {
                let row = self.row_of_cell[other];
                if row != u32::MAX {
                    self.column.push(row);
                    self.weight.push(1.0 / x.distance_squared(tree.cell_center(other)) as f64);
                }
            });
            self.start.push(self.column.len() as u32);
            let dx = tree.cell_dx(cell as usize) as f64;
            self.strength.push(STRENGTH * dx * sigma_dt2 / std::f64::consts::PI);
        }
    }
}

struct Matrix<'a> {
    start: &'a [u32],
    column: &'a [u32],
    weight: &'a [f64],
    strength: &'a [f64],
}

impl Matrix<'_> {
    /// `out = x + L G L x`.
    fn apply(&self, out: &mut [f64], half: &mut [f64], x: &[f64]) {
        self.laplacian(half, x, |row, value| self.strength[row] * value);
        self.laplacian(out, half, |row, value| x[row] + value);
    }

    fn laplacian(&self, out: &mut [f64], x: &[f64], then: impl Fn(usize, f64) -> f64 + Sync + Send) {
        parallel::for_each_chunk_mut(out, TASK, |n, out| {
            for (i, out) in out.iter_mut().enumerate() {
                let row = n * TASK + i;
                let entries = self.start[row] as usize..self.start[row + 1] as usize;
                let sum: f64 = entries.map(|e| self.weight[e] * (x[row] - x[self.column[e] as usize])).sum();
                *out = then(row, sum);
            }
        });
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    parallel::ordered_sum(parallel::chunk_count(a.len(), TASK), |n| {
        parallel::chunk_range(n, TASK, a.len()).map(|i| a[i] * b[i]).sum()
    })
}
