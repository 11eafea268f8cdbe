//! What is thrown up comes down: liquid on the ceiling and high on the walls after a dam break.

use super::set_up::{SLAB_CELLS, closed_box, drive};
use super::{Bar, Case, CaseError, Context, Outcome, Row};
use crate::run::FramePlan;
use fluvial_foundation::Vec3;
use fluvial_output::{Axis, Plot, Style};
use fluvial_solids::Shape;
use fluvial_solver_interface::Wall;

pub const CASE: Case = Case {
    name: "splash",
    what: "dam break of 0.5 m in a box of 1 m: liquid above 0.8 m has passed that height within the last 2 v / g",
    source: "free fall: walls and ceilings push, they do not pull",
    applies: super::every_method,
    run,
};

const G: f64 = 9.81;
/// Cells along the box.
const CELLS: usize = 32;
/// The height that liquid passes, and the ceiling, m.
const HEIGHT: f64 = 0.8;
const CEILING: f64 = 1.0;
const FRAMES_PER_SECOND: f64 = 48.0;
/// Long enough for the splash to rise and to fall, s; the wave that runs back has not reached the other wall by then.
const END_S: f64 = 1.5;

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let across = if context.fine { CELLS } else { SLAB_CELLS };
    let above = splash(context, across, Wall::Solid)?;
    let (bound, most) = (bound(&above), most(&above));
    let resolution = format!("{CELLS} cells per edge");
    let row = |quantity: &str, value: f64| Row::new(resolution.clone(), quantity, value);
    let plot = Plot {
        title: "Dam break: liquid above 0.8 m".into(),
        x: Axis::linear("time / s"),
        y: Axis::linear("part of all liquid"),
        series: vec![],
    };
    Ok(Outcome {
        rows: vec![
            row("liquid above 0.8 m / all, most", most),
            row("liquid above 0.8 m that must have fallen / most", hanging(&above)).bar(Bar::AtMost(0.1)),
        ],
        plots: vec![(
            "splash".into(),
            plot.with(context.method.name, Style::Line, above).with("free fall", Style::Dashed, bound),
        )],
    })
}

/// Time and the part of all liquid that is above the height, frame by frame.
fn splash(context: &Context, across: usize, walls: Wall) -> Result<Vec<[f64; 2]>, CaseError> {
    let column = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(0.4, 0.5, 2.0) };
    let mut setup = closed_box([CELLS, CELLS, across], 1.0 / CELLS as f32, column);
    setup.domain.walls = [walls; 6];
    setup.liquid.gravity = Vec3::new(0.0, -G as f32, 0.0);
    let high = Shape::Box { min: Vec3::new(-1.0, HEIGHT as f32, -1.0), max: Vec3::splat(2.0) };
    let plan = FramePlan { frames: (END_S * FRAMES_PER_SECOND) as u32, fps: FRAMES_PER_SECOND };
    let mut above = vec![];
    drive(context, setup, plan, &mut |step, solver| {
        if (step.time_s * FRAMES_PER_SECOND - above.len() as f64).abs() < 1e-6 {
            above.push([step.time_s, solver.volume_in(&high) / step.report.liquid_volume_m3]);
        }
    })?;
    Ok(above)
}

fn most(above: &[[f64; 2]]) -> f64 {
    above.iter().map(|f| f[1]).fold(0.0, f64::max)
}

/// The most liquid that is above the height and must have fallen, as a part of the most liquid that was there.
fn hanging(above: &[[f64; 2]]) -> f64 {
    let beyond = |worst: f64, (a, b): (&[f64; 2], [f64; 2])| worst.max(a[1] - b[1]);
    above.iter().zip(bound(above)).fold(0.0, beyond) / most(above).max(f64::MIN_POSITIVE)
}

/// What may be above the height: as much as has passed it within the last `2 v / g`, where `v` takes it to the ceiling.
/// What is faster meets the ceiling, falls from there and is back earlier. What passes downwards meanwhile is not known, and
/// passages are the less by it: the bound is too low by that.
fn bound(above: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let longest_s = 2.0 * (2.0 * (CEILING - HEIGHT) / G).sqrt();
    let passed = |n: usize| {
        let recent = above.windows(2).take(n).filter(|pair| pair[1][0] > above[n][0] - longest_s);
        recent.map(|pair| (pair[1][1] - pair[0][1]).max(0.0)).sum()
    };
    (0..above.len()).map(|n| [above[n][0], passed(n)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_solver_registry::find_variants;
    use std::sync::atomic::AtomicBool;

    /// A jet of 1.5 m/s for a tenth of a second, and the same with a fifth of it stuck on the ceiling.
    #[test]
    fn liquid_that_hangs_is_told_from_liquid_that_falls() {
        let hangs = |stuck: f64| {
            let above = |t: f64| {
                let rising = ((t - 0.5) / 0.1).clamp(0.0, 1.0);
                let fallen = ((t - 0.5 - 2.0 * 1.5 / G) / 0.1).clamp(0.0, 1.0);
                0.2 * (rising - (1.0 - stuck) * fallen)
            };
            let frames: Vec<[f64; 2]> =
                (0..72).map(|n| f64::from(n) / FRAMES_PER_SECOND).map(|t| [t, above(t)]).collect();
            hanging(&frames)
        };
        assert!(hangs(0.0) < 1e-9, "{}", hangs(0.0));
        assert!((hangs(0.2) - 0.2).abs() < 1e-9, "{}", hangs(0.2));
    }

    /// Walls that hold on to liquid, as all of them did once, miss the bar.
    #[test]
    fn a_sticky_ceiling_is_seen() {
        let (stop, variants) = (AtomicBool::new(false), find_variants("uniform/flip"));
        let context =
            Context { method: &variants[0], fine: false, only: None, stop: &stop, progress: &|_| {} };
        let hangs = hanging(&splash(&context, SLAB_CELLS, Wall::Sticky).unwrap());
        assert!(hangs > 0.2, "{hangs}");
    }
}
