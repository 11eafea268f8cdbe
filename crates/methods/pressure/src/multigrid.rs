//! The hierarchy and its symmetric V-cycle.

use crate::coarsen::{coarsen, open_faces, open_faces_from};
use crate::coarsest::Coarsest;
use crate::components::Components;
use crate::discretise::{TaskResult, discretise};
use crate::layout::{EMPTY, LEFT, Split, clear_left};
use crate::operator::Operator;
use crate::transfer::Transfer;
use crate::{PoissonProblem, PrepareInfo};

/// Coarsening stops at this many cells.
const COARSEST_CELLS: usize = 100;
/// Red-black sweeps before and after the coarse correction.
const SWEEPS: usize = 2;

/// One level: its operator, its solution and right side, and the way down to the next.
pub(crate) struct Level {
    pub op: Operator,
    pub x: Split,
    pub b: Split,
    /// Residual of colour 0.
    residual: Vec<f32>,
    /// To the next coarser level.
    down: Option<Transfer>,
}

/// Levels from fine to coarse.
pub(crate) struct Multigrid {
    pub levels: Vec<Level>,
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
            let (x, b) = (op.layout.zeros(), op.layout.zeros());
            let residual = vec![0.0; op.layout.len()];
            let last = size.iter().product::<usize>() <= COARSEST_CELLS;
            let next = size.map(|n| n.div_ceil(2));
            let down = (!last).then(|| Transfer::new(size, crate::layout::Layout::new(next)));
            levels.push(Level { op, x, b, residual, down });
            if last {
                break;
            }
            size = next;
        }
        Multigrid {
            levels,
            coarsest: Coarsest::default(),
            components: Components::default(),
            task_results: Vec::new(),
        }
    }

    /// Builds all levels. `also` is cleared where the liquid has left.
    pub fn prepare(&mut self, problem: &PoissonProblem, also: &mut Split<f64>) -> PrepareInfo {
        let finest = &mut self.levels[0];
        discretise(&mut finest.op, &mut finest.x, problem, &mut self.task_results);
        let l = finest.op.layout;
        also.iter_mut().for_each(|v| clear_left(v, &finest.op.class, &l, l.stride, 1));
        self.components.find(&finest.op, self.task_results.iter().map(|t| &t.runs[..]));
        for n in 1..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(n);
            let (fine, coarse) = (&mut finer[n - 1], &mut coarser[0]);
            clear_level(&mut fine.op, &mut fine.residual);
            let transfer = fine.down.as_mut().expect("a coarser level");
            coarsen(&mut coarse.op, &mut coarse.x, transfer.halved, &fine.op, &fine.x);
            let stride = transfer.stride();
            clear_left(&mut transfer.values, &coarse.op.class, &transfer.coarse, stride, 2);
            if n == 1 {
                open_faces(transfer, problem);
            } else {
                let (finer, this) = finer.split_at_mut(n - 1);
                let from = finer[n - 2].down.as_ref().expect("a coarser level");
                open_faces_from(this[0].down.as_mut().expect("a coarser level"), from);
            }
        }
        let last = self.levels.last_mut().expect("one level");
        clear_level(&mut last.op, &mut last.residual);
        self.coarsest.factor(&last.op, &last.x);
        PrepareInfo {
            unknowns: self.task_results.iter().map(|t| t.unknowns).sum(),
            theta_floors: self.task_results.iter().map(|t| t.theta_floors).sum(),
            components: self.components.count,
            sealed_components: self.components.sealed_count,
        }
    }

    /// `levels[0].x = M levels[0].b`, M symmetric and positive definite.
    pub fn cycle(&mut self) {
        let last = self.levels.len() - 1;
        for n in 0..last {
            let (finer, coarser) = self.levels.split_at_mut(n + 1);
            let (fine, coarse) = (&mut finer[n], &mut coarser[0]);
            fine.op.relax_from_zero(&mut fine.x, &fine.b, 0);
            fine.op.relax(&mut fine.x, &fine.b, 1);
            for _ in 1..SWEEPS {
                fine.op.relax(&mut fine.x, &fine.b, 0);
                fine.op.relax(&mut fine.x, &fine.b, 1);
            }
            fine.op.residual(&mut fine.residual, &fine.x, &fine.b, 0);
            let down = fine.down.as_mut().expect("a coarser level");
            down.restrict(&mut coarse.b, &fine.residual, &fine.op.layout, &coarse.op);
        }
        let bottom = &mut self.levels[last];
        self.coarsest.solve(&mut bottom.x, &bottom.b);
        for n in (0..last).rev() {
            let (finer, coarser) = self.levels.split_at_mut(n + 1);
            let (fine, coarse) = (&mut finer[n], &mut coarser[0]);
            let down = fine.down.as_mut().expect("a coarser level");
            down.gather(&coarse.x, &coarse.op);
            down.prolong(&mut fine.x[0], &fine.op);
            for _ in 0..SWEEPS {
                fine.op.relax(&mut fine.x, &fine.b, 1);
                fine.op.relax(&mut fine.x, &fine.b, 0);
            }
        }
        let finest = &mut self.levels[0];
        self.components.remove_means(&mut finest.x, &finest.op.layout, |v| v as f32);
    }
}

/// Clears what stencils could still read where the liquid has left, and forgets that it was there.
fn clear_level(op: &mut Operator, residual: &mut [f32]) {
    let l = op.layout;
    clear_left(residual, &op.class, &l, l.stride, 1);
    op.class.iter_mut().filter(|c| **c == LEFT).for_each(|c| *c = EMPTY);
}
