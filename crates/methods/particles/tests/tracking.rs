//! Narrow-band tracking in prescribed flows: the grid's level set corrected by particles.

use crate::common::*;
use fluvial_foundation::{Vec3, random};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_particles::*;
use std::f32::consts::PI;

/// A level set and its particles, moved by a prescribed velocity.
struct Tracker {
    grid: UniformGrid,
    phi: Vec<f32>,
    solid: Vec<f32>,
    cloud: Cloud,
    band_m: f32,
    step: u64,
}

impl Tracker {
    fn new(grid: UniformGrid, solid: &[f32], phi: impl Fn(Vec3) -> f32 + Sync + Send) -> Self {
        let phi = fill(grid.cell_centers(), phi);
        let mut tracker = Tracker {
            grid,
            phi,
            solid: solid.to_vec(),
            cloud: Cloud::default(),
            band_m: 3.0 * grid.dx,
            step: 0,
        };
        tracker.resample(&FaceField::constant(&grid, 0.0));
        let Cloud { particles, reserve, .. } = &mut tracker.cloud;
        reserve.rest_m3 = 0.0;
        if solid.is_empty() {
            reserve.rest_m3 = volume(&tracker.phi, &grid) - reserve.volume_m3(particles.len(), &[], grid.dx);
        }
        tracker
    }

    fn resample(&mut self, u: &FaceField) -> ResampleReport {
        self.step += 1;
        let around = with_solids(&self.grid, &self.solid);
        self.cloud.resample(&self.phi, u, &around, self.band_m, self.step)
    }

    fn advance(&mut self, u: impl Fn(Vec3) -> Vec3 + Sync + Send, dt_s: f32) {
        let u_face = fill_faces(&self.grid, &u);
        self.cloud.advect(&u_face, &Surroundings::closed(&self.grid), dt_s);
        advect_phi(&mut self.phi, &u, &self.grid, dt_s, sample_cubic);
        self.correct();
        redistance(&mut self.phi, &self.grid);
        self.fit_to_mass();
        self.resample(&u_face);
    }

    /// The level set is moved by one distance to hold the mass of particles and deep cells, as solvers do.
    fn fit_to_mass(&mut self) {
        let (cloud, dx) = (&self.cloud, self.grid.dx);
        let mass_m3 = cloud.reserve.volume_m3(cloud.particles.len(), &[], dx);
        assert!(self.solid.is_empty());
        let area: f32 = self.phi.iter().map(|phi| (1.0 - phi.abs() / dx).max(0.0)).sum();
        let way = (mass_m3 - self.volume()) / f64::from(area * dx * dx);
        self.phi.iter_mut().for_each(|phi| *phi -= way as f32);
    }

    /// The level set takes what the particles know better.
    fn correct(&mut self) {
        self.cloud.correct(&mut self.phi, &with_solids(&self.grid, &self.solid));
    }

    fn volume(&self) -> f64 {
        volume(&self.phi, &self.grid)
    }

    /// Volume of the liquid in one set but not in the other, over that of `exact`.
    fn shape_error(&self, exact: &[f32]) -> f64 {
        let (ours, exact) = (liquid_shares(&self.phi, &self.grid), liquid_shares(exact, &self.grid));
        let difference: f64 = ours.iter().zip(&exact).map(|(a, b)| (a - b).abs()).sum();
        difference / exact.iter().sum::<f64>()
    }
}

/// Largest distance, in cells, of the zero set from the plane `exact` = 0 along every vertical line of cells.
fn flatness(phi: &[f32], exact: &[f32], grid: &UniformGrid) -> f32 {
    let lattice = grid.cell_centers();
    let mut worst = 0.0f32;
    let mut crossings = 0;
    for index in 0..phi.len() - lattice.stride(1) {
        let above = index + lattice.stride(1);
        if lattice.coordinates(index)[1] + 1 < lattice.size[1] && (phi[index] < 0.0) != (phi[above] < 0.0) {
            crossings += 1;
            let t = phi[index] / (phi[index] - phi[above]);
            worst = worst.max((exact[index] + t * (exact[above] - exact[index])).abs() / grid.dx);
        }
    }
    assert_eq!(crossings, lattice.size[0] * lattice.size[2], "one surface over every column");
    worst
}

/// At rest nothing may move, whatever the level and the slope, next to walls and solids too.
#[test]
fn a_pool_at_rest_stays_flat() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [24, 24, 24], dx: 1.0 / 24.0 };
    let post = |x: Vec3| Vec3::new(x.x - 0.45, 0.5 * (x.y - 0.5), x.z - 0.55).length() - 0.15;
    for slope in [0.0, 0.04, 0.3, 1.0] {
        for (level, solid) in [(0.5, vec![]), (0.511, vec![]), (0.53, fill(grid.nodes(), post))] {
            let plane =
                |x: Vec3| (x.y - level + slope * (x.x - 0.7 * x.z)) / (1.0f32 + 1.49 * slope * slope).sqrt();
            let mut tracker = Tracker::new(grid, &solid, plane);
            let exact = tracker.phi.clone();
            let home = tracker.cloud.particles.x.clone();
            for round in 0..100 {
                // Particles tremble within a hundredth of a cell, as they do when the flow has died down.
                let tremble = |id: u64| 0.01 * grid.dx * (random::unit_vec3(id, round) - 0.5);
                let Particles { x, id, .. } = &mut tracker.cloud.particles;
                for (x, &id) in x.iter_mut().zip(id.iter()) {
                    if let Some(&home) = home.get(id as usize) {
                        *x = home + tremble(id);
                    }
                }
                tracker.correct();
                tracker.resample(&FaceField::constant(&grid, 0.0));
            }
            let born = tracker.cloud.particles.len() - home.len();
            assert!(born < home.len() / 100, "{born} born beside {}", home.len());
            let near = |n: &usize| exact[*n].abs() < 2.0 * grid.dx;
            let changed = (0..exact.len()).filter(near).filter(|&n| tracker.phi[n] != exact[n]).count();
            assert_eq!(changed, 0, "slope {slope} level {level}: cells whose level moved");
        }
    }
}

/// A standing wave that a reversed flow undoes: the surface must come back flat, without the particles'
/// noise.
#[test]
fn a_wave_that_is_undone_leaves_a_flat_pool() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [32, 24, 8], dx: 1.0 / 32.0 };
    let level = 0.391;
    let mut tracker = Tracker::new(grid, &[], |x| x.y - level);
    let exact = tracker.phi.clone();
    let steps = 48;
    let amplitude = 3.0 * grid.dx;
    let mut highest = 0.0f32;
    for step in 0..steps {
        let phase = 2.0 * PI * (step as f32 + 0.5) / steps as f32;
        // Potential flow over a flat floor; the surface's rise is the integral of its vertical speed.
        let u = move |x: Vec3| {
            let a = amplitude * PI * phase.cos() / (PI * level).sinh();
            a * Vec3::new(-(PI * x.x).sin() * (PI * x.y).cosh(), (PI * x.x).cos() * (PI * x.y).sinh(), 0.0)
        };
        tracker.advance(u, 2.0 / steps as f32);
        let at_wall = |j: usize| tracker.phi[grid.cell_centers().index(0, j, 4)];
        let surface = (0..24).rev().find(|&j| at_wall(j) < 0.0).unwrap_or(0);
        highest = highest.max(surface as f32 * grid.dx - level);
    }
    assert!(highest > 1.0 * grid.dx, "the wave rises by {highest}");
    let worst = flatness(&tracker.phi, &exact, &grid);
    let volume = tracker.volume() / volume(&exact, &grid) - 1.0;
    assert!(worst < 0.05, "{worst} cells");
    assert!(volume.abs() < 1e-3, "{volume}");
}

fn sphere_shift(error_in_cells: f32) -> (f64, f64) {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [32; 3], dx: 1.0 / 32.0 };
    let mut tracker = Tracker::new(grid, &[], |x| (x - 0.5).length() - 0.3);
    let exact = tracker.volume();
    tracker.phi.iter_mut().for_each(|phi| *phi += error_in_cells * grid.dx);
    let before = tracker.volume() / exact - 1.0;
    for _ in 0..3 {
        tracker.correct();
        redistance(&mut tracker.phi, &grid);
    }
    (before, tracker.volume() / exact - 1.0)
}

#[test]
fn a_shrunken_sphere_is_restored() {
    for error_in_cells in [0.1, 0.25, 0.6] {
        let (before, after) = sphere_shift(error_in_cells);
        assert!(
            before < -0.02 && after.abs() < 0.01,
            "{error_in_cells} cells: volume {before} became {after}"
        );
    }
}

#[test]
fn a_swollen_sphere_is_cut_back() {
    for error_in_cells in [-0.4, -0.6] {
        let (before, after) = sphere_shift(error_in_cells);
        // What counting cannot tell from chance stays: a fifth of a cell.
        assert!(before > 0.1 && after < 0.09, "{error_in_cells} cells: volume {before} became {after}");
    }
}

/// A drop that the grid lost altogether is known to its particles.
#[test]
fn a_lost_drop_comes_back() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [24; 3], dx: 1.0 / 24.0 };
    let mut tracker = Tracker::new(grid, &[], |x| (x - 0.51).length() - 0.1);
    let exact = tracker.volume();
    tracker.phi.fill(3.0 * grid.dx);
    for _ in 0..3 {
        redistance(&mut tracker.phi, &grid);
        tracker.correct();
    }
    let volume = tracker.volume() / exact - 1.0;
    assert!(volume.abs() < 0.05, "volume error {volume}");
}

/// VALIDATION's solid rotation: one turn of a slotted sphere.
#[test]
fn zalesak_sphere_keeps_volume_and_slot() {
    let grid = UniformGrid { min: Vec3::new(0.05, 0.05, 0.325), cells: [72, 72, 28], dx: 1.0 / 80.0 };
    let body = |x: Vec3| {
        let p = x - Vec3::new(0.5, 0.75, 0.5);
        (p.length() - 0.15).max(-(p.x.abs() - 0.025).max(p.y - 0.1))
    };
    let mut tracker = Tracker::new(grid, &[], body);
    let exact = tracker.phi.clone();
    let u = |x: Vec3| 2.0 * PI * Vec3::new(0.5 - x.y, x.x - 0.5, 0.0);
    let steps = 90;
    for _ in 0..steps {
        tracker.advance(u, 1.0 / steps as f32);
    }
    // Ball less slot, by quadrature of the exact shape.
    let volume = tracker.volume() / 0.011038 - 1.0;
    let shape = tracker.shape_error(&exact);
    assert!(volume.abs() < 0.01, "volume error {volume}");
    assert!(shape < 0.05, "shape error {shape}");
    for y in [0.62, 0.66, 0.70, 0.74, 0.78, 0.82] {
        let in_slot = grid.cell_centers().sample(&tracker.phi, Vec3::new(0.5, y, 0.5));
        assert!(in_slot > 0.01, "slot at {y} is closed: phi {in_slot}");
    }
}

/// VALIDATION's deformation: a sphere is drawn to a sheet thinner than a cell, and back.
#[test]
fn enright_deformation_returns() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [40; 3], dx: 1.0 / 40.0 };
    let mut tracker = Tracker::new(grid, &[], |x| (x - 0.35).length() - 0.15);
    let exact = tracker.phi.clone();
    let (period, steps) = (3.0, 120);
    let dt_s = period / steps as f32;
    for step in 0..steps {
        let pulse = (PI * (step as f32 + 0.5) * dt_s / period).cos();
        let s = |v: f32| (PI * v).sin();
        let u = |x: Vec3| {
            pulse
                * Vec3::new(
                    2.0 * s(x.x).powi(2) * s(2.0 * x.y) * s(2.0 * x.z),
                    -s(2.0 * x.x) * s(x.y).powi(2) * s(2.0 * x.z),
                    -s(2.0 * x.x) * s(2.0 * x.y) * s(x.z).powi(2),
                )
        };
        tracker.advance(u, dt_s);
    }
    let volume = tracker.volume() / (4.0 / 3.0 * std::f64::consts::PI * 0.15f64.powi(3)) - 1.0;
    let shape = tracker.shape_error(&exact);
    assert!(volume.abs() < 0.03, "volume error {volume}");
    assert!(shape < 0.06, "shape error {shape}");
}
