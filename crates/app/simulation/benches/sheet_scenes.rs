//! What sheet preservation does in the scenes, in numbers: pieces, handles and areas of the surface, drawn
//! volume over the mass's, particles by kind.
//!
//! `cargo bench -p fluvial-simulation --bench sheet_scenes -- [scene|all] [resolution]
//! [frames,frames...]`

use fluvial_scene::Scene;
use fluvial_solver_interface::{Solver, SurfaceParams};
use fluvial_solver_sheets::{Kind, SheetsSolver, Topology};

/// Scenes, and the frames at which their sheets are widest.
const SCENES: [(&str, &[u32]); 4] = [
    ("drop-on-tower", &[10, 22]),
    ("drop-in-container", &[12, 16]),
    ("dam-break-sheets", &[23]),
    ("ledge", &[33]),
];

fn main() {
    let argument = |n: usize| std::env::args().filter(|a| a != "--bench").nth(n);
    let wanted = argument(1).unwrap_or("all".into());
    let resolution = argument(2).unwrap_or("64".into());
    let chosen: Option<Vec<u32>> = argument(3).map(|a| a.split(',').map(|f| f.parse().unwrap()).collect());
    println!(
        "{:18} {:5} {:8} {:>7} {:>7} {:>7} {:>9} {:>12} {:>11} {:>9} {:>9} {:>8}",
        "scene",
        "frame",
        "preserve",
        "pieces",
        "bubbles",
        "handles",
        "area m2",
        "hole-free m2",
        "drawn/mass",
        "particles",
        "inserted",
        "merged"
    );
    for (name, frames) in SCENES.into_iter().filter(|(name, _)| wanted == "all" || wanted == *name) {
        let frames = chosen.clone().unwrap_or(frames.to_vec());
        for preserve in [true, false] {
            run(name, &resolution, &frames, preserve);
        }
    }
}

fn run(name: &str, resolution: &str, frames: &[u32], preserve: bool) {
    let set =
        [("domain.resolution", resolution.to_string()), ("method.preserve_sheets", preserve.to_string())];
    let set: Vec<(String, String)> = set.into_iter().map(|(k, v)| (k.into(), v)).collect();
    let ready = Scene::load(name, &set).unwrap().build().unwrap();
    let params = serde_json::from_value(ready.method.params()).unwrap();
    let mut solver = SheetsSolver::new(ready.setup, params).unwrap();
    for frame in 1..=*frames.iter().max().unwrap() {
        let end_s = f64::from(frame) / ready.fps;
        while end_s - solver.time_s() > 1e-9 {
            let left_s = end_s - solver.time_s();
            let steps = (left_s / solver.suggest_dt().dt_s).ceil().max(1.0);
            solver.step(left_s / steps).unwrap();
        }
        if frames.contains(&frame) {
            report(name, frame, preserve, &solver);
        }
    }
}

fn report(name: &str, frame: u32, preserve: bool, solver: &SheetsSolver) {
    let mesh = solver.surface(&SurfaceParams { smoothing: 2 });
    assert!(mesh.defects().is_clean());
    let found = Topology::of(&mesh.positions, &mesh.triangles);
    let population = solver.population();
    let mass_m3 = population.particles.total_mass() as f64 / f64::from(fluvial_solver_sheets::UNIT_MASS)
        * f64::from(population.params.d0).powi(3);
    println!(
        "{name:18} {frame:5} {preserve:8} {:7} {:7} {:7} {:9.3} {:12.4} {:11.3} {:9} {:9} {:8}",
        found.pieces,
        found.bubbles,
        found.handles,
        found.largest_area_m2,
        found.largest_area_m2 / (1 + found.handles_of_largest) as f64,
        mesh.volume() / mass_m3,
        population.particles.len(),
        population.count(Kind::Inserted),
        population.count(Kind::Merged),
    );
}
