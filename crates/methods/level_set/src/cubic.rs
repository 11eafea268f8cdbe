//! Tricubic interpolation of cell-centred values: the Lagrange cubic through four samples per axis.
//!
//! Fourth order, exact for cubics, and it passes through the samples. Between the outermost two samples of an
//! axis it is the parabola of the three nearest; beyond them it goes on linearly, so that planes stay planes
//! through the walls. No stencil reaches more than two samples away from the point (where a saturated phi
//! would spoil it). An axis of fewer than four samples uses the polynomial that they allow.

use fluvial_grids::Lattice;

/// Weights of four consecutive samples along one axis and their derivatives per grid unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AxisWeights {
    /// Index of the first sample.
    pub base: usize,
    /// Weights of the value.
    pub w: [f32; 4],
    /// First derivative of the weights.
    pub d: [f32; 4],
    /// Second derivative of the weights.
    pub dd: [f32; 4],
}

/// Where along an axis of `n >= 4` samples the point `index + offset` lies: first sample of its stencil,
/// position relative to the second one inside the hull, overshoot beyond the hull.
#[inline]
fn locate(index: usize, offset: f32, n: usize) -> (usize, f32, f32) {
    let inside = offset.max(-(index as f32)).min((n - 1 - index) as f32);
    let low = index as i32 + inside.floor() as i32 - 1;
    let base = low.max(0).min(n as i32 - 4);
    (base as usize, inside - (base + 1 - index as i32) as f32, offset - inside)
}

/// Lagrange weights of samples at -1, 0, 1, 2. Written with t and 1 - t so that mirroring mirrors the bits.
#[inline]
fn cubic_weights(t: f32) -> [f32; 4] {
    let r = 1.0 - t;
    let (tr, t1, r1) = (t * r, 1.0 + t, 1.0 + r);
    [-tr * r1 * (1.0 / 6.0), t1 * r1 * r * 0.5, t1 * r1 * t * 0.5, -tr * t1 * (1.0 / 6.0)]
}

#[inline]
fn cubic_slopes(t: f32) -> [f32; 4] {
    let t2 = 3.0 * t * t;
    [
        -(t2 - 6.0 * t + 2.0) * (1.0 / 6.0),
        (t2 - 4.0 * t - 1.0) * 0.5,
        -(t2 - 2.0 * t - 2.0) * 0.5,
        (t2 - 1.0) * (1.0 / 6.0),
    ]
}

#[inline]
fn cubic_bends(t: f32) -> [f32; 4] {
    [1.0 - t, 3.0 * t - 2.0, 1.0 - 3.0 * t, t]
}

/// Value, slope and bend weights of the parabola through samples at 0, 1, 2.
#[inline]
fn parabola(s: f32) -> [[f32; 3]; 3] {
    [
        [0.5 * (1.0 - s) * (2.0 - s), s * (2.0 - s), -0.5 * s * (1.0 - s)],
        [s - 1.5, 2.0 - 2.0 * s, s - 0.5],
        [1.0, -2.0, 1.0],
    ]
}

impl AxisWeights {
    /// Weights with derivatives.
    #[inline(always)]
    pub fn at(index: usize, offset: f32, n: usize) -> Self {
        if n < 4 {
            return Self::short(index, offset, n);
        }
        let (base, t, beyond) = locate(index, offset, n);
        if (0.0..=1.0).contains(&t) {
            return AxisWeights { base, w: cubic_weights(t), d: cubic_slopes(t), dd: cubic_bends(t) };
        }
        Self::at_an_end(base, t, beyond)
    }

    /// One end or the other (there mirrored, which turns the sign of slopes).
    #[inline(never)]
    fn at_an_end(base: usize, t: f32, beyond: f32) -> Self {
        if t < 0.0 {
            let [w, d, dd] = parabola(t + 1.0).map(|[a, b, c]| [a, b, c, 0.0]);
            AxisWeights { base, w, d, dd }.continued(beyond)
        } else {
            let [w, d, dd] = parabola(2.0 - t).map(|[a, b, c]| [0.0, c, b, a]);
            AxisWeights { base, w, d: d.map(|v| -v), dd }.continued(beyond)
        }
    }

    /// Linear continuation by `beyond` past the hull.
    #[inline]
    fn continued(mut self, beyond: f32) -> Self {
        if beyond != 0.0 {
            for m in 0..4 {
                self.w[m] += beyond * self.d[m];
            }
            self.dd = [0.0; 4];
        }
        self
    }

    /// One to three samples: constant, linear or quadratic.
    #[cold]
    fn short(index: usize, offset: f32, n: usize) -> Self {
        let inside = offset.max(-(index as f32)).min((n - 1 - index) as f32);
        let s = index as f32 + inside;
        let [w, d, dd] = match n {
            1 => [[1.0, 0.0, 0.0, 0.0], [0.0; 4], [0.0; 4]],
            2 => [[1.0 - s, s, 0.0, 0.0], [-1.0, 1.0, 0.0, 0.0], [0.0; 4]],
            _ => parabola(s).map(|[a, b, c]| [a, b, c, 0.0]),
        };
        AxisWeights { base: 0, w, d, dd }.continued(offset - inside)
    }
}

/// Value, gradient and second derivatives (xx, yy, zz, xy, xz, yz), per grid unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Jet {
    pub value: f32,
    pub gradient: [f32; 3],
    pub hessian: [f32; 6],
}

impl Jet {
    /// The jet of `factor` times the field.
    #[inline]
    pub fn scaled(mut self, factor: f32) -> Self {
        self.value *= factor;
        self.gradient.iter_mut().chain(&mut self.hessian).for_each(|v| *v *= factor);
        self
    }
}

/// A cell-centred field to interpolate.
#[derive(Clone, Copy)]
pub(crate) struct CubicField<'a> {
    values: &'a [f32],
    size: [usize; 3],
}

impl<'a> CubicField<'a> {
    pub fn new(values: &'a [f32], lattice: &Lattice) -> Self {
        assert_eq!(values.len(), lattice.len());
        CubicField { values, size: lattice.size }
    }

    /// Four consecutive values of a row; beyond a short row the last one again (its weight is zero).
    #[inline]
    fn row(&self, bx: usize, j: usize, k: usize) -> [f32; 4] {
        let [nx, ny, nz] = self.size;
        let start = nx * (j.min(ny - 1) + ny * k.min(nz - 1));
        if nx >= 4 {
            let at = start + bx;
            self.values[at..at + 4].try_into().unwrap()
        } else {
            std::array::from_fn(|m| self.values[start + m.min(nx - 1)])
        }
    }

    /// Interpolated value at the point `offset` grid units from sample `cell`.
    #[inline]
    pub fn value(&self, cell: [usize; 3], offset: [f32; 3]) -> f32 {
        let x = AxisWeights::at(cell[0], offset[0], self.size[0]);
        let y = AxisWeights::at(cell[1], offset[1], self.size[1]);
        let z = AxisWeights::at(cell[2], offset[2], self.size[2]);
        let mut sum = [0.0f32; 4];
        for m in 0..4 {
            let mut plane = [0.0f32; 4];
            for l in 0..4 {
                let row = self.row(x.base, y.base + l, z.base + m);
                for i in 0..4 {
                    plane[i] += y.w[l] * row[i];
                }
            }
            for i in 0..4 {
                sum[i] += z.w[m] * plane[i];
            }
        }
        dot4(sum, x.w)
    }

    /// How far beyond the outermost samples a point lies, in cells (negative inside).
    #[inline]
    pub fn beyond_hull(&self, cell: [usize; 3], offset: [f32; 3]) -> f32 {
        let mut beyond = f32::NEG_INFINITY;
        for a in 0..3 {
            let (low, high) = (-(cell[a] as f32), (self.size[a] - 1 - cell[a]) as f32);
            beyond = beyond.max(low - offset[a]).max(offset[a] - high);
        }
        beyond
    }

    /// The point nearest to the given one that lies at most `overhang` beyond the outermost samples.
    #[inline]
    pub fn moved_inside(&self, cell: [usize; 3], offset: [f32; 3], overhang: f32) -> [f32; 3] {
        std::array::from_fn(|a| {
            let (low, high) = (-(cell[a] as f32), (self.size[a] - 1 - cell[a]) as f32);
            offset[a].max(low - overhang).min(high + overhang)
        })
    }

    /// Do the samples that the interpolant at a point is made of show both signs?
    pub fn shows_interface(&self, cell: [usize; 3], offset: [f32; 3]) -> bool {
        let [x, y, z] = [0, 1, 2].map(|a| AxisWeights::at(cell[a], offset[a], self.size[a]).base);
        let mut found = [false; 2];
        for (m, l) in (0..4).flat_map(|m| (0..4).map(move |l| (m, l))) {
            for value in self.row(x, y + l, z + m) {
                found[(value < 0.0) as usize] = true;
            }
        }
        found == [true; 2]
    }

    /// Interpolated value with first and second derivatives.
    #[inline]
    pub fn jet(&self, cell: [usize; 3], offset: [f32; 3]) -> Jet {
        let x = AxisWeights::at(cell[0], offset[0], self.size[0]);
        let y = AxisWeights::at(cell[1], offset[1], self.size[1]);
        let z = AxisWeights::at(cell[2], offset[2], self.size[2]);
        // Names: which derivative was taken along (y, z); lanes run along x.
        let [mut v, mut vy, mut vyy, mut vz, mut vyz, mut vzz] = [[0.0f32; 4]; 6];
        for m in 0..4 {
            let [mut p, mut py, mut pyy] = [[0.0f32; 4]; 3];
            for l in 0..4 {
                let row = self.row(x.base, y.base + l, z.base + m);
                for i in 0..4 {
                    p[i] += y.w[l] * row[i];
                    py[i] += y.d[l] * row[i];
                    pyy[i] += y.dd[l] * row[i];
                }
            }
            for i in 0..4 {
                v[i] += z.w[m] * p[i];
                vz[i] += z.d[m] * p[i];
                vzz[i] += z.dd[m] * p[i];
                vy[i] += z.w[m] * py[i];
                vyz[i] += z.d[m] * py[i];
                vyy[i] += z.w[m] * pyy[i];
            }
        }
        Jet {
            value: dot4(v, x.w),
            gradient: [dot4(v, x.d), dot4(vy, x.w), dot4(vz, x.w)],
            hessian: [
                dot4(v, x.dd),
                dot4(vyy, x.w),
                dot4(vzz, x.w),
                dot4(vy, x.d),
                dot4(vz, x.d),
                dot4(vyz, x.w),
            ],
        }
    }

    /// Trilinear value and the smallest and largest of the samples around it (the value itself included,
    /// for beyond the outermost samples it is continued linearly).
    #[inline]
    pub fn linear_with_bounds(&self, cell: [usize; 3], offset: [f32; 3]) -> (f32, f32, f32) {
        let split = |axis: usize| {
            let (n, c, o) = (self.size[axis], cell[axis], offset[axis]);
            if n == 1 {
                return (0, 0.0, 0);
            }
            let low = (c as isize + o.floor() as isize).clamp(0, n as isize - 2);
            (low as usize, o - (low - c as isize) as f32, 1)
        };
        let ((i, fx, ox), (j, fy, oy), (k, fz, oz)) = (split(0), split(1), split(2));
        let (sx, sy, sz) = (ox, oy * self.size[0], oz * self.size[0] * self.size[1]);
        let base = i + self.size[0] * (j + self.size[1] * k);
        let v = &self.values[base..base + sx + sy + sz + 1];
        let c = [v[0], v[sx], v[sy], v[sx + sy], v[sz], v[sx + sz], v[sy + sz], v[sx + sy + sz]];
        let lerp = |a: f32, b: f32, t: f32| a + t * (b - a);
        let low = lerp(lerp(c[0], c[1], fx), lerp(c[2], c[3], fx), fy);
        let high = lerp(lerp(c[4], c[5], fx), lerp(c[6], c[7], fx), fy);
        let value = lerp(low, high, fz);
        let min = c.iter().fold(value, |a, &b| a.min(b));
        let max = c.iter().fold(value, |a, &b| a.max(b));
        (value, min, max)
    }
}

#[inline]
fn dot4(a: [f32; 4], b: [f32; 4]) -> f32 {
    // Outer and inner pairs, so that mirroring swaps commuting operands only.
    (a[0] * b[0] + a[3] * b[3]) + (a[1] * b[1] + a[2] * b[2])
}
