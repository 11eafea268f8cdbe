//! Velocity of a staggered field at a point: the three components share their index arithmetic.

use crate::sight::{bit, replace_unseen};
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
    /// Flat indices of low corners of interpolation cells are below this, per component.
    low_corners: [usize; 3],
}

/// Points read at once: one AVX register.
pub(crate) const LANES: usize = 8;
/// One number per point.
pub(crate) type Lanes = [f32; LANES];

/// Indices of low samples of eight points along an axis, and fractions towards the next ones.
#[derive(Clone, Copy)]
struct Split {
    low: [u32; LANES],
    fraction: Lanes,
}

/// In [`Place`], lanes 0 to 2 are samples on faces of each axis; lanes 4 to 6 samples midway between them.
const CENTER: usize = 4;

/// Where one point lies between samples: low corner and fraction above it, per lane.
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
        let step: [[usize; 3]; 3] = std::array::from_fn(|c| {
            std::array::from_fn(|axis| if lattices[c].size[axis] > 1 { stride[c][axis] } else { 0 })
        });
        assert!(lattices.iter().all(|l| l.len() < u32::MAX as usize), "faces are numbered in 32 bits");
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
            step,
            thin_x: grid.cells[0] == 1,
            low_corners: std::array::from_fn(|c| lattices[c].len() - step[c].iter().sum::<usize>()),
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

    /// Eight world positions in cells from the box's low corner; fewer are filled up with the last one.
    #[inline(always)]
    pub fn in_cells(&self, x_in_world: &[Vec3]) -> [Lanes; 3] {
        let mut c = [[0.0; LANES]; 3];
        for l in 0..LANES {
            let x = (x_in_world[l.min(x_in_world.len() - 1)] - self.min) * self.inverse_dx;
            for axis in 0..3 {
                c[axis][l] = x[axis];
            }
        }
        c
    }

    /// The interpolated velocities at eight points given by [`Self::in_cells`].
    #[inline(never)] // called thrice a Runge-Kutta step
    pub fn at(&self, x_in_cells: &[Lanes; 3]) -> [Lanes; 3] {
        let on_faces: [Split; 3] = std::array::from_fn(|a| self.split(&x_in_cells[a], 0.0, a));
        let between: [Split; 3] = std::array::from_fn(|a| self.split(&x_in_cells[a], 0.5, CENTER + a));
        std::array::from_fn(|component| {
            let split = |axis: usize| if axis == component { &on_faces[axis] } else { &between[axis] };
            self.component_at(component, [split(0), split(1), split(2)])
        })
    }

    /// Splits `x - first` on the samples of a lane of [`Place`], constant beyond the outermost.
    #[inline(always)]
    fn split(&self, x: &Lanes, first: f32, lane: usize) -> Split {
        let (last, last_low) = (self.last[lane], self.last_low[lane]);
        let mut s = Split { low: [0; LANES], fraction: [0.0; LANES] };
        for l in 0..LANES {
            let v = x[l] - first;
            let v = if v > 0.0 { v } else { 0.0 };
            let v = if v < last { v } else { last };
            let low = v.floor();
            let low = if low < last_low { low } else { last_low };
            s.fraction[l] = v - low;
            s.low[l] = (low + 8_388_608.0).to_bits() & 0x007F_FFFF;
        }
        s
    }

    #[inline(always)]
    fn component_at(&self, component: usize, [x, y, z]: [&Split; 3]) -> Lanes {
        let [_, row, slab] = self.stride[component].map(|s| s as u32);
        let mut bases = [0u32; LANES];
        for l in 0..LANES {
            bases[l] = x.low[l] + row * y.low[l] + slab * z.low[l];
        }
        let largest = bases.iter().fold(0, |a, &b| a.max(b));
        assert!((largest as usize) < self.low_corners[component]);
        let ([sx, sy, sz], u) = (self.step[component], self.u[component]);
        let offsets = [0, sx, sy, sx + sy, sz, sx + sz, sy + sz, sx + sy + sz];
        let mut c = [[0.0; LANES]; 8];
        for n in 0..8 {
            for l in 0..LANES {
                // SAFETY: bases are below `low_corners` = len - (sx + sy + sz) by the assertion above.
                // Checking each of the 64 loads costs as much as the loads.
                c[n][l] = unsafe { *u.get_unchecked(bases[l] as usize + offsets[n]) };
            }
        }
        let lerp = |a: &Lanes, b: &Lanes, t: &Lanes| -> Lanes {
            let mut r = [0.0; LANES];
            for l in 0..LANES {
                r[l] = lerp(a[l], b[l], t[l]);
            }
            r
        };
        let low = lerp(&lerp(&c[0], &c[1], &x.fraction), &lerp(&c[2], &c[3], &x.fraction), &y.fraction);
        let high = lerp(&lerp(&c[4], &c[5], &x.fraction), &lerp(&c[6], &c[7], &x.fraction), &y.fraction);
        lerp(&low, &high, &z.fraction)
    }

    /// The interpolated velocity and the gradient of each component's interpolant, 1/s. Beyond the
    /// outermost samples the gradient is the one of the last interpolation cell.
    #[inline(always)]
    pub fn velocity_and_gradient(&self, place: &Place) -> (Vec3, [Vec3; 3]) {
        self.velocity_and_gradient_of(|component| self.corners(component, place))
    }

    /// The same near thin solids, at a point of the cell `at` that sees `seen` of the cells around: faces that
    /// touch none of these count as the mean of the others.
    pub fn velocity_and_gradient_on_side(
        &self,
        place: &Place,
        at: [usize; 3],
        seen: u32,
    ) -> (Vec3, [Vec3; 3]) {
        self.velocity_and_gradient_of(|component| {
            let (mut corners, fraction) = self.corners(component, place);
            let low = |a: usize| place.low[if a == component { a } else { CENTER + a }] as isize;
            let sees = |n: usize| {
                let offset: [isize; 3] =
                    std::array::from_fn(|a| low(a) + (n >> a & 1) as isize - at[a] as isize);
                // The cells before and behind the face.
                [0, 1].into_iter().any(|back| {
                    let mut cell = offset;
                    cell[component] -= back;
                    cell.iter().all(|o| o.abs() <= 1) && seen & bit(cell) != 0
                })
            };
            replace_unseen(&mut corners, std::array::from_fn(sees));
            (corners, fraction)
        })
    }

    #[inline(always)]
    fn velocity_and_gradient_of(&self, corners: impl Fn(usize) -> ([f32; 8], [f32; 3])) -> (Vec3, [Vec3; 3]) {
        let (mut v, mut gradient) = (Vec3::ZERO, [Vec3::ZERO; 3]);
        for component in 0..3 {
            let (c, [fx, fy, fz]) = corners(component);
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
