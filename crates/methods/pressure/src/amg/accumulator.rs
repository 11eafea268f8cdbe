//! Sparse sums: rows of a product while they are summed.

use std::sync::Mutex;

const NOBODY: u32 = u32::MAX;

/// One row of a product. Sums are f64 and added in the order of the calls.
pub(super) struct Accumulator {
    /// Place of each column in `column` and `value`, or [`NOBODY`].
    place: Vec<u32>,
    pub column: Vec<u32>,
    pub value: Vec<f64>,
    sorted: Vec<(u32, u32)>,
}

impl Accumulator {
    /// For rows with so many columns.
    fn new(columns: usize) -> Self {
        Accumulator {
            place: vec![NOBODY; columns],
            column: Vec::new(),
            value: Vec::new(),
            sorted: Vec::new(),
        }
    }

    /// Adds to a column's sum.
    #[inline(always)]
    pub fn add(&mut self, column: u32, value: f64) {
        let place = &mut self.place[column as usize];
        if *place == NOBODY {
            *place = self.column.len() as u32;
            self.column.push(column);
            self.value.push(value);
        } else {
            self.value[*place as usize] += value;
        }
    }

    /// Forgets all columns.
    pub fn clear(&mut self) {
        self.column.iter().for_each(|&c| self.place[c as usize] = NOBODY);
        self.column.clear();
        self.value.clear();
    }

    /// Calls `body(column, sum)` with columns ascending.
    pub fn for_sorted(&mut self, mut body: impl FnMut(u32, f64)) {
        self.sorted.clear();
        self.sorted.extend(self.column.iter().enumerate().map(|(n, &c)| (c, n as u32)));
        self.sorted.sort_unstable();
        self.sorted.iter().for_each(|&(c, n)| body(c, self.value[n as usize]));
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

    /// Lends a cleared accumulator to `body`, which must clear it.
    pub fn with<T>(&self, body: impl FnOnce(&mut Accumulator) -> T) -> T {
        let free = self.free.lock().expect("no task panics with the lock").pop();
        let mut work = free.unwrap_or_else(|| Accumulator::new(self.columns));
        let result = body(&mut work);
        self.free.lock().expect("no task panics with the lock").push(work);
        result
    }
}
