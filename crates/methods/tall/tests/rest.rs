//! The whole of Algorithm 1 on water at rest over terrain.

use crate::scenes::*;
use fluvial_grids::TallGrid;
use fluvial_tall::extrapolate::{self, BandParams};
use fluvial_tall::field::Velocity;
use fluvial_tall::hierarchy::coarsen_until;
use fluvial_tall::pressure::multigrid::{Cycles, Multigrid};
use fluvial_tall::pressure::projection::{
    Liquid, lateral_outflow, right_side, right_side_counting, subtract_gradient,
};
use fluvial_tall::remesh::{self, RemeshParams};
use fluvial_tall::walls::Walls;
use fluvial_tall::{advect, redistance};

/// State of a simulation as tests step it.
pub struct Water {
    pub grid: TallGrid,
    pub phi: Vec<f32>,
    pub u: Vec<Velocity>,
    pub pressure: Multigrid,
    /// Does the right side count what flows through the sides of tall cells?
    pub counting: bool,
}

impl Water {
    pub fn new(grid: TallGrid, phi: Vec<f32>) -> Water {
        let u = vec![[0.0, 0.0, 0.0, 1.0]; grid.samples()];
        let pressure = Multigrid::new(&grid);
        Water { grid, phi, u, pressure, counting: false }
    }

    /// Volume of liquid in cells: phi <= 0 counts whole cells, a surface between two cells of a column its
    /// part.
    pub fn volume_cells(&self) -> f64 {
        let mut sum = 0.0;
        for k in 0..self.grid.nz {
            for i in 0..self.grid.nx {
                for y in self.grid.column(i, k)[0]..self.grid.above(i, k) {
                    let phi = fluvial_tall::field::at(&self.phi, self.grid.locate(i, k, y as f32));
                    sum += f64::from((0.5 - phi / self.grid.dx_m).clamp(0.0, 1.0));
                }
            }
        }
        sum
    }

    /// Outflow of all tall cells after the projection, in cells a step: what the projection did not see.
    pub fn tall_outflow_cells(&self, dt_s: f32) -> f64 {
        let n = self.grid.samples();
        let (fraction, u_solid) = (vec![0.0; n], vec![[0.0; 4]; n]);
        let liquid =
            Liquid { phi: &self.phi, fraction: &fraction, u_solid: &u_solid, density_kg_m3: 1e3, dt_s };
        let mut sum = 0.0;
        for k in 0..self.grid.nz {
            for i in 0..self.grid.nx {
                let [terrain, tall] = self.grid.column(i, k);
                let top = self.grid.index(i, 1, k);
                if self.phi[top] > 0.0 {
                    continue;
                }
                let side = |y| lateral_outflow(&self.grid, &self.u, &liquid, [i as i32, y, k as i32]);
                let lateral: f32 = (terrain..terrain + tall).map(side).sum();
                let up = 0.5 * (self.u[top][1] + self.u[top + self.grid.nx][1]);
                sum += f64::from((lateral + up) * dt_s / self.grid.dx_m);
            }
        }
        sum
    }

    /// One step of Algorithm 1.
    pub fn step(&mut self, number: usize, dt_s: f32, params: &RemeshParams, cycles: &Cycles) {
        let n = self.grid.samples();
        let grids = coarsen_until(&self.grid, |_| false);
        let mut work = extrapolate::Scratch::new(&grids);
        extrapolate::extrapolate(&mut self.u, &grids, &self.phi, BandParams::default(), &mut work);
        let mut spare = vec![0.0; n];
        if number % 10 == 9 {
            redistance::redistance(&mut self.phi, &self.grid, &mut spare);
        } else {
            redistance::clamp_frame(&mut spare, &self.phi, &self.grid);
            self.phi.copy_from_slice(&spare);
        }
        let (mut carried, mut from, mut u) = (self.u.clone(), self.u.clone(), self.u.clone());
        advect::trace_back(
            (&mut carried, &mut from),
            &self.grid,
            (&self.u, &self.phi),
            (&Walls::HOLDING, &self.phi),
            dt_s,
        );
        advect::correct(&mut u, &self.grid, &self.u, (&carried, &from), [0.0, -GRAVITY, 0.0], dt_s);
        advect::carried_phi(&mut self.phi, &carried);
        let mut columns = self.grid.columns.clone();
        remesh::remesh(&mut columns, &self.grid, &self.phi, params, &[], &mut remesh::Scratch::default());
        let new = TallGrid::new([self.grid.nx, self.grid.regular, self.grid.nz], self.grid.dx_m, columns);
        remesh::transfer_phi(&mut spare, &new, &self.grid, &self.phi);
        self.phi.copy_from_slice(&spare);
        remesh::transfer(&mut carried, &new, &self.grid, &u);
        remesh::transfer(&mut spare, &new, &self.grid, &self.pressure.levels[0].p);
        self.pressure.levels[0].p.copy_from_slice(&spare);
        self.grid = new;
        let (fraction, u_solid) = (vec![0.0; n], vec![[0.0; 4]; n]);
        let liquid =
            Liquid { phi: &self.phi, fraction: &fraction, u_solid: &u_solid, density_kg_m3: 1e3, dt_s };
        self.pressure.build(&self.grid, &self.phi, &fraction, &Walls::HOLDING);
        let measure = if self.counting { right_side_counting } else { right_side };
        measure(&mut self.pressure.levels[0].b, &self.grid, &carried, &liquid);
        self.pressure.solve(cycles);
        let finest = &self.pressure.levels[0];
        subtract_gradient(&mut self.u, &self.grid, &carried, &finest.rows, &finest.p, &liquid);
    }
}

#[test]
fn water_at_rest_over_terrain_stays_at_rest() {
    let params = RemeshParams { cells_below: 6.0, cells_above: 4.0, ..Default::default() };
    let grid = lake([16, 20, 12], 0.1, 20, 6);
    let phi = still_phi(&grid, 20.3);
    let mut water = Water::new(grid, phi);
    let before = water.volume_cells();
    for number in 0..100 {
        // The first step has no pressure to start from; a coarse first solution would set the lake in motion.
        let full = if number == 0 { 5 } else { 1 };
        water.step(number, 1.0 / 30.0, &params, &Cycles { full, ..Cycles::default() });
    }
    let speed = largest_speed(&water.u, &water.phi);
    let drift = water.volume_cells() / before - 1.0;
    println!("after 100 steps: speed {speed:.1e} m/s, volume {drift:.1e}");
    assert!(speed < 2e-5, "{speed}");
    assert!(drift.abs() < 1e-5, "{drift}");
}

#[test]
fn flux_through_tall_sides_is_counted() {
    // A tall cell between columns whose cubic cells blow into its middle: the paper's right side is blind to
    // it.
    let columns = (0..3 * 3).map(|c| if c == 4 { [0, 12] } else { [0, 2] }).collect();
    let grid = TallGrid::new([3, 14, 3], 0.1, columns);
    let n = grid.samples();
    let (phi, fraction, u_solid) = (vec![-1.0; n], vec![0.0; n], vec![[0.0; 4]; n]);
    let liquid = Liquid { phi: &phi, fraction: &fraction, u_solid: &u_solid, density_kg_m3: 1e3, dt_s: 0.1 };
    let middle = |y: f32| if (3.0..9.0).contains(&y) { 1.0 } else { 0.0 };
    let u = velocity(
        &grid,
        |x, y, z| if (x, z) == (1.0, 1.0) { [0.0; 3] } else { [middle(y) * (x - 1.0), 0.0, 0.0] },
    );
    let (mut blind, mut counted) = (vec![0.0; n], vec![0.0; n]);
    right_side(&mut blind, &grid, &u, &liquid);
    right_side_counting(&mut counted, &grid, &u, &liquid);
    let ends = |b: &[f32]| [b[grid.index(1, 0, 1)], b[grid.index(1, 1, 1)]];
    assert_eq!(ends(&blind), [0.0; 2]);
    // Six sub-cells of twelve with an outflow of 1 m/s: the mean of both ends is half, times rho dx / dt.
    let flow: f32 = (0..12).map(|y| lateral_outflow(&grid, &u, &liquid, [1, y, 1])).sum();
    assert_eq!(flow, 6.0);
    let [bottom, top] = ends(&counted);
    assert!((0.5 * (bottom + top) - 0.5 * 1e3).abs() < 1e-2, "{bottom} {top}");
    // Where velocity is linear both are the same.
    let u = velocity(&grid, |x, y, z| [0.1 * x * y, 0.2 * y, -0.3 * z]);
    right_side(&mut blind, &grid, &u, &liquid);
    right_side_counting(&mut counted, &grid, &u, &liquid);
    let difference = blind.iter().zip(&counted).fold(0.0f32, |a, (x, y)| a.max((x - y).abs()));
    assert!(difference < 1e-4 * largest(&blind), "{difference}");
}

/// Relative change of volume of a deep basin that sloshes for 1.5 s, and the part of it that tall cells gave
/// off unseen; with tall cells from eight cells below the surface, or with none to speak of.
fn sloshing(tall: bool, counting: bool) -> [f64; 2] {
    let (n, level, dt_s) = (20, 30, 1.0 / 30.0);
    let (regular, below) = if tall { (26, 6.0) } else { (44, 100.0) };
    let params = RemeshParams { cells_below: below, cells_above: 6.0, ..Default::default() };
    let grid = hills([n, regular, 4], 0.1, [level, if tall { 8 } else { 100 }], 0.4);
    let phi = field(&grid, |x, y, _| {
        let surface = level as f32 + 5.0 * (std::f32::consts::PI * (x + 0.5) / n as f32).cos();
        (y + 0.5 - surface).clamp(-5.0, 5.0) * grid.dx_m
    });
    let mut water = Water::new(grid, phi);
    water.counting = counting;
    let (before, mut unseen) = (water.volume_cells(), 0.0);
    for number in 0..45 {
        let full = if number == 0 { 5 } else { 1 };
        water.step(number, dt_s, &params, &Cycles { full, ..Cycles::default() });
        unseen += water.tall_outflow_cells(dt_s);
    }
    [water.volume_cells() / before - 1.0, unseen / before]
}

#[test]
fn volume_of_sloshing_water() {
    let (blind, counted, cubic) = (sloshing(true, false), sloshing(true, true), sloshing(false, false));
    println!(
        "volume and unseen outflow: {blind:.4?} by the paper's right side, {counted:.4?} counting, {cubic:.4?} with cubic cells"
    );
    // With layers of one cell, as in the paper, tall cells gave off 3.1 % unseen by its right side and 1.8 % counting,
    // and the volume was off against cubic cells by as much. What is left comes from slopes, where layers are still as thin.
    for [volume, unseen] in [blind, counted] {
        assert!(unseen.abs() < 0.01 && (volume - cubic[0]).abs() < 0.01, "{volume} {unseen}");
    }
}
