//! Terms of low rank beside a sparse operator.

/// Numbers of a block: a rigid body's velocity has six components.
pub const RANK: usize = 6;

/// `G K G^T` with a few rows of `G` that are not zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// The rows of G that are not zero, ascending.
    pub rows: Vec<u32>,
    /// Their values.
    pub values: Vec<[f32; RANK]>,
    /// K, symmetric and positive semidefinite.
    pub weight: [[f64; RANK]; RANK],
}

impl Block {
    /// `G^T x`.
    pub fn gather(&self, x: &[f32]) -> [f64; RANK] {
        let mut sum = [0.0; RANK];
        for (&row, values) in self.rows.iter().zip(&self.values) {
            (0..RANK).for_each(|c| sum[c] += f64::from(values[c]) * f64::from(x[row as usize]));
        }
        sum
    }

    /// `out += G y`.
    pub fn scatter(&self, out: &mut [f32], y: &[f64; RANK]) {
        for (&row, values) in self.rows.iter().zip(&self.values) {
            out[row as usize] += (0..RANK).map(|c| f64::from(values[c]) * y[c]).sum::<f64>() as f32;
        }
    }
}

/// `K x` for a square matrix.
pub fn weigh(weight: &[[f64; RANK]; RANK], x: &[f64; RANK]) -> [f64; RANK] {
    std::array::from_fn(|r| (0..RANK).map(|c| weight[r][c] * x[c]).sum())
}

/// A sum of [`Block`]s: what `A + sum G K G^T` has beside `A`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LowRank {
    /// Each with its own columns.
    pub blocks: Vec<Block>,
}
