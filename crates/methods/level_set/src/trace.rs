//! Velocity at a point and the path of a fluid particle, in grid units relative to a cell.

use fluvial_grids::{FaceField, UniformGrid};

/// Trilinear face velocities at points given as cell index plus offset from the cell's low corner, in cells.
/// The three components share the floors: each axis is split once on nodes and once on centres.
pub(crate) struct VelocitySampler<'a> {
    u: [&'a [f32]; 3],
    cells: [usize; 3],
    /// Distance in the flat array to the next sample per component and axis, 0 along an axis with one sample.
    step: [[usize; 3]; 3],
    /// Row and slab strides per component.
    stride: [[usize; 3]; 3],
}

/// Index of the low sample and fraction towards the next one.
type Split = (usize, f32);

/// Splits `index + offset` on samples 0..n, constant beyond.
#[inline]
fn split(index: usize, offset: f32, n: usize) -> Split {
    let inside = offset.max(-(index as f32)).min((n - 1) as f32 - index as f32);
    let low = (index as i32 + inside.floor() as i32).min(n as i32 - 2).max(0);
    (low as usize, inside - (low - index as i32) as f32)
}

impl<'a> VelocitySampler<'a> {
    pub fn new(u_face: &'a FaceField, grid: &UniformGrid) -> Self {
        let mut step = [[0; 3]; 3];
        let mut stride = [[0; 3]; 3];
        for component in 0..3 {
            let lattice = grid.faces(component);
            assert_eq!(u_face[component].len(), lattice.len());
            for axis in 0..3 {
                stride[component][axis] = lattice.stride(axis);
                step[component][axis] = if lattice.size[axis] > 1 { lattice.stride(axis) } else { 0 };
            }
        }
        VelocitySampler { u: [&u_face[0], &u_face[1], &u_face[2]], cells: grid.cells, step, stride }
    }

    #[inline]
    fn nodes(&self, axis: usize, cell: [usize; 3], offset: [f32; 3]) -> Split {
        split(cell[axis], offset[axis], self.cells[axis] + 1)
    }

    #[inline]
    fn centers(&self, axis: usize, cell: [usize; 3], offset: [f32; 3]) -> Split {
        split(cell[axis], offset[axis] - 0.5, self.cells[axis])
    }

    /// The eight samples of a component around a point and the fractions.
    #[inline]
    fn corners(&self, component: usize, s: [Split; 3]) -> [f32; 8] {
        let (stride, step) = (&self.stride[component], &self.step[component]);
        let base = s[0].0 + stride[1] * s[1].0 + stride[2] * s[2].0;
        let [sx, sy, sz] = *step;
        let v = &self.u[component][base..base + sx + sy + sz + 1];
        [v[0], v[sx], v[sy], v[sx + sy], v[sz], v[sx + sz], v[sy + sz], v[sx + sy + sz]]
    }

    #[inline]
    fn interpolate(&self, component: usize, s: [Split; 3]) -> f32 {
        blend(self.corners(component, s), [s[0].1, s[1].1, s[2].1])
    }

    /// One component at a point.
    #[inline]
    pub fn component(&self, component: usize, cell: [usize; 3], offset: [f32; 3]) -> f32 {
        self.interpolate(component, self.splits(component, cell, offset))
    }

    /// One component at a point with the range of the samples it was made of.
    #[inline]
    pub fn component_with_bounds(
        &self,
        component: usize,
        cell: [usize; 3],
        offset: [f32; 3],
    ) -> (f32, f32, f32) {
        let s = self.splits(component, cell, offset);
        let c = self.corners(component, s);
        let min = c.iter().fold(c[0], |a, &b| a.min(b));
        let max = c.iter().fold(c[0], |a, &b| a.max(b));
        (blend(c, [s[0].1, s[1].1, s[2].1]), min, max)
    }

    /// Low sample of the stencil that [`Self::component`] uses, as lattice coordinates.
    #[inline]
    pub fn stencil_base(&self, component: usize, cell: [usize; 3], offset: [f32; 3]) -> [usize; 3] {
        self.splits(component, cell, offset).map(|s| s.0)
    }

    #[inline]
    fn splits(&self, component: usize, cell: [usize; 3], offset: [f32; 3]) -> [Split; 3] {
        std::array::from_fn(|axis| {
            if axis == component { self.nodes(axis, cell, offset) } else { self.centers(axis, cell, offset) }
        })
    }

    /// All three components at a point.
    #[inline]
    pub fn at(&self, cell: [usize; 3], offset: [f32; 3]) -> [f32; 3] {
        let n: [Split; 3] = std::array::from_fn(|axis| self.nodes(axis, cell, offset));
        let c: [Split; 3] = std::array::from_fn(|axis| self.centers(axis, cell, offset));
        [
            self.interpolate(0, [n[0], c[1], c[2]]),
            self.interpolate(1, [c[0], n[1], c[2]]),
            self.interpolate(2, [c[0], c[1], n[2]]),
        ]
    }

    /// Where the particle at `start` (offset from the cell's low corner, with velocity `u0` there) is after
    /// `cells_per_speed` = dt/dx (negative: was before): Ralston's third-order Runge-Kutta,
    /// k2 = u(x + s/2 k1), k3 = u(x + 3/4 s k2), x + s (2 k1 + 3 k2 + 4 k3)/9 [Ralston 1962].
    #[inline]
    pub fn trace(&self, cell: [usize; 3], start: [f32; 3], u0: [f32; 3], cells_per_speed: f32) -> [f32; 3] {
        let s = cells_per_speed;
        let go = |u: [f32; 3], f: f32| std::array::from_fn(|a| start[a] + f * u[a]);
        let u1 = self.at(cell, go(u0, 0.5 * s));
        let u2 = self.at(cell, go(u1, 0.75 * s));
        std::array::from_fn(|a| start[a] + s * (1.0 / 9.0) * (2.0 * u0[a] + 3.0 * u1[a] + 4.0 * u2[a]))
    }
}

#[inline]
fn blend(c: [f32; 8], f: [f32; 3]) -> f32 {
    let lerp = |a: f32, b: f32, t: f32| a + t * (b - a);
    let low = lerp(lerp(c[0], c[1], f[0]), lerp(c[2], c[3], f[0]), f[1]);
    let high = lerp(lerp(c[4], c[5], f[0]), lerp(c[6], c[7], f[0]), f[1]);
    lerp(low, high, f[2])
}
