//! Time of the cutter at the size of the paper's dragon scene: 128 x 64 x 32 cells, tracker 512 x 256 x 128.
//! `cargo run --release -p fluvial-cutcell --example cut_timing`

use fluvial_cutcell::cut::{CutScratch, cut_liquid};
use fluvial_cutcell::nodes::Tracker;
use fluvial_foundation::{Vec3, random::unit_vec3};
use fluvial_grids::UniformGrid;
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

fn main() {
    let (factor, cells) = (4, [128, 64, 32]);
    let grid = UniformGrid { min: Vec3::ZERO, cells, dx: 1.0 / 128.0 };
    let phi_node = splash(&grid, factor);
    let tracker = Tracker { grid, factor, phi_node: &phi_node };
    let mut scratch = CutScratch::default();
    for _ in 0..3 {
        let start = Instant::now();
        let mesh = cut_liquid(&tracker, &mut scratch);
        let time_s = start.elapsed().as_secs_f64();
        let cut = mesh.pieces.iter().filter(|p| !p.is_full).count();
        println!(
            "{time_s:.3} s: {} pieces ({cut} cut), {} faces, {} triangles, {} vertices",
            mesh.pieces.len(),
            mesh.faces.len(),
            mesh.triangles.len(),
            mesh.vertices.len()
        );
    }
}
