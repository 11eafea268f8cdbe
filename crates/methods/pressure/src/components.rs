//! Connected components of the unknowns, found on runs of connected cells along x.

use crate::layout::{Layout, Split};
use crate::operator::Operator;

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
    /// Runs of sealed components, grouped by component.
    sealed: Vec<(u32, Run)>,
    pub count: usize,
    pub sealed_count: usize,
    means: Vec<(f64, f64)>,
}

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
        self.collect_sealed();
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

    fn collect_sealed(&mut self) {
        let mut open = vec![false; self.runs.len()];
        for n in 0..self.runs.len() {
            let root = self.root(n as u32) as usize;
            open[root] |= self.runs[n].dirichlet;
        }
        self.count = (0..self.runs.len()).filter(|&n| self.parent[n] == n as u32).count();
        self.sealed.clear();
        for n in 0..self.runs.len() {
            let root = self.root(n as u32);
            if !open[root as usize] {
                self.sealed.push((root, self.runs[n]));
            }
        }
        self.sealed.sort_by_key(|&(root, _)| root);
        self.sealed_count = 0;
        let mut last = None;
        for (root, _) in &mut self.sealed {
            if last != Some(*root) {
                last = Some(*root);
                self.sealed_count += 1;
            }
            *root = self.sealed_count as u32 - 1;
        }
    }

    /// Takes from every sealed component its mean.
    pub fn remove_means<T: Copy + Into<f64>>(
        &mut self,
        v: &mut Split<T>,
        l: &Layout,
        round: impl Fn(f64) -> T,
    ) {
        self.sum_up(l, |c, n, _| v[c][n].into());
        for (component, run) in &self.sealed {
            let (sum, cells) = self.means[*component as usize];
            run_places(run, l).for_each(|(c, n, _)| v[c][n] = round(v[c][n].into() - sum / cells));
        }
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
        let value = |c: usize, n: usize, cell: usize| rhs[cell] as f64 - op.apply_at(excess, x, c, n);
        self.sum_up(&op.layout, value);
        for (component, run) in &self.sealed {
            let (sum, cells) = self.means[*component as usize];
            run_places(run, &op.layout)
                .for_each(|(c, n, cell)| r[c][n] = (value(c, n, cell) - sum / cells) as f32);
        }
    }

    /// Sum and number of cells of each sealed component, into `means`.
    fn sum_up(&mut self, l: &Layout, value: impl Fn(usize, usize, usize) -> f64) {
        self.means.clear();
        self.means.resize(self.sealed_count, (0.0, 0.0));
        for (component, run) in &self.sealed {
            let sum: f64 = run_places(run, l).map(|(c, n, cell)| value(c, n, cell)).sum();
            let mean = &mut self.means[*component as usize];
            *mean = (mean.0 + sum, mean.1 + (run.end - run.start) as f64);
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
