//! A regular lattice of samples: the common geometry of cell centres, face centres and nodes.

use fluvial_foundation::parallel::{for_each_chunk_mut, for_each_chunk_mut2};
use fluvial_foundation::{Axis, Vec3};

/// `size[0] * size[1] * size[2]` samples, x fastest, `spacing` apart; sample (0,0,0) lies at `origin`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    /// Samples along each axis.
    pub size: [usize; 3],
    /// World position of sample (0,0,0), metres.
    pub origin: Vec3,
    /// Distance between neighbours, metres.
    pub spacing: f32,
}

/// The cell of eight samples around a point: the flat index of its low corner, the weights of its high side.
#[derive(Clone, Copy, Debug)]
pub struct Stencil {
    /// Flat index of the low corner.
    pub base: usize,
    /// Fraction towards the high side, 0 to 1 per axis.
    pub fraction: [f32; 3],
}

impl Lattice {
    /// Number of samples.
    #[allow(clippy::len_without_is_empty)] // a lattice without samples cannot be made
    #[inline]
    pub fn len(&self) -> usize {
        self.size[0] * self.size[1] * self.size[2]
    }

    /// Flat index of sample (i, j, k).
    #[inline]
    pub fn index(&self, i: usize, j: usize, k: usize) -> usize {
        debug_assert!(i < self.size[0] && j < self.size[1] && k < self.size[2]);
        i + self.size[0] * (j + self.size[1] * k)
    }

    /// (i, j, k) of a flat index.
    #[inline]
    pub fn coordinates(&self, index: usize) -> [usize; 3] {
        let (nx, ny) = (self.size[0], self.size[1]);
        [index % nx, index / nx % ny, index / (nx * ny)]
    }

    /// Flat index of the sample nearest to (i, j, k) inside the lattice.
    #[inline]
    pub fn index_clamped(&self, i: isize, j: isize, k: isize) -> usize {
        let c = |v: isize, n: usize| v.clamp(0, n as isize - 1) as usize;
        self.index(c(i, self.size[0]), c(j, self.size[1]), c(k, self.size[2]))
    }

    /// Distance in the flat array between neighbours along `axis`.
    #[inline]
    pub fn stride(&self, axis: Axis) -> usize {
        [1, self.size[0], self.size[0] * self.size[1]][axis]
    }

    /// Samples in one z-slab: the natural chunk of a parallel loop.
    #[inline]
    pub fn slab(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// World position of sample (i, j, k).
    #[inline]
    pub fn position(&self, i: usize, j: usize, k: usize) -> Vec3 {
        self.origin + self.spacing * Vec3::new(i as f32, j as f32, k as f32)
    }

    /// Runs `body(index, (i, j, k), value)` over the values of all samples, in parallel, a z-slab a chunk.
    #[inline]
    pub fn for_each_mut<T: Send>(
        &self,
        values: &mut [T],
        body: impl Fn(usize, [usize; 3], &mut T) + Sync + Send,
    ) {
        debug_assert_eq!(values.len(), self.len());
        for_each_chunk_mut(values, self.slab(), |k, slab| {
            for (j, row) in slab.chunks_mut(self.size[0]).enumerate() {
                let start = k * self.slab() + j * self.size[0];
                row.iter_mut().enumerate().for_each(|(i, value)| body(start + i, [i, j, k], value));
            }
        });
    }

    /// As [`Self::for_each_mut`] over two arrays.
    #[inline]
    pub fn for_each_mut2<A: Send, B: Send>(
        &self,
        a: &mut [A],
        b: &mut [B],
        body: impl Fn(usize, [usize; 3], &mut A, &mut B) + Sync + Send,
    ) {
        debug_assert_eq!((a.len(), b.len()), (self.len(), self.len()));
        for_each_chunk_mut2((a, self.slab()), (b, self.slab()), |k, a, b| {
            let rows = a.chunks_mut(self.size[0]).zip(b.chunks_mut(self.size[0]));
            for (j, (a, b)) in rows.enumerate() {
                let start = k * self.slab() + j * self.size[0];
                let row = a.iter_mut().zip(b).enumerate();
                row.for_each(|(i, (a, b))| body(start + i, [i, j, k], a, b));
            }
        });
    }

    /// The interpolation cell around a world position; positions outside are moved to the lattice's hull.
    #[inline]
    pub fn stencil(&self, x_in_world: Vec3) -> Stencil {
        self.stencil_at((x_in_world - self.origin) / self.spacing)
    }

    /// As [`Self::stencil`], for a position given in lattice units from sample (0,0,0).
    #[inline]
    pub fn stencil_at(&self, x_in_lattice: Vec3) -> Stencil {
        let split = |v: f32, n: usize| {
            let v = v.clamp(0.0, (n - 1) as f32); // NaN stays NaN in the fraction, index 0
            let low = (v as usize).min(n.saturating_sub(2));
            (low, v - low as f32)
        };
        let (i, fx) = split(x_in_lattice.x, self.size[0]);
        let (j, fy) = split(x_in_lattice.y, self.size[1]);
        let (k, fz) = split(x_in_lattice.z, self.size[2]);
        Stencil { base: self.index(i, j, k), fraction: [fx, fy, fz] }
    }

    /// Trilinear interpolation of `values` at a world position (constant beyond the hull).
    #[inline]
    pub fn sample(&self, values: &[f32], x_in_world: Vec3) -> f32 {
        self.interpolate(values, self.stencil(x_in_world))
    }

    /// Trilinear interpolation with a stencil found before.
    #[inline]
    pub fn interpolate(&self, values: &[f32], stencil: Stencil) -> f32 {
        let c = self.corner_values(values, stencil.base);
        let [fx, fy, fz] = stencil.fraction;
        let lerp = |a: f32, b: f32, t: f32| a + t * (b - a);
        let low = lerp(lerp(c[0], c[1], fx), lerp(c[2], c[3], fx), fy);
        let high = lerp(lerp(c[4], c[5], fx), lerp(c[6], c[7], fx), fy);
        lerp(low, high, fz)
    }

    /// Gradient of the trilinear interpolant, per metre.
    #[inline]
    pub fn gradient(&self, values: &[f32], x_in_world: Vec3) -> Vec3 {
        let stencil = self.stencil(x_in_world);
        let c = self.corner_values(values, stencil.base);
        let [fx, fy, fz] = stencil.fraction;
        let lerp = |a: f32, b: f32, t: f32| a + t * (b - a);
        let plane = |d: [f32; 4], s: f32, t: f32| lerp(lerp(d[0], d[1], s), lerp(d[2], d[3], s), t);
        Vec3::new(
            plane([c[1] - c[0], c[3] - c[2], c[5] - c[4], c[7] - c[6]], fy, fz),
            plane([c[2] - c[0], c[3] - c[1], c[6] - c[4], c[7] - c[5]], fx, fz),
            plane([c[4] - c[0], c[5] - c[1], c[6] - c[2], c[7] - c[3]], fx, fy),
        ) / self.spacing
    }

    /// The eight values of an interpolation cell, x fastest. An axis with a single sample repeats it.
    #[inline]
    pub fn corner_values(&self, values: &[f32], base: usize) -> [f32; 8] {
        debug_assert_eq!(values.len(), self.len());
        let step = |axis: Axis| if self.size[axis] > 1 { self.stride(axis) } else { 0 };
        let (sx, sy, sz) = (step(0), step(1), step(2));
        let v = |o: usize| values[base + o];
        [v(0), v(sx), v(sy), v(sx + sy), v(sz), v(sx + sz), v(sy + sz), v(sx + sy + sz)]
    }
}
