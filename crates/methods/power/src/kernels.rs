//! The Laplacian on one block of 4x4x4 cells: what the kernels on pages and on streams share.

use crate::rows::Row;
use fluvial_linear::krylov::Real;
use wide::{f32x4, f32x8};

/// A field in a block, x fastest.
pub type Block<T> = [T; 64];

/// Eight values in a row: two rows of cells.
type Eight<T> = [T; 8];

#[inline(always)]
fn eight<T: Real>(field: &Block<T>, start: usize) -> Eight<T> {
    std::array::from_fn(|n| field[start + n])
}

/// The last row of one block and the first of another, or the like.
#[inline(always)]
fn two_rows<T: Real>(a: &Block<T>, start_a: usize, b: &Block<T>, start_b: usize) -> Eight<T> {
    std::array::from_fn(|n| if n < 4 { a[start_a + n] } else { b[start_b + n - 4] })
}

/// Seven-point stencil on all cells of a block, two rows at a time; `sides` are the blocks beside it: x low, x high, y low, ...
#[inline(always)]
pub fn seven_point<T: Real>(out: &mut Block<T>, own: &Block<T>, sides: [&Block<T>; 6], scale: T) {
    let [xl, xh, yl, yh, zl, zh] = sides;
    for z in 0..4 {
        let below = if z > 0 { own } else { zl };
        let above = if z < 3 { own } else { zh };
        for half in 0..2 {
            let i = 8 * half + 16 * z;
            let c = eight(own, i);
            let around = [
                [xl[i + 3], c[0], c[1], c[2], xl[i + 7], c[4], c[5], c[6]],
                [c[1], c[2], c[3], xh[i], c[5], c[6], c[7], xh[i + 4]],
                if half == 0 { two_rows(yl, i + 12, own, i) } else { eight(own, i - 4) },
                if half == 0 { eight(own, i + 4) } else { two_rows(own, i + 4, yh, i - 8) },
                eight(below, (i + 48) % 64),
                eight(above, (i + 16) % 64),
            ];
            for n in 0..8 {
                // Differences, not six times the centre: constants then give zero to the last bit.
                let x = (c[n] - around[0][n]) + (c[n] - around[1][n]);
                let y = (c[n] - around[2][n]) + (c[n] - around[3][n]);
                let z = (c[n] - around[4][n]) + (c[n] - around[5][n]);
                out[i + n] = scale * ((x + y) + z);
            }
        }
    }
}

/// By four bits, one for the lanes that they keep.
const LANES: [[f32; 4]; 16] = {
    let mut all = [[0.0; 4]; 16];
    let mut n = 0;
    while n < 64 {
        if (n / 4) >> (n % 4) & 1 == 1 {
            all[n / 4][n % 4] = 1.0;
        }
        n += 1;
    }
    all
};

/// Zero in all cells but those of a mask.
#[inline(always)]
pub fn keep<T: Real>(mask: u64, out: &mut Block<T>) {
    for row in 0..16 {
        let lanes = &LANES[(mask >> (4 * row) & 15) as usize];
        for n in 0..4 {
            let value = &mut out[4 * row + n];
            *value = if lanes[n] != 0.0 { *value } else { T::default() };
        }
    }
}

/// The first cell of an octant of a block.
#[inline(always)]
pub fn first_of(octant: usize) -> usize {
    2 * (octant & 1) + 8 * (octant >> 1 & 1) + 32 * (octant >> 2)
}

/// A block's values and the ring of cells around it, without corners: planes along z of rows along x, of
/// which 6 of 8 places are used.
pub struct Ring<T>([[[T; 8]; 6]; 6]);

/// Three blocks beside each other along x.
type Three<'a, T> = [&'a Block<T>; 3];

impl<T: Real> Default for Ring<T> {
    fn default() -> Self {
        Ring([[[T::default(); 8]; 6]; 6])
    }
}

impl<T: Lanes> Ring<T> {
    /// Takes the block at (1, 1, 1) and what lies around it in those below (0) and above (2) it along x, y and z; corners are
    /// not asked for. In place: a ring that is returned would be copied, and reading values of 16 bytes that were written by 4
    /// waits for memory.
    #[inline(always)]
    pub fn load<'a>(&mut self, at: impl Fn(usize, usize, usize) -> &'a Block<T>)
    where
        T: 'a,
    {
        let ring = &mut self.0;
        let three = |y: usize, z: usize| -> Three<T> { [at(0, y, z), at(1, y, z), at(2, y, z)] };
        let (own, sides_y, sides_z) = (three(1, 1), [three(0, 1), three(2, 1)], [three(1, 0), three(1, 2)]);
        for n in 0..4 {
            for y in 0..4 {
                fill(&mut ring[n + 1][y + 1], own, 16 * n + 4 * y);
            }
            fill(&mut ring[n + 1][0], sides_y[0], 16 * n + 12);
            fill(&mut ring[n + 1][5], sides_y[1], 16 * n);
            fill(&mut ring[0][n + 1], sides_z[0], 48 + 4 * n);
            fill(&mut ring[5][n + 1], sides_z[1], 4 * n);
        }
        // Edges along x: one row each, without the corners at its ends.
        for (z, y, block, from) in [
            (0, 0, at(1, 0, 0), 60),
            (0, 5, at(1, 2, 0), 48),
            (5, 0, at(1, 0, 2), 12),
            (5, 5, at(1, 2, 2), 0),
        ] {
            ring[z][y][1..5].copy_from_slice(&block[from..from + 4]);
        }
    }

    /// Calls `body(cell, number, ring)` for the cells of a mask with their numbers. A plain loop over ones: iterators over them
    /// do not come out as lean.
    #[inline(always)]
    pub fn for_each(&self, mask: u64, numbers: &[u32], mut body: impl FnMut(usize, u32, &Self)) {
        let mut left = mask;
        for &number in &numbers[..mask.count_ones() as usize] {
            let cell = left.trailing_zeros() as usize & 63;
            left &= left.wrapping_sub(1);
            body(cell, number, self);
        }
    }

    /// The row's operator in a cell: nine times four products, of which a corner and the fourth are zero.
    #[inline(always)]
    pub fn apply(&self, row: &Row, cell: usize) -> T {
        let corner = (cell & 3) + 8 * (cell >> 2 & 3) + 48 * (cell >> 4);
        let values = self.0.as_flattened().as_flattened();
        let values: &[T; 116] = values[corner..corner + 116].try_into().expect("the ring reaches that far");
        T::row(values, row)
    }
}

/// Numbers of which a row takes its sum, four or eight at once where the compiler does not find them by itself.
pub trait Lanes: Real {
    /// The row's operator on nine lines of three values, at 0, 8, 16, 48, ...; a line's fourth value has no weight.
    fn row(values: &[Self; 116], row: &Row) -> Self;
}

impl Lanes for f64 {
    #[inline(always)]
    fn row(values: &[f64; 116], row: &Row) -> f64 {
        let own = values[57];
        let mut sum = f64::from(row.excess) * own;
        for (line, weight) in row.weight.iter().enumerate() {
            let start = 8 * (line % 3) + 48 * (line / 3);
            for n in 0..3 {
                sum += f64::from(weight[n]) * (own - values[start + n]);
            }
        }
        sum
    }
}

impl Lanes for f32 {
    #[inline(always)]
    fn row(values: &[f32; 116], row: &Row) -> f32 {
        let own = values[57];
        let center = f32x8::splat(own);
        let line = |n: usize| -> [f32; 4] {
            let start = 8 * (n % 3) + 48 * (n / 3);
            [values[start], values[start + 1], values[start + 2], values[start + 3]]
        };
        let two = |a: [f32; 4], b: [f32; 4]| f32x8::from([a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]);
        let pair = |n: usize| two(row.weight[n], row.weight[n + 1]) * (center - two(line(n), line(n + 1)));
        let last = f32x4::from(row.weight[8]) * (f32x4::splat(own) - f32x4::from(line(8)));
        let sum = (pair(0) + pair(2)) + (pair(4) + pair(6));
        sum.reduce_add() + last.reduce_add() + row.excess * own
    }
}

/// A row of four cells and the ones before and behind it, written at once: values of 16 bytes that are read soon after they
/// were written by 4 would wait.
#[inline(always)]
fn fill<T: Real>(row: &mut [T; 8], [low, middle, high]: Three<T>, from: usize) {
    let none = T::default();
    let m = &middle[from..from + 4];
    *row = [low[from + 3], m[0], m[1], m[2], m[3], high[from], none, none];
}
