//! Connected components of the unknowns, found on runs of connected cells along x.

use crate::layout::{Layout, Split, window, window_mut};
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
    /// Mean of each sealed component in the vector treated last.
    means: Vec<f64>,
    /// Mean of the right side in each sealed component.
    rhs_means: Vec<f64>,
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
                // What is connected along x lies in one piece.
                let first = start as usize / 2;
                let at = op.storage.at(l.row(ra.j as usize, ra.k as usize), first);
                let s = (ra.j + ra.k) & 1;
                let touches = (start..end)
                    .any(|i| op.coef[axis][((i ^ s) & 1) as usize][at + i as usize / 2 - first] != 0.0);
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

    /// The sealed component that a cell belongs to.
    pub fn sealed_component(&self, [i, j, k]: [usize; 3]) -> Option<u32> {
        let holds =
            |run: &Run| [run.j, run.k] == [j as u32, k as u32] && (run.start..run.end).contains(&(i as u32));
        let from =
            self.sealed.partition_point(|(_, run)| (run.k, run.j, run.end) <= (k as u32, j as u32, i as u32));
        self.sealed.get(from).filter(|(_, run)| holds(run)).map(|(component, _)| *component)
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
        self.means = self.means_of(|run| {
            let row = l.row(run.j as usize, run.k as usize);
            let parts = run_parts(run).map(|part| {
                let at = if part.len == 0 { 0 } else { op.storage.at(row, part.place) };
                window(&v[part.colour], at, part.len).iter().map(|&v| v.into()).sum::<f64>()
            });
            parts[0] + parts[1]
        });
        for colour in 0..2 {
            op.for_rows(&mut v[colour], |row, v| {
                self.for_sealed(&self.means, row.in_grid(l), colour, |m0, len, mean| {
                    if len > 0 {
                        let at = op.storage.at(l.row(row.j, row.k), m0) - row.start;
                        window_mut(v, at, len).iter_mut().for_each(|v| *v = round((*v).into() - mean));
                    }
                });
            });
        }
    }

    /// Adds to every sealed component of a pressure in grid order what makes its least value zero.
    pub fn raise(&self, p: &mut [f32], l: &Layout) {
        let first = |run: &Run| l.cells[0] * (run.j as usize + l.cells[1] * run.k as usize);
        let values = |run: &Run| first(run) + run.start as usize..first(run) + run.end as usize;
        let mut least = vec![f32::MAX; self.sealed_count];
        for (component, run) in &self.sealed {
            let least = &mut least[*component as usize];
            *least = p[values(run)].iter().copied().fold(*least, f32::min);
        }
        for (component, run) in &self.sealed {
            p[values(run)].iter_mut().for_each(|p| *p -= least[*component as usize]);
        }
    }

    /// Finds the mean of the right side (in grid order) in every sealed component, for [`Self::rhs_shift`].
    pub fn take_rhs_means(&mut self, rhs: &[f32], l: &Layout) {
        self.rhs_means = self.means_of(|run| {
            let first = l.cells[0] * (run.j as usize + l.cells[1] * run.k as usize);
            rhs[first + run.start as usize..first + run.end as usize].iter().map(|&v| v as f64).sum()
        });
    }

    /// `body(first place, places, mean of the right side)` for the sealed cells of one colour in a row: what
    /// makes the right side compatible.
    #[inline]
    pub fn rhs_shift(&self, grid_row: usize, colour: usize, body: impl FnMut(usize, usize, f64)) {
        if self.sealed_count > 0 {
            self.for_sealed(&self.rhs_means, grid_row, colour, body);
        }
    }

    /// `body(first place, places, mean of the component)` for the sealed cells of one colour in a row.
    fn for_sealed(
        &self,
        means: &[f64],
        grid_row: usize,
        colour: usize,
        mut body: impl FnMut(usize, usize, f64),
    ) {
        let range = self.sealed_start[grid_row] as usize..self.sealed_start[grid_row + 1] as usize;
        for (component, run) in &self.sealed[range] {
            let parts = run_parts(run);
            let part = if parts[0].colour == colour { parts[0] } else { parts[1] };
            body(part.place, part.len, means[*component as usize]);
        }
    }

    /// Mean of every sealed component, from the sums over its runs.
    fn means_of(&self, sum_of: impl Fn(&Run) -> f64 + Sync + Send) -> Vec<f64> {
        let parts = parallel::map_indices(parallel::chunk_count(self.sealed.len(), SUM_RUNS), |chunk| {
            let runs = &self.sealed[parallel::chunk_range(chunk, SUM_RUNS, self.sealed.len())];
            let mut sums: Vec<(u32, f64, f64)> = Vec::new();
            for (component, run) in runs {
                let (sum, cells) = (sum_of(run), (run.end - run.start) as f64);
                match sums.last_mut() {
                    Some(last) if last.0 == *component => *last = (*component, last.1 + sum, last.2 + cells),
                    _ => sums.push((*component, sum, cells)),
                }
            }
            sums
        });
        let mut totals = vec![(0.0, 0.0); self.sealed_count];
        for (component, sum, cells) in parts.into_iter().flatten() {
            let total = &mut totals[component as usize];
            *total = (total.0 + sum, total.1 + cells);
        }
        totals.into_iter().map(|(sum, cells)| sum / cells).collect()
    }

    /// Bytes of all lists.
    pub fn bytes(&self) -> usize {
        size_of::<Run>() * self.runs.capacity()
            + size_of::<(u32, Run)>() * self.sealed.capacity()
            + 4 * (self.parent.capacity() + self.row_start.capacity() + self.sealed_start.capacity())
            + 8 * (self.means.capacity() + self.rhs_means.capacity())
    }
}

/// The cells of one colour in a run: places of the run's row.
#[derive(Clone, Copy)]
struct Part {
    colour: usize,
    place: usize,
    len: usize,
}

/// The two colours of a run, that of its first cell first.
fn run_parts(run: &Run) -> [Part; 2] {
    let (start, end) = (run.start as usize, run.end as usize);
    let colour = (run.start ^ run.j ^ run.k) as usize & 1;
    let cells = end - start;
    [
        Part { colour, place: start / 2, len: cells.div_ceil(2) },
        Part { colour: 1 - colour, place: start.div_ceil(2), len: cells / 2 },
    ]
}
