//! Time of every stage at the size of the paper's dragon scene: 128 x 64 x 32 cells, tracker 512 x 256 x 128,
//! without and with a solid of 5,000 triangles, on a splash of 400 drops above a wavy pool.
//! `cargo bench -p fluvial-cutcell --bench frame_timing`

use fluvial_cutcell::curvature_flow::CurvatureFlow;
use fluvial_cutcell::cut::{CutScratch, cut};
use fluvial_cutcell::interpolation::PieceShape;
use fluvial_cutcell::iso::IsoSamples;
use fluvial_cutcell::mesh::{CutCells, NONE};
use fluvial_cutcell::nodes::Tracker;
use fluvial_cutcell::poisson::System;
use fluvial_cutcell::solids::Solids;
use fluvial_cutcell::tension::{
    accelerate_along_surface, add_to_right_side, differences_at_faces, pressure_of_pieces,
};
use fluvial_cutcell::velocity::{
    Given, StepScales, flux_budget, project_faces, right_side, triangle_velocities,
};
use fluvial_cutcell::vertices::{
    VertexScratch, average_grid_vertices, correct_surface_vertices, keep_off_solids,
};
use fluvial_foundation::{DVec3, Vec3, parallel, random::unit_vec3};
use fluvial_grids::{TriangleMesh, UniformGrid};
use fluvial_linear::{Params, krylov::CgScratch};
use std::time::Instant;

/// A wavy pool under four hundred drops between 0.1 and 1.2 cells: signed distances, exact near the surfaces.
fn splash(grid: &UniformGrid, factor: usize) -> Vec<f32> {
    let nodes = Tracker { grid: *grid, factor, phi_node: &[] }.nodes();
    let mut phi: Vec<f32> = (0..nodes.len())
        .map(|n| {
            let [i, j, k] = nodes.coordinates(n);
            let x = nodes.position(i, j, k);
            0.8 * (x.y - 0.2 - 0.03 * (25.0 * x.x).sin() * (31.0 * x.z).cos())
        })
        .collect();
    let size = grid.bounds().size();
    for drop in 0..400 {
        let center = grid.min + unit_vec3(drop, 0) * size;
        let radius = grid.dx * (0.1 + 1.1 * unit_vec3(drop, 1).x);
        let low = (center - radius - 2.0 * grid.dx - grid.min) / nodes.spacing;
        let high = (center + radius + 2.0 * grid.dx - grid.min) / nodes.spacing;
        let range = |a: usize| low[a].max(0.0) as usize..(high[a].max(0.0) as usize + 1).min(nodes.size[a]);
        for k in range(2) {
            for j in range(1) {
                for i in range(0) {
                    let distance = (nodes.position(i, j, k) - center).length() - radius;
                    let n = nodes.index(i, j, k);
                    phi[n] = phi[n].min(distance);
                }
            }
        }
    }
    phi
}

/// A ball of 2 x 50 x 50 triangles.
fn ball(center: Vec3, radius: f32) -> TriangleMesh {
    let n = 50;
    let mut mesh = TriangleMesh::default();
    for j in 0..=n {
        for i in 0..n {
            let (a, b) =
                (std::f32::consts::TAU * i as f32 / n as f32, std::f32::consts::PI * j as f32 / n as f32);
            mesh.positions.push(center + radius * Vec3::new(a.cos() * b.sin(), b.cos(), a.sin() * b.sin()));
        }
    }
    for j in 0..n {
        for i in 0..n {
            let at = |i: u32, j: u32| n * j + i % n;
            mesh.triangles.push([at(i, j), at(i + 1, j), at(i, j + 1)]);
            mesh.triangles.push([at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]);
        }
    }
    mesh
}

/// Runs `body`, prints what it took, and adds it to the sum.
fn stage<T>(sum: &mut f64, name: &str, body: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = body();
    let time_s = start.elapsed().as_secs_f64();
    *sum += time_s;
    println!("{name:24} {time_s:.3} s");
    result
}

/// Velocities at 20 points towards the centroid of every cut piece.
fn interpolate_all(mesh: &CutCells, u_vertex: &[DVec3]) -> (usize, f64) {
    let parts = parallel::map_indices(mesh.pieces.len().div_ceil(256), |chunk| {
        let (mut shape, mut weights) = (PieceShape::default(), vec![]);
        let (mut points, mut sum) = (0, 0.0);
        for piece in parallel::chunk_range(chunk, 256, mesh.pieces.len()) {
            if mesh.pieces[piece].is_full {
                continue;
            }
            shape.gather(mesh, piece);
            for n in 0..20 {
                let from = shape.positions[n * shape.positions.len() / 20];
                let x = from.lerp(mesh.pieces[piece].centroid, 0.3);
                if let Some(u) = shape.boundary().interpolate(u_vertex, x, &mut weights) {
                    sum += u.length();
                }
                points += 1;
            }
        }
        (points, sum)
    });
    parts.into_iter().fold((0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
}

fn frame(tracker: &Tracker, solids: &Solids, scratch: &mut CutScratch) {
    let mut sum = 0.0;
    let scales = StepScales { dt_s: 1.0 / 120.0, density: 1000.0, dx: tracker.grid.dx as f64 };
    let mesh = stage(&mut sum, "cut", || cut(tracker, solids, scratch));
    let mut iso = IsoSamples::default();
    stage(&mut sum, "iso-distances", || iso.find(&mesh, tracker));
    let mut flow = CurvatureFlow::default();
    stage(&mut sum, "curvature flow", || flow.flow(&mesh, 0.05, &Params::DEFAULT).expect("it converges"));
    let mut q_vertex = vec![];
    flow.curvature_of_mesh(&mut q_vertex, &mesh);
    q_vertex.iter_mut().for_each(|q| *q *= 0.072 / scales.dx);
    let mut q_piece = vec![0.0; mesh.pieces.len()];
    stage(&mut sum, "q of pieces", || pressure_of_pieces(&mut q_piece, &mesh, &q_vertex));
    let mut q_face = vec![0.0; mesh.faces.len()];
    stage(&mut sum, "q at faces", || differences_at_faces(&mut q_face, &mesh, &iso, &q_piece));
    let gravity = DVec3::new(0.3, -9.81 * scales.dt_s, 0.0);
    let on_wall = |n: usize| mesh.faces[n].pieces.contains(&NONE);
    let mut u_face: Vec<f64> = (0..mesh.faces.len())
        .map(|n| if on_wall(n) { 0.0 } else { gravity[mesh.faces[n].axis as usize] })
        .collect();
    let mut u_vertex = vec![gravity; mesh.vertices.len()];
    let mut u_triangle = vec![DVec3::ZERO; mesh.triangles.len()];
    let (mut rhs, mut p) = (vec![0.0; mesh.pieces.len()], vec![0.0; mesh.pieces.len()]);
    stage(&mut sum, "right side", || {
        triangle_velocities(&mut u_triangle, &mesh, &u_vertex, |_, _| DVec3::ZERO);
        right_side(&mut rhs, &mesh, (&u_face, &u_triangle, &Given::NOTHING), &scales);
        add_to_right_side(&mut rhs, &mesh, &iso, &q_face, &Given::NOTHING);
    });
    let system = stage(&mut sum, "assemble", || System::assemble(&mesh, &iso, &Given::NOTHING));
    let info = stage(&mut sum, "solve", || {
        system.solve(&mut p, &rhs, &Params::DEFAULT, &mut CgScratch::default()).expect("it converges")
    });
    let mut change = vec![0.0; mesh.pieces.len()];
    let report = stage(&mut sum, "project and budget", || {
        project_faces(&mut u_face, &mesh, &iso, &p, Some(&q_face), &scales);
        flux_budget(&mut change, &mesh, &iso, &p, (&u_face, &u_triangle, &Given::NOTHING), &scales)
    });
    stage(&mut sum, "vertices", || {
        let mut scratch = VertexScratch::default();
        accelerate_along_surface(&mut u_vertex, &mesh, &q_vertex, &scales);
        correct_surface_vertices(&mut u_vertex, &mesh, &change, &mut scratch);
        average_grid_vertices(&mut u_vertex, &mesh, &u_face, &mut scratch);
        keep_off_solids(&mut u_vertex, &mesh, |_| DVec3::ZERO, &mut scratch);
    });
    let (points, _) = stage(&mut sum, "interpolate", || interpolate_all(&mesh, &u_vertex));
    let cut_pieces = mesh.pieces.iter().filter(|p| !p.is_full).count();
    println!("all                      {sum:.3} s");
    println!(
        "{} pieces ({cut_pieces} cut), {} faces, {} triangles, {} vertices ({} clamped); {} dropped, {} backward and {} missed \
         rays, {} floored faces; {} iterations; {report:?}; {} slivers, {} iterations; {points} points",
        mesh.pieces.len(),
        mesh.faces.len(),
        mesh.triangles.len(),
        mesh.vertices.len(),
        mesh.clamped_vertices,
        iso.dropped,
        iso.backward_rays,
        iso.missed_rays,
        iso.floored_faces,
        info.iterations,
        flow.clamped_triangles,
        flow.iterations,
    );
}

fn main() {
    let (factor, cells) = (4, [128, 64, 32]);
    let grid = UniformGrid { min: Vec3::ZERO, cells, dx: 1.0 / 128.0 };
    let phi_node = splash(&grid, factor);
    let tracker = Tracker { grid, factor, phi_node: &phi_node };
    let mut scratch = CutScratch::default();
    let mut solids = Solids::default();
    for round in 0..4 {
        if round == 2 {
            solids.add(&ball(Vec3::new(0.5, 0.2, 0.125), 0.08), false, &grid);
            println!("\nwith a ball of {} triangles", solids.triangles.len());
        }
        frame(&tracker, &solids, &mut scratch);
        println!();
    }
}
