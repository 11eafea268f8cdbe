//! Algebraic multigrid by smoothed aggregation [vanek-1996]: a preconditioner for sparse matrices of any
//! stencil.
//!
//! Every level is a [`FluxMatrix`] in f32: rounding keeps row sums, so that sealed parts stay sealed on all
//! levels and weak outlets stay open. Set-up: strong connections, aggregates, `P = (I - 0.8 D^-1 A_F) T` with
//! the tentative prolongator `T` and weak connections of `A_F` lumped, `R = P^T`, `A_coarse = R A P`, all but
//! the choice of aggregates in parallel over rows. While the matrix keeps its pattern [`Amg::refresh`]
//! computes new values over old aggregates and patterns.
//!
//! Smoothers: Gauss-Seidel, forward on the way down and backward on the way up, within blocks of rows that a
//! level's size alone decides (between blocks it is Jacobi's), or SPAI-0 [broeker-2002]. Both give a
//! symmetric cycle for symmetric matrices and the same bits with any number of threads.

mod accumulator;
mod aggregate;
mod direct;
mod product;
mod prolongator;
mod smoother;

pub use smoother::Smoother;

use crate::krylov::{Preconditioner, ROWS, Real, dot};
use crate::sparse::{Csr, FluxMatrix};
use aggregate::{Aggregates, Strength};
use direct::Direct;
use fluvial_foundation::parallel;
use smoother::Relaxation;

/// How the hierarchy is built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AmgParams {
    /// What removes the short waves of a level.
    pub smoother: Smoother,
    /// A connection is strong if `|a_ij| > strength sqrt(a_ii a_jj)`; halved from level to level.
    pub strength: f64,
    /// A level with no more unknowns than this is solved directly.
    pub coarsest_rows: usize,
}

impl Default for AmgParams {
    fn default() -> Self {
        AmgParams { smoother: Smoother::GaussSeidel, strength: 0.08, coarsest_rows: 300 }
    }
}

/// The matrix given to [`Amg::refresh`] has another pattern than the one given to [`Amg::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the matrix has another pattern than the one of the set-up")]
pub struct PatternChanged;

/// A hierarchy for one matrix.
pub struct Amg {
    params: AmgParams,
    levels: Vec<Level>,
    /// Of the coarsest level; None where it could not be made small.
    direct: Option<Direct>,
    pattern: u64,
}

/// A level, its smoother, and its way to the next.
#[derive(Default)]
struct Level {
    /// Empty on the finest level, whose matrix belongs to the caller.
    matrix: FluxMatrix<f32>,
    relaxation: Relaxation,
    down: Option<Down>,
    /// Solution and right side; on the finest level only used with f64 vectors.
    x: Vec<f32>,
    b: Vec<f32>,
    work: Vec<f32>,
}

/// Transfers to the next coarser level, and what [`Amg::refresh`] needs to make them anew.
struct Down {
    strength: Strength,
    aggregates: Aggregates,
    p: Csr<f32>,
    r: Csr<f32>,
}

impl Amg {
    /// Builds the hierarchy.
    pub fn new(matrix: &FluxMatrix<f32>, params: AmgParams) -> Self {
        parallel::on_worker(|| {
            let pattern = pattern_of(&matrix.off);
            let mut amg = Amg { params, levels: vec![Level::default()], direct: None, pattern };
            let mut strength = params.strength;
            while let Some(next) = amg.coarsen(matrix, strength) {
                amg.levels.push(Level { matrix: next, ..Level::default() });
                strength *= 0.5;
            }
            amg.finish(matrix);
            amg
        })
    }

    /// Takes new values of a matrix with the same pattern: aggregates, strong connections and patterns are
    /// kept, values are what [`Amg::new`] would give with these.
    pub fn refresh(&mut self, matrix: &FluxMatrix<f32>) -> Result<(), PatternChanged> {
        if pattern_of(&matrix.off) != self.pattern {
            return Err(PatternChanged);
        }
        parallel::on_worker(|| {
            for n in 1..self.levels.len() {
                let (finer, coarser) = self.levels.split_at_mut(n);
                let (fine, coarse) = (&mut finer[n - 1], &mut coarser[0]);
                let a = if n == 1 { matrix } else { &fine.matrix };
                let Down { strength, aggregates, p, r } = fine.down.as_mut().expect("a coarser level");
                let sums = prolongator::refresh(p, a, strength, aggregates);
                prolongator::refresh_transpose(r, p);
                product::refresh(&mut coarse.matrix, a, (p, &sums), r);
            }
            self.finish(matrix);
        });
        Ok(())
    }

    /// Number of unknowns and of entries of every level's matrix, from fine to coarse.
    pub fn levels(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let down = self.levels.iter().map(|l| l.work.len());
        let entries = self.levels.iter().map(|l| l.relaxation.entries);
        down.zip(entries)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let level = |l: &Level| {
            let vectors = l.x.capacity() + l.b.capacity() + l.work.capacity();
            let down = l.down.as_ref().map_or(0, |d| {
                d.p.bytes() + d.r.bytes() + d.strength.bytes() + 4 * d.aggregates.of.capacity()
            });
            l.matrix.bytes() + l.relaxation.bytes() + 4 * vectors + down
        };
        self.levels.iter().map(level).sum::<usize>() + self.direct.as_ref().map_or(0, Direct::bytes)
    }

    /// Memory traffic that one cycle cannot avoid, bytes: every entry that a pass uses, 8 bytes, and every
    /// value of a vector that it reads or writes, 4 bytes. The sweep down uses one half of a matrix and
    /// the residual after it the other.
    pub fn cycle_bytes(&self) -> usize {
        let level = |l: &Level| {
            let rows = l.work.len();
            let matrix = 8 * l.relaxation.entries;
            l.down.as_ref().map_or(0, |d| {
                let coarse = d.aggregates.count;
                let transfers = 8 * (d.p.entries() + d.r.entries()) + 4 * (6 * rows + 4 * coarse);
                // Row starts, scale, right side and solution of three passes.
                2 * matrix + 4 * 12 * rows + transfers
            })
        };
        self.levels.iter().map(level).sum()
    }

    /// The preconditioner of the matrix that the hierarchy was built or refreshed for.
    pub fn on<'a>(&'a mut self, matrix: &'a FluxMatrix<f32>) -> AmgCycle<'a> {
        assert_eq!(matrix.excess.len(), self.levels[0].work.len(), "the matrix of the set-up");
        AmgCycle { amg: self, matrix }
    }

    /// Fills the last level's way down and returns the next matrix, unless it is coarse enough.
    fn coarsen(&mut self, finest: &FluxMatrix<f32>, threshold: f64) -> Option<FluxMatrix<f32>> {
        let first = self.levels.len() == 1;
        let last = self.levels.last_mut().expect("a level");
        let a = if first { finest } else { &last.matrix };
        let rows = a.excess.len();
        if rows <= self.params.coarsest_rows {
            return None;
        }
        let strength = Strength::new(a, threshold);
        let aggregates = Aggregates::new(a, &strength);
        if aggregates.count == 0 || aggregates.count > rows / 10 * 9 {
            return None;
        }
        let (p, sums) = prolongator::build(a, &strength, &aggregates);
        let r = prolongator::transpose(&p);
        let next = product::build(a, (&p, &sums), &r);
        last.down = Some(Down { strength, aggregates, p, r });
        Some(next)
    }

    /// What follows from the matrices: smoothers, vectors, the coarsest factorisation.
    fn finish(&mut self, finest: &FluxMatrix<f32>) {
        for (n, level) in self.levels.iter_mut().enumerate() {
            let a = if n == 0 { finest } else { &level.matrix };
            let rows = a.excess.len();
            level.relaxation = Relaxation::new(a, self.params.smoother);
            level.work.resize(rows, 0.0);
            if n > 0 {
                level.x.resize(rows, 0.0);
                level.b.resize(rows, 0.0);
            }
        }
        let single = self.levels.len() == 1;
        let last = self.levels.last().expect("a level");
        let a = if single { finest } else { &last.matrix };
        self.direct = (a.excess.len() <= self.params.coarsest_rows).then(|| Direct::new(a));
    }
}

/// One V-cycle as a preconditioner, for f32 or f64 vectors.
pub struct AmgCycle<'a> {
    amg: &'a mut Amg,
    matrix: &'a FluxMatrix<f32>,
}

impl Preconditioner<f32> for AmgCycle<'_> {
    fn apply(&mut self, z: &mut [f32], r: &[f32]) -> f64 {
        cycle(&mut self.amg.levels, self.matrix, self.amg.direct.as_mut(), z, r);
        dot(z, r)
    }
}

impl Preconditioner<f64> for AmgCycle<'_> {
    fn apply(&mut self, z: &mut [f64], r: &[f64]) -> f64 {
        // f32 has little range: the right side is brought near 1.
        let largest = parallel::ordered_max(parallel::chunk_count(r.len(), ROWS), |n| {
            let chunk = &r[parallel::chunk_range(n, ROWS, r.len())];
            chunk.iter().fold(0.0, |m: f64, v| if v.abs() <= m { m } else { v.abs() })
        });
        let scale = if largest > 0.0 { largest } else { 1.0 };
        let finest = &mut self.amg.levels[0];
        let (mut x, mut b) = (std::mem::take(&mut finest.x), std::mem::take(&mut finest.b));
        x.resize(r.len(), 0.0);
        b.resize(r.len(), 0.0);
        convert(&mut b, r, |v| (v / scale) as f32);
        cycle(&mut self.amg.levels, self.matrix, self.amg.direct.as_mut(), &mut x, &b);
        convert(z, &x, |v| v as f64 * scale);
        let finest = &mut self.amg.levels[0];
        (finest.x, finest.b) = (x, b);
        dot(z, r)
    }
}

fn convert<A: Real, B: Real>(out: &mut [A], from: &[B], body: impl Fn(B) -> A + Sync + Send) {
    parallel::for_each_chunk_mut(out, ROWS, |n, out| {
        out.iter_mut().zip(&from[n * ROWS..]).for_each(|(out, &v)| *out = body(v));
    });
}

/// `x = M b` by one V-cycle over the levels from the first on.
fn cycle(
    levels: &mut [Level],
    matrix: &FluxMatrix<f32>,
    direct: Option<&mut Direct>,
    x: &mut [f32],
    b: &[f32],
) {
    let (level, coarser) = levels.split_first_mut().expect("a level");
    let Level { relaxation, down, work, .. } = level;
    let Some(down) = down else {
        return match direct {
            Some(direct) => direct.solve(x, b),
            None => {
                relaxation.start(x, matrix, b);
                work.copy_from_slice(x);
                relaxation.relax(x, matrix, b, work);
            }
        };
    };
    relaxation.start(x, matrix, b);
    relaxation.residual_of_start(work, matrix, b, x);
    let (mut coarse_x, mut coarse_b) = (std::mem::take(&mut coarser[0].x), std::mem::take(&mut coarser[0].b));
    let coarse_matrix = std::mem::take(&mut coarser[0].matrix);
    multiply(&mut coarse_b, &down.r, work);
    cycle(coarser, &coarse_matrix, direct, &mut coarse_x, &coarse_b);
    multiply_add(work, &down.p, &coarse_x, x);
    (coarser[0].x, coarser[0].b, coarser[0].matrix) = (coarse_x, coarse_b, coarse_matrix);
    relaxation.relax(x, matrix, b, work);
}

/// `out = A x`.
fn multiply(out: &mut [f32], a: &Csr<f32>, x: &[f32]) {
    multiply_rows(out, a, x, |_| 0.0);
}

/// `out = y + A x`.
fn multiply_add(out: &mut [f32], a: &Csr<f32>, x: &[f32], y: &[f32]) {
    multiply_rows(out, a, x, |row| y[row]);
}

fn multiply_rows(out: &mut [f32], a: &Csr<f32>, x: &[f32], start: impl Fn(usize) -> f32 + Sync + Send) {
    parallel::for_each_chunk_mut(out, ROWS, |n, out| {
        for (m, out) in out.iter_mut().enumerate() {
            let (column, value) = a.row(n * ROWS + m);
            let products = column.iter().zip(value).map(|(&c, v)| v * x[c as usize]);
            *out = products.fold(start(n * ROWS + m), |sum, v| sum + v);
        }
    });
}

/// A number that tells patterns apart: FNV-1a over words, in chunks.
fn pattern_of(a: &Csr<f32>) -> u64 {
    let hash = |words: &[u32]| {
        words.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, &w| (h ^ w as u64).wrapping_mul(0x0100_0000_01b3))
    };
    let chunk = parallel::CHUNK;
    let parts = |words: &[u32]| {
        parallel::map_indices(parallel::chunk_count(words.len(), chunk), |n| {
            hash(&words[parallel::chunk_range(n, chunk, words.len())])
        })
    };
    let all = parts(&a.start).into_iter().chain(parts(&a.column));
    all.fold(a.start.len() as u64, |h, part| (h ^ part).wrapping_mul(0x0100_0000_01b3).rotate_left(23))
}
