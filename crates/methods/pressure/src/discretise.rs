//! The finest level: ghost fluid at the free surface, open area fractions at solids.

use crate::components::Run;
use crate::layout::{BLOCK, EMPTY, GENERAL, LEFT, Layout, PLAIN, Split, window, window_mut};
use crate::operator::Operator;
use crate::{PoissonProblem, ghost_coefficient};
use fluvial_foundation::parallel;
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

/// Mutable parts of the level that belong to one task.
struct Task<'a> {
    diag: [&'a mut [f32]; 2],
    coef: [[&'a mut [f32]; 2]; 3],
    excess: [&'a mut [f64]; 2],
    class: &'a mut [u8],
    result: &'a mut TaskResult,
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
    let chunk = layout.task_rows * layout.stride;
    results.resize_with(layout.tasks(), TaskResult::default);
    let [d0, d1] = op.diag.each_mut().map(|v| v.chunks_mut(chunk));
    let mut coefs = op.coef.each_mut().map(|c| c.each_mut().map(|v| v.chunks_mut(chunk)));
    let [e0, e1] = excess.each_mut().map(|v| v.chunks_mut(chunk));
    let class = op.class.chunks_mut(layout.task_rows * layout.blocks);
    let parts = d0.zip(d1).zip(e0.zip(e1)).zip(class).zip(results.iter_mut());
    let mut tasks: Vec<Task> = parts
        .map(|((((d0, d1), (e0, e1)), class), result)| Task {
            diag: [d0, d1],
            coef: coefs.each_mut().map(|c| c.each_mut().map(|v| v.next().expect("equal chunks"))),
            excess: [e0, e1],
            class,
            result,
        })
        .collect();
    parallel::for_each_chunk_mut(&mut tasks, 1, |index, task| {
        let task = &mut task[0];
        *task.result = TaskResult { runs: std::mem::take(&mut task.result.runs), ..Default::default() };
        task.result.runs.clear();
        for n in 0..task.class.len() / layout.blocks {
            if let Some((j, k)) = layout.coordinates(index * layout.task_rows + n) {
                fill_row(task, n, (j, k), problem, &layout);
            }
        }
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

    /// Is there liquid in all the cells and in all their neighbours inside the box?
    fn is_wet(&self, cells: &Range<usize>) -> bool {
        let wet = |phi: &[f32]| phi.iter().fold(true, |wet, &p| wet & (p < 0.0));
        let side = |phi: &Option<&[f32]>| phi.is_none_or(|p| wet(&p[cells.clone()]));
        wet(&self.phi[cells.start.saturating_sub(1)..(cells.end + 1).min(self.phi.len())])
            && self.phi_side.iter().all(side)
    }

    /// Area and phi beyond the six faces of cell `i`, low x, high x, low y, ...
    #[inline(always)]
    fn faces(&self, i: usize) -> [(f32, Option<f32>); 6] {
        let nx = self.phi.len();
        let side = |n: usize| (self.area_side[n][i], self.phi_side[n].map(|p| p[i]));
        [
            (self.area_x[i], (i > 0).then(|| self.phi[i - 1])),
            (self.area_x[i + 1], (i + 1 < nx).then(|| self.phi[i + 1])),
            side(0),
            side(1),
            side(2),
            side(3),
        ]
    }
}

fn fill_row(task: &mut Task, n: usize, (j, k): (usize, usize), problem: &Problem, l: &Layout) {
    let row = RowData::new(&problem.geometry, j, k);
    let mut run: Option<Run> = None;
    for block in 0..l.blocks {
        let first = WIDTH * block;
        let cells = first..(first + WIDTH).min(l.cells[0]);
        let was = std::mem::replace(&mut task.class[n * l.blocks + block], EMPTY);
        let any = row.phi[cells.clone()].iter().fold(false, |any, &p| any | (p < 0.0));
        if !any && was == EMPTY {
            close(&mut run, &mut task.result.runs);
            continue;
        }
        let found = if row.is_wet(&cells) {
            Block::wet(&row, cells.clone())
        } else {
            Block::new(&row, cells.clone(), problem.theta_min, &mut task.result.theta_floors)
        };
        let unknowns = found.diag.iter().filter(|&&d| d != 0.0).count();
        task.result.unknowns += unknowns;
        task.class[n * l.blocks + block] = match (unknowns, found.general) {
            (0, _) => {
                if was == EMPTY {
                    EMPTY
                } else {
                    LEFT
                }
            }
            (_, true) => GENERAL,
            (_, false) => PLAIN,
        };
        found.store(task, n * l.stride + first / 2, cells.len(), (j + k) & 1);
        found.extend_runs(&mut run, &mut task.result.runs, (j, k), cells, unknowns);
    }
    close(&mut run, &mut task.result.runs);
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

    /// Any block, cell by cell.
    fn new(row: &RowData, cells: Range<usize>, theta_min: f32, theta_floors: &mut usize) -> Block {
        let mut block = Block::ZERO;
        for (n, i) in cells.enumerate() {
            let phi = row.phi[i];
            if phi >= 0.0 || phi.is_nan() {
                continue;
            }
            let mut sum = 0.0;
            for (face, (area, beyond)) in row.faces(i).into_iter().enumerate() {
                if area <= 0.0 {
                    block.general |= beyond.is_some_and(|p| p < 0.0);
                    continue;
                }
                match beyond {
                    Some(p) if p < 0.0 => {
                        sum += area;
                        block.general |= area != 1.0;
                        if face & 1 == 0 {
                            block.low[face / 2][n] = area;
                        }
                    }
                    Some(p) => {
                        let (coefficient, floored) = ghost_coefficient(phi, p, theta_min);
                        *theta_floors += floored as usize;
                        block.excess[n] += area as f64 * coefficient;
                    }
                    None => block.excess[n] += area as f64,
                }
            }
            block.diag[n] = (sum as f64 + block.excess[n]) as f32;
        }
        block
    }

    /// Writes the block from `place` of each colour.
    fn store(&self, task: &mut Task, place: usize, len: usize, parity: usize) {
        let some_excess = self.excess.iter().fold(false, |any, &e| any | (e != 0.0));
        for t in 0..2 {
            let colour = t ^ parity;
            let count = (len + 1 - t) / 2;
            let put = |out: &mut [f32], values| put(window_mut(out, place, count), values, t);
            put(task.diag[colour], &self.diag);
            // Most excess is zero: memory that is never written is never used.
            if some_excess || window(task.excess[colour], place, count).iter().any(|&e| e != 0.0) {
                self::put(window_mut(task.excess[colour], place, count), &self.excess, t);
            }
            (0..3).for_each(|axis| put(task.coef[axis][colour], &self.low[axis]));
        }
    }

    /// Goes on with the runs of connected cells.
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
