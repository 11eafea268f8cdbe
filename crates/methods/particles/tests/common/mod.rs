//! Fields on a grid and a plain level-set method, enough to drive particles through prescribed flows.
#![allow(dead_code)] // each test file uses its share

use fluvial_foundation::{Vec3, random};
use fluvial_grids::{FaceField, Lattice, UniformGrid};
use fluvial_particles::*;

pub fn grid(cells: [usize; 3], dx: f32) -> UniformGrid {
    UniformGrid { min: Vec3::new(-0.3, 0.2, 0.1), cells, dx }
}

pub fn fill(lattice: Lattice, f: impl Fn(Vec3) -> f32) -> Vec<f32> {
    (0..lattice.len())
        .map(|n| {
            let [i, j, k] = lattice.coordinates(n);
            f(lattice.position(i, j, k))
        })
        .collect()
}

pub fn fill_faces(grid: &UniformGrid, u: impl Fn(Vec3) -> Vec3) -> FaceField {
    let mut field = FaceField::constant(grid, 0.0);
    for axis in 0..3 {
        field[axis] = fill(grid.faces(axis), |x| u(x)[axis]);
    }
    field
}

/// Particles anywhere in the box at least `inset` cells from its walls, with random velocities and rows.
pub fn scattered(grid: &UniformGrid, count: usize, inset: f32, affine: bool) -> Particles {
    let bounds = grid.bounds().expand(-inset * grid.dx);
    let mut particles = Particles::default();
    for n in 0..count as u64 {
        let r = |draw| 2.0 * random::unit_vec3(n, draw) - 1.0;
        let x = bounds.min + random::unit_vec3(n, 0) * bounds.size();
        let rows = affine.then(|| [5.0 * r(2) + 3.0 * Vec3::Y, 5.0 * r(3) - 3.0 * Vec3::X, 5.0 * r(4)]);
        particles.push(x, r(1) + Vec3::new(1.0, 0.0, -0.5), rows);
    }
    particles
}

/// Particles with what sorting and resampling need.
#[derive(Default)]
pub struct Cloud {
    pub particles: Particles,
    pub ranges: CellRanges,
    pub scratch: Scratch,
}

impl Cloud {
    pub fn of(particles: Particles, grid: &UniformGrid) -> Self {
        let mut cloud = Cloud { particles, ..Default::default() };
        cloud.sort(grid);
        cloud
    }

    pub fn sort(&mut self, grid: &UniformGrid) {
        self.particles.sort_by_cell(grid, &mut self.ranges, &mut self.scratch);
    }

    pub fn to_faces(&self, grid: &UniformGrid, transfer: &Transfer) -> (FaceField, FaceField) {
        // Garbage first: the transfer must overwrite all of it.
        let (mut u, mut w) = (FaceField::constant(grid, 7.0), FaceField::constant(grid, 7.0));
        particles_to_faces(&mut u, &mut w, &self.particles, &self.ranges, grid, transfer);
        (u, w)
    }

    pub fn resample(
        &mut self,
        phi: &[f32],
        u: &FaceField,
        solid: &[f32],
        grid: &UniformGrid,
        band_m: f32,
        seed: u64,
    ) -> ResampleReport {
        let transfer = Transfer::Flip { ratio: 1.0 };
        let Cloud { particles, ranges, scratch } = self;
        resample(particles, ranges, phi, u, solid, grid, band_m, &transfer, seed, scratch)
    }

    pub fn level_set(&self, grid: &UniformGrid) -> Vec<f32> {
        let mut phi = vec![0.0; grid.cell_count()];
        let radius = particle_radius_m(grid);
        level_set_from_particles(&mut phi, &self.particles, &self.ranges, grid, radius, 3.0 * grid.dx);
        phi
    }
}

/// Semi-Lagrangian step of a level set, traced with the midpoint rule.
pub fn advect_phi(phi: &mut Vec<f32>, u: impl Fn(Vec3) -> Vec3, grid: &UniformGrid, dt_s: f32) {
    let centers = grid.cell_centers();
    let old = phi.clone();
    *phi = fill(centers, |x| {
        let middle = x - 0.5 * dt_s * u(x);
        centers.sample(&old, x - dt_s * u(middle))
    });
}

/// Distance from the zero set: exact for planes next to it, fast sweeping beyond [Zhao 2004].
pub fn redistance(phi: &mut [f32], grid: &UniformGrid) {
    let lattice = grid.cell_centers();
    let n = lattice.size;
    let old = phi.to_vec();
    let far = 1e3 * grid.dx;
    let mut fixed = vec![false; phi.len()];
    for index in 0..phi.len() {
        let c = lattice.coordinates(index);
        let mut inverse_squares = 0.0;
        for axis in 0..3 {
            let mut nearest = f32::INFINITY;
            for step in [-1isize, 1] {
                let at = c[axis] as isize + step;
                if at >= 0 && (at as usize) < n[axis] {
                    let other = old[(index as isize + step * lattice.stride(axis) as isize) as usize];
                    if (other < 0.0) != (old[index] < 0.0) {
                        nearest = nearest.min(old[index] / (old[index] - other));
                    }
                }
            }
            inverse_squares += nearest.powi(-2);
        }
        fixed[index] = inverse_squares > 0.0;
        phi[index] = if fixed[index] { grid.dx / inverse_squares.sqrt() } else { far };
        phi[index] = phi[index].copysign(old[index]);
    }
    for _ in 0..2 {
        for sweep in 0..8 {
            sweep_distances(phi, &fixed, &lattice, sweep);
        }
    }
}

fn sweep_distances(phi: &mut [f32], fixed: &[bool], lattice: &Lattice, sweep: usize) {
    let n = lattice.size;
    for count in 0..phi.len() {
        let c = lattice.coordinates(count);
        let c: [usize; 3] = std::array::from_fn(|a| if sweep >> a & 1 == 1 { n[a] - 1 - c[a] } else { c[a] });
        let index = lattice.index(c[0], c[1], c[2]);
        if fixed[index] {
            continue;
        }
        let mut near: [f32; 3] = std::array::from_fn(|a| {
            let low = if c[a] > 0 { phi[index - lattice.stride(a)].abs() } else { f32::MAX };
            let high = if c[a] + 1 < n[a] { phi[index + lattice.stride(a)].abs() } else { f32::MAX };
            low.min(high)
        });
        near.sort_by(f32::total_cmp);
        let h = lattice.spacing;
        let mut d = near[0] + h;
        if d > near[1] {
            d = 0.5 * (near[0] + near[1] + (2.0 * h * h - (near[0] - near[1]).powi(2)).sqrt());
            if d > near[2] {
                let (sum, squares) = (near.iter().sum::<f32>(), near.iter().map(|v| v * v).sum::<f32>());
                d = (sum + (sum * sum - 3.0 * (squares - h * h)).max(0.0).sqrt()) / 3.0;
            }
        }
        phi[index] = d.min(phi[index].abs()).copysign(phi[index]);
    }
}

/// Liquid volume of a distance field: a cell's share is that of a half-space at this distance.
pub fn volume(phi: &[f32], grid: &UniformGrid) -> f64 {
    let share = |phi: f32| (0.5 - phi as f64 / grid.dx as f64).clamp(0.0, 1.0);
    phi.iter().map(|&p| share(p)).sum::<f64>() * (grid.dx as f64).powi(3)
}
