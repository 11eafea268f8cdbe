//! Nanoseconds per particle of each stage, dam break 0.4 x 0.5 x 1 of a unit box, swirling.
//! `cargo bench -p fluvial-particles --bench particle_speed -- 128 4` (cells, band in cells; 0:
//! all).

use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_particles::*;
use std::time::Instant;

fn main() {
    let mut arguments =
        std::env::args().filter(|a| a != "--bench").skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let (n, band) = (arguments.next().unwrap_or(128), arguments.next().unwrap_or(4));
    let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 };
    let band_m = if band == 0 { f32::INFINITY } else { band as f32 * grid.dx };
    let centers = grid.cell_centers();
    let phi: Vec<f32> = (0..centers.len())
        .map(|c| {
            let [i, j, k] = centers.coordinates(c);
            let x = centers.position(i, j, k);
            (x.x - 0.4).max(x.y - 0.5)
        })
        .collect();
    let mut u = FaceField::constant(&grid, 0.0);
    for axis in 0..2 {
        let lattice = grid.faces(axis);
        for f in 0..lattice.len() {
            let [i, j, k] = lattice.coordinates(f);
            let x = lattice.position(i, j, k);
            let s = |v: f32| (std::f32::consts::PI * v).sin();
            let c = |v: f32| (std::f32::consts::PI * v).cos();
            u[axis][f] = if axis == 0 { s(x.x) * c(x.y) } else { -c(x.x) * s(x.y) };
        }
    }
    let solid: Vec<f32> = vec![];
    for transfer in [Transfer::Flip { ratio: 0.98 }, Transfer::Apic] {
        println!("{transfer:?}");
        measure(&grid, &phi, &u, &solid, band_m, &transfer);
    }
}

fn measure(grid: &UniformGrid, phi: &[f32], u: &FaceField, solid: &[f32], band_m: f32, transfer: &Transfer) {
    let (mut particles, mut ranges, mut scratch) =
        (Particles::default(), CellRanges::default(), Scratch::default());
    let (mut moved, mut reserve) = (Particles::default(), Reserve::new(grid.cell_count()));
    let fractions: Vec<f32> = phi.iter().map(|phi| (0.5 - phi / grid.dx).clamp(0.0, 1.0)).collect();
    let mut grid_u = [u.clone(), u.clone()];
    let mut corrected = phi.to_vec();
    let around = Surroundings { phi_solid_node: solid, ..Surroundings::closed(grid) };
    particles.sort_by_cell(grid, &mut ranges, &mut scratch);
    let mut best: Vec<(&str, f64)> = Vec::new();
    for round in 0..6 {
        let mut stage = |name: &'static str, start: Instant, count: usize| {
            let ns = start.elapsed().as_nanos() as f64 / count.max(1) as f64;
            match best.iter_mut().find(|(n, _)| *n == name) {
                Some((_, b)) => *b = b.min(ns),
                None => best.push((name, ns)),
            }
        };
        let t = Instant::now();
        let liquid = Liquid {
            from_deep_cell: &[],
            phi_cell: phi,
            fraction_cell: &fractions,
            open_volume: [&[]; 2],
            u_face: u,
            band_m,
            transfer: *transfer,
            step_seed: round,
            occasion: if round == 0 { Occasion::Start } else { Occasion::Step },
        };
        resample(&mut moved, &mut ranges, &particles, &mut reserve, &liquid, &around, &mut scratch);
        stage(if round == 0 { "first seeding" } else { "resample" }, t, moved.len());
        let n = moved.len();
        let t = Instant::now();
        advect(&mut particles, &mut ranges, &moved, (u, &[]), &around, grid.dx, &mut scratch);
        stage("advect and sort", t, n);
        let t = Instant::now();
        let [a, b] = &mut grid_u;
        let sides = fluvial_grids::Sides::NONE;
        let deposit = Deposit { transfer: *transfer, sides, u_face: u, steep_cell: &[] };
        particles_to_faces(a, b, &particles, &ranges, grid, &deposit);
        stage("particles to faces", t, n);
        let t = Instant::now();
        faces_to_particles(&mut particles, u, b, grid, fluvial_grids::Sides::NONE, transfer, &Flight::NONE);
        stage("faces to particles", t, n);
        corrected.copy_from_slice(phi);
        let t = Instant::now();
        correct_by_particles(&mut corrected, &particles, &ranges, &around, &mut scratch);
        stage("correct", t, n);
    }
    for (name, ns) in best {
        println!("  {name:20} {ns:7.1} ns/particle {:8.1} ms", ns * particles.len() as f64 * 1e-6);
    }
    println!("  particles {}", particles.len());
}
