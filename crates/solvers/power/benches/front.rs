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

/// The farthest point of what hangs together with the column's corner, and of all pieces of a hundredth of the volume or more.
fn fronts(mesh: &TriangleMesh) -> [f64; 2] {
    let mut piece: Vec<usize> = (0..mesh.positions.len()).collect();
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for t in &mesh.triangles {
            let least = t.iter().map(|&v| piece[v as usize]).min().unwrap_or(0);
            for &v in t {
                has_changed |= std::mem::replace(&mut piece[v as usize], least) != least;
            }
        }
    }
    let mut volume = vec![0.0f64; mesh.positions.len()];
    for t in &mesh.triangles {
        let [a, b, c] = t.map(|v| mesh.positions[v as usize].as_dvec3());
        volume[piece[t[0] as usize]] += a.dot(b.cross(c)) / 6.0;
    }
    let is_corner = |n: &usize| mesh.positions[*n].length_squared();
    let corner = (0..piece.len()).min_by(|a, b| is_corner(a).total_cmp(&is_corner(b))).map(|n| piece[n]);
    let farthest = |counts: &dyn Fn(usize) -> bool| {
        let points = mesh.positions.iter().zip(&piece).filter(|(_, piece)| counts(**piece));
        points.map(|(x, _)| f64::from(x.x)).fold(0.0, f64::max)
    };
    let least_m3 = 0.01 * mesh.volume();
    [farthest(&|piece| Some(piece) == corner), farthest(&|piece| volume[piece] >= least_m3)]
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
        let mut path = vec![[0.0, 1.0, 1.0]];
        for look in 1..=LOOKS {
            let until_s = END * look as f64 / LOOKS as f64;
            while solver.time_s() < until_s - 1e-9 {
                let dt_s = solver.suggest_dt().dt_s.min(until_s - solver.time_s());
                solver.step(dt_s).expect("the step succeeds");
            }
            let [whole, pieces] = fronts(&solver.surface(&Default::default()));
            path.push([until_s, whole, pieces]);
        }
        let per_unit = (LOOKS as f64 / END).round() as usize;
        println!(
            "{cells} cells, {band_factor} voxels a leaf, {volume_correction:?}, CFL {cfl}, of Ritter's speed:"
        );
        for (n, what) in [(1, "what hangs together"), (2, "pieces of 1 % or more")] {
            let speeds = path.windows(per_unit + 1).map(|w| {
                let [first, last] = [w[0], w[per_unit]];
                ((last[n] - first[n]) / (last[0] - first[0]) / 2.0, first[0], first[n])
            });
            let (speed, time, place) = speeds.fold((0.0, 0.0, 0.0), |m, s| if s.0 > m.0 { s } else { m });
            println!("  {what}: {speed:.4} from T {time:.2}, Z {place:.2}");
        }
    });
}
