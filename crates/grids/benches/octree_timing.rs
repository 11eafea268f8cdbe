//! Time (of one thread, minimum of several runs) and memory of building octrees around a wavy water surface,
//! and of finding points in them.

use fluvial_foundation::{Vec3, parallel, random};
use fluvial_grids::Octree;
use fluvial_grids::octree::{SMOOTHING_PASSES, Shape};
use std::time::Instant;

/// Seconds that this thread has computed, where the system tells: other programs then do not count. Else wall
/// time.
fn clock(start: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = told.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    ns.map_or(start.elapsed().as_secs_f64(), |ns| 1e-9 * ns)
}

fn best<T>(runs: usize, mut body: impl FnMut() -> T) -> (f64, T) {
    let mut time = f64::INFINITY;
    let mut result = None;
    for _ in 0..runs {
        let (start, before) = (Instant::now(), clock(Instant::now()));
        result = Some(body());
        time = time.min(clock(start) - before);
    }
    (time, result.expect("a run"))
}

fn main() {
    println!("finest            leaves   build_ms ns/leaf bytes/leaf T-junctions uniform locate_ns");
    for n in [128usize, 256, 512] {
        let shape = Shape { min: Vec3::ZERO, dx: 1.0 / n as f32, levels: 5, roots: [n / 16, n / 32, n / 16] };
        let height = |x: Vec3| x.y - 0.25 - 0.05 * (9.0 * x.x).sin() * (7.0 * x.z).cos();
        // Finest where the waves are high, two levels coarser in the calm half.
        let divide = |cell| {
            let x = shape.center(cell);
            let calm = if x.x < 0.5 { 0 } else { 2 };
            height(x).abs() < shape.dx_of(cell.level as usize) && cell.level > calm
        };
        let build = || Octree::build(shape, SMOOTHING_PASSES, divide);
        let (time, tree) = parallel::with_threads(1, || best(5, build));
        let leaves = tree.cell_count();
        let points: Vec<Vec3> =
            (0..200_000).map(|i| tree.cell_center(random::splitmix64(i) as usize % leaves)).collect();
        let (locate, uniform) = best(5, || points.iter().filter(|&&x| tree.locate(x).uniform).count());
        println!(
            "{:17} {leaves:8} {:9.2} {:7.1} {:10.1} {:11} {:6.1}% {:8.1}",
            format!("{:?}", shape.cells(0)),
            1e3 * time,
            1e9 * time / leaves as f64,
            tree.bytes() as f64 / leaves as f64,
            tree.junction_count(),
            100.0 * uniform as f64 / points.len() as f64,
            1e9 * locate / points.len() as f64,
        );
    }
}
