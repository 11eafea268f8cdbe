//! Seconds of each operation on a pool with a sheet above it, 400 000 particles in 100^3 cells:
//! `cargo bench -p fluvial-sheets --bench speed`.

use fluvial_foundation::Vec3;
use fluvial_foundation::random::unit_vec3;
use fluvial_sheets::*;
use std::time::Instant;

fn main() {
    let n = 100;
    let cell_m = 1.0 / n as f32;
    let d0 = 0.5 * cell_m;
    let bins = Bins { min: Vec3::ZERO, cell_m, size: [n; 3] };
    let walls = Walls { low: [0.0; 3], high: [1.0; 3], solid: None };
    let mut population = Population::new(bins, walls, SheetParams::new(d0));
    let m = 2 * n;
    for j in 0..9 {
        for k in 0..m {
            for i in 0..m {
                let jitter = 0.6 * (unit_vec3(population.particles.next_id, 1) - 0.5);
                let x = d0 * (Vec3::new(i as f32, j as f32, k as f32) + 0.5 + jitter);
                population.particles.push_small(x, 0.1 * (x - 0.5));
            }
        }
    }
    for k in 0..m {
        for i in 0..m {
            let jitter = 0.3 * (unit_vec3(population.particles.next_id, 1) - 0.5);
            let x =
                d0 * (Vec3::new(1.1 * i as f32, 0.0, 1.1 * k as f32) + jitter) + Vec3::new(-0.05, 0.5, -0.05);
            population.particles.push_small(x.clamp(Vec3::ZERO, Vec3::ONE), 0.1 * (x - 0.5));
        }
    }
    println!("{} particles", population.particles.len());
    let time = |name: &str, body: &mut dyn FnMut()| {
        let start = Instant::now();
        body();
        println!("{name:12} {:.3} s", start.elapsed().as_secs_f64());
    };
    let mut p = population;
    for _ in 0..2 {
        time("sort", &mut || p.sort());
        time("measure", &mut || p.measure());
        println!(
            "             {} at the surface, {} thin",
            p.shapes.stretch.len(),
            p.shapes.thin.iter().filter(|t| **t).count()
        );
        let stiffness = Stiffness {
            per_step: 0.3,
            anisotropic: true,
            d0,
            largest: d0,
            velocity_reach: 1.0,
            merged: true,
        };
        time("correct", &mut || {
            p.correct(&stiffness, |_, x| x.clamp(Vec3::ZERO, Vec3::ONE));
        });
        time("preserve", &mut || println!("             {:?}", p.preserve(|_, _| true)));
        let depth = vec![Depth::Neutral; bins.count()];
        time("sort", &mut || p.sort());
        time("adapt", &mut || {
            p.adapt(&depth, 8, |_, _| true, |_, _| true);
        });
        time("measure", &mut || p.measure());
        let shape =
            SurfaceShape { spacing: d0, origin: Vec3::splat(0.5 * d0), size: [m; 3], sheet_reach: 1.5 };
        time("surface", &mut || println!("             {} samples", p.surface(&shape).samples_held()));
    }
}
