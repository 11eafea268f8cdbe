//! Velocity of a staggered field at a point: the three components share their index arithmetic.

use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid};

/// A face field ready to be read at many points.
pub(crate) struct VelocitySampler<'a> {
    u: [&'a [f32]; 3],
    min: Vec3,
    inverse_dx: f32,
    /// Highest coordinate and highest low corner among the samples of each lane of [`Place`].
    last: [f32; LANES],
    last_low: [f32; LANES],
    /// Flat distance between neighbours, per component and axis.
    stride: [[usize; 3]; 3],
    /// The same, but 0 along axes with a single sample.
    step: [[usize; 3]; 3],
    /// A single cell along x: rows of some components hold no pair.
    thin_x: bool,
}

/// Lanes 0 to 2: samples on faces of each axis; lanes 4 to 6: samples midway between them.
const LANES: usize = 8;
const CENTER: usize = 4;

/// Where a point lies between samples: low corner and fraction above it, per lane.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    low: [u32; LANES],
    fraction: [f32; LANES],
}

#[inline(always)]
fn lerp(a: f32, b: f32, t: f32) -> f32 {
    a + t * (b - a)
}

impl<'a> VelocitySampler<'a> {
    pub fn new(u_face: &'a FaceField, grid: &UniformGrid) -> Self {
        let lattices = [0, 1, 2].map(|component| grid.faces(component));
        let samples = |lane: usize| match lane {
            0..=2 => grid.cells[lane] + 1,
            CENTER..=6 => grid.cells[lane - CENTER],
            _ => 1,
        };
        let stride = lattices.map(|l| [l.stride(0), l.stride(1), l.stride(2)]);
        VelocitySampler {
            u: std::array::from_fn(|component| {
                assert_eq!(u_face[component].len(), lattices[component].len());
                &u_face[component][..]
            }),
            min: grid.min,
            inverse_dx: 1.0 / grid.dx,
            last: std::array::from_fn(|lane| (samples(lane) - 1) as f32),
            last_low: std::array::from_fn(|lane| samples(lane).saturating_sub(2) as f32),
            stride,
            step: std::array::from_fn(|c| {
                std::array::from_fn(|axis| if lattices[c].size[axis] > 1 { stride[c][axis] } else { 0 })
            }),
            thin_x: grid.cells[0] == 1,
        }
    }

    /// Positions beyond the outermost samples count at the nearest point of their hull, NaN at its low end.
    #[inline(always)]
    pub fn place(&self, x_in_world: Vec3) -> Place {
        let c = (x_in_world - self.min) * self.inverse_dx;
        let m = c - 0.5;
        let c = [c.x, c.y, c.z, 0.0, m.x, m.y, m.z, 0.0];
        let mut place = Place { low: [0; LANES], fraction: [0.0; LANES] };
        for lane in 0..LANES {
            // Comparisons instead of min and max: one instruction each, all lanes at once.
            let v = if c[lane] > 0.0 { c[lane] } else { 0.0 };
            let v = if v < self.last[lane] { v } else { self.last[lane] };
            let low = v.floor();
            let low = if low < self.last_low[lane] { low } else { self.last_low[lane] };
            place.fraction[lane] = v - low;
            // From 2^23 on floats are whole numbers, so that the sum holds `low` in its last bits.
            place.low[lane] = (low + 8_388_608.0).to_bits() & 0x007F_FFFF;
        }
        place
    }

    /// Corner values of one component's interpolation cell (x fastest) and the fractions in it.
    #[inline(always)]
    fn corners(&self, component: usize, place: &Place) -> ([f32; 8], [f32; 3]) {
        let lane = |axis: usize| if axis == component { axis } else { CENTER + axis };
        let (low, fraction) = (|axis| place.low[lane(axis)] as usize, |axis| place.fraction[lane(axis)]);
        let [_, row, slab] = self.stride[component];
        let base = low(0) + row * low(1) + slab * low(2);
        let [sx, sy, sz] = self.step[component];
        let u = self.u[component];
        let pair = |at: usize| {
            if self.thin_x {
                return [u[at], u[at + sx]];
            }
            let pair = &u[at..at + 2];
            [pair[0], pair[1]]
        };
        let ([a, b], [c, d]) = (pair(base), pair(base + sy));
        let ([e, f], [g, h]) = (pair(base + sz), pair(base + sy + sz));
        ([a, b, c, d, e, f, g, h], [fraction(0), fraction(1), fraction(2)])
    }

    #[inline(always)]
    fn component(&self, component: usize, place: &Place) -> f32 {
        let (c, [fx, fy, fz]) = self.corners(component, place);
        let z: [f32; 4] = std::array::from_fn(|n| lerp(c[n], c[n + 4], fz));
        let y: [f32; 2] = std::array::from_fn(|n| lerp(z[n], z[n + 2], fy));
        lerp(y[0], y[1], fx)
    }

    /// The interpolated velocity.
    #[inline(always)]
    pub fn velocity(&self, place: &Place) -> Vec3 {
        Vec3::new(self.component(0, place), self.component(1, place), self.component(2, place))
    }

    /// The interpolated velocity at a world position.
    #[inline(always)]
    pub fn at(&self, x_in_world: Vec3) -> Vec3 {
        self.velocity(&self.place(x_in_world))
    }

    /// The interpolated velocity and the gradient of each component's interpolant, 1/s. Beyond the
    /// outermost samples the gradient is the one of the last interpolation cell.
    #[inline(always)]
    pub fn velocity_and_gradient(&self, place: &Place) -> (Vec3, [Vec3; 3]) {
        let (mut v, mut gradient) = (Vec3::ZERO, [Vec3::ZERO; 3]);
        for component in 0..3 {
            let (c, [fx, fy, fz]) = self.corners(component, place);
            let z: [f32; 4] = std::array::from_fn(|n| lerp(c[n], c[n + 4], fz));
            let rise: [f32; 4] = std::array::from_fn(|n| c[n + 4] - c[n]);
            let y: [f32; 2] = std::array::from_fn(|n| lerp(z[n], z[n + 2], fy));
            let rise_y: [f32; 2] = std::array::from_fn(|n| lerp(rise[n], rise[n + 2], fy));
            v[component] = lerp(y[0], y[1], fx);
            gradient[component] = self.inverse_dx
                * Vec3::new(y[1] - y[0], lerp(z[2] - z[0], z[3] - z[1], fx), lerp(rise_y[0], rise_y[1], fx));
        }
        (v, gradient)
    }
}
