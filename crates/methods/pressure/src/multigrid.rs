//! The hierarchy and its symmetric V-cycle.

use crate::PrepareInfo;
use crate::coarsen::{coarsen, face_weights, face_weights_from};
use crate::coarsest::Coarsest;
use crate::components::Components;
use crate::discretise::{Problem, TaskResult, discretise};
use crate::layout::Split;
use crate::operator::Operator;
use crate::storage::set_zeros;
use crate::sweep::{Stage, Sweep, Target};
use crate::transfer::Transfer;

/// Coarsening stops at this many cells.
const COARSEST_CELLS: usize = 100;

/// One level: its operator, its solution and right side, and the way down to the next.
pub(crate) struct Level {
    pub op: Operator,
    pub x: Split,
    pub b: Split,
    /// Residual of colour 0, restricted along x.
    restricted: Vec<f32>,
    /// `x . A x` and `x . b` of every slab.
    energy: Vec<[f64; 2]>,
    /// To the next coarser level.
    pub down: Option<Transfer>,
}

/// Levels from fine to coarse.
pub(crate) struct Multigrid {
    pub levels: Vec<Level>,
    /// What the finest diagonal holds beyond its coefficients: apart, so that true residuals need not take a
    /// difference of rounded numbers. (Coarser levels keep theirs in `x`, until the first cycle.)
    pub excess: Split<f64>,
    coarsest: Coarsest,
    pub components: Components,
    task_results: Vec<TaskResult>,
}

impl Multigrid {
    pub fn new(cells: [usize; 3]) -> Self {
        let mut levels = Vec::new();
        let mut size = cells;
        loop {
            let op = Operator::new(size);
            let last = size.iter().product::<usize>() <= COARSEST_CELLS;
            let next = size.map(|n| n.div_ceil(2));
            let down = (!last).then(|| Transfer::new(size, crate::layout::Layout::new(next)));
            levels.push(Level {
                op,
                x: Split::default(),
                b: Split::default(),
                restricted: Vec::new(),
                energy: vec![[0.0; 2]; size[2]],
                down,
            });
            if last {
                break;
            }
            size = next;
        }
        Multigrid {
            levels,
            excess: Split::default(),
            coarsest: Coarsest::default(),
            components: Components::default(),
            task_results: Vec::new(),
        }
    }

    /// Builds all levels.
    pub fn prepare(&mut self, problem: &Problem) -> PrepareInfo {
        let finest = &mut self.levels[0];
        discretise(&mut finest.op, &mut self.excess, problem, &mut self.task_results);
        self.components.find(&finest.op, self.task_results.iter().map(|t| &t.runs[..]));
        for n in 1..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(n);
            let (before, fine) = finer.split_at_mut(n - 1);
            let (fine, coarse) = (&mut fine[0], &mut coarser[0]);
            let transfer = fine.down.as_mut().expect("a coarser level");
            let halved = transfer.halved;
            match before.last() {
                None => {
                    coarsen(&mut coarse.op, &mut coarse.x, halved, &fine.op, &self.excess);
                    face_weights(transfer, &problem.geometry, &coarse.op.storage);
                }
                Some(before) => {
                    coarsen(&mut coarse.op, &mut coarse.x, halved, &fine.op, &fine.x);
                    let finer = before.down.as_ref().expect("a coarser level");
                    face_weights_from(transfer, finer, &coarse.op.storage);
                }
            }
            transfer.connect(&fine.op, &coarse.op);
            set_zeros(&mut fine.restricted, fine.op.storage.len());
        }
        let single = self.levels.len() == 1;
        let last = self.levels.last_mut().expect("one level");
        set_zeros(&mut last.restricted, last.op.storage.len());
        if single {
            self.coarsest.factor(&last.op, &self.excess);
        } else {
            self.coarsest.factor(&last.op, &last.x);
        }
        for level in &mut self.levels {
            level.op.storage.zeros(&mut level.x);
            level.op.storage.zeros(&mut level.b);
        }
        PrepareInfo {
            unknowns: self.task_results.iter().map(|t| t.unknowns).sum(),
            theta_floors: self.task_results.iter().map(|t| t.theta_floors).sum(),
            components: self.components.count,
            sealed_components: self.components.sealed_count,
        }
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> usize {
        let split = |s: &Split| 4 * (s[0].capacity() + s[1].capacity());
        let level = |l: &Level| {
            let down = l.down.as_ref().map_or(0, Transfer::bytes);
            let vectors = split(&l.x) + split(&l.b) + 4 * l.restricted.capacity();
            l.op.bytes() + vectors + size_of::<[f64; 2]>() * l.energy.capacity() + down
        };
        let runs = self.task_results.iter().map(TaskResult::bytes).sum::<usize>();
        let levels = self.levels.iter().map(level).sum::<usize>();
        levels
            + 2 * self.excess.iter().map(|v| 4 * v.capacity()).sum::<usize>()
            + self.coarsest.bytes()
            + self.components.bytes()
            + runs
    }

    /// `levels[0].x = M levels[0].b`, M symmetric and positive definite. Returns `x . A x` and `x . b`.
    pub fn cycle(&mut self) -> [f64; 2] {
        self.v_cycle(0, &DOWN, &UP_AND_ENERGY);
        if self.levels.len() == 1 {
            self.levels[0].sweep(&ENERGY);
        }
        let energy = &self.levels[0].energy;
        [energy.iter().map(|e| e[0]).sum(), energy.iter().map(|e| e[1]).sum()]
    }
}

impl Multigrid {
    /// A V-cycle from a level down and back; `down` and `up` are what is done on that level
    /// [tall Alg. 3], with two sweeps each way.
    fn v_cycle(&mut self, top: usize, down: &[Stage], up: &[Stage]) {
        let last = self.levels.len() - 1;
        for n in top..last {
            let (finer, coarser) = self.levels.split_at_mut(n + 1);
            let (fine, coarse) = (&mut finer[n], &mut coarser[0]);
            fine.sweep(if n == top { down } else { &DOWN });
            let transfer = fine.down.as_ref().expect("a coarser level");
            transfer.restrict(&mut coarse.b, &fine.restricted, &fine.op, &coarse.op);
        }
        let bottom = &mut self.levels[last];
        self.coarsest.solve(&mut bottom.x, &bottom.b);
        for n in (top..last).rev() {
            self.gather(n);
            self.levels[n].sweep(if n == top { up } else { &UP });
        }
    }

    /// Hands the solution of level `n + 1` to the transfer of level `n`.
    fn gather(&mut self, n: usize) {
        let (finer, coarser) = self.levels.split_at_mut(n + 1);
        finer[n].down.as_mut().expect("a coarser level").gather(&coarser[0].x, &coarser[0].op);
    }

    /// Room for [`Self::full_cycle`]: a residual for every level but the finest.
    pub fn size_residuals(&self, residuals: &mut Vec<Split>) {
        residuals.resize_with(self.levels.len() - 1, Split::default);
        residuals.iter_mut().zip(&self.levels[1..]).for_each(|(r, level)| level.op.storage.zeros(r));
    }

    /// `levels[0].x` from `levels[0].b` by a full cycle: the right side is restricted to the coarsest level,
    /// solved there, and on every finer level the interpolated solution is improved by a V-cycle [tall
    /// Alg. 4].
    pub fn full_cycle(&mut self, residuals: &mut [Split]) {
        for n in 0..residuals.len() {
            let (finer, coarser) = residuals.split_at_mut(n);
            let (fine, coarse) = (&mut self.levels[n], &mut coarser[0]);
            let transfer = fine.down.as_ref().expect("a coarser level");
            let r = finer.last().unwrap_or(&fine.b);
            fine.op.for_rows(&mut fine.restricted, |row, out| {
                transfer.restrict_both_along_x(out, r, &fine.op, row);
            });
            let (finer, coarser) = self.levels.split_at_mut(n + 1);
            let transfer = finer[n].down.as_ref().expect("a coarser level");
            transfer.restrict(coarse, &finer[n].restricted, &finer[n].op, &coarser[0].op);
        }
        let bottom = self.levels.last_mut().expect("one level");
        self.coarsest.solve(&mut bottom.x, residuals.last().unwrap_or(&bottom.b));
        for n in (0..residuals.len()).rev() {
            self.gather(n);
            if n > 0 {
                std::mem::swap(&mut self.levels[n].b, &mut residuals[n - 1]);
            }
            self.v_cycle(n, &DOWN_FROM_GUESS, &UP);
        }
    }
}

impl Level {
    fn sweep(&mut self, stages: &[Stage]) {
        let sweep = Sweep { op: &self.op, b: &self.b, down: self.down.as_ref() };
        let target =
            &mut Target { x: &mut self.x, restricted: &mut self.restricted, energy: &mut self.energy };
        sweep.run(stages, target);
    }

    /// The way down of a cycle, to be timed.
    pub fn descend(&mut self) {
        self.sweep(&DOWN);
    }

    /// The way up of a cycle, to be timed.
    pub fn ascend(&mut self) {
        self.sweep(&UP_AND_ENERGY);
    }
}

/// Two red-black sweeps from zero, then the residual.
const DOWN: [Stage; 5] =
    [Stage::Start(0), Stage::Relax(1), Stage::Relax(0), Stage::Relax(1), Stage::Residual];
/// The same from the coarse solution.
const DOWN_FROM_GUESS: [Stage; 6] =
    [Stage::Guess, Stage::Relax(0), Stage::Relax(1), Stage::Relax(0), Stage::Relax(1), Stage::Residual];
/// The coarse correction, then the same sweeps in reverse order.
const UP: [Stage; 5] = [Stage::Prolong, Stage::Relax(1), Stage::Relax(0), Stage::Relax(1), Stage::Relax(0)];
/// On the finest level, with what conjugate gradients want to know.
const UP_AND_ENERGY: [Stage; 6] = [UP[0], UP[1], UP[2], UP[3], UP[4], Stage::Energy];
const ENERGY: [Stage; 1] = [Stage::Energy];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::Case;
    use fluvial_foundation::random::unit_f32;

    fn prepared(case: &Case) -> Multigrid {
        let mut multigrid = Multigrid::new(case.cells);
        multigrid
            .prepare(&Problem { geometry: case.problem(), theta_min: fluvial_grids::GHOST_DISTANCE_FLOOR });
        multigrid
    }

    /// Random values at the unknowns, without mean where a component is sealed.
    fn random(multigrid: &mut Multigrid, seed: u64) -> Split {
        let op = &multigrid.levels[0].op;
        let mut v = Split::default();
        op.storage.zeros(&mut v);
        for colour in 0..2 {
            for n in (0..v[colour].len()).filter(|&n| op.diag[colour][n] != 0.0) {
                v[colour][n] = 2.0 * unit_f32(seed + colour as u64, n as u64) - 1.0;
            }
        }
        multigrid.components.remove_means(&mut v, &multigrid.levels[0].op, |x| x as f32);
        v
    }

    fn dot(a: &Split, b: &Split) -> f64 {
        let pairs = a.iter().flatten().zip(b.iter().flatten());
        pairs.map(|(x, y)| *x as f64 * *y as f64).sum()
    }

    fn apply(multigrid: &mut Multigrid, v: &Split) -> Split {
        multigrid.levels[0].b.clone_from(v);
        multigrid.cycle();
        multigrid.levels[0].x.clone()
    }

    #[test]
    fn the_cycle_is_symmetric_and_positive_definite() {
        for name in ["wavy-tank", "sealed", "sphere-jet-mid", "bubbly", "cut-walls"] {
            for n in [19, 36] {
                let mut multigrid = prepared(&Case::new(name, n).expect("a case"));
                for seed in 0..4 {
                    let (a, b) = (random(&mut multigrid, 10 * seed), random(&mut multigrid, 10 * seed + 5));
                    let (ma, mb) = (apply(&mut multigrid, &a), apply(&mut multigrid, &b));
                    let energies = [dot(&a, &ma), dot(&b, &mb)];
                    assert!(energies.iter().all(|&e| e > 0.0), "{name} {n}: {energies:?}");
                    let scale = (energies[0] * energies[1]).sqrt();
                    let (left, right) = (dot(&b, &ma), dot(&a, &mb));
                    assert!((left - right).abs() < 1e-5 * scale, "{name} {n}: {left} {right} {scale}");
                }
            }
        }
    }

    #[test]
    fn stages_in_tiles_give_the_same_bits_as_stage_after_stage() {
        let mut multigrid = prepared(&Case::new("sphere-jet-mid", 70).expect("a case"));
        let b = random(&mut multigrid, 1);
        let level = &mut multigrid.levels[0];
        level.b.clone_from(&b);
        level.sweep(&DOWN);
        let op = &level.op;
        let mut x = Split::default();
        op.storage.zeros(&mut x);
        let sweep_all = |x: &mut Split, colour: usize, from_zero: bool| {
            let [x0, x1] = x;
            let (out, other) = if colour == 0 { (x0, &*x1) } else { (x1, &*x0) };
            for row in (0..op.storage.rows.len()).map(|n| op.row(n)) {
                if from_zero {
                    op.relax_row_from_zero((out, 0), &b, row, colour);
                } else {
                    op.relax_row((out, 0), (other, 0), &b, row, colour);
                }
            }
        };
        for (colour, from_zero) in [(0, true), (1, false), (0, false), (1, false)] {
            sweep_all(&mut x, colour, from_zero);
        }
        assert!(x == level.x);
    }
}
