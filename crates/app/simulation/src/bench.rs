//! Named benchmarks: the same scene, repeated, with the machine described.

pub mod pressure;
pub mod table3;

use crate::progress::Silent;
use crate::run::{FramePlan, Recorder, RunEnd, RunError, StepRecord, run};
use fluvial_foundation::{Quat, StageTimers, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_output::{Machine, OutputError, peak_rss_bytes, reset_peak_rss};
use fluvial_solids::{Pose, Shape};
use fluvial_solver_interface::{
    Domain, Fill, FreeBody, Liquid, Method, Setup, SetupError, Solid, Solver, Start, SurfaceParams, Variant,
};
use fluvial_solver_registry::variants;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// One benchmark.
#[derive(Clone)]
pub struct BenchCase {
    /// As typed on the command line.
    pub name: String,
    /// What is simulated.
    pub scene: BenchScene,
    /// Cells per side.
    pub cells: usize,
    /// With which method.
    pub variant: Variant,
}

/// What a benchmark simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchScene {
    /// A column of water falls.
    DamBreak,
    /// The same column with a hundred crates in and before it: what its step takes beside the dam break's is what they
    /// cost.
    HundredCrates,
}

impl BenchScene {
    /// In words.
    pub fn what(self) -> &'static str {
        match self {
            BenchScene::DamBreak => "liquid 0.4 x 0.5 high x 1 in the corner of a closed unit box, 24 fps",
            BenchScene::HundredCrates => {
                "the dam break with 100 crates of 6 cm, 40 under water and 60 before it"
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            BenchScene::DamBreak => "dam-break",
            BenchScene::HundredCrates => "hundred-crates",
        }
    }

    /// Cells per side.
    fn sizes(self) -> &'static [usize] {
        match self {
            BenchScene::DamBreak => &[64, 128],
            BenchScene::HundredCrates => &[64],
        }
    }

    fn setup(self, cells: usize) -> Setup {
        let mut setup = dam_break(cells);
        if self == BenchScene::HundredCrates {
            setup.solids = hundred_crates();
        }
        setup
    }
}

/// All benchmarks: every scene with every method that can simulate it, `dam-break-64-uniform-flip` and so on.
pub fn benches() -> Vec<BenchCase> {
    let case = |scene: BenchScene, cells: usize, variant: &Variant| BenchCase {
        name: format!("{}-{cells}-{}", scene.name(), variant.name.replace('/', "-")),
        scene,
        cells,
        variant: variant.clone(),
    };
    let variants = variants();
    let mut cases = vec![];
    for scene in [BenchScene::DamBreak, BenchScene::HundredCrates] {
        let needs_bodies = scene == BenchScene::HundredCrates;
        let able = variants.iter().filter(|v| !needs_bodies || v.method.capabilities().bodies);
        let able: Vec<&Variant> = able.collect();
        let sized = |&cells: &usize| able.iter().map(move |&v| case(scene, cells, v));
        cases.extend(scene.sizes().iter().flat_map(sized));
    }
    cases
}

/// The benchmarks that a name stands for: one, or all whose name begins with it (`dam-break-64`).
pub fn find_benches(name: &str) -> Vec<BenchCase> {
    let is_meant =
        |c: &BenchCase| c.name.strip_prefix(name).is_some_and(|r| r.is_empty() || r.starts_with('-'));
    benches().into_iter().filter(is_meant).collect()
}

/// How a benchmark is run.
#[derive(Clone, Copy, Debug)]
pub struct BenchOptions {
    /// Frames simulated each time.
    pub frames: u32,
    /// Times over.
    pub repeats: u32,
}

/// A middle value and how far the others lie from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Half of the runs took less.
    pub median: f64,
    /// Fastest.
    pub min: f64,
    /// Slowest.
    pub max: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Spread {
        values.sort_by(f64::total_cmp);
        let (n, middle) = (values.len(), values.len() / 2);
        let median = if n % 2 == 1 { values[middle] } else { 0.5 * (values[middle - 1] + values[middle]) };
        Spread { median, min: values[0], max: values[n - 1] }
    }
}

/// What a benchmark measured.
#[derive(Clone, Debug, Serialize)]
pub struct BenchRow {
    /// Case name.
    pub case: String,
    /// Method name.
    pub method: String,
    /// Cells per side.
    pub cells: usize,
    /// Frames simulated each time.
    pub frames: u32,
    /// Times over.
    pub repeats: u32,
    /// Threads in use.
    pub threads: usize,
    /// Wall time of a frame with its mesh, seconds.
    pub frame_s: Spread,
    /// Of that, the mesh, seconds (median run).
    pub mesh_s: f64,
    /// Steps of a frame.
    pub steps_per_frame: f64,
    /// Wall time of a step, seconds (median run).
    pub step_s: f64,
    /// Wall time of a step over the liquid cells, nanoseconds (median run).
    pub step_ns_per_liquid_cell: f64,
    /// Liquid cells, mean over the steps.
    pub liquid_cells: f64,
    /// Iterations of the pressure solve, mean over the steps.
    pub pressure_iterations: f64,
    /// Most memory held; `None` where the system does not tell.
    pub peak_rss_bytes: Option<u64>,
    /// Seconds a step by stage (median run).
    #[serde(serialize_with = "crate::stats::stages")]
    pub stages_s_per_step: StageTimers,
}

/// A benchmark file: rows and the machine they were measured on.
#[derive(Serialize)]
pub struct BenchReport<'a> {
    /// Program version.
    pub fluvial: &'static str,
    /// Where it ran.
    pub machine: Machine,
    /// What was measured.
    pub rows: &'a [BenchRow],
}

impl<'a> BenchReport<'a> {
    /// Describes this machine.
    pub fn new(rows: &'a [BenchRow]) -> Self {
        BenchReport { fluvial: env!("CARGO_PKG_VERSION"), machine: Machine::describe(), rows }
    }
}

/// Why a benchmark gave no numbers.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The method refused the set-up.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The simulation failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Stopped on request.
    #[error("interrupted")]
    Interrupted,
}

/// Sums over one run.
#[derive(Default)]
struct Sums {
    steps: f64,
    cells: f64,
    iterations: f64,
    mesh_s: f64,
    wall_s: f64,
    stages_s: StageTimers,
}

impl Recorder for Sums {
    fn step(&mut self, step: &StepRecord, _: &dyn Solver) -> Result<(), OutputError> {
        if step.step > 0 {
            self.steps += 1.0;
            self.cells += step.report.cells as f64;
            self.iterations += step.report.pressure.iterations as f64;
            step.report.stages_s.iter().for_each(|(name, seconds)| self.stages_s.add(name, seconds));
        }
        Ok(())
    }
    fn frame(&mut self, frame: u32, solver: &dyn Solver) -> Result<(), OutputError> {
        let start = Instant::now();
        std::hint::black_box(solver.surface(&SurfaceParams::default()));
        if frame > 0 {
            self.mesh_s += start.elapsed().as_secs_f64();
        }
        Ok(())
    }
    fn failed(&mut self, _: &dyn Solver) -> Option<PathBuf> {
        None
    }
}

/// Runs a benchmark.
pub fn run_bench(
    case: &BenchCase,
    options: BenchOptions,
    threads: usize,
    stop: &AtomicBool,
) -> Result<BenchRow, BenchError> {
    let method = &*case.variant.method;
    let memory_is_its_own = reset_peak_rss();
    let mut runs = Vec::new();
    for _ in 0..options.repeats {
        runs.push(run_once(method, case.scene.setup(case.cells), options.frames, stop)?);
    }
    let peak_rss_bytes = peak_rss_bytes().filter(|_| memory_is_its_own);
    let frames = f64::from(options.frames);
    let frame_s = Spread::of(runs.iter().map(|r| r.wall_s / frames).collect());
    runs.sort_by(|a, b| a.wall_s.total_cmp(&b.wall_s));
    let run = runs.swap_remove(runs.len() / 2);
    let mut stages_s_per_step = StageTimers::default();
    run.stages_s.iter().for_each(|(name, seconds)| stages_s_per_step.add(name, seconds / run.steps));
    let step_s = (run.wall_s - run.mesh_s) / run.steps;
    Ok(BenchRow {
        case: case.name.clone(),
        method: case.variant.name.into(),
        cells: case.cells,
        frames: options.frames,
        repeats: options.repeats,
        threads,
        frame_s,
        mesh_s: run.mesh_s / frames,
        steps_per_frame: run.steps / frames,
        step_s,
        step_ns_per_liquid_cell: 1e9 * step_s / (run.cells / run.steps),
        liquid_cells: run.cells / run.steps,
        pressure_iterations: run.iterations / run.steps,
        peak_rss_bytes,
        stages_s_per_step,
    })
}

fn run_once(method: &dyn Method, setup: Setup, frames: u32, stop: &AtomicBool) -> Result<Sums, BenchError> {
    let mut solver = method.build(setup)?;
    let mut sums = Sums::default();
    let start = Instant::now();
    let plan = FramePlan { frames, fps: 24.0 };
    match run(solver.as_mut(), plan, &mut sums, &mut Silent, stop)? {
        RunEnd::Done => {}
        RunEnd::Interrupted => return Err(BenchError::Interrupted),
    }
    sums.wall_s = start.elapsed().as_secs_f64();
    Ok(sums)
}

fn dam_break(n: usize) -> Setup {
    let liquid = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(0.4, 0.5, 2.0) };
    Setup {
        domain: Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 }),
        liquid: Liquid::default(),
        fills: vec![Fill { shape: liquid, velocity: Vec3::ZERO }],
        solids: vec![],
        sources: vec![],
        sinks: vec![],
        refine: vec![],
        flow: None,
        cfl: 2.0,
    }
}

/// Ten rows of ten crates, half as dense as water, each turned and lifted by its own small part of the spacing.
fn hundred_crates() -> Vec<Solid> {
    let crate_at = |n: usize| {
        let part = |k: usize| ((n * k) % 100) as f32 / 100.0 - 0.5;
        let translate =
            Vec3::new(0.05, 0.25, 0.05) + 0.1 * Vec3::new((n % 10) as f32, part(37), (n / 10) as f32);
        let rotation = Quat::from_scaled_axis(0.8 * Vec3::new(part(13), part(29), part(71)));
        let shape = Shape::Box { min: Vec3::splat(-0.03), max: Vec3::splat(0.03) };
        let start = Start { pose: Pose { rotation, translate }, ..Start::default() };
        Solid::body(format!("crate {n}"), shape, FreeBody { start, joints: vec![] })
    };
    (0..100).map(crate_at).collect()
}

/// The rows as a text table, with time by stage below each.
pub fn print_rows(rows: &[BenchRow]) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for row in rows {
        let memory = row.peak_rss_bytes.map_or("unknown".into(), |b| format!("{:.2} GB", b as f64 / 1e9));
        let _ = writeln!(
            text,
            "{}: {:.3} s a frame with mesh (median of {}, {:.3} to {:.3}), mesh {:.3} s, {:.1} steps a frame, \
             {:.4} s a step, {:.0} ns a liquid cell and step, {:.0} liquid cells, {:.1} pressure iterations, peak {memory}, {} threads",
            row.case,
            row.frame_s.median,
            row.repeats,
            row.frame_s.min,
            row.frame_s.max,
            row.mesh_s,
            row.steps_per_frame,
            row.step_s,
            row.step_ns_per_liquid_cell,
            row.liquid_cells,
            row.pressure_iterations,
            row.threads,
        );
        let total = row.stages_s_per_step.total();
        for (name, seconds) in row.stages_s_per_step.iter() {
            let _ = writeln!(text, "    {name:<18} {:9.5} s  {:5.1} %", seconds, 100.0 * seconds / total);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_odd_and_even_counts() {
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of(vec![4.0, 1.0, 2.0, 3.0]).median, 2.5);
    }

    #[test]
    fn names_stand_for_one_case_or_a_family() {
        assert_eq!(find_benches("dam-break-64-uniform-flip").len(), 1);
        assert_eq!(find_benches("dam-break-64").len(), variants().len());
        assert_eq!(find_benches("dam-break").len(), 2 * variants().len());
        assert!(find_benches("dam-break-6").is_empty());
        assert_eq!(find_benches("hundred-crates-64-sheets").len(), 1);
    }

    #[test]
    fn a_small_run_names_its_stages() {
        let variant = fluvial_solver_registry::find_variants("uniform/flip").remove(0);
        let case = BenchCase { name: "tiny".into(), scene: BenchScene::DamBreak, cells: 16, variant };
        let options = BenchOptions { frames: 2, repeats: 2 };
        let row = run_bench(&case, options, 1, &AtomicBool::new(false)).unwrap();
        assert!(row.steps_per_frame >= 1.0 && row.liquid_cells > 500.0, "{row:?}");
        assert!(row.stages_s_per_step.total() <= 1.001 * row.step_s, "{row:?}");
        // How much of a step its stages take depends on what else the machine does.
        let seconds =
            |stage: &str| row.stages_s_per_step.iter().find(|(name, _)| *name == stage).map(|s| s.1);
        for stage in ["pressure", "advect_surface", "particles"] {
            assert!(seconds(stage).is_some_and(|s| s > 0.0), "{stage}: {row:?}");
        }
    }
}
