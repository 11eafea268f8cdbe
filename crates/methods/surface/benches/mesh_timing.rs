//! Times the mesher on a breaking dam: `cargo bench -p fluvial-surface --bench mesh_timing`.

use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_surface::{MeshParams, mesh_level_set};
use std::time::Instant;

fn main() {
    for n in [64, 128, 256] {
        let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 };
        let l = grid.cell_centers();
        // A collapsed column with waves, a splash sheet and drops.
        let phi: Vec<f32> = (0..l.len())
            .map(|c| {
                let [i, j, k] = l.coordinates(c);
                let x = l.position(i, j, k);
                let wave =
                    0.03 * (14.0 * x.x).sin() * (11.0 * x.z).cos() + 0.01 * (40.0 * x.x + 30.0 * x.z).sin();
                let pool = x.y - 0.18 - 0.1 * (1.0 - x.x) - wave;
                let sheet = (x.x - 0.9 - 0.05 * (9.0 * x.y).sin()).abs().max(x.y - 0.8 - 2.0 * wave) - 0.02;
                let q = (x * 7.0).fract() - 0.5;
                let drops = (q.length() - 0.12).max(-1.0 + 2.0 * x.x) / 7.0;
                pool.min(sheet).min(drops)
            })
            .collect();
        for rounds in [0, 5] {
            let params = MeshParams { smoothing_rounds: rounds };
            let mut times: Vec<f64> = (0..9)
                .map(|_| {
                    let start = Instant::now();
                    std::hint::black_box(mesh_level_set(&phi, &l, &params));
                    1e3 * start.elapsed().as_secs_f64()
                })
                .collect();
            times.sort_by(f64::total_cmp);
            let m = mesh_level_set(&phi, &l, &params);
            println!(
                "{n}^3, {rounds} rounds: {} triangles, median {:.1} ms, best {:.1} ms",
                m.triangles.len(),
                times[4],
                times[0]
            );
        }
    }
}
