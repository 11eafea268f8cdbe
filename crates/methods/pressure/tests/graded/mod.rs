//! A graded mesh as an octree has it, for tests of solvers.

use fluvial_foundation::random::unit_f32;
use fluvial_linear::sparse::{Csr, FluxMatrix};
use std::collections::BTreeMap;

/// What a fine cell sees beyond a face to a coarse one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interface {
    /// The coarse value.
    Symmetric,
    /// The coarse value interpolated to its own height; the coarse cell sees the fine value.
    Linear,
    /// The same, and the coarse cell gets the fine one's flux: what leaves one enters the other.
    Conservative,
}

/// The unit cube in cells of `2 h` where x < 1/2 and of `h` beyond, `n` coarse cells along an edge. Faces
/// have the coefficient area over distance of the centres. Walls of x are open, the others closed.
pub struct Mesh {
    n: usize,
    h: f64,
    interface: Interface,
    /// Share of the faces that are closed to a thousandth.
    partial: f32,
    /// Open part of the walls of x.
    open: f64,
    faces: u64,
    entries: BTreeMap<(u32, u32), f64>,
    excess: Vec<f64>,
    /// Centre of every cell.
    pub center: Vec<[f64; 3]>,
}

impl Mesh {
    /// The matrix and the cells' centres.
    pub fn build(
        n: usize,
        interface: Interface,
        partial: f32,
        open: f64,
    ) -> (FluxMatrix<f32>, Vec<[f64; 3]>) {
        let rows = n / 2 * n * n + 4 * n * n * n;
        let (excess, center) = (vec![0.0; rows], vec![[0.0; 3]; rows]);
        let h = 0.5 / n as f64;
        let mut mesh =
            Mesh { n, h, interface, partial, open, faces: 0, entries: BTreeMap::new(), excess, center };
        mesh.coarse_cells();
        mesh.fine_cells();
        (flux(rows, &mesh.entries, mesh.excess), mesh.center)
    }

    fn coarse(&self, i: usize, j: usize, k: usize) -> usize {
        i + self.n / 2 * (j + self.n * k)
    }

    fn fine(&self, i: usize, j: usize, k: usize) -> usize {
        self.n / 2 * self.n * self.n + i + self.n * (j + 2 * self.n * k)
    }

    fn area(&mut self) -> f64 {
        self.faces += 1;
        if unit_f32(self.faces, 9) < self.partial { 1e-3 } else { 1.0 }
    }

    /// Adds `-c` to an entry.
    fn link(&mut self, row: usize, column: usize, c: f64) {
        *self.entries.entry((row as u32, column as u32)).or_insert(0.0) -= c;
    }

    /// A face between two cells of one size.
    fn face(&mut self, row: usize, other: usize, c: f64) {
        let c = c * self.area();
        self.link(row, other, c);
        self.link(other, row, c);
    }

    fn coarse_cells(&mut self) {
        let (n, c) = (self.n, 2.0 * self.h);
        for k in 0..n {
            for j in 0..n {
                for i in 0..n / 2 {
                    let row = self.coarse(i, j, k);
                    self.center[row] = [i, j, k].map(|v| (v as f64 + 0.5) * c);
                    if i == 0 {
                        self.excess[row] = 2.0 * c * self.open;
                    } else {
                        self.face(row, self.coarse(i - 1, j, k), c);
                    }
                    if j > 0 {
                        self.face(row, self.coarse(i, j - 1, k), c);
                    }
                    if k > 0 {
                        self.face(row, self.coarse(i, j, k - 1), c);
                    }
                }
            }
        }
    }

    fn fine_cells(&mut self) {
        let (n, h) = (self.n, self.h);
        for k in 0..2 * n {
            for j in 0..2 * n {
                for i in 0..n {
                    let row = self.fine(i, j, k);
                    self.center[row] = [n + i, j, k].map(|v| (v as f64 + 0.5) * h);
                    if i == 0 {
                        self.change_of_size(row, j, k);
                    } else {
                        self.face(row, self.fine(i - 1, j, k), h);
                    }
                    if j > 0 {
                        self.face(row, self.fine(i, j - 1, k), h);
                    }
                    if k > 0 {
                        self.face(row, self.fine(i, j, k - 1), h);
                    }
                    if i + 1 == n {
                        self.excess[row] = 2.0 * h * self.open;
                    }
                }
            }
        }
    }

    /// The face of a fine cell to a coarse one.
    fn change_of_size(&mut self, row: usize, j: usize, k: usize) {
        let (n, cj, ck) = (self.n, j / 2, k / 2);
        let beside = self.coarse(n / 2 - 1, cj, ck);
        let c = self.h / 1.5 * self.area();
        self.link(beside, row, c);
        // A quarter of the way to the coarse neighbour on either side.
        let near = |v: usize, c: usize| {
            if v.is_multiple_of(2) { c.checked_sub(1) } else { (c + 1 < n).then_some(c + 1) }
        };
        let across = near(j, cj).map(|cj| self.coarse(n / 2 - 1, cj, ck));
        let above = near(k, ck).map(|ck| self.coarse(n / 2 - 1, cj, ck));
        let interpolated = self.interface != Interface::Symmetric;
        let mut rest = 1.0;
        for other in [across, above].into_iter().flatten().filter(|_| interpolated) {
            rest -= 0.25;
            self.link(row, other, 0.25 * c);
            if self.interface == Interface::Conservative {
                self.link(beside, other, -0.25 * c);
            }
        }
        self.link(row, beside, rest * c);
    }
}

/// A matrix from `(row, column) -> entry` and row sums.
pub fn flux(rows: usize, entries: &BTreeMap<(u32, u32), f64>, excess: Vec<f64>) -> FluxMatrix<f32> {
    let mut start = vec![0u32; rows + 1];
    entries.keys().for_each(|k| start[k.0 as usize + 1] += 1);
    (0..rows).for_each(|n| start[n + 1] += start[n]);
    let column = entries.keys().map(|k| k.1).collect();
    FluxMatrix::new(Csr::new(rows, start, column, entries.values().map(|&v| v as f32).collect()), excess)
}
