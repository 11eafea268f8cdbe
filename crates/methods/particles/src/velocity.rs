//! Velocity of a staggered field at a point: the three components share their index arithmetic.

use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid};

/// A face field ready to be read at many points.
pub(crate) struct VelocitySampler<'a> {
    u: [&'a [f32]; 3],
    min: Vec3,
    inverse_dx: f32,
    cells: [usize; 3],
    /// Flat distance to the high side of the interpolation cell, per component and axis.
    step: [[usize; 3]; 3],
}

/// Where a point lies between samples: indices and fractions for staggered and centred samples of each axis.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Interpolation cell among samples on faces of this axis.
    face: [(usize, f32); 3],
    /// Interpolation cell among samples at the middle of cells along this axis.
    center: [(usize, f32); 3],
}

#[inline]
fn lerp(a: f32, b: f32, t: f32) -> f32 {
    a + t * (b - a)
}

impl<'a> VelocitySampler<'a> {
    pub fn new(u_face: &'a FaceField, grid: &UniformGrid) -> Self {
        let step = std::array::from_fn(|component| {
            let lattice = grid.faces(component);
            assert_eq!(u_face[component].len(), lattice.len());
            std::array::from_fn(|axis| if lattice.size[axis] > 1 { lattice.stride(axis) } else { 0 })
        });
        VelocitySampler {
            u: std::array::from_fn(|component| &u_face[component][..]),
            min: grid.min,
            inverse_dx: 1.0 / grid.dx,
            cells: grid.cells,
            step,
        }
    }

    #[inline]
    pub fn place(&self, x_in_world: Vec3) -> Place {
        let c = (x_in_world - self.min) * self.inverse_dx;
        let split = |v: f32, samples: usize| {
            let v = v.max(0.0).min((samples - 1) as f32);
            let low = (v as u32 as usize).min(samples.saturating_sub(2));
            (low, v - low as f32)
        };
        Place {
            face: std::array::from_fn(|axis| split(c[axis], self.cells[axis] + 1)),
            center: std::array::from_fn(|axis| split(c[axis] - 0.5, self.cells[axis])),
        }
    }

    /// Corner values of one component's interpolation cell, and the fractions in it.
    #[inline]
    fn corners(&self, component: usize, place: &Place) -> ([f32; 8], [f32; 3]) {
        let at = |axis: usize| if axis == component { place.face[axis] } else { place.center[axis] };
        let ((i, fx), (j, fy), (k, fz)) = (at(0), at(1), at(2));
        let size = |axis: usize| self.cells[axis] + usize::from(axis == component);
        let base = i + size(0) * (j + size(1) * k);
        let [sx, sy, sz] = self.step[component];
        // One check for all eight: `base` is the least and the last offset the greatest.
        let u = &self.u[component][base..=base + sx + sy + sz];
        ([u[0], u[sx], u[sy], u[sx + sy], u[sz], u[sx + sz], u[sy + sz], u[sx + sy + sz]], [fx, fy, fz])
    }

    #[inline]
    fn component(&self, component: usize, place: &Place) -> f32 {
        let (c, [fx, fy, fz]) = self.corners(component, place);
        let low = lerp(lerp(c[0], c[1], fx), lerp(c[2], c[3], fx), fy);
        let high = lerp(lerp(c[4], c[5], fx), lerp(c[6], c[7], fx), fy);
        lerp(low, high, fz)
    }

    /// The interpolated velocity.
    #[inline]
    pub fn velocity(&self, place: &Place) -> Vec3 {
        Vec3::new(self.component(0, place), self.component(1, place), self.component(2, place))
    }

    /// The interpolated velocity at a world position.
    #[inline]
    pub fn at(&self, x_in_world: Vec3) -> Vec3 {
        self.velocity(&self.place(x_in_world))
    }

    /// The interpolated velocity and the gradient of each component's interpolant, 1/s. Beyond the
    /// outermost samples the gradient is the one of the last interpolation cell.
    #[inline]
    pub fn velocity_and_gradient(&self, place: &Place) -> (Vec3, [Vec3; 3]) {
        let (mut v, mut gradient) = (Vec3::ZERO, [Vec3::ZERO; 3]);
        for component in 0..3 {
            let (c, [fx, fy, fz]) = self.corners(component, place);
            let x00 = lerp(c[0], c[1], fx);
            let x10 = lerp(c[2], c[3], fx);
            let x01 = lerp(c[4], c[5], fx);
            let x11 = lerp(c[6], c[7], fx);
            let low = lerp(x00, x10, fy);
            let high = lerp(x01, x11, fy);
            let dx_low = lerp(c[1] - c[0], c[3] - c[2], fy);
            let dx_high = lerp(c[5] - c[4], c[7] - c[6], fy);
            v[component] = lerp(low, high, fz);
            gradient[component] = self.inverse_dx
                * Vec3::new(lerp(dx_low, dx_high, fz), lerp(x10 - x00, x11 - x01, fz), high - low);
        }
        (v, gradient)
    }
}
