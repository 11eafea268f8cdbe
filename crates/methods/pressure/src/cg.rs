//! Conjugate gradients around the multigrid V-cycle.

use crate::discretise::Problem;
use crate::kernels::{deinterleave, square_sum};
use crate::layout::{Split, window};
use crate::multigrid::{Level, Multigrid};
use crate::{PoissonProblem, PrepareInfo, PressureSolver, THETA_MIN};
use fluvial_foundation::parallel;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Wanted norm of the residual over the norm of the right side.
    pub relative_tolerance: f64,
    /// A residual norm that is good enough by itself.
    pub absolute_tolerance: f64,
    /// Conjugate-gradient iterations allowed.
    pub max_iterations: usize,
}

impl Default for Params {
    fn default() -> Self {
        Params { relative_tolerance: 1e-5, absolute_tolerance: 0.0, max_iterations: 100 }
    }
}

/// How a solve went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// Conjugate-gradient iterations, one V-cycle each.
    pub iterations: usize,
    /// Norm of `rhs - A p` over that of `rhs`, recomputed in f64 from the f64 solution.
    pub relative_residual: f64,
    /// Relative residual norm before the first and after every iteration.
    pub history: Vec<f64>,
}

/// Why a solve gave no solution. Each carries the relative residual norm of every iteration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SolveError {
    /// The right side, the start, phi or an area is NaN or infinite.
    #[error("the pressure problem holds a value that is not finite")]
    NotFinite {
        /// Relative residual norms so far.
        history: Vec<f64>,
    },
    /// A search direction has no positive energy: the operator or the preconditioner is not positive definite.
    #[error("the pressure operator is not positive definite (iteration {})", .history.len())]
    Indefinite {
        /// Relative residual norms so far.
        history: Vec<f64>,
    },
    /// The residual stopped falling.
    #[error("the pressure solve stagnated at a relative residual of {:.2e}", .history.last().copied().unwrap_or(f64::NAN))]
    Stagnation {
        /// Relative residual norms so far.
        history: Vec<f64>,
    },
    /// Not converged within the allowed iterations.
    #[error("the pressure solve reached a relative residual of {:.2e} in {} iterations, which is not enough",
        .history.last().copied().unwrap_or(f64::NAN), .history.len() - 1)]
    MaxIterations {
        /// Relative residual norms so far.
        history: Vec<f64>,
    },
}

/// The recurrences are replaced by a true residual whenever they have fallen by this much: f32 vectors
/// carry about 1e-7 of the largest value.
const REPLACE_AFTER: f64 = 1e-3;
/// Without halving the best residual for so many iterations the solve has stagnated.
const STAGNATION_WINDOW: usize = 30;

/// Conjugate gradients with a multigrid preconditioner; owns all memory, to be reused from step to step.
pub struct MultigridCg {
    multigrid: Multigrid,
    /// Solution so far.
    x: Split<f64>,
    /// What the recurrences have added since `x` was last updated.
    d: Split,
    p: Split,
    q: Split,
    theta_min: f32,
}

impl MultigridCg {
    /// Memory for a grid of so many cells.
    pub fn new(cells: [usize; 3]) -> Self {
        assert!(cells.iter().all(|&n| n > 0), "a grid without cells");
        let multigrid = Multigrid::new(cells);
        let layout = multigrid.levels[0].op.layout;
        MultigridCg {
            x: [vec![0.0; layout.len()], vec![0.0; layout.len()]],
            d: layout.zeros(),
            p: layout.zeros(),
            q: layout.zeros(),
            theta_min: THETA_MIN,
            multigrid,
        }
    }

    /// Floors theta at this instead of [`THETA_MIN`] from the next [`Self::prepare`] on.
    pub fn set_theta_min(&mut self, theta_min: f32) {
        assert!(theta_min > 0.0 && theta_min <= 1.0, "theta_min lies in (0, 1]");
        self.theta_min = theta_min;
    }

    /// Discretises the problem on all levels and labels its components. Must precede [`Self::solve`].
    pub fn prepare(&mut self, problem: &PoissonProblem) -> PrepareInfo {
        let cells = self.multigrid.levels[0].op.layout.cells;
        assert_eq!(problem.cells, cells, "the problem has the solver's size");
        assert_eq!(problem.phi_cell.len(), cells.iter().product::<usize>());
        for axis in 0..3 {
            let faces: usize = (0..3).map(|a| cells[a] + (a == axis) as usize).product();
            assert_eq!(problem.open_area[axis].len(), faces);
        }
        let problem = Problem { geometry: *problem, theta_min: self.theta_min };
        parallel::on_worker(|| self.multigrid.prepare(&problem, &mut self.x))
    }

    /// Solves `A p = rhs` for the prepared problem. `p` holds the start and receives the solution, 0 where
    /// there is no unknown. In sealed components the right side is taken without its mean, and the solution has
    /// zero mean. After an error other than [`SolveError::NotFinite`] `p` holds the last iterate.
    pub fn solve(&mut self, p: &mut [f32], rhs: &[f32], params: &Params) -> Result<Info, SolveError> {
        let cells: usize = self.multigrid.levels[0].op.layout.cells.iter().product();
        assert_eq!((p.len(), rhs.len()), (cells, cells), "one value per cell");
        parallel::on_worker(|| self.iterate(p, rhs, params))
    }

    /// The last solution before it was rounded to f32, in grid order.
    pub fn solution_f64(&self, out: &mut [f64]) {
        self.store(out, |v| v);
    }

    fn iterate(&mut self, p: &mut [f32], rhs: &[f32], params: &Params) -> Result<Info, SolveError> {
        let rhs_norm = self.load(p, rhs);
        let mut info = Info::default();
        if rhs_norm == 0.0 {
            self.x.iter_mut().for_each(|v| v.fill(0.0));
            p.fill(0.0);
            info.history.push(0.0);
            return Ok(info);
        }
        let wanted = (params.relative_tolerance * rhs_norm).max(params.absolute_tolerance);
        let mut norm = self.replace_residual(rhs);
        let mut norm_replaced = norm;
        info.history.push(norm / rhs_norm);
        let (mut rho, mut alpha, mut restart) = (0.0, 1.0, true);
        let (mut best, mut best_at) = (norm, 0);
        let result = loop {
            if !norm.is_finite() {
                return Err(SolveError::NotFinite { history: info.history });
            }
            if norm <= wanted && norm == norm_replaced {
                break Ok(());
            }
            if info.iterations == params.max_iterations {
                break Err(SolveError::MaxIterations { history: info.history.clone() });
            }
            if norm < 0.5 * best {
                (best, best_at) = (norm, info.iterations);
            } else if info.iterations > best_at + STAGNATION_WINDOW {
                break Err(SolveError::Stagnation { history: info.history.clone() });
            }
            // One pass for all vectors, with p . A p from the recurrence of Chronopoulos and Gear (1989).
            let [z_energy, rho_new] = self.multigrid.cycle();
            if !(rho_new.is_finite() && z_energy.is_finite()) {
                return Err(SolveError::NotFinite { history: info.history });
            }
            if rho_new <= 0.0 || z_energy <= 0.0 {
                break Err(SolveError::Indefinite { history: info.history.clone() });
            }
            let mut beta = if restart { 0.0 } else { rho_new / rho };
            let mut energy = z_energy - beta * rho_new / alpha;
            if energy <= 0.0 {
                // The old direction has been rounded away; start again from the steepest one.
                (beta, energy) = (0.0, z_energy);
            }
            (rho, alpha) = (rho_new, rho_new / energy);
            norm = self.update(alpha, beta).sqrt();
            restart = false;
            if norm <= wanted || norm < REPLACE_AFTER * norm_replaced {
                norm_replaced = self.replace_residual(rhs);
                // Directions that were built on a residual far from the true one are of no use.
                restart = norm_replaced > 2.0 * norm;
                norm = norm_replaced;
            }
            info.iterations += 1;
            info.history.push(norm / rhs_norm);
        };
        if result.is_err() {
            norm = self.replace_residual(rhs);
        }
        info.relative_residual = norm / rhs_norm;
        let Multigrid { components, levels, .. } = &mut self.multigrid;
        components.remove_means(&mut self.x, &levels[0].op, |v| v);
        self.store(p, |v| v as f32);
        result.map(|()| info)
    }

    /// Takes the start and clears the directions; returns the norm of the right side.
    fn load(&mut self, start: &[f32], rhs: &[f32]) -> f64 {
        let finest = &mut self.multigrid.levels[0];
        let l = finest.op.layout;
        let nx = l.cells[0];
        let row_of = |row: usize| {
            let (j, k) = l.coordinates(row).expect("rim rows are empty");
            nx * (j + l.cells[1] * k)
        };
        let nothing = |_: usize, _: &[u8], out: &mut [f32]| out.fill(0.0);
        let mut square = 0.0;
        for colour in 0..2 {
            let diag = &finest.op.diag[colour];
            l.for_rows(&finest.op.class, l.stride, &mut self.x[colour], |row, _, out| {
                let (from, t) = (window(start, row_of(row), nx), l.parity(row) ^ colour);
                for m in 0..(nx + 1 - t) / 2 {
                    out[m] = if diag[row * l.stride + m] != 0.0 { from[2 * m + t] as f64 } else { 0.0 };
                }
            });
            square += l.sum_rows(&finest.op.class, l.stride, [&mut finest.b[colour]], |row, _, [out]| {
                deinterleave(out, window(rhs, row_of(row), nx), l.parity(row) ^ colour);
                let diag = window(diag, row * l.stride, l.stride);
                (0..l.stride).for_each(|m| out[m] = if diag[m] != 0.0 { out[m] } else { 0.0 });
                square_sum(out)
            });
            for v in [&mut self.d, &mut self.p, &mut self.q] {
                l.for_rows(&finest.op.class, l.stride, &mut v[colour], nothing);
            }
        }
        if self.multigrid.components.sealed_count > 0 {
            self.multigrid.components.remove_means(&mut finest.b, &finest.op, |v| v as f32);
            square = self.residual_square();
        }
        square.sqrt()
    }

    /// `r . r`.
    fn residual_square(&mut self) -> f64 {
        let finest = &mut self.multigrid.levels[0];
        let l = finest.op.layout;
        let [r0, r1] = &mut finest.b;
        l.sum_rows(&finest.op.class, l.stride, [r0, r1], |_, _, [r0, r1]| square_sum(r0) + square_sum(r1))
    }

    /// `x += d`, `d = 0`, `r = rhs - A x`; returns the norm of r.
    fn replace_residual(&mut self, rhs: &[f32]) -> f64 {
        let finest = &mut self.multigrid.levels[0];
        let l = finest.op.layout;
        for colour in 0..2 {
            let d = &self.d[colour];
            l.for_rows(&finest.op.class, l.stride, &mut self.x[colour], |row, _, x| {
                let d = window(d, row * l.stride, l.stride);
                (0..l.stride).for_each(|n| x[n] += d[n] as f64);
            });
            l.for_rows(&finest.op.class, l.stride, &mut self.d[colour], |_, _, d| d.fill(0.0));
        }
        self.multigrid.components.remove_means(&mut self.x, &finest.op, |v| v);
        let mut square = finest.op.true_residual(&mut finest.b, &self.multigrid.excess, &self.x, rhs);
        if self.multigrid.components.sealed_count > 0 {
            self.multigrid.components.sealed_residual(
                &mut finest.b,
                &finest.op,
                &self.multigrid.excess,
                &self.x,
                rhs,
            );
            square = self.residual_square();
        }
        square.sqrt()
    }

    /// `p = z + beta p`, `q = A z + beta q`, `d += alpha p`, `r -= alpha q`; returns `r . r`.
    fn update(&mut self, alpha: f64, beta: f64) -> f64 {
        let Level { op, x: z, b: r, .. } = &mut self.multigrid.levels[0];
        let mut vectors = [&mut self.p, &mut self.q, &mut self.d, r].map(|v| v.each_mut());
        (0..2)
            .map(|colour| {
                let arrays = vectors.each_mut().map(|v| &mut v[colour][..]);
                op.update(arrays, z, colour, alpha as f32, beta as f32)
            })
            .sum()
    }

    /// Writes the solution in grid order.
    fn store<T: Send + Default>(&self, out: &mut [T], round: impl Fn(f64) -> T + Sync + Send) {
        let l = self.multigrid.levels[0].op.layout;
        let nx = l.cells[0];
        let class = &self.multigrid.levels[0].op.class;
        parallel::for_each_chunk_mut(out, nx, |n, out| {
            let row = l.row(n % l.cells[1], n / l.cells[1]);
            if l.class_row(class, row).iter().all(|&c| c == 0) {
                return out.iter_mut().for_each(|v| *v = T::default());
            }
            let s = l.parity(row);
            for (m, pair) in out.chunks_mut(2).enumerate() {
                pair[0] = round(self.x[s][row * l.stride + m]);
                if pair.len() == 2 {
                    pair[1] = round(self.x[1 - s][row * l.stride + m]);
                }
            }
        });
    }
}

impl PressureSolver for MultigridCg {
    fn name(&self) -> &'static str {
        "multigrid-cg"
    }

    fn prepare(&mut self, problem: &PoissonProblem) -> PrepareInfo {
        MultigridCg::prepare(self, problem)
    }

    fn solve(&mut self, p: &mut [f32], rhs: &[f32], params: &Params) -> Result<Info, SolveError> {
        MultigridCg::solve(self, p, rhs, params)
    }

    fn solution_f64(&self, out: &mut [f64]) {
        MultigridCg::solution_f64(self, out);
    }
}
