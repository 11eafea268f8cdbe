//! Whole steps on the GPU against the same kernels on the CPU. Skipped, with a message, where there is no adapter.

use crate::parity::letting_go;
use crate::scenes::*;
use fluvial_device::{AdapterChoice, Device, DeviceError};
use fluvial_grids::TallGrid;
use fluvial_tall::extrapolate::{self, BandParams};
use fluvial_tall::gpu::{GpuWater, WaterFields, WaterParams};
use fluvial_tall::hierarchy::coarsen_until;
use fluvial_tall::pressure::multigrid::{Cycles, Multigrid};
use fluvial_tall::pressure::projection::{Liquid, right_side_counting, subtract_gradient};
use fluvial_tall::remesh::RemeshParams;
use fluvial_tall::solids::{Ground, Placed, phi_in_solids, place, velocity_in_solids};
use fluvial_tall::volume::{self, Divided, Flow, Held, Open, SPREAD_PASSES, Start};
use fluvial_tall::{advect, redistance, remesh};

/// The twin of [`GpuWater`], in the order of the solver.
struct CpuWater {
    grid: TallGrid,
    fields: WaterFields,
    held: Vec<Held>,
    fraction: Vec<f32>,
    open_cell: Vec<f32>,
    open_tall: Vec<f32>,
    ground: Ground,
    limits: Vec<[f32; 2]>,
    pressure: Multigrid,
    params: WaterParams,
}

impl CpuWater {
    fn new(
        grid: TallGrid,
        phi: Vec<f32>,
        ground: Ground,
        limits: Vec<[f32; 2]>,
        params: WaterParams,
    ) -> CpuWater {
        let (n, columns) = (grid.samples(), grid.columns.len());
        let fields = WaterFields {
            columns: grid.columns.clone(),
            phi,
            u: vec![[0.0, 0.0, 0.0, 1.0]; n],
            pressure: vec![0.0; n],
            residual: vec![0.0; columns],
        };
        let pressure = Multigrid::new(&grid);
        let (fraction, open_cell, open_tall) = (vec![0.0; n], vec![1.0; n], vec![0.0; columns]);
        let held = vec![Held::default(); columns];
        let mut water =
            CpuWater { grid, fields, held, fraction, open_cell, open_tall, ground, limits, pressure, params };
        water.place();
        water
    }

    fn place(&mut self) {
        let CpuWater { fraction, open_cell, open_tall, .. } = self;
        let out = Placed { fraction, open_cell, open_tall, u_solid: &mut [] };
        place(out, &self.grid, &self.ground, None);
        let open = Open { cell: &self.open_cell, tall: &self.open_tall };
        volume::measure(&mut self.held, &self.grid, &self.fields.phi, &open);
    }

    fn step(&mut self, dt_s: f32, redistances: bool, is_first: bool) {
        let (grid, n) = (self.grid.clone(), self.grid.samples());
        let WaterFields { columns, phi, u, pressure, residual } = &mut self.fields;
        let grids = coarsen_until(&grid, |_| false);
        let mut u_air = u.clone();
        let mut work = extrapolate::Scratch::new(&grids);
        extrapolate::extrapolate(&mut u_air, &grids, phi, BandParams::default(), &mut work);
        let (mut phi_start, mut spare) = (phi.clone(), phi.clone());
        match redistances {
            true => redistance::redistance(&mut phi_start, &grid, &mut spare),
            false => redistance::clamp_frame(&mut phi_start, phi, &grid),
        }
        let (mut carried, mut from, mut u_new, mut phi_new) = (u.clone(), u.clone(), u.clone(), phi.clone());
        advect::trace_back(
            (&mut carried, &mut from),
            &grid,
            (&u_air, &phi_start),
            (&self.params.walls, pressure),
            dt_s,
        );
        advect::correct(&mut u_new, &grid, &u_air, (&carried, &from), self.params.gravity, dt_s);
        advect::correct_phi(&mut phi_new, &grid, (&u_air, &phi_start), (&carried, &from), dt_s);
        let open = Open { cell: &self.open_cell, tall: &self.open_tall };
        let flow = Flow { grid: &grid, u: &u_air, phi: &phi_start, open: &open, dt_s };
        let mut flux = vec![[0.0; 2]; columns.len()];
        volume::fluxes(&mut flux, &flow);
        let mut now = vec![Divided::default(); columns.len()];
        let mut lack = vec![[0.0; 2]; columns.len()];
        volume::divide(&mut now, &grid, &phi_new, &open, |_| false, |_| false);
        volume::lacking(&mut lack, &Start { phi, held: &self.held, residual }, &flow, &flux, &now);
        let mut spread = lack.clone();
        for _ in 0..SPREAD_PASSES {
            volume::spread_pass(&mut spread, &lack, &grid, &now);
            std::mem::swap(&mut spread, &mut lack);
        }
        let mut shift = vec![([0.0; 2], false); lack.len()];
        volume::displacements(&mut shift, &grid, &phi_new, &open, (&now, &lack));
        volume::displace(&mut spare, &grid, &phi_new, (&now, &lack), &shift);
        phi_new.copy_from_slice(&spare);
        let work = &mut remesh::Scratch::default();
        remesh::remesh(columns, &grid, &phi_new, &self.params.remesh, &self.limits, work);
        let new = TallGrid::new([grid.nx, grid.regular, grid.nz], grid.dx_m, columns.clone());
        remesh::transfer_phi(phi, &new, &grid, &phi_new);
        remesh::transfer(&mut carried, &new, &grid, &u_new);
        remesh::transfer(&mut spare, &new, &grid, pressure);
        pressure.copy_from_slice(&spare);
        self.grid = new;
        self.place();
        phi_in_solids(&mut spare, &self.fields.phi, &self.grid, &self.fraction);
        self.fields.phi.copy_from_slice(&spare);
        let WaterFields { phi, u, pressure, residual, .. } = &mut self.fields;
        let (fraction, u_solid) = (&self.fraction, vec![[0.0; 4]; n]);
        let liquid = Liquid { phi, fraction, u_solid: &u_solid, density_kg_m3: self.params.density, dt_s };
        self.pressure.build(&self.grid, phi, fraction, &self.params.walls);
        self.pressure.levels[0].p.copy_from_slice(pressure);
        right_side_counting(&mut self.pressure.levels[0].b, &self.grid, &carried, &liquid);
        self.pressure.solve(&self.params.cycles[usize::from(is_first)]);
        let finest = &self.pressure.levels[0];
        pressure.copy_from_slice(&finest.p);
        subtract_gradient(&mut u_new, &self.grid, &carried, &finest.rows, &finest.p, &liquid);
        velocity_in_solids(u, &u_new, &self.grid, fraction, &u_solid);
        let open = Open { cell: &self.open_cell, tall: &self.open_tall };
        volume::measure(&mut self.held, &self.grid, phi, &open);
        for (c, residual) in residual.iter_mut().enumerate() {
            *residual = (now[c].volume() + (lack[c][0] + lack[c][1])) - self.held[c].volume;
        }
    }
}

/// A basin over hills that sloshes, with a ceiling, and with an obstacle in the surface or without.
fn basin(has_obstacle: bool) -> CpuWater {
    let (level, size) = (20, [24, 18, 10]);
    let grid = hills(size, 0.1, [level, 8], 0.4);
    let phi = field(&grid, |x, y, _| {
        let surface = level as f32 + 2.0 * (std::f32::consts::PI * (x + 0.5) / size[0] as f32).cos();
        (y + 0.5 - surface).clamp(-5.0, 5.0) * grid.dx_m
    });
    let mut ground = Ground { first: vec![0], cells: vec![], height: 30, above: 1.0 };
    let mut limits = vec![];
    for c in 0..grid.columns.len() {
        let lowest = (grid.columns[c][0] + 2) as f32;
        let is_obstacle = has_obstacle && c % 24 == 12 && (3..6).contains(&(c / 24));
        if is_obstacle {
            ground.cells.extend([[17.0, 0.4], [18.0, 1.0], [19.0, 1.0], [20.0, 0.7]]);
        }
        ground.first.push(ground.cells.len() as u32);
        limits.push([lowest.max(12.0), if is_obstacle { lowest.max(17.0) } else { f32::MAX }]);
    }
    let cycles = Cycles::default();
    let params = WaterParams {
        gravity: [0.0, -GRAVITY, 0.0],
        density: 1e3,
        remesh: RemeshParams { cells_below: 5.0, cells_above: 5.0, ..RemeshParams::default() },
        cycles: [cycles, Cycles { full: 5, ..cycles }],
        is_counting: true,
        corrects_phi: true,
        conserves_volume: true,
        has_sources: false,
        has_sinks: false,
        beyond: None,
        walls: letting_go(&grid, ground.height),
        has_moving: false,
        bodies: [0; 2],
        spray: 0,
    };
    CpuWater::new(grid, phi, ground, limits, params)
}

/// Largest differences of phi and velocity, m and m/s.
fn differences(a: &WaterFields, b: &WaterFields) -> [f32; 2] {
    let off = |a: &[f32], b: &[f32]| a.iter().zip(b).fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
    [off(&a.phi, &b.phi), off(a.u.as_flattened(), b.u.as_flattened())]
}

/// Steps both, and compares them after each of the given numbers of steps. Beside them go three on the CPU whose phi begins some
/// millionths of a cell off: what rounding becomes in this flow, which differs from one to the other. Returns the last differences of the
/// device and of the farthest of them.
fn compare(has_obstacle: bool, looks: &[usize]) -> Option<[[f32; 2]; 2]> {
    let device = match Device::open(&AdapterChoice::Auto) {
        Ok(device) => device,
        Err(fault @ DeviceError::NoAdapter { .. }) => {
            eprintln!("skipped: {fault}");
            return None;
        }
        Err(other) => panic!("{other}"),
    };
    println!("on {}", device.record());
    let mut cpu = basin(has_obstacle);
    let dx = cpu.grid.dx_m;
    let mut shaken = [1e-6, -1e-6, 2e-6].map(|by| {
        let mut twin = basin(has_obstacle);
        let phi = twin.fields.phi.iter_mut().enumerate();
        phi.for_each(|(n, phi)| *phi += by * dx * ((n % 7) as f32 - 3.0));
        twin
    });
    let mut gpu = GpuWater::new(device, &cpu.grid, &cpu.ground, &cpu.limits, cpu.params.clone()).unwrap();
    println!("{} dispatches a step", gpu.dispatches());
    gpu.upload(&cpu.fields).unwrap();
    let volume = |water: &CpuWater| -> f64 {
        let sum = |c: usize| f64::from(water.held[c].volume) + f64::from(water.fields.residual[c]);
        (0..water.held.len()).map(sum).sum()
    };
    let (start, dt_s, mut last) = (volume(&cpu), 1.0 / 30.0, None);
    for n in 1..=looks[looks.len() - 1] {
        let (redistances, is_first) = (n % 10 == 0, n == 1);
        cpu.step(dt_s, redistances, is_first);
        shaken.iter_mut().for_each(|twin| twin.step(dt_s, redistances, is_first));
        gpu.submit([dt_s; 2], redistances, is_first).unwrap();
        if !looks.contains(&n) {
            continue;
        }
        let got = gpu.read().unwrap();
        // Where rounding decides on a column's height it may be another.
        if shaken.iter().all(|twin| twin.fields.columns == cpu.fields.columns) {
            assert_eq!(got.columns, cpu.fields.columns);
        }
        let ours = differences(&got, &cpu.fields);
        let theirs = shaken.iter().map(|twin| differences(&twin.fields, &cpu.fields));
        let theirs = theirs.fold([0.0f32; 2], |most, off| [most[0].max(off[0]), most[1].max(off[1])]);
        let fastest = largest_speed(&cpu.fields.u, &cpu.fields.phi);
        println!(
            "after {n} steps: phi and velocity off by {ours:?}, shaken {theirs:?}; speed {fastest:.2} m/s"
        );
        last = Some([ours, theirs]);
    }
    let drift = volume(&cpu) / start - 1.0;
    println!("volume changed by {drift:.1e}");
    assert!(drift.abs() < 1e-6, "{drift}");
    last
}

/// No difference may be larger than a few times what rounding becomes.
fn check([ours, theirs]: [[f32; 2]; 2]) {
    assert!(ours[0] < 5.0 * theirs[0] && ours[1] < 5.0 * theirs[1], "{ours:?} {theirs:?}");
}

#[test]
fn a_hundred_steps_are_the_same() {
    if let Some(off) = compare(false, &[1, 10, 100]) {
        check(off);
    }
}

#[test]
fn steps_around_an_obstacle_are_the_same() {
    if let Some(off) = compare(true, &[1, 10]) {
        check(off);
    }
}
