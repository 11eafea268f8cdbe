//! Time of a step on the GPU by stage, at the paper's four sizes: `cargo bench -p fluvial-tall --features gpu --bench frames`.
//!
//! The water is the same in all of them: a basin over hills, deeper at one side, in steps of 1/30 s with the paper's
//! cycles. Times are the device's own, from timestamps; what is left of the wall time is submitting and reading a few
//! sums a row of columns back. `frames 4` has four times the area, `frames 1 4 16` several; the surface is carried on
//! the simulation's grid.

use fluvial_device::{AdapterChoice, Device, DeviceError};
use fluvial_grids::TallGrid;
use fluvial_tall::gpu::{GpuWater, WaterFields, WaterParams};
use fluvial_tall::pressure::multigrid::Cycles;
use fluvial_tall::remesh::{self, RemeshParams};
use fluvial_tall::solids::Ground;
use std::time::Instant;

/// Name, columns along x, cubic cells, columns along z, and the paper's milliseconds without rendering: extrapolation,
/// level set, velocity, remeshing, pressure.
const SIZES: [(&str, [usize; 3], [f64; 5]); 5] = [
    ("manipulation", [64, 64, 64], [1.30, 2.35, 0.57, 0.56, 8.56]),
    ("tank", [64, 64, 64], [1.10, 3.26, 0.67, 0.56, 8.44]),
    ("flood", [64, 32, 256], [2.35, 0.59, 1.14, 0.85, 13.49]),
    ("lighthouse", [128, 32, 128], [2.05, 0.61, 0.67, 0.95, 9.77]),
    ("large", [512, 64, 512], [f64::NAN; 5]),
];
const DX_M: f32 = 0.1;
const WARM_STEPS: usize = 30;
const TIMED_STEPS: usize = 90;

/// Hills of ten cells, and water thirty cells above them, ten more at one side.
fn basin([nx, regular, nz]: [usize; 3]) -> (TallGrid, WaterFields, Ground, Vec<[f32; 2]>) {
    let level = 40.0;
    let hill = |i: usize, k: usize| (5.0 + 5.0 * (0.11 * i as f32).sin() * (0.07 * k as f32).cos()) as i32;
    let columns: Vec<[i32; 2]> = (0..nx * nz)
        .map(|c| {
            let terrain = hill(c % nx, c / nx);
            [terrain, (level as i32 - regular as i32 / 2 - terrain).max(2)]
        })
        .collect();
    let grid = TallGrid::new([nx, regular, nz], DX_M, columns);
    let mut fields = WaterFields {
        columns: grid.columns.clone(),
        phi: vec![0.0; grid.samples()],
        u: vec![[0.0, 0.0, 0.0, 1.0]; grid.samples()],
        pressure: vec![0.0; grid.samples()],
        residual: vec![0.0; grid.columns.len()],
    };
    for k in 0..nz {
        for j in 0..grid.rows() {
            for i in 0..nx {
                let deeper = if 4 * i < nx { 10.0 } else { 0.0 };
                let above = grid.y(i, j, k) as f32 + 0.5 - level - deeper;
                fields.phi[grid.index(i, j, k)] = above.clamp(-5.0, 5.0) * DX_M;
            }
        }
    }
    let ground = Ground { first: vec![0; nx * nz + 1], cells: vec![], height: 4096, above: 0.0 };
    // The domain ends far above: with a ceiling just over the columns, what rises above them is cut off.
    let limits = vec![[f32::MAX; 2]; grid.columns.len()];
    (grid, fields, ground, limits)
}

fn params() -> WaterParams {
    let cycles = Cycles { full: 1, v: 2, before: 2, after: 2, ..Cycles::default() };
    WaterParams {
        gravity: [0.0, -9.81, 0.0],
        density: 1e3,
        remesh: RemeshParams { cells_below: 8.0, cells_above: 8.0, ..remesh::RemeshParams::default() },
        cycles: [cycles, Cycles { full: 5, ..cycles }],
        is_counting: true,
        corrects_phi: true,
        conserves_volume: true,
        has_sources: false,
        has_sinks: false,
        beyond: None,
        walls: fluvial_tall::walls::Walls::new([true; 5], 1000, 0.1, 1e3, 9.81),
        has_moving: false,
        bodies: [0; 2],
        spray: 0,
    }
}

fn measure(device: Device, name: &str, size: [usize; 3], theirs: [f64; 5]) -> Result<(), DeviceError> {
    let (grid, fields, ground, limits) = basin(size);
    let begin = Instant::now();
    let mut water = GpuWater::new(device, &grid, &ground, &limits, params())?;
    water.upload(&fields)?;
    let prepared_s = begin.elapsed().as_secs_f64();
    let (mut stages, mut wall_s, mut fastest): (Vec<(&str, f64)>, f64, f64) = (vec![], 0.0, 0.0);
    let mut volumes = [0.0; 2];
    for step in 0..WARM_STEPS + TIMED_STEPS {
        let start = Instant::now();
        water.submit([1.0 / 30.0; 2], step % 10 == 9, step == 0)?;
        let (numbers, times) = water.numbers()?;
        volumes[usize::from(step > 0)] = numbers.held + numbers.residual;
        if step < WARM_STEPS {
            continue;
        }
        wall_s += start.elapsed().as_secs_f64();
        fastest = fastest.max(numbers.speed2.sqrt());
        for stage in times {
            match stages.iter_mut().find(|(name, _)| *name == stage.name) {
                Some((_, seconds)) => *seconds += stage.seconds,
                None => stages.push((stage.name, stage.seconds)),
            }
        }
    }
    let ms = |seconds: f64| 1e3 * seconds / TIMED_STEPS as f64;
    let total: f64 = stages.iter().map(|(_, s)| s).sum();
    let [nx, regular, nz] = size;
    println!(
        "{name}: {nx} x ({regular}+2) x {nz}, {} dispatches a step, prepared in {prepared_s:.2} s",
        water.dispatches()
    );
    for (stage, seconds) in &stages {
        println!("  {stage:<14} {:>8.3} ms", ms(*seconds));
    }
    println!(
        "  device         {:>8.3} ms; wall {:.3} ms a step, {:.0} steps a second",
        ms(total),
        ms(wall_s),
        TIMED_STEPS as f64 / wall_s
    );
    println!(
        "  largest speed {fastest:.2} m/s, {:.1} cells a step; volume changed by {:.1e}",
        fastest / 30.0 / f64::from(DX_M),
        volumes[1] / volumes[0] - 1.0
    );
    if theirs[0].is_finite() {
        let sum: f64 = theirs.iter().sum();
        println!(
            "  paper (GTX 480): extrapolation {} level set {} velocity {} remeshing {} pressure {}, together {sum:.2} ms",
            theirs[0], theirs[1], theirs[2], theirs[3], theirs[4]
        );
    }
    Ok(())
}

fn main() -> Result<(), DeviceError> {
    let areas: Vec<usize> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let areas = if areas.is_empty() { vec![1] } else { areas };
    let is_quick = std::env::args().any(|arg| arg == "--small");
    for area in areas {
        let side = (area as f64).sqrt().round() as usize;
        for (name, [nx, regular, nz], theirs) in SIZES {
            let (nx, nz) = if is_quick { (nx / 4, nz / 4) } else { (side * nx, side * nz) };
            let device = Device::open(&AdapterChoice::Auto)?;
            if name == SIZES[0].0 {
                println!("on {}; {area} times the paper's area", device.record());
            }
            if let Err(error) = measure(device, name, [nx, regular, nz], theirs) {
                println!("{name}: {error}");
            }
        }
    }
    Ok(())
}
