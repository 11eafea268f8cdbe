//! Velocity at points and the paths of fluid particles, eight at a time.
//!
//! Points are given relative to a sample of their own (eight neighbours along x), in grid units: rounding
//! does not grow with the domain, and a particle that does not move stays at its sample exactly.

use fluvial_grids::{FaceField, UniformGrid};

/// Points traced at once: one AVX register.
pub(crate) const LANES: usize = 8;
/// One number per point.
pub(crate) type Lanes = [f32; LANES];
/// Offsets of eight points from the low corners of their cells, per axis, in cells.
pub(crate) type Offsets = [Lanes; 3];

/// Cells (i + lane, j, k) that eight points refer to.
#[derive(Clone, Copy)]
pub(crate) struct Cells {
    pub i: usize,
    pub j: usize,
    pub k: usize,
}

/// Index of the low sample and fraction towards the next one.
#[derive(Clone, Copy)]
pub(crate) struct Split {
    low: [i32; LANES],
    fraction: Lanes,
}

/// Low corners of interpolation cells and fractions, per axis.
#[derive(Clone, Copy)]
pub(crate) struct Stencils {
    pub(crate) axis: [Split; 3],
}

impl Stencils {
    /// Lattice coordinates of the low corner of one point's stencil.
    #[inline(always)]
    pub fn low(&self, lane: usize) -> [usize; 3] {
        self.axis.map(|s| s.low[lane] as usize)
    }
}

/// Larger of two, the second if the first is NaN: one instruction.
#[inline(always)]
fn max(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Smaller of two, the second if the first is NaN.
#[inline(always)]
fn min(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Splits `index + offset` on samples 0..n, constant beyond; lanes have consecutive indices if `along_x`.
#[inline(always)]
fn split(index: usize, along_x: bool, offset: &Lanes, n: usize) -> Split {
    let mut s = Split { low: [0; LANES], fraction: [0.0; LANES] };
    let last = n as i32 - 1;
    for l in 0..LANES {
        let own = index as i32 + if along_x { l as i32 } else { 0 };
        let inside = min(max(offset[l], -own as f32), (last - own) as f32);
        // SAFETY: `inside` lies in [-own, last - own], not NaN by `max`, and n fits in i32.
        let floor = unsafe { inside.floor().to_int_unchecked::<i32>() };
        let low = (own + floor).min(last - 1).max(0);
        s.low[l] = low;
        s.fraction[l] = inside - (low - own) as f32;
    }
    s
}

/// A component of velocity: samples and where the neighbours of one lie.
#[derive(Clone, Copy)]
pub(crate) struct Component<'a> {
    pub(crate) values: &'a [f32],
    stride: [i32; 3],
    /// As stride, 0 along an axis with one sample.
    pub(crate) step: [usize; 3],
    /// Flat indices of stencil corners are below this.
    corners: usize,
}

impl Component<'_> {
    /// Flat index of the stencils' low corners.
    #[inline(always)]
    pub(crate) fn bases(&self, s: &[Split; 3]) -> [i32; LANES] {
        let mut bases = [0; LANES];
        for l in 0..LANES {
            bases[l] = s[0].low[l] + self.stride[1] * s[1].low[l] + self.stride[2] * s[2].low[l];
        }
        bases
    }

    /// The eight samples of each stencil.
    #[inline(always)]
    pub(crate) fn corners(&self, bases: &[i32; LANES]) -> [Lanes; 8] {
        let mut largest = 0;
        for l in 0..LANES {
            largest = largest.max(bases[l] as u32);
        }
        assert!((largest as usize) < self.corners);
        let [sx, sy, sz] = self.step;
        let offsets = [0, sx, sy, sx + sy, sz, sx + sz, sy + sz, sx + sy + sz];
        let mut c = [[0.0; LANES]; 8];
        let mut apart = 0;
        for l in 0..LANES {
            apart |= bases[l] ^ (bases[0] + l as i32);
        }
        if apart == 0 {
            // Neighbours that went the same way are still neighbours: eight loads instead of 64.
            let near = &self.values[bases[0] as usize..];
            for n in 0..8 {
                c[n].copy_from_slice(&near[offsets[n]..offsets[n] + LANES]);
            }
            return c;
        }
        for n in 0..8 {
            for l in 0..LANES {
                // SAFETY: bases are below `corners` = len - (sx + sy + sz) by the assertion above.
                // Checking each of the 64 loads costs as much as the loads.
                c[n][l] = unsafe { *self.values.get_unchecked(bases[l] as usize + offsets[n]) };
            }
        }
        c
    }

    #[inline(always)]
    fn interpolate(&self, s: &[Split; 3]) -> Lanes {
        blend(&self.corners(&self.bases(s)), s)
    }
}

#[inline(always)]
fn blend(c: &[Lanes; 8], s: &[Split; 3]) -> Lanes {
    let lerp = |a: &Lanes, b: &Lanes, t: &Lanes| {
        let mut r = [0.0; LANES];
        for l in 0..LANES {
            r[l] = a[l] + t[l] * (b[l] - a[l]);
        }
        r
    };
    let [fx, fy, fz] = [&s[0].fraction, &s[1].fraction, &s[2].fraction];
    let low = lerp(&lerp(&c[0], &c[1], fx), &lerp(&c[2], &c[3], fx), fy);
    let high = lerp(&lerp(&c[4], &c[5], fx), &lerp(&c[6], &c[7], fx), fy);
    lerp(&low, &high, fz)
}

/// Trilinear face velocities, constant beyond the outermost faces.
/// The three components share their splits: each axis is split once on nodes and once on centres.
pub(crate) struct VelocitySampler<'a> {
    pub(crate) components: [Component<'a>; 3],
    cells: [usize; 3],
}

impl<'a> VelocitySampler<'a> {
    pub fn new(u_face: &'a FaceField, grid: &UniformGrid) -> Self {
        Self::from_slices([&u_face[0], &u_face[1], &u_face[2]], grid)
    }

    /// Components of length 0 cannot be sampled; the others must have one value per face.
    pub fn from_slices(u: [&'a [f32]; 3], grid: &UniformGrid) -> Self {
        let components = std::array::from_fn(|c| {
            let lattice = grid.faces(c);
            assert!(u[c].is_empty() || u[c].len() == lattice.len());
            assert!(lattice.len() < i32::MAX as usize);
            let stride = std::array::from_fn(|a| lattice.stride(a));
            let step = std::array::from_fn(|a| if lattice.size[a] > 1 { stride[a] } else { 0 });
            let corners = u[c].len().saturating_sub(step.iter().sum());
            Component { values: u[c], stride: stride.map(|s| s as i32), step, corners }
        });
        VelocitySampler { components, cells: grid.cells }
    }

    #[inline(always)]
    fn nodes(&self, axis: usize, at: Cells, x: &Offsets) -> Split {
        split([at.i, at.j, at.k][axis], axis == 0, &x[axis], self.cells[axis] + 1)
    }

    #[inline(always)]
    fn centers(&self, axis: usize, at: Cells, x: &Offsets) -> Split {
        let mut from_center = x[axis];
        for l in 0..LANES {
            from_center[l] -= 0.5;
        }
        split([at.i, at.j, at.k][axis], axis == 0, &from_center, self.cells[axis])
    }

    /// Interpolation stencils of one component.
    #[inline(always)]
    pub fn stencils(&self, component: usize, at: Cells, x: &Offsets) -> Stencils {
        let split =
            |axis| if axis == component { self.nodes(axis, at, x) } else { self.centers(axis, at, x) };
        Stencils { axis: [split(0), split(1), split(2)] }
    }

    /// One component by its stencils.
    #[inline(always)]
    pub fn component(&self, component: usize, s: &Stencils) -> Lanes {
        self.components[component].interpolate(&s.axis)
    }

    /// Flat index of the low corner of each stencil of a component.
    #[inline(always)]
    pub fn bases(&self, component: usize, s: &Stencils) -> [i32; LANES] {
        self.components[component].bases(&s.axis)
    }

    /// Smallest and largest sample of the stencils with these low corners.
    #[inline(always)]
    pub fn bounds(&self, component: usize, bases: &[i32; LANES]) -> (Lanes, Lanes) {
        let c = self.components[component].corners(bases);
        let (mut low, mut high) = (c[0], c[0]);
        for corner in &c[1..] {
            for l in 0..LANES {
                low[l] = min(corner[l], low[l]);
                high[l] = max(corner[l], high[l]);
            }
        }
        (low, high)
    }

    /// Does a point lie between the walls?
    #[inline(always)]
    pub fn inside_walls(&self, at: Cells, x: &Offsets, lane: usize) -> bool {
        let cell = [at.i + lane, at.j, at.k];
        (0..3).all(|a| {
            let place = cell[a] as f32 + x[a][lane];
            place >= 0.0 && place <= self.cells[a] as f32
        })
    }

    /// All three components at eight points.
    #[inline(never)]
    pub fn at(&self, at: Cells, x: &Offsets) -> Offsets {
        let n = [self.nodes(0, at, x), self.nodes(1, at, x), self.nodes(2, at, x)];
        let c = [self.centers(0, at, x), self.centers(1, at, x), self.centers(2, at, x)];
        [
            self.components[0].interpolate(&[n[0], c[1], c[2]]),
            self.components[1].interpolate(&[c[0], n[1], c[2]]),
            self.components[2].interpolate(&[c[0], c[1], n[2]]),
        ]
    }

    /// Where particles at `start` (the same offset from the low corner of each cell, velocities `u0` there)
    /// are after `cells_per_speed` = dt/dx (negative: were before): Ralston's third-order Runge-Kutta,
    /// k2 = u(x + s/2 k1), k3 = u(x + 3/4 s k2), x + s (2 k1 + 3 k2 + 4 k3)/9 [ralston-1962].
    #[inline(always)]
    pub fn trace(&self, at: Cells, start: [f32; 3], u0: &Offsets, cells_per_speed: f32) -> Offsets {
        self.trace_each(at, &start.map(|offset| [offset; LANES]), u0, cells_per_speed)
    }

    /// The same from offsets of their own.
    #[inline(always)]
    pub fn trace_each(&self, at: Cells, start: &Offsets, u0: &Offsets, cells_per_speed: f32) -> Offsets {
        let s = cells_per_speed;
        let go = |u: &Offsets, f: f32| {
            let mut x = [[0.0; LANES]; 3];
            for a in 0..3 {
                for l in 0..LANES {
                    x[a][l] = start[a][l] + f * u[a][l];
                }
            }
            x
        };
        let u1 = self.at(at, &go(u0, 0.5 * s));
        let u2 = self.at(at, &go(&u1, 0.75 * s));
        let mut mean = [[0.0; LANES]; 3];
        for a in 0..3 {
            for l in 0..LANES {
                mean[a][l] = 2.0 * u0[a][l] + 3.0 * u1[a][l] + 4.0 * u2[a][l];
            }
        }
        go(&mean, s * (1.0 / 9.0))
    }
}
