//! The finest level: ghost fluid at the free surface, open area fractions at solids.

use crate::components::Run;
use crate::fill::Filling;
use crate::layout::{BLOCK, EMPTY, GENERAL, PLAIN, Split, window};
use crate::operator::Operator;
use crate::storage::{ActiveRow, bit_runs, set_bit};
use crate::{PoissonProblem, ghost_coefficient};
use std::ops::Range;

/// What a task finds while it goes through its rows.
#[derive(Default)]
pub(crate) struct TaskResult {
    pub unknowns: usize,
    pub theta_floors: usize,
    pub runs: Vec<Run>,
}

impl TaskResult {
    /// Bytes of itself and its list.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of::<Run>() * self.runs.capacity()
    }
}

/// The problem and how it is discretised.
pub(crate) struct Problem<'a> {
    pub geometry: PoissonProblem<'a>,
    pub theta_min: f32,
}

/// Fills the operator from the problem; `excess` receives what the diagonal holds beyond the coefficients
/// to other unknowns (the Dirichlet part), `results` what each task found.
pub(crate) fn discretise(
    op: &mut Operator,
    excess: &mut Split<f64>,
    problem: &Problem,
    results: &mut Vec<TaskResult>,
) {
    let layout = op.layout;
    op.storage.active.clear(&layout);
    op.storage.active.fill_rows(|row, words| {
        if let Some((j, k)) = layout.coordinates(row) {
            let row = RowData::new(&problem.geometry, j, k);
            (0..layout.blocks).filter(|&block| row.may_flow(block)).for_each(|block| set_bit(words, block));
        }
    });
    for result in results.iter_mut() {
        *result = TaskResult { runs: std::mem::take(&mut result.runs), ..Default::default() };
        result.runs.clear();
    }
    op.fill(excess, results, TaskResult::default, |filling, row, result| {
        fill_row(filling, row, result, problem);
    });
}

/// The problem's arrays around one row of cells.
struct RowData<'a> {
    phi: &'a [f32],
    /// phi beyond the low and high y and z faces; None outside the box.
    phi_side: [Option<&'a [f32]>; 4],
    area_x: &'a [f32],
    area_side: [&'a [f32]; 4],
}

impl<'a> RowData<'a> {
    fn new(problem: &PoissonProblem<'a>, j: usize, k: usize) -> Self {
        let [nx, ny, nz] = problem.cells;
        let phi = |j: usize, k: usize| &problem.phi_cell[nx * (j + ny * k)..][..nx];
        let area_y = |j: usize| &problem.open_area[1][nx * (j + (ny + 1) * k)..][..nx];
        let area_z = |k: usize| &problem.open_area[2][nx * (j + ny * k)..][..nx];
        RowData {
            phi: phi(j, k),
            phi_side: [
                (j > 0).then(|| phi(j - 1, k)),
                (j + 1 < ny).then(|| phi(j + 1, k)),
                (k > 0).then(|| phi(j, k - 1)),
                (k + 1 < nz).then(|| phi(j, k + 1)),
            ],
            area_x: &problem.open_area[0][(nx + 1) * (j + ny * k)..][..nx + 1],
            area_side: [area_y(j), area_y(j + 1), area_z(k), area_z(k + 1)],
        }
    }

    /// Does the block hold liquid and a face that is not closed? Inside solids it may have one without the
    /// other.
    fn may_flow(&self, block: usize) -> bool {
        let cells = WIDTH * block..(WIDTH * (block + 1)).min(self.phi.len());
        let open = |area: &[f32]| area.iter().fold(false, |open, &a| open | (a > 0.0 || a.is_nan()));
        self.phi[cells.clone()].iter().fold(false, |any, &p| any | (p < 0.0))
            && (open(&self.area_x[cells.start..cells.end + 1])
                || self.area_side.iter().any(|area| open(&area[cells.clone()])))
    }

    /// Is there liquid in all the cells and in all their neighbours inside the box?
    fn is_wet(&self, cells: &Range<usize>) -> bool {
        let wet = |phi: &[f32]| phi.iter().fold(true, |wet, &p| wet & (p < 0.0));
        let side = |phi: &Option<&[f32]>| phi.is_none_or(|p| wet(&p[cells.clone()]));
        wet(&self.phi[cells.start.saturating_sub(1)..(cells.end + 1).min(self.phi.len())])
            && self.phi_side.iter().all(side)
    }

    /// Area and phi beyond each of the six faces (low x, high x, low y, ...) of a block. Outside the box phi
    /// is 0, for which theta is 1; cells that complete a block have closed faces.
    fn faces(&self, cells: &Range<usize>) -> [(Line, Line); 6] {
        let line = |values: &[f32], from: isize| -> Line {
            std::array::from_fn(|n| {
                let place = (cells.start + n).checked_add_signed(from);
                place.filter(|_| n < cells.len()).and_then(|at| values.get(at)).map_or(0.0, |v| *v)
            })
        };
        let side = |n: usize| {
            (line(self.area_side[n], 0), self.phi_side[n].map_or([0.0; WIDTH], |phi| line(phi, 0)))
        };
        let x = |from: isize| (line(self.area_x, (from + 1) / 2), line(self.phi, from));
        [x(-1), x(1), side(0), side(1), side(2), side(3)]
    }
}

/// A value for each cell of a block.
type Line<T = f32> = [T; WIDTH];

fn fill_row(filling: &mut Filling<f64>, row: ActiveRow, result: &mut TaskResult, problem: &Problem) {
    let (l, storage) = (filling.layout, filling.storage);
    let (row, j, k) = (row.row as usize, row.j as usize, row.k as usize);
    let data = RowData::new(&problem.geometry, j, k);
    let mut run: Option<Run> = None;
    for (first_block, end) in bit_runs(storage.active.row(row)) {
        let mut at = storage.at(row, first_block * BLOCK);
        for block in first_block..end {
            let first = WIDTH * block;
            let cells = first..(first + WIDTH).min(l.cells[0]);
            let found = if data.is_wet(&cells) {
                Block::wet(&data, cells.clone())
            } else {
                Block::new(&data, cells.clone(), problem.theta_min, &mut result.theta_floors)
            };
            let unknowns = found.diag.iter().filter(|&&d| d != 0.0).count();
            result.unknowns += unknowns;
            let class = match (unknowns, found.general) {
                (0, _) => EMPTY,
                (_, true) => GENERAL,
                (_, false) => PLAIN,
            };
            filling.set_class(row, block, class);
            found.store(filling, at, (j + k) & 1);
            found.extend_runs(&mut run, &mut result.runs, (j, k), cells, unknowns);
            at += BLOCK;
        }
        close(&mut run, &mut result.runs);
    }
}

fn close(run: &mut Option<Run>, runs: &mut Vec<Run>) {
    runs.extend(run.take());
}

/// Cells of a block.
const WIDTH: usize = 2 * BLOCK;

/// The coefficients of a block of cells, in grid order; zero where a cell is no unknown.
struct Block {
    diag: [f32; WIDTH],
    /// In f64: sums of large coefficients that true residuals must not round.
    excess: [f64; WIDTH],
    low: [[f32; WIDTH]; 3],
    /// Is a coefficient between unknowns other than 1?
    general: bool,
}

/// Closed is zero; NaN stays, for the solve to report.
#[inline(always)]
fn open(area: f32) -> f32 {
    if area <= 0.0 { 0.0 } else { area }
}

/// Every other value, from the `t`-th.
#[inline(always)]
fn put<T: Copy>(out: &mut [T], values: &[T; WIDTH], t: usize) {
    (0..out.len()).for_each(|m| out[m] = values[2 * m + t]);
}

impl Block {
    const ZERO: Block =
        Block { diag: [0.0; WIDTH], excess: [0.0; WIDTH], low: [[0.0; WIDTH]; 3], general: false };

    /// A block that no air touches: only areas matter.
    fn wet(row: &RowData, cells: Range<usize>) -> Block {
        let mut block = Block::ZERO;
        let len = cells.len();
        let at_walls = [cells.start == 0, cells.end == row.phi.len()].map(usize::from);
        let x = window(row.area_x, cells.start, len + 1);
        let low_x = &mut block.low[0][..len];
        (0..len).for_each(|n| low_x[n] = open(x[n]));
        if at_walls[0] == 1 {
            block.excess[0] += std::mem::take(&mut low_x[0]) as f64;
        }
        if at_walls[1] == 1 {
            block.excess[len - 1] += open(x[len]) as f64;
        }
        let diag = &mut block.diag[..len];
        (0..len).for_each(|n| diag[n] = open(x[n]) + open(x[n + 1]));
        let mut general = x[at_walls[0]..len + 1 - at_walls[1]].iter().fold(false, |g, &a| g | (a != 1.0));
        for side in 0..4 {
            let area = window(row.area_side[side], cells.start, len);
            (0..len).for_each(|n| diag[n] += open(area[n]));
            if row.phi_side[side].is_none() {
                let excess = &mut block.excess[..len];
                (0..len).for_each(|n| excess[n] += open(area[n]) as f64);
                continue;
            }
            general |= area.iter().fold(false, |g, &a| g | (a != 1.0));
            if side & 1 == 0 {
                let low = &mut block.low[1 + side / 2][..len];
                (0..len).for_each(|n| low[n] = open(area[n]));
            }
        }
        block.general = general;
        block
    }

    /// Any block.
    #[inline(never)]
    fn new(row: &RowData, cells: Range<usize>, theta_min: f32, theta_floors: &mut usize) -> Block {
        let mut block = Block::ZERO;
        let mut phi = [0.0; WIDTH];
        phi[..cells.len()].copy_from_slice(&row.phi[cells.clone()]);
        let mut sum = [0.0f32; WIDTH];
        for (face, (area, beyond)) in row.faces(&cells).iter().enumerate() {
            let wet = |n: usize| phi[n] < 0.0;
            let into_liquid = |n: usize| wet(n) & (beyond[n] < 0.0);
            let coefficient: Line = std::array::from_fn(|n| if into_liquid(n) { open(area[n]) } else { 0.0 });
            (0..WIDTH).for_each(|n| sum[n] += coefficient[n]);
            block.general |= (0..WIDTH).fold(false, |g, n| g | (into_liquid(n) & (area[n] != 1.0)));
            if face & 1 == 0 {
                block.low[face / 2] = coefficient;
            }
            if !(0..WIDTH).fold(false, |any, n| any | (wet(n) & !into_liquid(n))) {
                continue;
            }
            for n in 0..WIDTH {
                let (ghost, floored) = ghost_coefficient(phi[n], beyond[n], theta_min);
                let to_air = wet(n) & !into_liquid(n) & (open(area[n]) != 0.0);
                *theta_floors += (to_air & floored) as usize;
                block.excess[n] += if to_air { area[n] as f64 * ghost } else { 0.0 };
            }
        }
        (0..WIDTH).for_each(|n| block.diag[n] = (sum[n] as f64 + block.excess[n]) as f32);
        block
    }

    /// Writes the block to address `at` of each colour; `parity` is the colour of its first cell.
    fn store(&self, filling: &mut Filling<f64>, at: usize, parity: usize) {
        for t in 0..2 {
            let out = filling.numbers(t ^ parity, at, BLOCK);
            put(out.diag, &self.diag, t);
            put(out.excess, &self.excess, t);
            out.coef.into_iter().zip(&self.low).for_each(|(out, low)| put(out, low, t));
        }
    }

    /// Extends the runs of connected cells by this block.
    fn extend_runs(
        &self,
        run: &mut Option<Run>,
        runs: &mut Vec<Run>,
        (j, k): (usize, usize),
        cells: Range<usize>,
        unknowns: usize,
    ) {
        let connected =
            !self.general && unknowns == cells.len() && self.low[0][1..cells.len()].iter().all(|&c| c != 0.0);
        let step = if connected { cells.len() } else { 1 };
        for n in (0..cells.len()).step_by(step) {
            if self.diag[n] == 0.0 || self.low[0][n] == 0.0 {
                close(run, runs);
            }
            if self.diag[n] != 0.0 {
                let open = run.get_or_insert(Run::new(j, k, cells.start + n));
                open.end = (cells.start + n + step) as u32;
                open.dirichlet |= self.excess[n..n + step].iter().fold(false, |any, &e| any | (e != 0.0));
            }
        }
    }
}
