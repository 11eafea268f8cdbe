//! Strong connections and aggregates.

use crate::sparse::FluxMatrix;
use fluvial_foundation::parallel;
use fluvial_foundation::parallel::map_chunks;

/// Rows whose flags are kept together.
const FLAG_ROWS: usize = 4096;
/// An unknown without strong connections joins the aggregate of a neighbour that contributes at least this
/// share of its diagonal.
const FOLLOW: f64 = 0.25;

/// In no aggregate: left to the smoother.
pub(super) const ISOLATED: u32 = u32::MAX;
const FREE: u32 = u32::MAX - 1;

/// How an unknown is connected.
#[derive(Clone, Copy, Default, PartialEq)]
enum Kind {
    /// It has no connection of any weight: the smoother solves it.
    #[default]
    Alone,
    /// Its neighbours are strong for it, while it is weak for them.
    Follower,
    /// It has strong connections.
    Strong,
}

/// The strong connections of a matrix.
pub(super) struct Strength {
    kind: Vec<Kind>,
    /// A bit per entry, rows of [`FLAG_ROWS`] together.
    flags: Vec<Vec<u64>>,
}

impl Strength {
    /// `a_ij^2 > threshold^2 a_ii a_jj` [vanek-1996 eq. 5]. That measure, being symmetric, calls a
    /// small coefficient weak even where it is all that an unknown has (the dead end behind a nearly closed
    /// face). For such an unknown every connection counts as strong that makes a large part of its diagonal.
    pub fn new(a: &FluxMatrix<f32>, threshold: f64) -> Self {
        let rows = a.excess.len();
        let mut diagonal = vec![0.0f32; rows];
        map_chunks(&mut diagonal, FLAG_ROWS, |rows, diagonal| {
            diagonal.iter_mut().zip(rows).for_each(|(d, row)| *d = a.diagonal(row) as f32);
        });
        let mut kind = vec![Kind::Alone; rows];
        let threshold = (threshold * threshold) as f32;
        let flags = map_chunks(&mut kind, FLAG_ROWS, |rows, kind| {
            let first = a.off.start[rows.start] as usize;
            let entries = a.off.start[rows.end] as usize - first;
            let mut flags = vec![0u64; entries.div_ceil(64)];
            for (kind, row) in kind.iter_mut().zip(rows) {
                let range = a.off.range(row);
                let own = diagonal[row];
                let mut any = false;
                for n in range.clone() {
                    let value = a.off.value[n];
                    let strong = value * value > threshold * own * diagonal[a.off.column[n] as usize];
                    flags[(n - first) / 64] |= (strong as u64) << ((n - first) % 64);
                    any |= strong;
                }
                if any {
                    *kind = Kind::Strong;
                    continue;
                }
                for n in range.filter(|&n| a.off.value[n].abs() as f64 > FOLLOW * own as f64) {
                    flags[(n - first) / 64] |= 1 << ((n - first) % 64);
                    *kind = Kind::Follower;
                }
            }
            flags
        });
        Strength { kind, flags }
    }

    /// Calls `body(column, value, entry)` for the strong connections of a row until it gives false.
    #[inline(always)]
    pub fn all(&self, a: &FluxMatrix<f32>, row: usize, mut body: impl FnMut(usize, f32) -> bool) -> bool {
        let first = a.off.start[row - row % FLAG_ROWS] as usize;
        let flags = &self.flags[row / FLAG_ROWS];
        let range = a.off.range(row);
        let (column, value) = (&a.off.column[range.clone()], &a.off.value[range.clone()]);
        for n in 0..column.len() {
            let bit = range.start - first + n;
            if flags[bit / 64] >> (bit % 64) & 1 == 1 && !body(column[n] as usize, value[n]) {
                return false;
            }
        }
        true
    }

    /// [`Self::all`] without end.
    #[inline(always)]
    pub fn for_each(&self, a: &FluxMatrix<f32>, row: usize, mut body: impl FnMut(usize, f32)) {
        self.all(a, row, |column, value| {
            body(column, value);
            true
        });
    }

    pub fn bytes(&self) -> usize {
        self.kind.capacity() + self.flags.iter().map(|f| 8 * f.capacity()).sum::<usize>()
    }
}

/// Sets of strongly connected unknowns: the unknowns of the next level.
pub(super) struct Aggregates {
    /// Of each unknown, or [`ISOLATED`].
    pub of: Vec<u32>,
    pub count: usize,
}

impl Aggregates {
    /// Greedy, in the order of rows, so that aggregates are numbered like their unknowns: first whole
    /// neighbourhoods, then what is left joins its strongest neighbour, then the rest among itself
    /// [vanek-1996 Alg. 2].
    pub fn new(a: &FluxMatrix<f32>, strength: &Strength) -> Self {
        let rows = a.excess.len();
        let mut of = vec![FREE; rows];
        let mut count = 0u32;
        for row in 0..rows {
            if strength.kind[row] == Kind::Alone {
                of[row] = ISOLATED;
            } else if strength.kind[row] == Kind::Strong
                && of[row] == FREE
                && strength.all(a, row, |j, _| of[j] == FREE)
            {
                of[row] = count;
                strength.for_each(a, row, |j, _| of[j] = count);
                count += 1;
            }
        }
        let first = of.clone();
        let chunk = parallel::CHUNK;
        parallel::for_each_chunk_mut(&mut of, chunk, |n, of| {
            for (m, of) in of.iter_mut().enumerate().filter(|(_, of)| **of == FREE) {
                *of = strongest(a, strength, n * chunk + m, &first);
            }
        });
        for row in 0..rows {
            if of[row] != FREE {
                continue;
            }
            if strength.kind[row] == Kind::Follower {
                // Its neighbour has joined an aggregate already, or is alone: this one is then alone too.
                of[row] = strongest(a, strength, row, &of);
                if of[row] == FREE {
                    of[row] = ISOLATED;
                }
                continue;
            }
            of[row] = count;
            strength.for_each(a, row, |j, _| {
                if of[j] == FREE && strength.kind[j] == Kind::Strong {
                    of[j] = count;
                }
            });
            count += 1;
        }
        Aggregates { of, count: count as usize }
    }
}

/// Aggregate of the strongest connection that has one, or [`FREE`].
fn strongest(a: &FluxMatrix<f32>, strength: &Strength, row: usize, of: &[u32]) -> u32 {
    let (mut best, mut size) = (FREE, 0.0f32);
    strength.for_each(a, row, |j, value| {
        if of[j] < FREE && value.abs() > size {
            (best, size) = (of[j], value.abs());
        }
    });
    best
}
