//! The fine level set: a band of voxels around the surface, several times finer than the smallest leaf
//! [power §5].
//!
//! Voxels lie in pages of 8x8x4, of which only those near the surface are committed. A voxel that does not exist reads
//! as exactly zero; no voxel that does has that value. Four channels: distance to solids, signed distance to the surface,
//! and two that redistancing uses.

mod advect;
mod pages;
mod redistance;
mod volume;

pub use advect::Motion;
pub(crate) use pages::PageCubes;
pub use pages::pages_near;
pub use volume::{Voxel, part_below};

use fluvial_foundation::{AXES, Aabb, Vec3};
use fluvial_grids::paged::LevelSetGrid;
use std::io;

/// Distance to solids, metres.
pub const SOLID: usize = 0;
/// Signed distance to the surface, metres.
pub const PHI: usize = 1;
const CURRENT: usize = 2;
const NEXT: usize = 3;
/// Steps to the nearest point of the surface at most, and when it is found, voxels.
const FOOT_STEPS: usize = 5;
const FOOT_OFF: f32 = 1e-3;
/// What a distance of zero is kept as: zero means that there is no voxel.
const LEAST: f32 = 1e-30;

/// Voxels around the surface.
pub struct Band {
    /// The voxels' fields.
    pub grid: LevelSetGrid,
    /// Low corner of the box, m.
    pub min: Vec3,
    /// Edge of a voxel, m.
    pub dx: f32,
    /// Distances are true up to this many metres, and held at it beyond.
    pub reach: f32,
    /// What to add to a voxel's code to come to the 64 voxels from one before it to two behind it along each axis, x
    /// fastest.
    steps: [u64; 64],
}

/// A value as it is kept.
#[inline]
pub(crate) fn kept(phi: f32) -> f32 {
    if phi == 0.0 { LEAST } else { phi }
}

impl Band {
    /// No voxels in a box of so many.
    pub fn empty(min: Vec3, dx: f32, cells: [usize; 3], reach: f32) -> io::Result<Band> {
        let grid = LevelSetGrid::new_anywhere(cells.map(|n| n as u32))?;
        let layout = *grid.layout();
        let steps = std::array::from_fn(|n| layout.encode([n % 4, n / 4 % 4, n / 16].map(|v| v as i64 - 1)));
        Ok(Band { grid, min, dx, reach, steps })
    }

    /// Another one of the same shape without voxels.
    pub fn like(&self) -> io::Result<Band> {
        Band::empty(self.min, self.dx, self.cells(), self.reach)
    }

    /// Voxels along each axis, were there no band.
    pub fn cells(&self) -> [usize; 3] {
        self.grid.layout().cells().map(|n| n as usize)
    }

    /// Number of committed voxels.
    pub fn voxels(&self) -> usize {
        256 * self.grid.blocks().len()
    }

    /// Centre of a voxel, m.
    #[inline]
    pub fn center(&self, at: [u32; 3]) -> Vec3 {
        let [x, y, z] = at.map(|v| v as f32 + 0.5);
        self.min + self.dx * Vec3::new(x, y, z)
    }

    /// The box of a page, m.
    pub fn page_box(&self, page: u64) -> Aabb {
        let layout = self.grid.layout();
        let low = layout.decode(layout.first_of(page));
        let side = Vec3::from_array(AXES.map(|a| layout.block_side(a) as f32));
        let min = self.min + self.dx * Vec3::from_array(low.map(|v| v as f32));
        Aabb { min, max: min + self.dx * side }
    }

    /// Distance in a voxel; zero where there is none.
    #[inline]
    pub fn phi(&self, voxel: u64) -> f32 {
        let layout = self.grid.layout();
        self.grid.channel(layout.page(voxel), PHI)[layout.cell_in_page(voxel)]
    }

    /// Distance in the voxel at some coordinates, if there is one.
    #[inline]
    pub fn phi_at(&self, at: [u32; 3]) -> Option<f32> {
        let phi = self.phi(self.grid.layout().encode(at.map(i64::from)));
        (phi != 0.0).then_some(phi)
    }

    /// The voxel at or before a point along each axis, such that the next one is in the box too, and where the point lies
    /// from it in voxels: beyond the outermost centres less than zero or more than one.
    #[inline]
    fn base(&self, x: Vec3) -> ([i64; 3], Vec3) {
        let t = (x - self.min) / self.dx - 0.5;
        let cells = self.grid.layout().cells();
        let at = AXES.map(|a| (t[a].floor() as i64).clamp(0, (i64::from(cells[a]) - 2).max(0)));
        (at, t - Vec3::from_array(at.map(|v| v as f32)))
    }

    /// The distances of the 2 x 2 x 2 voxels from one on, x fastest.
    #[inline]
    fn corners(&self, at: [i64; 3]) -> [f32; 8] {
        let layout = self.grid.layout();
        let code = layout.encode(at);
        let cell = layout.cell_in_page(code);
        // Most lie in one page, of 8 x 8 x 4 voxels.
        if cell & 7 != 7 && cell >> 3 & 7 != 7 && cell >> 6 != 3 {
            let page = self.grid.channel(layout.page(code), PHI);
            return [0, 1, 8, 9, 64, 65, 72, 73].map(|step| page[(cell + step) & 255]);
        }
        let codes = AXES.map(|a| [0, 1].map(|n| layout.along(a, at[a] + n)));
        let crosses = AXES.map(|a| layout.page(codes[a][0]) != layout.page(codes[a][1]));
        // Most others lie in two pages.
        if let Some(axis) = only(crosses) {
            let step = codes[axis][1];
            let beyond = AXES.into_iter().filter(|&a| a != axis).fold(step, |code, a| code | codes[a][0]);
            let pages = [code, beyond].map(|code| self.grid.channel(layout.page(code), PHI));
            return std::array::from_fn(|n| {
                let cell = codes[0][n & 1] | codes[1][n >> 1 & 1] | codes[2][n >> 2];
                pages[n >> axis & 1][layout.cell_in_page(cell) & 255]
            });
        }
        std::array::from_fn(|n| self.phi(codes[0][n & 1] | codes[1][n >> 1 & 1] | codes[2][n >> 2]))
    }

    /// Distance at a point, linear between voxels and on to the walls; None where a voxel is missing.
    #[inline]
    pub fn linear(&self, x: Vec3) -> Option<f32> {
        let (at, t) = self.base(x);
        let corner = self.corners(at);
        if corner.contains(&0.0) {
            return None;
        }
        let along_x = |n: usize| corner[n] + t.x * (corner[n + 1] - corner[n]);
        let low = along_x(0) + t.y * (along_x(2) - along_x(0));
        let high = along_x(4) + t.y * (along_x(6) - along_x(4));
        Some(low + t.z * (high - low))
    }

    /// Distance at a point, by the cubic through the voxels around it where there are enough, else linear.
    pub fn cubic(&self, x: Vec3) -> Option<f32> {
        let (at, t) = self.base(x);
        let layout = self.grid.layout();
        let cells = layout.cells();
        if AXES.iter().any(|&a| at[a] < 1 || at[a] + 2 >= i64::from(cells[a])) {
            return self.linear(x);
        }
        let codes = AXES.map(|a| [-1, 0, 1, 2].map(|n| layout.along(a, at[a] + n)));
        // Along each axis the four lie in two pages at most: those of the first and of the last.
        let pages: [&[f32; 256]; 8] = std::array::from_fn(|n| {
            let [x, y, z] = AXES.map(|a| codes[a][3 * (n >> a & 1)]);
            self.grid.channel(layout.page(x | y | z), PHI)
        });
        let is_second =
            |a: usize, n: usize| usize::from(layout.page(codes[a][n]) != layout.page(codes[a][0]));
        let (page_x, cell_x) =
            ([0, 1, 2, 3].map(|n| is_second(0, n)), codes[0].map(|c| layout.cell_in_page(c)));
        let weight = AXES.map(|a| cubic_weights(t[a]));
        let (mut sum, mut missing) = (0.0, false);
        for z in 0..4 {
            for y in 0..4 {
                let page = 2 * is_second(1, y) + 4 * is_second(2, z);
                let row = layout.cell_in_page(codes[1][y] | codes[2][z]);
                let values = [0, 1, 2, 3].map(|x| pages[page + page_x[x]][(row | cell_x[x]) & 255]);
                missing |= values.contains(&0.0);
                let along = (weight[0][0] * values[0] + weight[0][1] * values[1])
                    + (weight[0][2] * values[2] + weight[0][3] * values[3]);
                sum += weight[1][y] * weight[2][z] * along;
            }
        }
        if missing { self.linear(x) } else { Some(sum) }
    }

    /// Distance at a point by the nearest point of the surface, where that is found; else as it is interpolated. Voxels far from the surface have first-order
    /// distances; between leaves on both sides of it those would put the surface elsewhere, and tilted still water did not rest (2e-3 of gravity).
    ///
    /// The foot `p` solves `phi(p) = 0` and `x - p` along the slope there: alternate steps to the surface and along it. Test: `leaves_know_the_distance_to_a_tilted_plane`.
    pub fn distance(&self, x: Vec3) -> Option<f32> {
        let here = self.linear(x)?;
        let (mut p, mut phi) = (x, here);
        for _ in 0..FOOT_STEPS {
            let Some(slope) = self.slope(p) else { return Some(here) };
            let square = slope.length_squared();
            if square < 0.25 {
                return Some(here);
            }
            let way = x - p;
            let along = way - way.dot(slope) / square * slope;
            p += along - phi / square * slope;
            match self.linear(p) {
                Some(value) => phi = value,
                None => return Some(here),
            }
            if phi.abs() < FOOT_OFF * self.dx && along.length() < FOOT_OFF * self.dx {
                return Some(x.distance(p).copysign(here) + phi);
            }
        }
        Some(here)
    }

    /// Slope of the distance at a point; None where a voxel is missing.
    pub fn slope(&self, x: Vec3) -> Option<Vec3> {
        let mut slope = Vec3::ZERO;
        for axis in AXES {
            let step = 0.5 * self.dx * Vec3::AXES[axis];
            slope[axis] = (self.linear(x + step)? - self.linear(x - step)?) / self.dx;
        }
        Some(slope)
    }
}

/// The axis that is marked, if it is the only one.
#[inline(always)]
fn only(marked: [bool; 3]) -> Option<usize> {
    match marked {
        [true, false, false] => Some(0),
        [false, true, false] => Some(1),
        [false, false, true] => Some(2),
        _ => None,
    }
}

/// Weights of the values at -1, 0, 1 and 2 in the cubic through all four. (Catmull's and Rom's miss third derivatives, and shift what is
/// carried: `a_ball_in_uniform_flow_goes_as_far_as_the_flow`.)
fn cubic_weights(t: f32) -> [f32; 4] {
    let (before, after, beyond) = (t + 1.0, t - 1.0, t - 2.0);
    let sixth = 1.0 / 6.0;
    [
        -sixth * t * after * beyond,
        0.5 * before * after * beyond,
        -0.5 * before * t * beyond,
        sixth * before * t * after,
    ]
}
