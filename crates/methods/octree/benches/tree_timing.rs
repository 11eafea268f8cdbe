//! Nanoseconds per point of interpolation, and per leaf of everything else, on a tree around a wavy water
//! surface. One thread, minimum of several runs. Arguments: finest cells along x, and a word to time only
//! what has it in its name.

use fluvial_foundation::{Vec3, parallel, random};
use fluvial_grids::octree::{SMOOTHING_PASSES, Shape, Side};
use fluvial_grids::{Octree, UniformGrid};
use fluvial_octree::assemble::System;
use fluvial_octree::contour::contour;
use fluvial_octree::divergence::inflow;
use fluvial_octree::extrapolate::{ExtrapolateScratch, extrapolate};
use fluvial_octree::gradient::{Geometry, GradientParams, PressureGradient};
use fluvial_octree::interpolate::{Interpolation, Sampler, Tracing};
use fluvial_octree::redistance::{RedistanceInfo, RedistanceScratch, redistance};
use std::time::Instant;

/// Seconds that this thread has computed, where the system tells: other programs then do not count. Else wall
/// time.
fn clock(start: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = told.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    ns.map_or(start.elapsed().as_secs_f64(), |ns| 1e-9 * ns)
}

/// Nanoseconds per item: the least of three means over a tenth of a second.
fn best(count: usize, mut body: impl FnMut() -> f32) -> f64 {
    let mut time = f64::INFINITY;
    for _ in 0..3 {
        let (start, before, mut runs) = (Instant::now(), clock(Instant::now()), 0);
        while runs == 0 || start.elapsed().as_secs_f64() < 0.1 {
            assert!(body().is_finite());
            runs += 1;
        }
        time = time.min((clock(start) - before) / runs as f64);
    }
    1e9 * time / count as f64
}

fn main() {
    let n: usize =
        std::env::args().filter(|a| a != "--bench").nth(1).and_then(|a| a.parse().ok()).unwrap_or(256);
    let only = std::env::args().filter(|a| a != "--bench").nth(2);
    let wanted = |what: &str| only.as_deref().is_none_or(|only| what.contains(only));
    let shape = Shape { min: Vec3::ZERO, dx: 1.0 / n as f32, levels: 5, roots: [n / 16, n / 32, n / 16] };
    let height = |x: Vec3| x.y - 0.25 - 0.05 * (9.0 * x.x).sin() * (7.0 * x.z).cos();
    let tree = Octree::build(shape, SMOOTHING_PASSES, |cell| {
        let x = shape.center(cell);
        let calm = if x.x < 0.5 { 0 } else { 2 };
        height(x).abs() < shape.dx_of(cell.level as usize) && cell.level > calm
    });
    let leaves = tree.cell_count();
    println!(
        "{:?}: {leaves} leaves, {} faces, {} T-junctions",
        shape.cells(0),
        tree.face_count(),
        tree.junction_count()
    );
    let phi_cell: Vec<f32> = (0..leaves).map(|c| height(tree.cell_center(c))).collect();
    let u_face: Vec<f32> = (0..tree.face_count()).map(|f| random::unit_f32(f as u64, 0)).collect();
    // One point beside every cell centre, as backward traces give.
    let all: Vec<Vec3> = (0..leaves)
        .map(|c| tree.cell_center(c) + 1.5 * tree.cell_dx(c) * (random::unit_vec3(c as u64, 1) - 0.5))
        .collect();
    let grid = UniformGrid { min: shape.min, cells: shape.cells(0), dx: shape.dx };
    let (centers, q_grid) = (grid.cell_centers(), vec![0.5; grid.cell_count()]);
    let mut tracing = Tracing::default();
    parallel::with_threads(1, || {
        let vectors = best(leaves, || {
            tracing.fill(&tree, &u_face);
            0.0
        });
        println!("velocity for tracing: {vectors:.1} ns a leaf");
        let uniform = best(all.len(), || all.iter().map(|&x| centers.sample(&q_grid, x)).sum());
        println!("for comparison, a uniform grid's cells: {uniform:.1} ns a point");
        for kind in [Interpolation::Mls, Interpolation::Continuous] {
            if !wanted(&format!("{kind:?}")) {
                continue;
            }
            let sampler = Sampler::new(&tree, kind);
            let (fast, slow): (Vec<Vec3>, Vec<Vec3>) = all.iter().partition(|&&x| sampler.is_fast(x));
            for (name, points) in [("all", &all), ("uniform", &fast), ("others", &slow)] {
                let cells = best(points.len(), || points.iter().map(|&x| sampler.cells(&phi_cell, x)).sum());
                let velocity =
                    best(points.len(), || points.iter().map(|&x| sampler.velocity(&u_face, x).x).sum());
                let vectors = best(points.len(), || points.iter().map(|&x| tracing.at(&tree, x).x).sum());
                let component =
                    best(points.len(), || points.iter().map(|&x| sampler.component(&u_face, 0, x)).sum());
                let share = 100.0 * points.len() as f64 / all.len() as f64;
                println!(
                    "{kind:?} {name} ({share:.1} %): cells {cells:.1} ns, traced {vectors:.1} ns, component {component:.1} ns, velocity {velocity:.1} ns a point"
                );
            }
        }
        let wall = |face: usize| tree.sides(face).contains(&Side::Outside);
        let open_area: Vec<f32> = (0..tree.face_count()).map(|f| if wall(f) { 0.0 } else { 1.0 }).collect();
        let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
        let (mut gradient, mut system) = (PressureGradient::default(), System::default());
        let mut rhs = vec![0.0; leaves];
        let prepare =
            best(leaves, || gradient.prepare(&geometry, &GradientParams::default()).surface_faces as f32);
        let assemble = best(leaves, || {
            system.assemble(&geometry, &gradient);
            0.0
        });
        let divergence = best(leaves, || {
            inflow(&mut rhs, &geometry, &u_face, None);
            0.0
        });
        let mut phi = phi_cell.clone();
        let mut scratch = RedistanceScratch::default();
        let mut info = RedistanceInfo::default();
        if wanted("redistance") {
            let distance = best(leaves, || {
                info = redistance(&mut phi, &tree, &[], &mut scratch);
                0.0
            });
            println!("redistance {distance:.1} ns a leaf; {info:?}");
        }
        let mut u = u_face.clone();
        let mut scratch = ExtrapolateScratch::default();
        let mut rings = 0;
        if wanted("extrapolate") {
            let outwards = best(leaves, || {
                rings = extrapolate(&mut u, &tree, |face| gradient.acts_on(face), &mut scratch);
                0.0
            });
            println!("extrapolate {outwards:.1} ns a leaf; {rings} rings");
        }
        let mesh = best(leaves, || contour(&tree, &phi_cell).positions.len() as f32);
        println!("contour {mesh:.1} ns a leaf");
        println!(
            "pressure: prepare {prepare:.1} ns, assemble {assemble:.1} ns, right side {divergence:.1} ns a leaf; {} rows, {:.1} entries a row",
            system.cells.len(),
            system.column.len() as f64 / system.cells.len() as f64
        );
    });
}
