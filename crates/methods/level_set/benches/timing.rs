//! Milliseconds per kernel on a dam break (liquid 0.4 x 0.5 x 1 of a unit box); with one thread, of processor
//! time. `cargo bench -p fluvial-level-set --bench timing -- 128 2`

use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_level_set::*;
use std::time::Instant;

fn main() {
    let mut args = std::env::args()
        .filter(|a| a != "--bench")
        .skip(1)
        .map(|a| a.parse::<usize>().expect("cells and threads"));
    let (n, threads) = (args.next().unwrap_or(128), args.next().unwrap_or(2));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| run(n));
}

/// Processor time of this thread where the system tells it, else wall time, seconds.
fn now_s(start: Instant) -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()) {
        Some(ns) if rayon::current_num_threads() == 1 => ns * 1e-9,
        _ => start.elapsed().as_secs_f64(),
    }
}

fn time(name: &str, mut body: impl FnMut()) {
    body();
    let start = Instant::now();
    let mut times: Vec<f64> = (0..7)
        .map(|_| {
            let before = now_s(start);
            body();
            (now_s(start) - before) * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{name:32} {:7.2} ms (best {:.2})", times[3], times[0]);
}

fn run(n: usize) {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 };
    let cells = grid.cell_centers();
    let band = 4.0 * grid.dx;
    let mut scratch = Scratch::new(&grid);
    // A corner of liquid with ripples, moving at a speed of about two cells a step.
    let mut phi: Vec<f32> = (0..cells.len())
        .map(|i| {
            let [i, j, k] = cells.coordinates(i);
            let x = cells.position(i, j, k);
            let ripple = 0.01 * (20.0 * x.x + 3.0 * x.z).sin() * (17.0 * x.z + 9.0 * x.y).cos();
            (x.x - 0.4 + ripple).max(x.y - 0.5 + ripple)
        })
        .collect();
    time("redistance", || redistance(&mut phi, &cells, band, &mut scratch));
    println!("{:?}", scratch.redistance_report);
    let mut u = FaceField::constant(&grid, 0.0);
    for axis in 0..3 {
        let faces = grid.faces(axis);
        for f in 0..faces.len() {
            let [i, j, k] = faces.coordinates(f);
            let x = faces.position(i, j, k);
            u[axis][f] = [1.0 + (9.0 * x.y).sin(), -1.0 + (7.0 * x.z).cos(), (8.0 * x.x).sin()][axis];
        }
    }
    let dt = grid.dx;
    let mut out = phi.clone();
    for scheme in [PhiAdvection::SemiLagrangian, PhiAdvection::MacCormack, PhiAdvection::Cubic] {
        time(&format!("advect_phi {scheme:?}"), || {
            advect_phi(&mut out, &phi, &u, &grid, dt, scheme, band, &mut scratch)
        });
    }
    out.copy_from_slice(&phi);
    time("advect_phi + redistance", || {
        advect_phi(&mut out, &phi, &u, &grid, dt, PhiAdvection::Cubic, band, &mut scratch);
        redistance(&mut out, &cells, band, &mut scratch);
    });
    let mut u_out = u.clone();
    for scheme in [AdvectionScheme::SemiLagrangian, AdvectionScheme::MacCormack] {
        time(&format!("advect_velocity {scheme:?}"), || {
            let (u_face, phi_cell, grid, dt_s, band_m) = (&u, &phi[..], &grid, dt, 3.0 * grid.dx);
            let transport = VelocityTransport {
                u_face,
                phi_cell,
                grid,
                dt_s,
                scheme,
                band_m,
                smooth_m: 0.0,
                known: None,
            };
            advect_velocity(&mut u_out, &transport, &mut scratch);
        });
    }
    let valid: [Vec<u8>; 3] = std::array::from_fn(|axis| {
        let faces = grid.faces(axis);
        (0..faces.len()).map(|f| (cells.sample(&phi, faces.position_of(f)) < 0.0) as u8).collect()
    });
    let mut marks = valid.clone();
    time("(copy of marks)", || marks.iter_mut().zip(&valid).for_each(|(m, v)| m.copy_from_slice(v)));
    time("extrapolate_velocity 5 layers", || {
        marks.iter_mut().zip(&valid).for_each(|(m, v)| m.copy_from_slice(v));
        extrapolate_velocity(&mut u, &mut marks, &grid, 5, &mut scratch);
    });
    let closed: Vec<bool> =
        (0..cells.len()).map(|i| (cells.position_of(i) - Vec3::new(0.4, 0.3, 0.5)).length() < 0.1).collect();
    time("extend_into_solids 4 layers", || {
        extend_into_solids(&mut out, &closed, &cells, 4, |_| Vec3::ZERO, &mut scratch)
    });
    let mut kappa = vec![0.0; phi.len()];
    time("curvature", || {
        curvature(&mut kappa, &phi, &cells, 2.0 * grid.dx, &[Some(0.0); 6]);
    });
    let (open, solid) = (vec![1.0; phi.len()], vec![1.0; grid.nodes().len()]);
    time("liquid_volume", || {
        std::hint::black_box(liquid_volume(&phi, &open, &solid, &grid));
    });
    let area: [Vec<f32>; 3] = std::array::from_fn(|axis| vec![1.0; grid.faces(axis).len()]);
    let mut labels = Vec::new();
    time("label_regions", || {
        label_regions(&mut labels, &phi, [&area[0], &area[1], &area[2]], &grid);
    });
}

trait PositionOf {
    fn position_of(&self, index: usize) -> Vec3;
}

impl PositionOf for fluvial_grids::Lattice {
    fn position_of(&self, index: usize) -> Vec3 {
        let [i, j, k] = self.coordinates(index);
        self.position(i, j, k)
    }
}
