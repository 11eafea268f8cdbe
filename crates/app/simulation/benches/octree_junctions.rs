//! How many of the T-junctions that the surface crosses are degenerate, scene by scene, summed over all steps
//! [octree §8]; and how large trees become: the first, one with the finest cells all along the first surface,
//! the largest of the run.
//!
//! `cargo bench -p fluvial-simulation --bench octree_junctions -- [scene|all] [resolution]
//! [frames]`

use fluvial_scene::Scene;
use fluvial_solver_interface::Solver;
use fluvial_solver_octree::{OctreeSolver, Params, count_first_tree};

const SCENES: [&str; 5] = ["water-drop", "moving-cylinder", "rocky-waterfall", "merging-bodies", "seaplane"];

fn main() {
    let argument = |n: usize| std::env::args().filter(|a| a != "--bench").nth(n);
    let wanted = argument(1).unwrap_or("all".into());
    let resolution = argument(2).unwrap_or("64".into());
    let frames: u32 = argument(3).map_or(24, |frames| frames.parse().expect("a number of frames"));
    println!(
        "{:18} {:>6} {:>12} {:>12} {:>7} {:>11} {:>11} {:>12} {:>12} {:>9}",
        "scene",
        "steps",
        "T-junctions",
        "degenerate",
        "share",
        "first tree",
        "all finest",
        "largest tree",
        "most liquid",
        "particles"
    );
    for name in SCENES.into_iter().filter(|name| wanted == "all" || wanted == *name) {
        let set = [("domain.resolution", resolution.as_str()), ("method.name", "octree")];
        let set: Vec<(String, String)> = set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let ready = Scene::load(name, &set).unwrap().build().unwrap();
        let params: Params = serde_json::from_value(ready.method.params()).unwrap();
        let cells = |params: &Params| count_first_tree(&ready.setup, params).unwrap().cells;
        let first = [cells(&params), cells(&Params { strength: 0.0, ..params.clone() })];
        let mut solver = OctreeSolver::new(ready.setup, params).unwrap();
        let (mut steps, mut met, mut most) = (0, [0; 2], [0; 3]);
        for frame in 1..=frames {
            let end_s = f64::from(frame) / ready.fps;
            while end_s - solver.time_s() > 1e-9 {
                let left_s = end_s - solver.time_s();
                let parts = (left_s / solver.suggest_dt().dt_s).ceil().max(1.0);
                let report = solver.step(left_s / parts).unwrap();
                let sizes = [solver.tree().cell_count(), report.cells, report.particles];
                most = [0, 1, 2].map(|n| sizes[n].max(most[n]));
                steps += 1;
                met = [0, 1].map(|n| met[n] + solver.surface_junctions()[n]);
            }
        }
        let share = 100.0 * met[1] as f64 / met[0].max(1) as f64;
        println!(
            "{name:18} {steps:6} {:12} {:12} {share:5.1} % {:11} {:11} {:12} {:12} {:9}",
            met[0], met[1], first[0], first[1], most[0], most[1], most[2]
        );
    }
}
