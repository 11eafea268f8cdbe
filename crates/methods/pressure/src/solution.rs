//! A hierarchy and the f64 solution that it corrects: what conjugate gradients and cycles alone have in
//! common.
//!
//! The residual is always taken from the f64 solution in f64 arithmetic and only then rounded to the f32 in
//! which corrections are computed: iterative refinement, so that f32 limits no tolerance.

use crate::coupling::Coupling;
use crate::discretise::Problem;
use crate::kernels::{deinterleave, largest, square_sum};
use crate::layout::{Split, window, window_mut};
use crate::multigrid::Multigrid;
use crate::operator::Row;
use crate::pockets::Pockets;
use crate::spans::Span;
use crate::{Norm, PoissonProblem, PrepareInfo};
use fluvial_foundation::parallel;
use fluvial_grids::GHOST_DISTANCE_FLOOR;

/// See the module.
pub(crate) struct Solution {
    pub multigrid: Multigrid,
    /// Solution so far.
    pub x: Split<f64>,
    pub theta_min: f32,
    pockets: Pockets,
    /// Did the last residual come with a shift of pockets?
    pub shifted: bool,
    /// What the operator has beside the stencil.
    pub coupling: Coupling,
}

impl Solution {
    pub fn new(cells: [usize; 3]) -> Self {
        assert!(cells.iter().all(|&n| n > 0), "a grid without cells");
        let multigrid = Multigrid::new(cells);
        Solution {
            multigrid,
            x: Split::default(),
            theta_min: GHOST_DISTANCE_FLOOR,
            pockets: Pockets::default(),
            shifted: false,
            coupling: Coupling::default(),
        }
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> usize {
        self.multigrid.bytes() + self.pockets.bytes() + self.x.iter().map(|v| 8 * v.capacity()).sum::<usize>()
    }

    pub fn cells(&self) -> usize {
        self.multigrid.levels[0].op.layout.cells.iter().product()
    }

    /// Discretises the problem on all levels and labels its components.
    pub fn prepare(&mut self, problem: &PoissonProblem) -> PrepareInfo {
        let cells = self.multigrid.levels[0].op.layout.cells;
        assert_eq!(problem.cells, cells, "the problem has the solver's size");
        assert_eq!(problem.phi_cell.len(), cells.iter().product::<usize>());
        for axis in 0..3 {
            let faces: usize = (0..3).map(|a| cells[a] + (a == axis) as usize).product();
            assert_eq!(problem.open_area[axis].len(), faces);
        }
        let problem = Problem { geometry: *problem, theta_min: self.theta_min };
        parallel::on_worker(|| {
            let info = self.multigrid.prepare(&problem);
            let finest = &self.multigrid.levels[0].op;
            finest.storage.zeros(&mut self.x);
            self.pockets.find(finest, &self.multigrid.excess);
            info
        })
    }

    /// Takes the start; returns the norm of the right side.
    pub fn load<'a>(&mut self, start: &'a [f32], rhs: &'a [f32], norm: Norm) -> f64 {
        let Multigrid { levels, components, .. } = &mut self.multigrid;
        let finest = &mut levels[0];
        let (op, l) = (&finest.op, finest.op.layout);
        let grid_row =
            |values: &'a [f32], row: &Row| window(values, l.cells[0] * row.in_grid(&l), l.cells[0]);
        components.take_rhs_means(rhs, &l);
        let components = &*components;
        let mut square = 0.0;
        for colour in 0..2 {
            let diag = &op.diag[colour];
            op.for_rows(&mut self.x[colour], |row, out| {
                let (from, t) = (grid_row(start, &row), row.t(colour));
                for s in row.spans {
                    let (out, diag) =
                        (window_mut(out, s.at() - row.start, s.len()), window(diag, s.at(), s.len()));
                    let from = &from[(2 * s.m0() + t).min(from.len())..];
                    for (n, out) in out.iter_mut().enumerate() {
                        *out = if diag[n] != 0.0 { from[2 * n] as f64 } else { 0.0 };
                    }
                }
            });
            square += op.sum_rows([&mut finest.b[colour][..]], |row, [out]| {
                let (from, t) = (grid_row(rhs, &row), row.t(colour));
                let mut square = 0.0;
                for s in row.spans {
                    let (out, diag) =
                        (window_mut(out, s.at() - row.start, s.len()), window(diag, s.at(), s.len()));
                    deinterleave(out, &from[(2 * s.m0()).min(from.len())..], t);
                    (0..out.len()).for_each(|n| out[n] = if diag[n] != 0.0 { out[n] } else { 0.0 });
                    components.rhs_shift(row.in_grid(&l), colour, |m0, places, mean| {
                        let (from, to) = (m0.max(s.m0()), (m0 + places).min(s.m0() + s.len()));
                        (from..to).for_each(|m| out[m - s.m0()] = (out[m - s.m0()] as f64 - mean) as f32);
                    });
                    square += square_sum(out);
                }
                square
            });
        }
        self.norm(square, norm)
    }

    /// `levels[0].b = rhs - A x`, without the right side's mean in sealed components; returns its norm.
    pub fn residual(&mut self, rhs: &[f32], norm: Norm) -> f64 {
        let Multigrid { levels, components, excess, .. } = &mut self.multigrid;
        let finest = &mut levels[0];
        components.remove_means(&mut self.x, &finest.op, |v| v);
        let residual = |x: &Split<f64>, b: &mut Split| {
            let square = finest.op.true_residual(b, excess, x, rhs, components);
            if self.coupling.is_empty() {
                return square;
            }
            square + self.coupling.add(b, &self.coupling.gather(x), -1.0)
        };
        let mut square = residual(&self.x, &mut finest.b);
        self.shifted = !self.pockets.is_empty() && self.pockets.shift(&mut self.x, &finest.b, square);
        if self.shifted {
            square = residual(&self.x, &mut finest.b);
        }
        self.norm(square, norm)
    }

    /// The norm of `levels[0].b`, of which the sum of squares is known.
    pub fn norm(&mut self, square: f64, norm: Norm) -> f64 {
        match norm {
            Norm::Euclidean => square.sqrt(),
            Norm::Maximum => {
                let finest = &mut self.multigrid.levels[0];
                let [r0, r1] = finest.b.each_mut().map(|r| &mut r[..]);
                // Beside the spans of a row anything may lie.
                let of_row = |row: Row, r: [&mut [f32]; 2]| {
                    let of_span =
                        |s: &Span| [0, 1].map(|c| largest(window(r[c], s.at() - row.start, s.len())));
                    row.spans.iter().flat_map(of_span).fold(0.0, larger)
                };
                finest.op.reduce_rows(1, [r0, r1], of_row, larger)
            }
        }
    }

    /// Rounds the solution into `p`, without its mean in sealed components.
    pub fn finish(&mut self, p: &mut [f32]) {
        let Multigrid { components, levels, .. } = &mut self.multigrid;
        components.remove_means(&mut self.x, &levels[0].op, |v| v);
        self.store(p, |v| v as f32);
    }

    /// The answer to a right side of zeros.
    pub fn set_zero(&mut self, p: &mut [f32]) {
        self.x.iter_mut().for_each(|v| v.fill(0.0));
        p.fill(0.0);
    }

    /// Writes the solution in grid order.
    pub fn store<T: Send + Default>(&self, out: &mut [T], round: impl Fn(f64) -> T + Sync + Send) {
        let op = &self.multigrid.levels[0].op;
        let [nx, ny, _] = op.layout.cells;
        parallel::for_each_chunk_mut(out, nx * ny, |k, out| {
            out.iter_mut().for_each(|v| *v = T::default());
            for row in op.slab(k) {
                let (out, t) = (window_mut(out, nx * row.j, nx), row.t(0));
                for s in row.spans {
                    let values = [t, 1 - t].map(|colour| window(&self.x[colour], s.at(), s.len()));
                    let end = (2 * (s.m0() + s.len())).min(nx);
                    for (n, pair) in out[2 * s.m0()..end].chunks_mut(2).enumerate() {
                        pair.iter_mut().zip(values).for_each(|(out, values)| *out = round(values[n]));
                    }
                }
            }
        });
    }
}

/// The larger of two values; NaN when one is.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}
