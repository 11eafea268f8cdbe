//! A sphere drawn out into a thin sheet and back.

use super::set_up::{closed_box, drive_solver};
use super::transport::Body;
use super::{Case, CaseError, Context, Outcome, Row};
use crate::run::FramePlan;
use fluvial_foundation::Vec3;
use fluvial_grids::{TriangleMesh, UniformGrid};
use fluvial_output::{Axis, Plot, Style};
use fluvial_sheets::Topology;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Flow, Method, SurfaceParams, Tracker, TransportTest};
use std::f32::consts::PI;

pub const CASE: Case = Case {
    name: "enright",
    what: "sphere R 0.15 at 0.35^3 in LeVeque's swirling flow, reversed: back where it was at t = 3",
    source: "Enright et al. 2002 §4.3: at 100^3 a level set loses about 80 %, a particle level set 2.6 %",
    // FLIP and APIC carry their particles alike where the flow is given.
    applies: |method| {
        !matches!(method.transport, TransportTest::None | TransportTest::UniformKernels(Tracker::Apic))
    },
    run,
};

const CFL: f32 = 2.0;
const END_S: f32 = 3.0;

fn velocity(x: Vec3) -> Vec3 {
    let s1 = |v: f32| (PI * v).sin().powi(2);
    let s2 = |v: f32| (2.0 * PI * v).sin();
    Vec3::new(2.0 * s1(x.x) * s2(x.y) * s2(x.z), -s2(x.x) * s1(x.y) * s2(x.z), -s2(x.x) * s2(x.y) * s1(x.z))
}

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let tracker = match &context.method.transport {
        TransportTest::UniformKernels(tracker) => *tracker,
        TransportTest::GivenFlow(method) => return run_given_flow(context, &**method),
        TransportTest::None => unreachable!("the case does not apply"),
    };
    let n: usize = if context.fine { 100 } else { 32 };
    let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 };
    let shape = Shape::Sphere { center: Vec3::splat(0.35), radius: 0.15 };
    let start = Body::new(grid, &shape, tracker);
    let mut body = Body::new(grid, &shape, tracker);
    body.set_velocity(velocity);
    let volume_0 = start.volume();
    // Even, so that the flow turns between two steps.
    let steps = 2 * (END_S * 2.0 / (2.0 * CFL * grid.dx)).ceil() as usize;
    let dt_s = END_S / steps as f32;
    let mut curve = vec![[0.0, 1.0]];
    let (mut half_volume, mut half_pieces) = (f64::NAN, 0);
    for step in 0..steps {
        if context.stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(CaseError::Interrupted);
        }
        body.step(dt_s, (PI * (step as f32 + 0.5) / steps as f32).cos());
        curve.push([f64::from((step + 1) as f32 * dt_s), body.volume() / volume_0]);
        if step + 1 == steps / 2 {
            (half_volume, half_pieces) = (body.volume() / volume_0 - 1.0, body.pieces());
        }
    }
    let resolution = format!("{n}^3, {steps} steps");
    let row = |quantity: &str, value: f64| Row::new(resolution.clone(), quantity, value);
    let plot = Plot {
        title: "Enright's deformation: volume".into(),
        x: Axis::linear("t / s"),
        y: Axis::linear("volume / initial volume"),
        series: vec![],
    };
    Ok(Outcome {
        rows: vec![
            row("volume change at t = 1.5", half_volume),
            row("volume change at t = 3", body.volume() / volume_0 - 1.0),
            row("pieces at t = 1.5", half_pieces as f64),
            row("pieces at t = 3", body.pieces() as f64),
            row("L1 shape error / volume at t = 3", body.difference(&start) / volume_0),
        ],
        plots: vec![("enright".into(), plot.with(context.method.name, Style::Line, curve))],
    })
}

/// The method itself, in a given flow.
fn run_given_flow(context: &Context, method: &dyn Method) -> Result<Outcome, CaseError> {
    let n: usize = if context.fine { 100 } else { 32 };
    let ball = Shape::Sphere { center: Vec3::splat(0.35), radius: 0.15 };
    let mut setup = closed_box([n; 3], 1.0 / n as f32, ball.clone());
    setup.liquid.gravity = Vec3::ZERO;
    // The paper's steps, 0.006 s at 100^3.
    setup.cfl = 1.2;
    setup.flow = Some(Flow::Enright { period_s: f64::from(END_S) });
    let solver = method.build(setup)?;
    let (mesh_0, mut curve) = (solver.surface(&SurfaceParams::default()), vec![]);
    let pieces = |mesh: &TriangleMesh| Topology::of(&mesh.positions, &mesh.triangles).pieces as f64;
    let held_m3 = solver.initial_report().liquid_volume_m3;
    let (mut half, mut steps) = ([f64::NAN; 2], 0);
    let plan = FramePlan { frames: 20, fps: 20.0 / f64::from(END_S) };
    let solver = drive_solver(context, solver, plan, &mut |step, solver| {
        steps = step.step;
        if (step.time_s - 0.5 * f64::from(END_S)).abs() < 1e-6 {
            let mesh = solver.surface(&SurfaceParams::default());
            half = [mesh.volume() / mesh_0.volume() - 1.0, pieces(&mesh)];
        }
        if step.step % 10 == 0 {
            let mesh = solver.surface(&SurfaceParams::default());
            curve.push([step.time_s, mesh.volume() / mesh_0.volume()]);
        }
    })?;
    let mesh = solver.surface(&SurfaceParams::default());
    let resolution = format!("{n}^3, {steps} steps");
    let row = |quantity: &str, value: f64| Row::new(resolution.clone(), quantity, value);
    let plot = Plot {
        title: "Enright's deformation: volume drawn".into(),
        x: Axis::linear("t / s"),
        y: Axis::linear("volume / initial volume"),
        series: vec![],
    };
    Ok(Outcome {
        rows: vec![
            row("volume change at t = 1.5", half[0]),
            row("volume change at t = 3", mesh.volume() / mesh_0.volume() - 1.0),
            row("pieces at t = 1.5", half[1]),
            row("pieces at t = 3", pieces(&mesh)),
            // What is missing inside has gone outside: particles keep their volume.
            row("L1 shape error / volume at t = 3", 2.0 * (1.0 - solver.volume_in(&ball) / held_m3)),
        ],
        plots: vec![("enright".into(), plot.with(context.method.name, Style::Line, curve))],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flow_is_free_of_divergence() {
        let h = 1e-3;
        for x in [Vec3::new(0.3, 0.4, 0.7), Vec3::new(0.81, 0.13, 0.55)] {
            let d = |axis: usize| {
                let e = h * Vec3::AXES[axis];
                (velocity(x + e)[axis] - velocity(x - e)[axis]) / (2.0 * h)
            };
            assert!((d(0) + d(1) + d(2)).abs() < 2e-3, "{}", d(0) + d(1) + d(2));
        }
    }
}
