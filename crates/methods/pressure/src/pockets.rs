//! Small pockets that hang on the rest of the liquid by slivers.
//!
//! The level of such a pocket is a mode of its own whose eigenvalue is as small as the slivers: smoothing
//! moves it only through them, a coarse cell does not tell the pocket from its surroundings, and once it is
//! far larger than the differences inside, f32 cannot carry it. So the level is found apart, in f64: before
//! corrections are computed the solution is shifted, pocket by pocket, until no pocket's residual has a sum
//! (the Galerkin condition for functions that are constant on pockets). Verified by `tests/pockets.rs`.

use crate::layout::{Split, window};
use crate::operator::Operator;
use fluvial_foundation::parallel;
use std::collections::HashMap;

/// Coefficients below this hold nothing together. Above it multigrid does well by itself.
const SLIVER: f32 = 0.15;
/// Larger bodies have coarse cells of their own.
const MOST_CELLS: usize = 64;
/// Pockets whose residuals' sums are a smaller part of the residual are left alone.
const WORTH: f64 = 1e-4;

/// Coordinates of a cell.
type Cell = [usize; 3];

/// The pockets of the finest level.
#[derive(Default)]
pub(crate) struct Pockets {
    cells: Vec<Cell>,
    /// Their colours and addresses.
    places: Vec<(usize, usize)>,
    /// First cell of each pocket, and one more.
    start: Vec<usize>,
    /// Sum of the coefficients that lead out of each pocket.
    diag: Vec<f64>,
    /// Pocket, other pocket, coefficient, both ways.
    links: Vec<(usize, usize, f64)>,
    sum: Vec<f64>,
    shift: Vec<f64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Label {
    Pocket(usize),
    /// Part of something larger, or a single cell.
    Other,
}

impl Pockets {
    /// Finds the pockets; `excess` is the Dirichlet part of the diagonal.
    pub fn find(&mut self, op: &Operator, excess: &Split<f64>) {
        *self = Pockets { start: vec![0], ..Default::default() };
        let mut labels = HashMap::new();
        for cell in beside_slivers(op) {
            if !labels.contains_key(&cell) {
                self.flood(op, excess, cell, &mut labels);
            }
        }
        for pocket in 0..self.count() {
            let mut out = 0.0;
            for &cell in &self.cells[self.start[pocket]..self.start[pocket + 1]] {
                let (colour, at) = place(op, cell);
                out += excess[colour][at];
                for (c, beyond) in neighbours(op, cell).filter(|(c, _)| *c > 0.0 && *c < SLIVER) {
                    match labels.get(&beyond) {
                        Some(Label::Pocket(other)) if *other == pocket => continue,
                        Some(Label::Pocket(other)) => self.links.push((pocket, *other, c as f64)),
                        _ => {}
                    }
                    out += c as f64;
                }
            }
            self.diag.push(out);
        }
        self.places.extend(self.cells.iter().map(|&cell| place(op, cell)));
    }

    fn count(&self) -> usize {
        self.start.len() - 1
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Bytes of all lists.
    pub fn bytes(&self) -> usize {
        size_of::<Cell>() * self.cells.capacity()
            + size_of::<(usize, usize)>() * self.places.capacity()
            + size_of::<(usize, usize, f64)>() * self.links.capacity()
            + 8 * (self.start.capacity() + self.diag.capacity() + self.sum.capacity() + self.shift.capacity())
    }

    /// Labels what is held together with `cell`, and keeps it when it is a pocket.
    fn flood(&mut self, op: &Operator, excess: &Split<f64>, cell: Cell, labels: &mut HashMap<Cell, Label>) {
        let first = self.cells.len();
        let here = Label::Pocket(self.count());
        self.cells.push(cell);
        labels.insert(cell, here);
        let (mut next, mut large) = (first, false);
        while next < self.cells.len() && !large {
            for (_, beyond) in neighbours(op, self.cells[next]).filter(|(c, _)| *c >= SLIVER) {
                match labels.get(&beyond) {
                    Some(label) => large |= *label != here,
                    None => {
                        labels.insert(beyond, here);
                        self.cells.push(beyond);
                    }
                }
            }
            large |= self.cells.len() - first > MOST_CELLS;
            next += 1;
        }
        let cells = &self.cells[first..];
        let outlet: f64 = cells.iter().map(|&cell| place(op, cell)).map(|(c, at)| excess[c][at]).sum();
        if large || cells.len() < 2 || outlet >= SLIVER as f64 {
            cells.iter().for_each(|c| *labels.get_mut(c).expect("labelled") = Label::Other);
            self.cells.truncate(first);
        } else {
            self.start.push(self.cells.len());
        }
    }

    /// Shifts the pockets in `x` so that the residual `r`, whose sum of squares is given, loses its sum in
    /// each; false where they have none worth it and nothing was done.
    pub fn shift(&mut self, x: &mut Split<f64>, r: &Split, square: f64) -> bool {
        let sum_of =
            |w: &[usize]| self.places[w[0]..w[1]].iter().map(|&(c, at)| r[c][at] as f64).sum::<f64>();
        self.sum.clear();
        self.sum.extend(self.start.windows(2).map(sum_of));
        let sums: f64 = self.sum.iter().map(|s| s * s).sum();
        if sums.is_nan() || sums <= WORTH * WORTH * square {
            return false;
        }
        self.solve();
        for (w, shift) in self.start.windows(2).zip(&self.shift) {
            self.places[w[0]..w[1]].iter().for_each(|&(c, at)| x[c][at] += shift);
        }
        true
    }

    /// The shifts from the sums, by Gauss-Seidel: pockets mostly hang on the rest, hardly on each other.
    fn solve(&mut self) {
        self.shift.clear();
        self.shift.resize(self.count(), 0.0);
        for _ in 0..MOST_SWEEPS {
            let (mut change, mut largest) = (0.0f64, 0.0f64);
            let mut link = 0;
            for pocket in 0..self.sum.len() {
                let mut value = self.sum[pocket];
                while link < self.links.len() && self.links[link].0 == pocket {
                    value += self.links[link].2 * self.shift[self.links[link].1];
                    link += 1;
                }
                // A pocket that nothing leads out of is a sealed component: its level is free.
                value = if self.diag[pocket] > 0.0 { value / self.diag[pocket] } else { 0.0 };
                change = change.max((value - self.shift[pocket]).abs());
                largest = largest.max(value.abs());
                self.shift[pocket] = value;
            }
            if change <= 1e-6 * largest {
                break;
            }
        }
    }
}

/// Sweeps of [`Pockets::solve`]: what they leave is taken up when the residual is computed anew.
const MOST_SWEEPS: usize = 100;

/// Colour and address of an unknown.
fn place(op: &Operator, [i, j, k]: Cell) -> (usize, usize) {
    ((i + j + k) & 1, op.storage.at(op.layout.row(j, k), i / 2))
}

/// Coefficient and cell beyond each face that does not lead out of the box.
fn neighbours(op: &Operator, cell: Cell) -> impl Iterator<Item = (f32, Cell)> + '_ {
    (0..6).filter_map(move |face| {
        let (axis, mut beyond) = (face / 2, cell);
        beyond[axis] = if face & 1 == 1 { cell[axis] + 1 } else { cell[axis].checked_sub(1)? };
        if beyond[axis] == op.layout.cells[axis] {
            return None;
        }
        // A coefficient is stored with the cell on the high side.
        let [i, j, k] = if face & 1 == 1 { beyond } else { cell };
        let at = op.storage.find(op.layout.row(j, k), i / 2)?;
        Some((op.coef[axis][(i + j + k) & 1][at], beyond))
    })
}

/// The cells on both sides of every sliver, in order.
fn beside_slivers(op: &Operator) -> Vec<Cell> {
    let tasks = &op.storage.tasks;
    let found = parallel::map_indices(tasks.len(), |task| {
        let mut found = Vec::new();
        let sliver = |c: f32| c > 0.0 && c < SLIVER;
        for row in tasks[task].active.clone().map(|n| op.row(n)) {
            for (span, colour) in row.spans.iter().flat_map(|s| [(s, 0), (s, 1)]).filter(|(s, _)| s.general) {
                let coef = op.coef.each_ref().map(|c| window(&c[colour], span.at(), span.len()));
                if !coef.iter().any(|c| c.iter().fold(false, |any, &c| any | sliver(c))) {
                    continue;
                }
                for m in 0..span.len() {
                    let cell = [2 * (span.m0() + m) + row.t(colour), row.j, row.k];
                    for axis in (0..3).filter(|&axis| sliver(coef[axis][m])) {
                        let mut below = cell;
                        below[axis] -= 1;
                        found.extend([cell, below]);
                    }
                }
            }
        }
        found
    });
    found.into_iter().flatten().collect()
}
