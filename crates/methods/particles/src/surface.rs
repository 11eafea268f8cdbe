//! The surface of the particles, and how it corrects the level set that the grid advected.

use crate::correct::{share, shift_to_particles};
use crate::{CellRanges, Particles, Scratch};
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::UniformGrid;

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
/// A cell counts as interior where it and its 26 neighbours hold at least this many.
const INTERIOR_COUNT: usize = 3;

/// The particle radius at which [`level_set_from_particles`] averages over exactly the 27 cells around.
pub fn particle_radius_m(grid: &UniformGrid) -> f32 {
    1.5 * FLAT_DEPTH * grid.dx
}

/// Level set of the particles' union at cell centres: the distance to the averaged centre, less the radius
/// [Zhu, Bridson 2005, §5, eq. 3-4],
///
/// phi(x) = g(|x - x_mean|), x_mean = sum w_i x_i / sum w_i, w_i = (1 - |x - x_i|^2 / R^2)^3,
///
/// with R = `radius_m` / 0.246 (at least 1.5 dx at [`particle_radius_m`]). Differences to the paper: g is 0
/// where its argument is `radius_m`, and has the slope that makes phi the distance to a flat surface of
/// evenly spread particles; phi is at least the distance to the nearest particle less 2.2 radii, so that
/// gaps between sheets stay open; walls of the box mirror the particles, so that surfaces meet them level.
/// Cells farther than R from all particles get `band_m`, cells deep among particles -`radius_m`.
/// Tests: `a_flat_pool_of_particles_has_a_flat_level_set`, `a_gap_between_two_sheets_stays_open`,
/// `a_lone_particle_is_a_ball`.
pub fn level_set_from_particles(
    phi_out: &mut [f32],
    particles: &Particles,
    ranges: &CellRanges,
    grid: &UniformGrid,
    radius_m: f32,
    band_m: f32,
) {
    assert_eq!(phi_out.len(), grid.cell_count());
    debug_assert!(ranges.describe(particles, grid));
    let reach_m = radius_m / FLAT_DEPTH;
    // Centres of cells c away are at least c - 1/2 cells from particles here.
    let cells = (reach_m / grid.dx + 0.5 - 1e-3).floor().max(1.0) as isize;
    let averager = Averager { particles, ranges, grid, radius_m, reach_m, cells };
    let [nx, ny, _] = grid.cells;
    parallel::for_each_chunk_mut(phi_out, nx, |row, phi| averager.fill_row(phi, row % ny, row / ny, band_m));
}

struct Averager<'a> {
    particles: &'a Particles,
    ranges: &'a CellRanges,
    grid: &'a UniformGrid,
    radius_m: f32,
    reach_m: f32,
    /// How many cells away particles can matter.
    cells: isize,
}

/// A neighbour along an axis, as itself or seen in the mirror of a wall: x -> sign x + offset.
#[derive(Clone, Copy)]
struct Seen {
    index: usize,
    sign: f32,
    offset: f32,
}

#[derive(Clone, Copy)]
struct Sums {
    weight: f32,
    moment: Vec3,
    nearest_squared: f32,
}

impl Averager<'_> {
    fn fill_row(&self, phi: &mut [f32], j: usize, k: usize, band_m: f32) {
        phi.fill(band_m);
        let [nx, ny, _] = self.grid.cells;
        let mut rows = Vec::with_capacity(25);
        for dk in -self.cells..=self.cells {
            for dj in -self.cells..=self.cells {
                let (y, z) = (self.seen(1, j as isize + dj), self.seen(2, k as isize + dk));
                let first = nx * (y.index + ny * z.index);
                rows.push((first, y, z));
            }
        }
        if rows.iter().all(|&(first, ..)| self.ranges.of_cells(first..first + nx).is_empty()) {
            return;
        }
        for (i, phi) in phi.iter_mut().enumerate() {
            let low = i.saturating_sub(self.cells as usize);
            let high = (i + self.cells as usize).min(nx - 1);
            let fewest = |&(first, ..): &(usize, Seen, Seen)| {
                (low..=high).map(|i| self.ranges.count(first + i)).min().unwrap_or(0)
            };
            if rows.iter().all(|row| fewest(row) >= INTERIOR_COUNT) {
                // Not deeper: how deep it lies is not known, and the grid's value shall stand.
                *phi = -self.radius_m;
            } else {
                let center = self.grid.cell_centers().position(i, j, k);
                *phi = self.value(i, &rows, center).map_or(band_m, |value| value.min(band_m));
            }
        }
    }

    /// The cell number `index` along an axis, mirrored at the walls.
    fn seen(&self, axis: usize, index: isize) -> Seen {
        let n = self.grid.cells[axis] as isize;
        let (low, high) = (self.grid.bounds().min[axis], self.grid.bounds().max[axis]);
        if index < 0 {
            Seen { index: (-1 - index).min(n - 1) as usize, sign: -1.0, offset: 2.0 * low }
        } else if index >= n {
            Seen { index: (2 * n - 1 - index).max(0) as usize, sign: -1.0, offset: 2.0 * high }
        } else {
            Seen { index: index as usize, sign: 1.0, offset: 0.0 }
        }
    }

    fn value(&self, i: usize, rows: &[(usize, Seen, Seen)], center: Vec3) -> Option<f32> {
        let nx = self.grid.cells[0];
        let (low, high) = (i as isize - self.cells, i as isize + self.cells);
        let mut sums = Sums { weight: 0.0, moment: Vec3::ZERO, nearest_squared: f32::MAX };
        for &(first, y, z) in rows {
            let mut add = |cells: std::ops::Range<usize>, x: Seen| {
                let sign = Vec3::new(x.sign, y.sign, z.sign);
                let offset = Vec3::new(x.offset, y.offset, z.offset) - center;
                self.add(&mut sums, first + cells.start..first + cells.end, sign, offset);
            };
            let inside = low.max(0) as usize..(high + 1).min(nx as isize) as usize;
            add(inside, Seen { index: i, sign: 1.0, offset: 0.0 });
            for ghost in (low..0).chain(nx as isize..=high) {
                let x = self.seen(0, ghost);
                add(x.index..x.index + 1, x);
            }
        }
        if sums.weight <= 0.0 {
            return None;
        }
        let s = sums.moment.length() / sums.weight / self.reach_m - FLAT_DEPTH;
        let averaged = self.reach_m * s * (SLOPE + BEND * s);
        Some(averaged.max(sums.nearest_squared.sqrt() - FARTHEST_LIQUID_IN_RADII * self.radius_m))
    }

    #[inline]
    fn add(&self, sums: &mut Sums, cells: std::ops::Range<usize>, sign: Vec3, offset: Vec3) {
        let inverse = 1.0 / (self.reach_m * self.reach_m);
        for &x in &self.particles.x[self.ranges.of_cells(cells)] {
            let away = sign * x + offset;
            let squared = away.length_squared();
            let t = (1.0 - squared * inverse).max(0.0);
            let weight = t * t * t;
            sums.weight += weight;
            sums.moment += weight * away;
            sums.nearest_squared = sums.nearest_squared.min(squared);
        }
    }
}

/// Differences up to the first are noise of the particles' surface, from the second on they are liquid that
/// the grid has lost; in cells.
const LOST_LIQUID_IN_CELLS: [f32; 2] = [0.5, 1.0];
/// The same for liquid that the grid has kept where the particles have left. Wider: particles that are
/// missing (next to solids, in a strained surface) must not eat the liquid.
const LEFT_LIQUID_IN_CELLS: [f32; 2] = [0.8, 1.2];

/// Corrects the advected level set `phi` by the particles' one; the caller redistances afterwards.
///
/// [Ferstl et al. 2016, §3.3] take min(phi_particles, phi + dx) everywhere, which prints the particles'
/// noise into every calm surface. Here the smooth advected surface stands wherever the particles agree with
/// it within their noise, as in the extended narrow band of [Sato, Wojtan, Thuerey, Igarashi, Ando 2018]
/// without its heat:
/// - phi_particles < phi: the grid lost liquid (splashes, thin sheets); phi goes over to phi_particles while
///   the difference grows from 0.5 to 1 dx;
/// - phi_particles > max(phi, 0): the particles have left; phi goes over to min(phi_particles, phi + dx)
///   while that difference grows from 0.8 to 1.2 dx. Deeper than dx liquid stays, particles or not; deeper
///   than 2 dx nothing is touched.
///
/// Tests: `a_pool_at_rest_stays_flat`, `zalesak_sphere_keeps_volume_and_slot`.
pub fn combine_narrow_band(phi: &mut [f32], phi_particles: &[f32], grid: &UniformGrid) {
    combine_outside_solids(phi, phi_particles, &[], grid);
}

/// As [`combine_narrow_band`]; in cells whose centre is in a solid or nearer to one than dx, liquid without
/// particles stays: there they are missing on the solid's side.
fn combine_outside_solids(
    phi: &mut [f32],
    phi_particles: &[f32],
    phi_solid_node: &[f32],
    grid: &UniformGrid,
) {
    assert_eq!(phi.len(), phi_particles.len());
    assert_eq!(phi.len(), grid.cell_count());
    let dx = grid.dx;
    let is_clear = |cell: usize| phi_solid_node.is_empty() || solid_distance(phi_solid_node, grid, cell) > dx;
    parallel::for_each_chunk_mut(phi, parallel::CHUNK, |chunk, phi| {
        let first = chunk * parallel::CHUNK;
        for ((phi, &particles), cell) in phi.iter_mut().zip(&phi_particles[first..]).zip(first..) {
            let lost = *phi - particles;
            let left = (particles - phi.max(0.0)) / dx;
            if lost > 0.0 {
                *phi -= lost * share(lost / dx, LOST_LIQUID_IN_CELLS);
            } else if left > LEFT_LIQUID_IN_CELLS[0] && *phi > -2.0 * dx && *phi < 0.5 * dx && is_clear(cell)
            {
                *phi += (-lost).min(dx) * share(left, LEFT_LIQUID_IN_CELLS);
            }
        }
    });
}

/// Distance of a cell's centre from solids: the mean of its corners.
pub(crate) fn solid_distance(phi_solid_node: &[f32], grid: &UniformGrid, cell: usize) -> f32 {
    let nodes = grid.nodes();
    let [i, j, k] = grid.cell_centers().coordinates(cell);
    0.125 * nodes.corner_values(phi_solid_node, nodes.index(i, j, k)).iter().sum::<f32>()
}

/// Everything that particles know better than the advected level set `phi`, in one call: the fine correction
/// [`shift_to_particles`], then [`level_set_from_particles`] (left in `phi_particles`) and the coarse one
/// [`combine_narrow_band`], both with an eye on solids (`phi_solid_node`, empty where there is none). Sorted
/// particles are needed; the caller redistances afterwards.
/// Tests: `a_pool_at_rest_stays_flat`, `zalesak_sphere_keeps_volume_and_slot`, `enright_deformation_returns`.
#[allow(clippy::too_many_arguments)]
pub fn correct_by_particles(
    phi: &mut [f32],
    phi_particles: &mut [f32],
    particles: &Particles,
    ranges: &CellRanges,
    phi_solid_node: &[f32],
    grid: &UniformGrid,
    band_m: f32,
    scratch: &mut Scratch,
) {
    shift_to_particles(phi, particles, ranges, phi_solid_node, grid, scratch);
    level_set_from_particles(phi_particles, particles, ranges, grid, particle_radius_m(grid), band_m);
    combine_outside_solids(phi, phi_particles, phi_solid_node, grid);
}
