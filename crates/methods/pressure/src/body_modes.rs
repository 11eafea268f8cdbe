//! What bodies add to the preconditioner.
//!
//! `H = A + sum G K G^T` differs from A where pressure moves bodies: along `A^-1 G` it is larger by the water's inertia over
//! the body's: up to 100 times among a hundred crates half as dense as water, where films of it lie between them. Near a body `Z = D^-1 G`, D the
//! diagonal of A, is close enough to `A^-1 G`. Conjugate gradients are preconditioned by the cycle M on what the modes Z leave,
//!
//! `P = Z B Z^T + (I - Z B Z^T H) M (I - H Z B Z^T)`, `B = (Z^T H Z)^-1`,
//!
//! the balancing preconditioner [mandel-1993]. It is symmetric and positive definite for any symmetric positive semidefinite B:
//! some sweeps of the symmetric Gauss-Seidel method from body to body stand for the inverse. Verified by `tests/coupling.rs`.

use crate::coupling::{Entry, Gathered, Placed, Six};
use crate::layout::Split;
use crate::operator::Operator;
use fluvial_foundation::{AXES, parallel};
use fluvial_linear::{RANK, weigh};

/// Sweeps of the Gauss-Seidel method, forth and back each. Iterations for eight cubes of density 0.01 a cell apart: 33 without modes,
/// 25, 18 and 11 with 1, 2 and 6 sweeps.
const SWEEPS: usize = 6;
/// Pivots below this part of their diagonal are rounding: the motion is one of those before it.
const NULL_PIVOT: f64 = 1e-10;
/// No entry.
const NONE: u32 = u32::MAX;

type Matrix = [Six; RANK];

/// A row of A at an unknown.
#[derive(Clone, Copy)]
pub(crate) struct Stencil {
    diag: f64,
    inverse_diag: f64,
    /// Coefficients towards the cells beside it, which are of the other colour, and their addresses.
    coef: [f64; 6],
    beside: [usize; 6],
}

impl Stencil {
    pub fn new(op: &Operator, cell: [usize; 3], colour: usize, at: usize) -> Stencil {
        let diag = f64::from(op.diag[colour][at]);
        let mut stencil = Stencil { diag, inverse_diag: 1.0 / diag, coef: [0.0; 6], beside: [0; 6] };
        for (n, (axis, up)) in AXES.into_iter().flat_map(|a| [(a, false), (a, true)]).enumerate() {
            let mut other = cell;
            other[axis] = if up { cell[axis] + 1 } else { cell[axis].wrapping_sub(1) };
            if let Some((_, beside)) = op.unknown_at(other) {
                // A coefficient is stored with the cell on the high side of its face.
                let (colour, at) = if up { (1 - colour, beside) } else { (colour, at) };
                (stencil.coef[n], stencil.beside[n]) = (f64::from(op.coef[axis][colour][at]), beside);
            }
        }
        stencil
    }

    /// The row of `A x`.
    fn apply(&self, x: &Split, colour: usize, at: usize) -> f64 {
        let beside = &x[1 - colour];
        let own = self.diag * f64::from(x[colour][at]);
        (0..6).fold(own, |sum, n| sum - self.coef[n] * f64::from(beside[self.beside[n]]))
    }
}

/// The modes of all bodies.
#[derive(Default)]
pub(crate) struct BodyModes {
    /// `G^T Z` and `Z^T H Z`, a row of blocks a body, the body's own first; and the own ones' factors.
    moved: Vec<Vec<(u32, Matrix)>>,
    energy: Vec<Vec<(u32, Matrix)>>,
    factor: Vec<Matrix>,
    /// The first entry at each place of the finest level, and the next one at the same place after each entry; an entry's body and
    /// number.
    first: Split<u32>,
    next: Vec<u32>,
    entry: Vec<(u32, u32)>,
    /// `Z^T r`, what of the modes is taken for it, what that pushes bodies by, and what r was.
    residual: Vec<Six>,
    taken: Vec<Six>,
    pushed: Vec<Six>,
    saved: Vec<f32>,
    /// `Z^T H z`, and what of the modes is missing from z.
    met: Vec<Six>,
    missing: Vec<Six>,
}

impl BodyModes {
    /// Looks at how the modes meet each other.
    pub fn fit(&mut self, blocks: &[Placed], op: &Operator) {
        self.list_entries(blocks, op);
        let (first, next, entry) = (&self.first, &self.next, &self.entry);
        let at_place = |colour: usize, at: usize| {
            let mut n = first[colour][at];
            std::iter::from_fn(move || {
                let (body, number) = *entry.get(n as usize)?;
                n = next[n as usize];
                Some((body, &blocks[body as usize].entries[number as usize]))
            })
        };
        let rows = parallel::map_indices(blocks.len(), |n| {
            let (mut moved, mut energy) =
                (vec![(n as u32, Matrix::default())], vec![(n as u32, Matrix::default())]);
            for own in &blocks[n].entries {
                let Entry { colour, at, stencil, .. } = own;
                let z = mode(own);
                for (body, other) in at_place(*colour, *at) {
                    add_product(&mut moved, body, &z, &other.values, 1.0);
                    add_product(&mut energy, body, &z, &mode(other), stencil.diag);
                }
                for side in (0..6).filter(|&side| stencil.coef[side] != 0.0) {
                    for (body, other) in at_place(1 - colour, stencil.beside[side]) {
                        add_product(&mut energy, body, &z, &mode(other), -stencil.coef[side]);
                    }
                }
            }
            (moved, energy)
        });
        (self.moved, self.energy) = rows.into_iter().unzip();
        let moved = &self.moved;
        // G^T Z is symmetric, as G^T D^-1 G is.
        parallel::for_each_chunk_mut(&mut self.energy, 1, |n, energy| {
            for (between, of_own) in &moved[n] {
                for (body, of_other) in &moved[*between as usize] {
                    let weighed = of_own.map(|row| weigh(&blocks[*between as usize].weight, &row));
                    let sum = block_mut(&mut energy[0], *body);
                    for (r, c) in (0..RANK).flat_map(|r| (0..RANK).map(move |c| (r, c))) {
                        sum[r][c] += (0..RANK).map(|k| weighed[r][k] * of_other[k][c]).sum::<f64>();
                    }
                }
            }
        });
        self.factor.clear();
        self.factor.extend(self.energy.iter().map(|row| factored(&row[0].1)));
    }

    fn list_entries(&mut self, blocks: &[Placed], op: &Operator) {
        for first in &mut self.first {
            first.clear();
            first.resize(op.storage.len(), NONE);
        }
        self.next.clear();
        self.entry.clear();
        for (body, block) in blocks.iter().enumerate() {
            for (number, Entry { colour, at, .. }) in block.entries.iter().enumerate() {
                self.next.push(std::mem::replace(&mut self.first[*colour][*at], self.entry.len() as u32));
                self.entry.push((body as u32, number as u32));
            }
        }
    }

    /// `r -= H Z B Z^T r`.
    pub fn before(&mut self, r: &mut Split, blocks: &[Placed]) {
        let seen = &*r;
        self.residual.resize(blocks.len(), [0.0; RANK]);
        parallel::for_each_chunk_mut(&mut self.residual, 1, |n, sum| {
            let sum = &mut sum[0];
            *sum = [0.0; RANK];
            for own in &blocks[n].entries {
                let (z, value) = (mode(own), f64::from(seen[own.colour][own.at]));
                (0..RANK).for_each(|c| sum[c] += z[c] * value);
            }
        });
        solve(&mut self.taken, &self.residual, &self.energy, &self.factor);
        push(&mut self.pushed, &self.taken, &self.moved, blocks);
        self.saved.clear();
        for (block, (taken, pushed)) in blocks.iter().zip(self.taken.iter().zip(&self.pushed)) {
            for own in &block.entries {
                let Entry { colour, at, stencil, .. } = *own;
                let (z, mut take) = (mode(own), |colour: usize, at: usize, amount: f64| {
                    let value = &mut r[colour][at];
                    self.saved.push(*value);
                    *value = (f64::from(*value) - amount) as f32;
                });
                let along = dot(&z, taken);
                take(colour, at, stencil.diag * along + dot(&own.values, pushed));
                for side in 0..6 {
                    take(1 - colour, stencil.beside[side], -stencil.coef[side] * along);
                }
            }
        }
    }

    /// Gives r back as it was, and completes `z = P r`. `gathered` is what z does to the bodies, before and after, `energies` are
    /// `z . A z` and `z . r` before; returns `z . H z` and `z . r`.
    pub fn after(
        &mut self,
        (z, r): (&mut Split, &mut Split),
        gathered: &mut [Gathered],
        blocks: &[Placed],
        energies: [f64; 2],
    ) -> [f64; 2] {
        self.give_back(r, blocks);
        let (before, moved) = (&*z, &self.moved);
        self.met.resize(blocks.len(), [0.0; RANK]);
        parallel::for_each_chunk_mut(&mut self.met, 1, |n, sum| {
            let sum = &mut sum[0];
            *sum = [0.0; RANK];
            for own in &blocks[n].entries {
                let (mode, value) = (mode(own), own.stencil.apply(before, own.colour, own.at));
                (0..RANK).for_each(|c| sum[c] += mode[c] * value);
            }
            for (body, matrix) in &moved[n] {
                let more = weigh(matrix, &gathered[*body as usize][1]);
                (0..RANK).for_each(|c| sum[c] += more[c]);
            }
        });
        solve(&mut self.missing, &self.met, &self.energy, &self.factor);
        for (missing, taken) in self.missing.iter_mut().zip(&self.taken) {
            *missing = std::array::from_fn(|c| taken[c] - missing[c]);
        }
        let (met, missing) = (&self.met, &self.missing);
        let [mut energy, mut product] = energies;
        for n in 0..blocks.len() {
            let [g, kg] = &gathered[n];
            energy += dot(g, kg) + dot(&missing[n], &met[n]) + dot(&missing[n], &met[n]);
            energy += self.energy[n]
                .iter()
                .map(|(body, matrix)| dot(&missing[n], &weigh(matrix, &missing[*body as usize])))
                .sum::<f64>();
            product += dot(&met[n], &self.taken[n]) + dot(&missing[n], &self.residual[n]);
        }
        for (n, [g, kg]) in gathered.iter_mut().enumerate() {
            for (body, matrix) in &self.moved[n] {
                let more = weigh(matrix, &missing[*body as usize]);
                (0..RANK).for_each(|c| g[c] += more[c]);
            }
            *kg = weigh(&blocks[n].weight, g);
        }
        for (block, missing) in blocks.iter().zip(missing) {
            for own in &block.entries {
                let value = &mut z[own.colour][own.at];
                *value = (f64::from(*value) + dot(&mode(own), missing)) as f32;
            }
        }
        [energy, product]
    }

    /// Undoes what [`Self::before`] did to r, the last first.
    fn give_back(&mut self, r: &mut Split, blocks: &[Placed]) {
        for Entry { colour, at, stencil, .. } in
            blocks.iter().rev().flat_map(|block| block.entries.iter().rev())
        {
            let mut give = |colour: usize, at: usize| {
                if let Some(value) = self.saved.pop() {
                    r[colour][at] = value;
                }
            };
            (0..6).rev().for_each(|side| give(1 - colour, stencil.beside[side]));
            give(*colour, *at);
        }
    }
}

/// `K G^T Z x` of every body; `moved` is `G^T Z`.
fn push(out: &mut Vec<Six>, x: &[Six], moved: &[Vec<(u32, Matrix)>], blocks: &[Placed]) {
    out.clear();
    out.extend(moved.iter().zip(blocks).map(|(row, block)| {
        let mut sum = [0.0; RANK];
        for (body, matrix) in row {
            let part = weigh(matrix, &x[*body as usize]);
            (0..RANK).for_each(|c| sum[c] += part[c]);
        }
        weigh(&block.weight, &sum)
    }));
}

/// `x = B b` with the rows of `Z^T H Z` and their own blocks' factors.
fn solve(x: &mut Vec<Six>, b: &[Six], energy: &[Vec<(u32, Matrix)>], factor: &[Matrix]) {
    x.clear();
    x.resize(b.len(), [0.0; RANK]);
    let mut relax = |n: usize| {
        let mut rest = b[n];
        for (body, matrix) in &energy[n][1..] {
            let part = weigh(matrix, &x[*body as usize]);
            (0..RANK).for_each(|c| rest[c] -= part[c]);
        }
        x[n] = back_substituted(&factor[n], rest);
    };
    for _ in 0..SWEEPS {
        (0..b.len()).for_each(&mut relax);
        (0..b.len()).rev().for_each(&mut relax);
    }
}

/// A row of Z.
fn mode(entry: &Entry) -> Six {
    entry.values.map(|v| v * entry.stencil.inverse_diag)
}

fn dot(a: &Six, b: &Six) -> f64 {
    (0..RANK).map(|c| a[c] * b[c]).sum()
}

/// The block of a body in a row of blocks, zero where it is new.
fn block_mut(row: &mut Vec<(u32, Matrix)>, body: u32) -> &mut Matrix {
    let found = row.iter().position(|(known, _)| *known == body);
    let place = found.unwrap_or_else(|| {
        row.push((body, Matrix::default()));
        row.len() - 1
    });
    &mut row[place].1
}

/// `block(body) += factor a b^T`.
fn add_product(row: &mut Vec<(u32, Matrix)>, body: u32, a: &Six, b: &Six, factor: f64) {
    let block = block_mut(row, body);
    for (r, row) in block.iter_mut().enumerate() {
        (0..RANK).for_each(|c| row[c] += factor * a[r] * b[c]);
    }
}

/// The lower triangle of `L L^T`, inverses on the diagonal, zero where a pivot vanishes.
fn factored(matrix: &Matrix) -> Matrix {
    let mut l = Matrix::default();
    for i in 0..RANK {
        for j in 0..=i {
            let value = matrix[i][j] - (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>();
            l[i][j] = match i == j {
                false => value * l[j][j],
                true if value > NULL_PIVOT * matrix[i][i] => 1.0 / value.sqrt(),
                true => 0.0,
            };
        }
    }
    l
}

/// `(L L^T)^-1 b`.
fn back_substituted(l: &Matrix, mut b: Six) -> Six {
    for i in 0..RANK {
        b[i] = (b[i] - (0..i).map(|k| l[i][k] * b[k]).sum::<f64>()) * l[i][i];
    }
    for i in (0..RANK).rev() {
        b[i] *= l[i][i];
        for k in 0..i {
            b[k] -= l[i][k] * b[i];
        }
    }
    b
}
