//! Standing waves in a tank: frequency and amplitude beside linear theory.
//! `cargo bench --profile dev -p fluvial-solver-power --bench waves -- 0.3 32 2 on` (depth, cells, voxels a leaf, volume correction).

use fluvial_foundation::Vec3;
use fluvial_grids::{TriangleMesh, UniformGrid};
use fluvial_solids::{MeshDistance, Shape};
use fluvial_solver_interface::{Domain, Fill, Liquid, Setup, Solver, VolumeCorrection};
use fluvial_solver_power::{Params, PowerSolver};
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

const CELLS_ACROSS: usize = 4;
const STEPS_PER_PERIOD: usize = 64;
const PERIODS: usize = 2;

/// Liquid below `height(x)`, all along z.
fn liquid_below(height: impl Fn(f64) -> f64) -> Shape {
    let (mut mesh, count) = (TriangleMesh::default(), 96u32);
    for n in 0..=count {
        let x = -0.2 + 1.4 * f64::from(n) / f64::from(count);
        for (y, z) in [(-1.4, -1.4), (height(x), -1.4), (-1.4, 1.4), (height(x), 1.4)] {
            mesh.positions.push(Vec3::new(x as f32, y as f32, z));
        }
    }
    let mut quad = |a: u32, b: u32, c: u32, d: u32| mesh.triangles.extend([[a, b, c], [a, c, d]]);
    for n in 0..count {
        let (p, q) = (4 * n, 4 * n + 4);
        quad(p + 1, p + 3, q + 3, q + 1);
        quad(p, q, q + 2, p + 2);
        quad(p, p + 1, q + 1, q);
        quad(p + 2, q + 2, q + 3, p + 3);
    }
    let last = 4 * count;
    quad(0, 2, 3, 1);
    quad(last, last + 1, last + 3, last + 2);
    Shape::Mesh(Arc::new(MeshDistance::new(mesh).expect("a closed mesh")))
}

fn setup(depth: f64, n: usize) -> Setup {
    let grid = UniformGrid {
        min: Vec3::ZERO,
        cells: [n, (1.5 * depth * n as f64).ceil() as usize, CELLS_ACROSS],
        dx: 1.0 / n as f32,
    };
    let shape = liquid_below(|x| depth + 0.01 * depth * (PI * x).cos());
    Setup {
        domain: Domain::closed(grid),
        liquid: Liquid::default(),
        fills: vec![Fill { shape, velocity: Vec3::ZERO }],
        solids: vec![],
        sources: vec![],
        sinks: vec![],
        refine: vec![],
        flow: None,
        cfl: 2.0,
    }
}

/// Amplitude of the first mode.
fn mode(solver: &PowerSolver, depth: f64, n: usize) -> f64 {
    let z = 0.5 * CELLS_ACROSS as f32 / n as f32;
    let at = |i: usize| (i as f64 + 0.5) / n as f64;
    let sum: f64 = (0..n).map(|i| (solver.height_at(at(i) as f32, z) - depth) * (PI * at(i)).cos()).sum();
    2.0 * sum / n as f64
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let number = |n: usize, default: f64| args.get(n).and_then(|v| v.parse().ok()).unwrap_or(default);
    let (depth, n, band_factor) = (number(0, 0.3), number(1, 32.0) as usize, number(2, 2.0) as u32);
    let volume_correction = match args.get(3).map(String::as_str) {
        Some("off") => VolumeCorrection::Off,
        _ => VolumeCorrection::On,
    };
    let params = Params { band_factor, volume_correction, ..Params::default() };
    fluvial_foundation::parallel::with_threads(1, || {
        let setup = setup(depth, n);
        let gravity = f64::from(setup.liquid.gravity.length());
        let mut solver = PowerSolver::new(setup, params).expect("a valid scene");
        let exact_hz = (gravity * PI * (PI * depth).tanh()).sqrt() / TAU;
        let dt = 1.0 / (STEPS_PER_PERIOD as f64 * exact_hz);
        let mut heights = vec![mode(&solver, depth, n)];
        let mut energies = vec![];
        for _ in 0..STEPS_PER_PERIOD * (2 * PERIODS + 1) / 2 {
            let report = solver.step(dt).expect("the step succeeds");
            heights.push(mode(&solver, depth, n));
            energies.push(report.kinetic_energy_j);
        }
        // Extremes by parabolas through three samples.
        let extremes: Vec<(f64, f64)> = (1..heights.len() - 1)
            .filter(|&i| {
                let [a, b, c] = [heights[i - 1], heights[i], heights[i + 1]].map(f64::abs);
                b > a && b >= c
            })
            .map(|i| {
                let [a, b, c] = [heights[i - 1], heights[i], heights[i + 1]];
                let t = 0.5 * (a - c) / (a - 2.0 * b + c);
                ((i as f64 + t) / STEPS_PER_PERIOD as f64, b - 0.25 * (a - c) * t)
            })
            .collect();
        let first = heights[0];
        println!("depth {depth}, {n} cells, {band_factor} voxels a leaf, a0 {first:.5e}");
        for (time, height) in &extremes {
            println!("  t f {time:.4}  a / a0 {:+.5}", height / first);
        }
    });
}
