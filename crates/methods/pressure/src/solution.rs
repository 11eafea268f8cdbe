//! A hierarchy and the f64 solution that it corrects: what conjugate gradients and cycles alone have in common.
//!
//! The residual is always taken from the f64 solution in f64 arithmetic and only then rounded to the f32 in which
//! corrections are computed: iterative refinement, so that f32 limits no tolerance.

use crate::discretise::Problem;
use crate::kernels::{deinterleave, largest, square_sum};
use crate::layout::{Split, window, window_mut};
use crate::multigrid::Multigrid;
use crate::pockets::Pockets;
use crate::spans::Span;
use crate::{Norm, PoissonProblem, PrepareInfo, THETA_MIN};
use fluvial_foundation::parallel;

/// See the module.
pub(crate) struct Solution {
    pub multigrid: Multigrid,
    /// Solution so far.
    pub x: Split<f64>,
    pub theta_min: f32,
    pockets: Pockets,
    /// Did the last residual come with a shift of pockets?
    pub shifted: bool,
}

impl Solution {
    pub fn new(cells: [usize; 3]) -> Self {
        assert!(cells.iter().all(|&n| n > 0), "a grid without cells");
        let multigrid = Multigrid::new(cells);
        let len = multigrid.levels[0].op.layout.len();
        Solution {
            multigrid,
            x: [vec![0.0; len], vec![0.0; len]],
            theta_min: THETA_MIN,
            pockets: Pockets::default(),
            shifted: false,
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
            let info = self.multigrid.prepare(&problem, &mut self.x);
            self.pockets.find(&self.multigrid.levels[0].op, &self.multigrid.excess);
            info
        })
    }

    /// Takes the start; returns the norm of the right side.
    pub fn load(&mut self, start: &[f32], rhs: &[f32], norm: Norm) -> f64 {
        let Multigrid { levels, components, .. } = &mut self.multigrid;
        let finest = &mut levels[0];
        let l = finest.op.layout;
        let nx = l.cells[0];
        let row_of = |row: usize| {
            let (j, k) = l.coordinates(row).expect("rim rows are empty");
            nx * (j + l.cells[1] * k)
        };
        components.take_rhs_means(rhs, &l);
        let components = &*components;
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
                components.rhs_shift(&l, row, colour, |m0, len, mean| {
                    window_mut(out, m0, len).iter_mut().for_each(|v| *v = (*v as f64 - mean) as f32);
                });
                square_sum(out)
            });
        }
        self.norm(square, norm)
    }

    /// `levels[0].b = rhs - A x`, without the right side's mean in sealed components; returns its norm.
    pub fn residual(&mut self, rhs: &[f32], norm: Norm) -> f64 {
        let Multigrid { levels, components, excess, .. } = &mut self.multigrid;
        let finest = &mut levels[0];
        components.remove_means(&mut self.x, &finest.op, |v| v);
        let mut square = finest.op.true_residual(&mut finest.b, excess, &self.x, rhs, components);
        self.shifted = !self.pockets.is_empty() && self.pockets.shift(&mut self.x, &finest.b, square);
        if self.shifted {
            square = finest.op.true_residual(&mut finest.b, excess, &self.x, rhs, components);
        }
        self.norm(square, norm)
    }

    /// The norm of `levels[0].b`, of which the sum of squares is known.
    pub fn norm(&mut self, square: f64, norm: Norm) -> f64 {
        match norm {
            Norm::Euclidean => square.sqrt(),
            Norm::Maximum => {
                let finest = &mut self.multigrid.levels[0];
                let (l, op) = (finest.op.layout, &finest.op);
                let [r0, r1] = finest.b.each_mut().map(|r| &mut r[..]);
                // Beside the spans of a row anything may lie.
                let of_row = |row: usize, _: &[u8], r: [&mut [f32]; 2]| {
                    let spans = op.spans.of_row(row).iter();
                    let of_span =
                        |s: &Span| [0, 1].map(|c| largest(window(r[c], s.m0 as usize, s.len as usize)));
                    spans.flat_map(of_span).fold(0.0, larger)
                };
                l.reduce_rows(&op.class, l.stride, [r0, r1], of_row, larger)
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

/// The larger of two values; NaN when one is.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}
