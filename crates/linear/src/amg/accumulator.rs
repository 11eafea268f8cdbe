//! Sparse sums: rows of a product while they are summed.

use std::sync::Mutex;

/// The sum of one column, if it belongs to the row of that stamp.
#[derive(Clone, Copy, Default)]
struct Slot {
    sum: f64,
    stamp: u32,
}

/// One row of a product. Sums are f64 and added in the order of the calls. There is a slot for every column;
/// as rows that follow each other touch much the same columns, those few slots stay in cache.
pub(super) struct Accumulator {
    slots: Vec<Slot>,
    stamp: u32,
    /// The row's columns, in the order in which they came.
    pub columns: Vec<u32>,
}

impl Accumulator {
    /// For rows with so many columns.
    fn new(columns: usize) -> Self {
        Accumulator { slots: vec![Slot::default(); columns], stamp: 0, columns: Vec::new() }
    }

    /// Begins a row.
    pub fn begin(&mut self) {
        self.columns.clear();
        if self.stamp == u32::MAX {
            self.slots.fill(Slot::default());
            self.stamp = 0;
        }
        self.stamp += 1;
    }

    /// Adds to a column's sum.
    #[inline(always)]
    pub fn add(&mut self, column: u32, value: f64) {
        let slot = &mut self.slots[column as usize];
        if slot.stamp == self.stamp {
            slot.sum += value;
        } else {
            *slot = Slot { sum: value, stamp: self.stamp };
            self.columns.push(column);
        }
    }

    /// The sum of one of the row's columns.
    #[inline(always)]
    pub fn sum(&self, column: u32) -> f64 {
        self.slots[column as usize].sum
    }
}

/// Accumulators for tasks that run at the same time: as many as there are threads, not as there are tasks.
pub(super) struct Pool {
    columns: usize,
    free: Mutex<Vec<Accumulator>>,
}

impl Pool {
    pub fn new(columns: usize) -> Self {
        Pool { columns, free: Mutex::new(Vec::new()) }
    }

    /// Lends an accumulator to `body`.
    pub fn with<T>(&self, body: impl FnOnce(&mut Accumulator) -> T) -> T {
        let free = self.free.lock().expect("no task panics with the lock").pop();
        let mut work = free.unwrap_or_else(|| Accumulator::new(self.columns));
        let result = body(&mut work);
        self.free.lock().expect("no task panics with the lock").push(work);
        result
    }
}
