//! The front of a collapsing column beside Ritter's speed, in a slab of four cells.
//! `cargo bench --profile dev -p fluvial-solver-power --bench front -- 12 2 on 2` (cells in the column's width, voxels a leaf, volume correction, CFL).

use fluvial_foundation::Vec3;
use fluvial_grids::{TriangleMesh, UniformGrid};
use fluvial_solids::Shape;
use fluvial_solver_interface::{Domain, Fill, Liquid, Setup, Solver, VolumeCorrection};
use fluvial_solver_power::{Params, PowerSolver};

/// Looks at the front, and its last time in units of sqrt(a / 2 g).
const LOOKS: usize = 60;
const END: f64 = 9.237;

fn setup(cells: usize, cfl: f32) -> Setup {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [15 * cells, 5 * cells / 2, 4], dx: 1.0 / cells as f32 };
    let shape = Shape::Box { min: -Vec3::splat(3.0), max: Vec3::new(1.0, 2.0, 3.0) };
    Setup {
        domain: Domain::closed(grid),
        liquid: Liquid { gravity: Vec3::new(0.0, -0.5, 0.0), ..Liquid::default() },
        fills: vec![Fill { shape, velocity: Vec3::ZERO }],
        solids: vec![],
        sources: vec![],
        sinks: vec![],
        refine: vec![],
        flow: None,
        cfl,
    }
}

/// Farthest point of what hangs together with the column's corner.
fn front(mesh: &TriangleMesh) -> f64 {
    let (mut is_known, mut has_grown) = (vec![false; mesh.positions.len()], true);
    for (known, x) in is_known.iter_mut().zip(&mesh.positions) {
        *known = x.x < 0.5;
    }
    while has_grown {
        has_grown = false;
        for t in &mesh.triangles {
            let any = t.iter().any(|&v| is_known[v as usize]);
            for &v in t.iter().filter(|_| any) {
                has_grown |= !std::mem::replace(&mut is_known[v as usize], true);
            }
        }
    }
    let known = mesh.positions.iter().zip(&is_known).filter(|(_, known)| **known);
    known.map(|(x, _)| f64::from(x.x)).fold(0.0, f64::max)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let number = |n: usize, default: f64| args.get(n).and_then(|v| v.parse().ok()).unwrap_or(default);
    let (cells, band_factor, cfl) = (number(0, 12.0) as usize, number(1, 2.0) as u32, number(3, 2.0) as f32);
    let volume_correction = match args.get(2).map(String::as_str) {
        Some("off") => VolumeCorrection::Off,
        _ => VolumeCorrection::On,
    };
    let params = Params { band_factor, volume_correction, ..Params::default() };
    fluvial_foundation::parallel::with_threads(1, || {
        // Lengths in a, times in sqrt(a / 2 g): Ritter's speed is 2.
        let mut solver = PowerSolver::new(setup(cells, cfl), params).expect("a valid scene");
        let mut path = vec![[0.0, 1.0]];
        for look in 1..=LOOKS {
            let until_s = END * look as f64 / LOOKS as f64;
            while solver.time_s() < until_s - 1e-9 {
                let dt_s = solver.suggest_dt().dt_s.min(until_s - solver.time_s());
                solver.step(dt_s).expect("the step succeeds");
            }
            path.push([until_s, front(&solver.surface(&Default::default()))]);
        }
        let per_unit = (LOOKS as f64 / END).round() as usize;
        let speeds = path.windows(per_unit + 1).map(|w| {
            let [first, last] = [w[0], w[per_unit]];
            ((last[1] - first[1]) / (last[0] - first[0]) / 2.0, first[0], first[1])
        });
        let (speed, time, place) = speeds.fold((0.0, 0.0, 0.0), |m, s| if s.0 > m.0 { s } else { m });
        println!(
            "{cells} cells, {band_factor} voxels a leaf, {volume_correction:?}, CFL {cfl}: {speed:.4} of Ritter's speed, from T {time:.2}, Z {place:.2}"
        );
    });
}
