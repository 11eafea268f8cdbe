//! Connected components of the unknowns, found on runs of connected cells along x.

use crate::layout::{Layout, Split};
use crate::operator::Operator;
use fluvial_foundation::parallel;

/// A maximal run of cells of one row that are connected through open faces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub j: u32,
    pub k: u32,
    pub start: u32,
    pub end: u32,
    /// Does a cell of the run see air or an open wall?
    pub dirichlet: bool,
}

impl Run {
    pub fn new(j: usize, k: usize, i: usize) -> Self {
        Run { j: j as u32, k: k as u32, start: i as u32, end: i as u32, dirichlet: false }
    }
}

/// The components without any Dirichlet face, whose pressure is known up to a constant.
#[derive(Default)]
pub(crate) struct Components {
    runs: Vec<Run>,
    parent: Vec<u32>,
    row_start: Vec<u32>,
    /// Runs of sealed components with the component's number, in the order of rows.
    sealed: Vec<(u32, Run)>,
    /// First of `sealed` in each grid row (j, k), and one more.
    sealed_start: Vec<u32>,
    pub count: usize,
    pub sealed_count: usize,
    /// Sum and number of cells of each sealed component.
    means: Vec<(f64, f64)>,
}

/// Runs per task of a sum.
const SUM_RUNS: usize = 256;

impl Components {
    /// Labels the runs (in the order of rows) by union-find over faces with a positive coefficient.
    pub fn find<'a>(&mut self, op: &Operator, found: impl Iterator<Item = &'a [Run]>) {
        self.runs.clear();
        found.for_each(|r| self.runs.extend_from_slice(r));
        self.parent.clear();
        self.parent.extend(0..self.runs.len() as u32);
        let l = &op.layout;
        let [_, ny, nz] = l.cells;
        self.row_start.clear();
        let mut next = 0;
        for row in 0..ny * nz {
            self.row_start.push(next as u32);
            while next < self.runs.len()
                && self.runs[next].j as usize + ny * self.runs[next].k as usize == row
            {
                next += 1;
            }
        }
        self.row_start.push(next as u32);
        for k in 0..nz {
            for j in 0..ny {
                let row = j + ny * k;
                if j > 0 {
                    self.join_rows(op, row, row - 1, 1);
                }
                if k > 0 {
                    self.join_rows(op, row, row - ny, 2);
                }
            }
        }
        self.collect_sealed(l.cells);
    }

    fn root(&mut self, mut n: u32) -> u32 {
        while self.parent[n as usize] != n {
            let up = self.parent[self.parent[n as usize] as usize];
            self.parent[n as usize] = up;
            n = up;
        }
        n
    }

    /// Joins runs of two neighbouring rows; `axis` points from `below` to `row`.
    fn join_rows(&mut self, op: &Operator, row: usize, below: usize, axis: usize) {
        let range = |s: &Self, r: usize| (s.row_start[r] as usize, s.row_start[r + 1] as usize);
        let ((mut a, a_end), (mut b, b_end)) = (range(self, row), range(self, below));
        while a < a_end && b < b_end {
            let (ra, rb) = (self.runs[a], self.runs[b]);
            let (start, end) = (ra.start.max(rb.start), ra.end.min(rb.end));
            if start < end && self.root(a as u32) != self.root(b as u32) {
                let l = &op.layout;
                let base = l.row(ra.j as usize, ra.k as usize) * l.stride;
                let s = (ra.j + ra.k) & 1;
                let touches =
                    (start..end).any(|i| op.coef[axis][((i ^ s) & 1) as usize][base + i as usize / 2] != 0.0);
                if touches {
                    let (x, y) = (self.root(a as u32), self.root(b as u32));
                    self.parent[x.max(y) as usize] = x.min(y);
                }
            }
            if ra.end <= rb.end {
                a += 1;
            } else {
                b += 1;
            }
        }
    }

    /// Picks the runs of components without Dirichlet face and numbers these components.
    fn collect_sealed(&mut self, [_, ny, nz]: [usize; 3]) {
        const OPEN: u32 = u32::MAX;
        const UNSEEN: u32 = u32::MAX - 1;
        let mut number = vec![UNSEEN; self.runs.len()];
        for n in 0..self.runs.len() {
            if self.runs[n].dirichlet {
                number[self.root(n as u32) as usize] = OPEN;
            }
        }
        self.count = (0..self.runs.len()).filter(|&n| self.parent[n] == n as u32).count();
        self.sealed.clear();
        self.sealed_count = 0;
        for n in 0..self.runs.len() {
            let root = self.root(n as u32) as usize;
            if number[root] == UNSEEN {
                number[root] = self.sealed_count as u32;
                self.sealed_count += 1;
            }
            if number[root] != OPEN {
                self.sealed.push((number[root], self.runs[n]));
            }
        }
        self.sealed_start.clear();
        if self.sealed_count > 0 {
            let row_of = |run: &Run| run.j as usize + ny * run.k as usize;
            let start = |row: usize| self.sealed.partition_point(|(_, run)| row_of(run) < row) as u32;
            self.sealed_start.extend((0..=ny * nz).map(start));
        }
    }

    /// Takes from every sealed component its mean.
    pub fn remove_means<T>(&mut self, v: &mut Split<T>, op: &Operator, round: impl Fn(f64) -> T + Sync + Send)
    where
        T: Copy + Into<f64> + Send + Sync,
    {
        if self.sealed_count == 0 {
            return;
        }
        let l = &op.layout;
        self.sum_up(l, |c, n, _| v[c][n].into());
        let [v0, v1] = v;
        l.sum_rows(&op.class, l.stride, [v0, v1], |row, _, mut v| {
            self.for_sealed(l, row, |c, place, _, mean| v[c][place] = round(v[c][place].into() - mean));
            0.0
        });
    }

    /// `r = rhs - A x` without its mean in every sealed component. The mean goes before the value is rounded:
    /// it may be far larger than what remains.
    pub fn sealed_residual(
        &mut self,
        r: &mut Split,
        op: &Operator,
        excess: &Split,
        x: &Split<f64>,
        rhs: &[f32],
    ) {
        let l = &op.layout;
        let value = |c: usize, n: usize, cell: usize| rhs[cell] as f64 - op.apply_at(excess, x, c, n);
        self.sum_up(l, value);
        let [r0, r1] = r;
        l.sum_rows(&op.class, l.stride, [r0, r1], |row, _, r| {
            self.for_sealed(l, row, |c, place, cell, mean| {
                r[c][place] = (value(c, row * l.stride + place, cell) - mean) as f32;
            });
            0.0
        });
    }

    /// `body(colour, place in the row, cell, mean of its component)` for the sealed cells of a row.
    fn for_sealed(&self, l: &Layout, row: usize, mut body: impl FnMut(usize, usize, usize, f64)) {
        let (j, k) = l.coordinates(row).expect("rim rows are empty");
        let grid_row = j + l.cells[1] * k;
        let range = self.sealed_start[grid_row] as usize..self.sealed_start[grid_row + 1] as usize;
        for (component, run) in &self.sealed[range] {
            let (sum, cells) = self.means[*component as usize];
            run_places(run, l).for_each(|(c, n, cell)| body(c, n - row * l.stride, cell, sum / cells));
        }
    }

    /// Sum and number of cells of each sealed component, into `means`.
    fn sum_up(&mut self, l: &Layout, value: impl Fn(usize, usize, usize) -> f64 + Sync + Send) {
        let parts = parallel::map_indices(parallel::chunk_count(self.sealed.len(), SUM_RUNS), |chunk| {
            let runs = &self.sealed[parallel::chunk_range(chunk, SUM_RUNS, self.sealed.len())];
            let mut sums: Vec<(u32, f64, f64)> = Vec::new();
            for (component, run) in runs {
                let sum: f64 = run_places(run, l).map(|(c, n, cell)| value(c, n, cell)).sum();
                let cells = (run.end - run.start) as f64;
                match sums.last_mut() {
                    Some(last) if last.0 == *component => *last = (*component, last.1 + sum, last.2 + cells),
                    _ => sums.push((*component, sum, cells)),
                }
            }
            sums
        });
        self.means.clear();
        self.means.resize(self.sealed_count, (0.0, 0.0));
        for (component, sum, cells) in parts.into_iter().flatten() {
            let mean = &mut self.means[component as usize];
            *mean = (mean.0 + sum, mean.1 + cells);
        }
    }
}

/// Colour, place and grid index of every cell of a run.
fn run_places(run: &Run, l: &Layout) -> impl Iterator<Item = (usize, usize, usize)> {
    let base = l.row(run.j as usize, run.k as usize) * l.stride;
    let s = (run.j + run.k) & 1;
    let first = l.cells[0] * (run.j as usize + l.cells[1] * run.k as usize);
    (run.start..run.end).map(move |i| (((i ^ s) & 1) as usize, base + i as usize / 2, first + i as usize))
}
