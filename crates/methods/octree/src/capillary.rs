//! Curvature without the waves that a time step cannot carry: surface tension for steps of any length.
//!
//! Waves of number k on deep liquid have `omega^2 = sigma k^3 / rho`. Tension that acts on the present
//! surface is stable up to `omega dt = 2` on the shortest of them [brackbill-1992], with `omega dt = pi / 2` at the usual limit
//! `dt_e^2 = rho dx^3 / (4 pi sigma)`. Here the curvature is first filtered,
//!
//! `(I + D^T G(min(dt, dt_e)^2) D + L G(dt^2 - dt_e^2) L) kappa_f = kappa`, `G(t^2) = STRENGTH dx sigma t^2 / (rho pi)`,
//!
//! on the cells beside the surface. A wave then keeps
//! `1 / (1 + G k^4)` of its tension, so that `omega_f dt` stays below the bound for every k and dt, and a wave of `k dx` far below pi loses
//! only `(omega dt)^2 k dx STRENGTH / pi` of it. It is the linear implicit treatment `1 / (1 + omega^2 dt^2)`
//! with one wave number replaced by the largest one, which makes it local to the surface; nothing is damped,
//! short waves only become slow.
//!
//! D are second differences along the axes on whose both sides an equal cell is beside the surface too: what varies linearly has none. L is the
//! Laplacian of the graph of these cells: it holds every wave on any staircase of cells, but it takes a slope for a wave where a cell has a neighbour on
//! one side alone. With L for all of dt^2 a drop of 16 cells oscillated slower by another 0.5 %.

use crate::sides::TreeSides;
use crate::surface_links::SurfaceLinks;
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
    links: SurfaceLinks,
    /// Rows of the Laplacian: first entry of each, columns, weights in 1/m2.
    start: Vec<u32>,
    column: Vec<u32>,
    weight: Vec<f64>,
    /// 1/m2 of each row of D.
    per_dx2: Vec<f64>,
    /// `G` of each row for what explicit steps allow and for what is beyond, m4.
    explicit: Vec<f64>,
    beyond: Vec<f64>,
    vectors: [Vec<f64>; 7],
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
    let [x, b, r, p, q, half, other] = &mut scratch.vectors;
    let rows = scratch.links.cells.len();
    b.clear();
    b.extend(scratch.links.cells.iter().map(|&cell| kappa_cell[cell as usize] as f64));
    x.clone_from(b);
    [&mut *r, &mut *p, &mut *q, &mut *half, &mut *other].into_iter().for_each(|v| v.resize(rows, 0.0));
    let matrix = Matrix {
        start: &scratch.start,
        column: &scratch.column,
        weight: &scratch.weight,
        pairs: &scratch.links.pairs,
        per_dx2: &scratch.per_dx2,
        explicit: &scratch.explicit,
        beyond: &scratch.beyond,
    };
    // Conjugate gradients, from the unfiltered curvature.
    matrix.apply(q, [half, other], x);
    (0..rows).for_each(|i| r[i] = b[i] - q[i]);
    p.clone_from(r);
    let mut square = dot(r, r);
    let goal = TOLERANCE * TOLERANCE * dot(b, b);
    let mut iterations = 0;
    while square > goal && iterations < MOST_ITERATIONS {
        matrix.apply(q, [half, other], p);
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
    for (&cell, &value) in scratch.links.cells.iter().zip(&*x) {
        kappa_cell[cell as usize] = value as f32;
    }
    square <= goal
}

impl CapillaryScratch {
    /// Links the cells that share a face.
    fn link(&mut self, kappa_cell: &[f32], tree: &Octree, sigma_dt2: f64) {
        self.links.find(tree, TreeSides::NONE, |cell| !kappa_cell[cell].is_nan());
        self.start.clear();
        self.start.push(0);
        self.column.clear();
        self.weight.clear();
        self.per_dx2.clear();
        self.explicit.clear();
        self.beyond.clear();
        for &cell in &self.links.cells {
            let x = tree.cell_center(cell as usize);
            tree.for_neighbours(cell as usize, |other| {
                let row = self.links.row_of_cell[other];
                if row != u32::MAX {
                    self.column.push(row);
                    self.weight.push(1.0 / x.distance_squared(tree.cell_center(other)) as f64);
                }
            });
            self.start.push(self.column.len() as u32);
            let dx = tree.cell_dx(cell as usize) as f64;
            self.per_dx2.push(1.0 / (dx * dx));
            let explicit = sigma_dt2.min(dx.powi(3) / (4.0 * std::f64::consts::PI));
            let per_dt2 = STRENGTH * dx / std::f64::consts::PI;
            self.explicit.push(per_dt2 * explicit);
            self.beyond.push(per_dt2 * (sigma_dt2 - explicit));
        }
    }
}

struct Matrix<'a> {
    start: &'a [u32],
    column: &'a [u32],
    weight: &'a [f64],
    pairs: &'a [[[u32; 2]; 3]],
    per_dx2: &'a [f64],
    explicit: &'a [f64],
    beyond: &'a [f64],
}

impl Matrix<'_> {
    /// `out = x + (D^T G_e D + L G_b L) x`.
    fn apply(&self, out: &mut [f64], [half, other]: [&mut [f64]; 2], x: &[f64]) {
        self.laplacian(half, x, |row, value| self.beyond[row] * value);
        self.laplacian(out, half, |row, value| x[row] + value);
        parallel::for_each_indexed_mut(other, |row, other| {
            let differences =
                self.pairs[row].map(|[low, high]| 2.0 * x[row] - (x[low as usize] + x[high as usize]));
            *other = self.per_dx2[row] * self.explicit[row] * differences.iter().sum::<f64>();
        });
        // One after the other: rows write to those of their neighbours.
        for (row, &value) in other.iter().enumerate() {
            for &[low, high] in &self.pairs[row] {
                let part = self.per_dx2[row] * value;
                out[row] += 2.0 * part;
                out[low as usize] -= part;
                out[high as usize] -= part;
            }
        }
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
