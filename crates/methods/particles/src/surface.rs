//! The surface of the particles: the distance to their averaged centre.

use crate::sight::{self, bit};
use crate::{CellRanges, Particles};
use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use std::ops::Range;

/// The depth of the averaged centre under a flat surface of evenly spread particles, in kernel radii:
/// integral of z (1 - z^2)^4 over integral of (1 - z^2)^4 from 0 to 1. It ties the particle radius to the
/// kernel radius: the particles' surface then lies where the liquid they fill ends.
const FLAT_DEPTH: f32 = 0.246_094;
/// 1 / slope of the averaged distance across that surface, and the curvature that brings it to 1 at the
/// kernel's edge: turns the averaged distance into the distance to a flat surface.
const SLOPE: f32 = 1.65;
const BEND: f32 = -0.429;
/// No point farther than this from every particle is liquid, in particle radii. Averaging alone would fill
/// the gap between two sheets, whose common centre lies in the air between them.
const FARTHEST_LIQUID_IN_RADII: f32 = 2.2;

/// The radius of a particle: the average then reaches over the 27 cells around.
pub fn particle_radius_m(grid: &UniformGrid) -> f32 {
    1.5 * FLAT_DEPTH * grid.dx
}

/// No value of [`Averager::value`] is lower, in cells: a centre amid its particles.
pub const LOWEST_IN_CELLS: f32 = -1.5 * FLAT_DEPTH * (SLOPE - BEND * FLAT_DEPTH);

/// Level set of the particles' union at cell centres: the distance to the averaged centre, less the radius
/// [zhu-2005 §5, eq. 3 to 4],
///
/// phi(x) = g(|x - x_mean|), x_mean = sum w_i x_i / sum w_i, w_i = (1 - |x - x_i|^2 / R^2)^3, R = 1.5 dx.
///
/// Differences to the paper: g is 0 where its argument is the radius, and has the slope that makes phi the
/// distance to a flat surface of evenly spread particles; phi is at least the distance to the nearest
/// particle less 2.2 radii, so that gaps between sheets stay open; walls of the box mirror the particles, so
/// that surfaces meet them level.
/// Tests: `a_flat_pool_of_particles_has_a_flat_level_set`, `a_gap_between_two_sheets_stays_open`,
/// `a_lone_particle_is_a_ball`.
pub struct Averager<'a> {
    /// Sorted by cell.
    pub particles: &'a Particles,
    /// The particles of each cell.
    pub ranges: &'a CellRanges,
    /// Its cells.
    pub grid: &'a UniformGrid,
}

/// A neighbour along an axis, as itself or seen in the mirror of a wall: x -> sign x + offset.
#[derive(Clone, Copy)]
struct Seen {
    index: usize,
    sign: f32,
    offset: f32,
}

/// The particles around a point, as their level set sees them; for any grid of edge dx.
#[derive(Clone, Copy, Debug)]
pub struct Average {
    dx: f32,
    /// 1 / R^2.
    inverse: f32,
    weight: f32,
    moment: Vec3,
    nearest_squared: f32,
}

impl Average {
    /// Of no particle yet.
    pub fn new(dx: f32) -> Self {
        Average {
            dx,
            inverse: 1.0 / (2.25 * dx * dx),
            weight: 0.0,
            moment: Vec3::ZERO,
            nearest_squared: f32::MAX,
        }
    }

    /// Adds a particle at `away` from the point.
    #[inline]
    pub fn add(&mut self, away: Vec3) {
        let squared = away.length_squared();
        let t = (1.0 - squared * self.inverse).max(0.0);
        let weight = t * t * t;
        self.weight += weight;
        self.moment += weight * away;
        self.nearest_squared = self.nearest_squared.min(squared);
    }

    /// phi at the point, metres; infinite farther than 1.5 dx from all particles.
    pub fn phi(&self) -> f32 {
        if self.weight <= 0.0 {
            return f32::INFINITY;
        }
        let reach_m = 1.5 * self.dx;
        let s = self.moment.length() / self.weight / reach_m - FLAT_DEPTH;
        let averaged = reach_m * s * (SLOPE + BEND * s);
        let radius_m = 1.5 * FLAT_DEPTH * self.dx;
        averaged.max(self.nearest_squared.sqrt() - FARTHEST_LIQUID_IN_RADII * radius_m)
    }
}

impl Averager<'_> {
    /// phi at the centre of a cell, metres; infinite farther than 1.5 dx from all particles. Only those in
    /// the cells around that are `seen` count.
    pub fn value(&self, [i, j, k]: [usize; 3], seen: u32) -> f32 {
        let ([nx, ny, _], dx) = (self.grid.cells, self.grid.dx);
        let center = self.grid.cell_centers().position(i, j, k);
        let mut sums = Average::new(dx);
        for dk in -1..=1 {
            for dj in -1..=1 {
                let (y, z) = (self.seen(1, j as isize + dj), self.seen(2, k as isize + dk));
                let row = nx * (y.index + ny * z.index);
                if seen != sight::ALL {
                    for di in -1..=1 {
                        let cell = i as isize + di;
                        if seen & bit([di, dj, dk]) != 0 && (0..nx as isize).contains(&cell) {
                            let sign = Vec3::new(1.0, y.sign, z.sign);
                            let offset = Vec3::new(0.0, y.offset, z.offset) - center;
                            let cell = row + cell as usize;
                            self.add(&mut sums, cell..cell + 1, sign, offset);
                        }
                    }
                    continue;
                }
                let mut add = |cells: Range<usize>, x: Seen| {
                    let sign = Vec3::new(x.sign, y.sign, z.sign);
                    let offset = Vec3::new(x.offset, y.offset, z.offset) - center;
                    self.add(&mut sums, row + cells.start..row + cells.end, sign, offset);
                };
                add(i.saturating_sub(1)..(i + 2).min(nx), Seen { index: i, sign: 1.0, offset: 0.0 });
                for ghost in [i as isize - 1, i as isize + 1] {
                    if ghost < 0 || ghost >= nx as isize {
                        let x = self.seen(0, ghost);
                        add(x.index..x.index + 1, x);
                    }
                }
            }
        }
        sums.phi()
    }

    /// The cell number `index` along an axis, mirrored at the walls.
    fn seen(&self, axis: usize, index: isize) -> Seen {
        let n = self.grid.cells[axis] as isize;
        let (low, high) = (self.grid.bounds().min[axis], self.grid.bounds().max[axis]);
        if index < 0 {
            Seen { index: 0, sign: -1.0, offset: 2.0 * low }
        } else if index >= n {
            Seen { index: n as usize - 1, sign: -1.0, offset: 2.0 * high }
        } else {
            Seen { index: index as usize, sign: 1.0, offset: 0.0 }
        }
    }

    #[inline]
    fn add(&self, sums: &mut Average, cells: Range<usize>, sign: Vec3, offset: Vec3) {
        for &x in &self.particles.x[self.ranges.of_cells(cells)] {
            sums.add(sign * x + offset);
        }
    }
}
