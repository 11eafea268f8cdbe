//! Filling in the numbers of a level, in parallel, row by row.

use crate::layout::{Layout, Split, window_mut};
use crate::operator::Operator;
use crate::storage::{ActiveRow, Storage, resize, split};
use fluvial_foundation::parallel;

/// Blocks of one row, to be written.
pub(crate) struct Filling<'a, E> {
    pub layout: &'a Layout,
    pub storage: &'a Storage,
    diag: [&'a mut [f32]; 2],
    coef: [[&'a mut [f32]; 2]; 3],
    excess: [&'a mut [E]; 2],
    class: &'a mut [u8],
    /// First address and first row.
    start: usize,
    first_row: usize,
}

/// The numbers of one colour in a block.
pub(crate) struct Numbers<'a, E> {
    pub diag: &'a mut [f32],
    pub coef: [&'a mut [f32]; 3],
    pub excess: &'a mut [E],
}

impl<E> Filling<'_, E> {
    /// `len` places from address `at`.
    pub fn numbers(&mut self, colour: usize, at: usize, len: usize) -> Numbers<'_, E> {
        let at = at - self.start;
        Numbers {
            diag: window_mut(self.diag[colour], at, len),
            coef: self.coef.each_mut().map(|c| window_mut(c[colour], at, len)),
            excess: window_mut(self.excess[colour], at, len),
        }
    }

    pub fn set_class(&mut self, row: usize, block: usize, class: u8) {
        self.class[(row - self.first_row) * self.layout.blocks + block] = class;
    }
}

impl Operator {
    /// Memory for the active blocks, with zeros; then `body(filling, row, result)` for every active row, with
    /// a result for each task.
    pub fn fill<E: Copy + Default + Send + Sync, R: Send>(
        &mut self,
        excess: &mut Split<E>,
        results: &mut Vec<R>,
        new_result: impl FnMut() -> R,
        body: impl Fn(&mut Filling<E>, ActiveRow, &mut R) + Sync + Send,
    ) {
        self.build_storage();
        let Operator { layout, storage, diag, coef, class, .. } = self;
        let (layout, storage) = (&*layout, &*storage);
        for e in excess.iter_mut() {
            resize(e, storage.len());
        }
        results.resize_with(storage.tasks.len(), new_result);
        let ends = || storage.tasks.iter().map(|task| task.end);
        let [[x0, x1], [y0, y1], [z0, z1]] = coef.each_mut().map(|c| c.each_mut().map(|v| &mut v[..]));
        let [d0, d1] = diag.each_mut().map(|v| &mut v[..]);
        let numbers = split([d0, d1, x0, x1, y0, y1, z0, z1], ends());
        let excess = split(excess.each_mut().map(|v| &mut v[..]), ends());
        let class = split([&mut class[..]], storage.tasks.iter().map(|task| task.rows.end * layout.blocks));
        let mut tasks: Vec<_> = (numbers.into_iter().zip(excess))
            .zip(class.into_iter().zip(&storage.tasks))
            .map(|((numbers, excess), ([class], task))| {
                let [d0, d1, x0, x1, y0, y1, z0, z1] = numbers;
                let coef = [[x0, x1], [y0, y1], [z0, z1]];
                let (start, first_row) = (task.start, task.rows.start);
                Filling { layout, storage, diag: [d0, d1], coef, excess, class, start, first_row }
            })
            .zip(results)
            .collect();
        parallel::for_each_chunk_mut(&mut tasks, 1, |n, task| {
            let (task, result) = &mut task[0];
            let values = task.diag.iter_mut().chain(task.coef.iter_mut().flatten());
            values.for_each(|v| v.fill(0.0));
            task.excess.iter_mut().for_each(|v| v.fill(E::default()));
            for n in storage.tasks[n].active.clone() {
                body(task, storage.rows[n], result);
            }
        });
        self.spans.find(&self.class, &self.layout, &self.storage);
    }
}
