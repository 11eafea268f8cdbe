//! A jet that fills a tank: what is there is what flowed in.

use super::set_up::{closed_box, drive};
use super::{Bar, Case, CaseError, Context, Outcome, Row};
use crate::run::FramePlan;
use fluvial_foundation::Vec3;
use fluvial_output::{Axis, Plot, Style};
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Solid, Source};

pub const CASE: Case = Case {
    name: "filling",
    what: "jet of 0.16 m and 1.5 m/s over a ball into a pool: what the volume has grown by against the integral of the inflow",
    source: "conservation of volume; the scene `filling-tank` with a pool to begin with, since no coarse grid holds the first film",
    applies: super::every_method,
    run,
};

/// How long it flows, and how long the run is.
const FINE_S: [f64; 2] = [2.0, 4.0];
const COARSE_S: [f64; 2] = [1.2, 2.2];
/// The jet has met ball, pool and far wall.
const FIRST_LOOK_S: f64 = 1.0;
const POOL_M: f32 = 0.15;
const RADIUS: f64 = 0.08;
const SPEED: f64 = 1.5;

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let (n, [flows_s, end_s]) = if context.fine { (64, FINE_S) } else { (16, COARSE_S) };
    let (from, to) = (Vec3::new(-0.1, 0.75, 0.5), Vec3::new(0.08, 0.75, 0.5));
    let jet = Shape::Cylinder { from, to, radius: RADIUS as f32 };
    let ball = Shape::Sphere { center: Vec3::new(0.5, 0.45, 0.5), radius: 0.16 };
    let pool = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(2.0, POOL_M, 2.0) };
    let mut setup = closed_box([n; 3], 1.0 / n as f32, pool);
    setup.sources.push(Source {
        shape: jet,
        motion: Motion::Static,
        velocity: Vec3::new(SPEED as f32, 0.0, 0.0),
        active_s: [0.0, flows_s],
        measured: Default::default(),
    });
    setup.solids.push(Solid::new("ball", ball, Motion::Static));
    let (mut grown, mut inflow) = (vec![], vec![]);
    let (mut pool_m3, mut largest, mut raw_m3) = (0.0, 0.0f64, 0.0);
    let plan = FramePlan { frames: (24.0 * end_s) as u32, fps: 24.0 };
    drive(context, setup, plan, &mut |step, _| {
        let report = &step.report;
        if step.step == 0 {
            pool_m3 = report.liquid_volume_m3;
        }
        let grown_m3 = report.liquid_volume_m3 - pool_m3;
        grown.push([step.time_s, grown_m3]);
        inflow.push([step.time_s, report.inflow_m3]);
        if step.time_s > FIRST_LOOK_S {
            largest = largest.max((grown_m3 / report.inflow_m3 - 1.0).abs());
        }
        raw_m3 = report.raw_volume_error * (pool_m3 + report.inflow_m3);
    })?;
    // Surfaces of particles breathe: the mean over the last second, when nothing flows.
    let last: Vec<f64> = grown.iter().filter(|g| g[0] > end_s - 1.0).map(|g| g[1]).collect();
    let grown_m3 = last.iter().sum::<f64>() / last.len() as f64;
    let inflow_m3 = inflow[inflow.len() - 1][1];
    let asked_m3 = std::f64::consts::PI * RADIUS * RADIUS * SPEED * flows_s;
    let resolution = format!("{n} cells per edge");
    let row = |quantity: &str, value: f64| Row::new(resolution.clone(), quantity, value);
    let plot = Plot {
        title: "Filling tank".into(),
        x: Axis::linear("t / s"),
        y: Axis::linear("volume / m³"),
        series: vec![],
    };
    Ok(Outcome {
        rows: vec![
            row("volume gained / m3", grown_m3).against(inflow_m3).bar(Bar::ErrorAtMost(5e-3)),
            row("volume gained / inflow - 1, largest after 1 s", largest),
            // From four cells across on.
            match 2.0 * RADIUS * n as f64 >= 4.0 {
                true => row("inflow / m3", inflow_m3).against(asked_m3).bar(Bar::ErrorAtMost(1e-2)),
                false => row("inflow / m3", inflow_m3).against(asked_m3),
            },
            row("drift without correction / inflow", raw_m3 / inflow_m3),
        ],
        plots: vec![(
            "filling".into(),
            plot.with("volume gained", Style::Line, grown).with("inflow", Style::Line, inflow),
        )],
    })
}
