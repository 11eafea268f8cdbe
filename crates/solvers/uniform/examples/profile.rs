//! Time by stage of a dam break: `profile N FRAMES TRACKER`.
use fluvial_foundation::{StageTimers, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Domain, Fill, Liquid, Setup, Solver, Wall};
use fluvial_uniform::{Params, Tracker, UniformSolver};
use std::time::Instant;

fn main() {
    let arg = |n: usize, default: &str| std::env::args().nth(n).unwrap_or(default.into());
    let n: usize = arg(1, "64").parse().unwrap();
    let frames: usize = arg(2, "24").parse().unwrap();
    let tracker = match arg(3, "levelset").as_str() {
        "flip" => Tracker::Flip,
        "apic" => Tracker::Apic,
        _ => Tracker::Levelset,
    };
    let setup = Setup {
        domain: Domain {
            grid: UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 },
            walls: [Wall::Solid; 6],
        },
        liquid: Liquid::default(),
        fills: vec![Fill {
            shape: Shape::Box { min: Vec3::ZERO, max: Vec3::new(0.4, 0.5, 1.0) },
            velocity: Vec3::ZERO,
        }],
        solids: vec![],
        sources: vec![],
        sinks: vec![],
        refine: vec![],
        cfl: arg(7, "2").parse().unwrap(),
    };
    let mut solver = UniformSolver::new(
        setup,
        Params {
            tracker,
            phi_advection: match arg(4, "cubic").as_str() {
                "sl" => fluvial_uniform::PhiScheme::SemiLagrangian,
                "mc" => fluvial_uniform::PhiScheme::MacCormack,
                _ => fluvial_uniform::PhiScheme::Cubic,
            },
            velocity_advection: if arg(5, "mc") == "sl" {
                fluvial_uniform::VelocityScheme::SemiLagrangian
            } else {
                fluvial_uniform::VelocityScheme::MacCormack
            },
            volume_correction: match arg(6, "regional").as_str() {
                "off" => fluvial_uniform::VolumeCorrection::Off,
                "global" => fluvial_uniform::VolumeCorrection::Global,
                _ => fluvial_uniform::VolumeCorrection::Regional,
            },
            ..Default::default()
        },
    )
    .unwrap();
    let mut timers = StageTimers::default();
    let (mut steps, mut iterations, mut cells) = (0, 0, 0);
    let start = Instant::now();
    for frame in 1..=frames {
        let end_s = frame as f64 / 24.0;
        let mut last = None;
        while solver.time_s() < end_s - 1e-9 {
            let left = end_s - solver.time_s();
            let dt_s = left / (left / solver.suggest_dt().dt_s).ceil();
            let report = solver.step(dt_s).unwrap();
            for (name, s) in report.stages_s.iter() {
                timers.add(name, s);
            }
            (steps, iterations, cells) =
                (steps + 1, iterations + report.pressure.iterations, cells + report.cells);
            last = Some(report);
        }
        let mesh = timers.stage("mesh", || solver.surface(&Default::default()));
        if frame % 6 == 0 {
            let r = last.unwrap();
            println!(
                "frame {frame} steps {steps} triangles {} particles {} err {:.4} raw {:.4} E {:.1} umax {:.2} {:?}",
                mesh.triangles.len(),
                r.particles,
                r.volume_error,
                r.raw_volume_error,
                r.kinetic_energy_j + r.potential_energy_j,
                r.max_speed_m_s,
                r.clamps
            );
        }
    }
    let total = start.elapsed().as_secs_f64();
    println!(
        "{n}^3 {tracker:?}: {:.3} s/frame, {:.2} steps/frame, {:.1} it/step",
        total / frames as f64,
        steps as f64 / frames as f64,
        iterations as f64 / steps as f64
    );
    for (name, s) in timers.iter() {
        println!(
            "  {name:16} {:7.2} ms/step {:5.1} %  {:.0} ns/cell",
            1e3 * s / steps as f64,
            100.0 * s / total,
            1e9 * s / cells as f64
        );
    }
}
