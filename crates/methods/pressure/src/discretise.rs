//! The finest level: ghost fluid at the free surface, open area fractions at solids.

use crate::components::Run;
use crate::layout::{BLOCK, EMPTY, GENERAL, LEFT, PLAIN, Split};
use crate::operator::Operator;
use crate::{PoissonProblem, ghost_theta};
use fluvial_foundation::parallel;

/// What a task finds while it goes through its rows.
#[derive(Default)]
pub(crate) struct TaskResult {
    pub unknowns: usize,
    pub theta_floors: usize,
    pub runs: Vec<Run>,
}

/// Mutable parts of the level that belong to one task.
struct Task<'a> {
    diag: [&'a mut [f32]; 2],
    coef: [[&'a mut [f32]; 2]; 3],
    excess: [&'a mut [f32]; 2],
    class: &'a mut [u8],
    result: &'a mut TaskResult,
}

/// Fills the operator from the problem; `excess` receives what the diagonal holds beyond the coefficients
/// to other unknowns (the Dirichlet part), `results` what each task found.
pub(crate) fn discretise(
    op: &mut Operator,
    excess: &mut Split,
    problem: &PoissonProblem,
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

fn fill_row(
    task: &mut Task,
    n: usize,
    (j, k): (usize, usize),
    problem: &PoissonProblem,
    l: &crate::layout::Layout,
) {
    let row = RowData::new(problem, j, k);
    let nx = l.cells[0];
    let parity = (j + k) & 1;
    let mut run: Option<Run> = None;
    for block in 0..l.blocks {
        let cells = 2 * BLOCK * block..(2 * BLOCK * (block + 1)).min(nx);
        let class = &mut task.class[n * l.blocks + block];
        let was = std::mem::replace(class, EMPTY);
        let any = row.phi[cells.clone()].iter().any(|&p| p < 0.0);
        if !any && was == EMPTY {
            close(&mut run, &mut task.result.runs);
            continue;
        }
        let mut found = if was == EMPTY { EMPTY } else { LEFT };
        for i in cells {
            let cell = Cell::new(&row, i, &mut task.result.theta_floors);
            let place = n * l.stride + i / 2;
            let colour = (i & 1) ^ parity;
            task.diag[colour][place] = cell.diag;
            // Most are zero: memory that is never written is never used.
            if cell.excess != 0.0 || task.excess[colour][place] != 0.0 {
                task.excess[colour][place] = cell.excess;
            }
            for axis in 0..3 {
                task.coef[axis][colour][place] = cell.low[axis];
            }
            if cell.diag == 0.0 {
                close(&mut run, &mut task.result.runs);
                continue;
            }
            found = if cell.general || found == GENERAL { GENERAL } else { PLAIN };
            task.result.unknowns += 1;
            if cell.low[0] == 0.0 {
                close(&mut run, &mut task.result.runs);
            }
            let open = run.get_or_insert(Run::new(j, k, i));
            open.end = i as u32 + 1;
            open.dirichlet |= cell.excess != 0.0;
        }
        // An odd row's last place of the other colour has no cell and stays zero from the start.
        task.class[n * l.blocks + block] = found;
    }
    close(&mut run, &mut task.result.runs);
}

fn close(run: &mut Option<Run>, runs: &mut Vec<Run>) {
    runs.extend(run.take());
}

/// The coefficients of one cell.
struct Cell {
    diag: f32,
    excess: f32,
    low: [f32; 3],
    general: bool,
}

impl Cell {
    /// All zero where the cell is no unknown. NaN in phi or an area ends up in the diagonal, for the
    /// solve to report.
    #[inline(always)]
    fn new(row: &RowData, i: usize, theta_floors: &mut usize) -> Cell {
        let mut cell = Cell { diag: 0.0, excess: 0.0, low: [0.0; 3], general: false };
        let phi = row.phi[i];
        if phi >= 0.0 || phi.is_nan() {
            return cell;
        }
        let mut sum = 0.0;
        for (face, (area, beyond)) in row.faces(i).into_iter().enumerate() {
            if area <= 0.0 {
                cell.general |= beyond.is_some_and(|p| p < 0.0);
                continue;
            }
            match beyond {
                Some(p) if p < 0.0 => {
                    sum += area;
                    cell.general |= area != 1.0;
                    if face & 1 == 0 {
                        cell.low[face / 2] = area;
                    }
                }
                Some(p) => {
                    let (theta, floored) = ghost_theta(phi, p);
                    *theta_floors += floored as usize;
                    cell.excess += area / theta;
                }
                None => cell.excess += area,
            }
        }
        cell.diag = sum + cell.excess;
        cell
    }
}
