//! Times the pressure solve (one full cycle, two V-cycles) at the paper's grid sizes and larger areas, on the
//! GPU and, up to a size, on the CPU: `cargo bench -p fluvial-tall --features gpu --bench
//! pressure_speed`.

use fluvial_device::{AdapterChoice, Device, DeviceError, Recording};
use fluvial_grids::TallGrid;
use fluvial_tall::gpu::{GpuMultigrid, Kernels, MultigridBuffers};
use fluvial_tall::pressure::multigrid::{Cycles, Multigrid};
use fluvial_tall::walls::Walls;
use std::time::Instant;

/// Waves on deep water over hills, with a right side of all lengths.
fn scene([nx, regular, nz]: [usize; 3]) -> (TallGrid, Vec<f32>, Vec<f32>) {
    let level = 64;
    let columns = (0..nx * nz)
        .map(|c| {
            let (x, z) = ((c % nx) as f32, (c / nx) as f32);
            let terrain = (20.0 + 12.0 * (0.05 * x).sin() * (0.04 * z).cos()) as i32;
            [terrain, level - regular as i32 / 2 - terrain]
        })
        .map(|[terrain, tall]| [terrain, tall.max(2)])
        .collect();
    let grid = TallGrid::new([nx, regular, nz], 0.25, columns);
    let (mut phi, mut b) = (vec![0.0; grid.samples()], vec![0.0; grid.samples()]);
    for k in 0..nz {
        for j in 0..grid.rows() {
            for i in 0..nx {
                let (x, y, z) = (i as f32, grid.y(i, j, k) as f32, k as f32);
                let wave = 3.0 * ((0.1 * x).sin() + (0.13 * z).cos());
                let n = grid.index(i, j, k);
                phi[n] = (y + 0.5 - level as f32 - wave).clamp(-5.0, 5.0) * 0.25;
                b[n] = if phi[n] <= 0.0 { 100.0 * ((0.3 * x).sin() + (0.02 * z * y).cos()) } else { 0.0 };
            }
        }
    }
    (grid, phi, b)
}

fn on_gpu(device: &Device, size: [usize; 3], cycles: &Cycles) -> Result<[f64; 3], DeviceError> {
    let (grid, phi, b) = scene(size);
    let mut kernels = Kernels::new(device);
    let buffers = MultigridBuffers::new(device, &grid, cycles.coarsest, &Walls::HOLDING)?;
    let mut multigrid = GpuMultigrid::new(&mut kernels, &buffers);
    let inputs = multigrid.inputs();
    device.upload(inputs.phi, &phi)?;
    device.upload(inputs.b, &b)?;
    let mut recording = Recording::new();
    recording.stage("build");
    multigrid.build(&mut recording)?;
    recording.stage("solve");
    multigrid.solve(&mut recording, cycles)?;
    device.submit_timed(&recording)?;
    let mut best = [f64::INFINITY; 3];
    for _ in 0..20 {
        let start = Instant::now();
        let times = device.submit_timed(&recording)?;
        best[2] = best[2].min(start.elapsed().as_secs_f64());
        times.iter().enumerate().for_each(|(n, t)| best[n] = best[n].min(t.seconds));
    }
    Ok(best)
}

fn on_cpu(size: [usize; 3], cycles: &Cycles) -> [f64; 2] {
    let (grid, phi, b) = scene(size);
    let fraction = vec![0.0; grid.samples()];
    let mut multigrid = Multigrid::new(&grid);
    let mut best = [f64::INFINITY; 2];
    for _ in 0..3 {
        let start = Instant::now();
        multigrid.build(&grid, &phi, &fraction, &Walls::HOLDING);
        best[0] = best[0].min(start.elapsed().as_secs_f64());
        multigrid.levels[0].b.copy_from_slice(&b);
        let start = Instant::now();
        multigrid.solve(cycles);
        best[1] = best[1].min(start.elapsed().as_secs_f64());
    }
    best
}

fn main() -> Result<(), DeviceError> {
    let device = Device::open(&AdapterChoice::Auto)?;
    let cycles = Cycles::default();
    println!(
        "{}\nmilliseconds: build, solve (device clock), both with submission (wall clock)",
        device.record()
    );
    let mut sizes = vec![[64, 64, 64], [64, 32, 256], [128, 32, 128]];
    if !device.record().is_software {
        sizes.extend([[128, 32, 512], [256, 32, 1024], [256, 32, 256], [512, 32, 512]]);
    }
    for size in sizes {
        let ms = on_gpu(&device, size, &cycles)?.map(|s| 1e3 * s);
        println!("{size:?}: GPU {:.3} {:.3} {:.3}", ms[0], ms[1], ms[2]);
        if size[0] * size[2] <= 1 << 14 {
            let ms = on_cpu(size, &cycles).map(|s| 1e3 * s);
            println!("{size:?}: CPU {:.1} {:.1}", ms[0], ms[1]);
        }
    }
    Ok(())
}
