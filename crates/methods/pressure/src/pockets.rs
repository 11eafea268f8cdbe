//! Small pockets that hang on the rest of the liquid by slivers.
//!
//! The level of such a pocket is a mode of its own whose eigenvalue is as small as the slivers: smoothing moves it only
//! through them, a coarse cell does not tell the pocket from its surroundings, and once it is far larger than the
//! differences inside, f32 cannot carry it. So the level is found apart, in f64: before corrections are computed the solution
//! is shifted, pocket by pocket, until no pocket's residual has a sum (the Galerkin condition for functions that are
//! constant on pockets). Verified by `tests/pockets.rs`.

use crate::layout::{GENERAL, Split};
use crate::operator::Operator;
use fluvial_foundation::parallel;
use std::collections::HashMap;

/// Coefficients below this hold nothing together. Above it multigrid does well by itself.
const SLIVER: f32 = 0.15;
/// Larger bodies have coarse cells of their own.
const MOST_CELLS: usize = 64;
/// Pockets whose residuals' sums are a smaller part of the residual are left alone.
const WORTH: f64 = 1e-4;

/// Colour and place.
type Cell = (usize, usize);

/// The pockets of the finest level.
#[derive(Default)]
pub(crate) struct Pockets {
    cells: Vec<Cell>,
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
                out += excess[cell.0][cell.1];
                for (c, beyond) in neighbours(op, cell).into_iter().filter(|(c, _)| *c > 0.0 && *c < SLIVER) {
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
            for (_, beyond) in neighbours(op, self.cells[next]).into_iter().filter(|(c, _)| *c >= SLIVER) {
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
        let outlet: f64 = cells.iter().map(|c| excess[c.0][c.1]).sum();
        if large || cells.len() < 2 || outlet >= SLIVER as f64 {
            cells.iter().for_each(|c| *labels.get_mut(c).expect("labelled") = Label::Other);
            self.cells.truncate(first);
        } else {
            self.start.push(self.cells.len());
        }
    }

    /// Shifts the pockets in `x` so that the residual `r`, whose sum of squares is given, loses its sum in each;
    /// false where they have none worth it and nothing was done.
    pub fn shift(&mut self, x: &mut Split<f64>, r: &Split, square: f64) -> bool {
        let sum_of = |w: &[usize]| self.cells[w[0]..w[1]].iter().map(|c| r[c.0][c.1] as f64).sum::<f64>();
        self.sum.clear();
        self.sum.extend(self.start.windows(2).map(sum_of));
        let sums: f64 = self.sum.iter().map(|s| s * s).sum();
        if sums.is_nan() || sums <= WORTH * WORTH * square {
            return false;
        }
        self.solve();
        for (w, shift) in self.start.windows(2).zip(&self.shift) {
            self.cells[w[0]..w[1]].iter().for_each(|c| x[c.0][c.1] += shift);
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

/// Coefficient and cell beyond each of the six faces.
fn neighbours(op: &Operator, (colour, place): Cell) -> [(f32, Cell); 6] {
    let stride = op.layout.stride;
    let starts = op.neighbour_starts(op.row(place / stride, colour), place % stride);
    std::array::from_fn(|face| {
        let (axis, beyond) = (face / 2, starts[face]);
        let c = if face & 1 == 0 { op.coef[axis][colour][place] } else { op.coef[axis][1 - colour][beyond] };
        (c, (1 - colour, beyond))
    })
}

/// The cells on both sides of every sliver, in order.
fn beside_slivers(op: &Operator) -> Vec<Cell> {
    let l = &op.layout;
    let found = parallel::map_indices(l.tasks(), |task| {
        let mut found = Vec::new();
        for row in task * l.task_rows..((task + 1) * l.task_rows).min(l.rows) {
            if !l.class_row(&op.class, row).contains(&GENERAL) {
                continue;
            }
            let places = row * l.stride..row * l.stride + l.half;
            let sliver = |c: f32| c > 0.0 && c < SLIVER;
            for colour in 0..2 {
                let any = |c: &Split| c[colour][places.clone()].iter().fold(false, |any, &c| any | sliver(c));
                if !op.coef.iter().any(any) {
                    continue;
                }
                for place in places.clone() {
                    for axis in (0..3).filter(|&a| sliver(op.coef[a][colour][place])) {
                        found.extend([(colour, place), neighbours(op, (colour, place))[2 * axis].1]);
                    }
                }
            }
        }
        found
    });
    found.into_iter().flatten().collect()
}
