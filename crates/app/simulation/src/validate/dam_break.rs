//! The collapse of a water column, as Martin and Moyce measured it.

use super::set_up::{SLAB_CELLS, closed_box, drive};
use super::{Bar, Case, CaseError, Context, Outcome, Row};
use crate::run::FramePlan;
use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;
use fluvial_output::{Axis, Plot, Style};
use fluvial_solids::Shape;
use fluvial_solver_interface::SurfaceParams;

pub const CASE: Case = Case {
    name: "dam-break",
    what: "column a = 2.25 in wide, 2 a high: front Z = x / a against T = t sqrt(2 g / a); front below Ritter's 2 sqrt(g h)",
    source: "Martin & Moyce 1952; interFoam: mean 3.0 %, max 8.1 %. Ritter 1892; real fronts run at 0.84 of his speed",
    applies: super::every_method,
    run,
};

const A: f64 = 2.25 * 0.0254;
const G: f64 = 9.81;
/// The gate takes time to clear the column: the experiment's clock runs this far ahead of an instant release.
const GATE_T: f64 = 0.175;
/// (T, Z) as measured.
const MEASURED: [[f64; 2]; 15] = [
    [0.832, 1.217],
    [1.219, 1.474],
    [1.997, 2.292],
    [2.547, 2.995],
    [3.345, 4.134],
    [4.034, 4.944],
    [4.418, 5.881],
    [5.091, 6.980],
    [5.685, 7.945],
    [6.306, 8.966],
    [6.822, 9.986],
    [7.439, 10.963],
    [8.031, 11.977],
    [8.633, 13.005],
    [9.237, 13.970],
];

fn run(context: &Context) -> Result<Outcome, CaseError> {
    let cells_per_a = if context.fine { 32 } else { 12 };
    let dx = (A / cells_per_a as f64) as f32;
    let column = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(A as f32, 2.0 * A as f32, 1.0) };
    let mut setup = closed_box([15 * cells_per_a, 5 * cells_per_a / 2, SLAB_CELLS], dx, column);
    setup.liquid.gravity = Vec3::new(0.0, -G as f32, 0.0);
    let per_second = (2.0 * G / A).sqrt();
    let end_s = MEASURED[MEASURED.len() - 1][0] / per_second;
    let (mut front, mut drift, mut raw_drift) = (vec![], 0.0f64, 0.0f64);
    let plan = FramePlan { frames: 60, fps: 60.0 / end_s };
    drive(context, setup, plan, &mut |step, solver| {
        // Sixty samples give the front's path; a mesh for every step would take longer than the steps.
        if step.time_s >= (front.len() as f64 - 1e-6) / plan.fps {
            let x = front_of(&solver.surface(&SurfaceParams::default()));
            front.push([step.time_s * per_second + GATE_T, f64::from(x) / A]);
        }
        drift = drift.max(step.report.volume_error.abs());
        raw_drift = raw_drift.max(step.report.raw_volume_error.abs());
    })?;
    let errors: Vec<f64> = MEASURED.iter().map(|[t, z]| (interpolate(&front, *t) / z - 1.0).abs()).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let largest = errors.iter().copied().fold(0.0, f64::max);
    // dZ/dT = 1 is sqrt(2 g a): Ritter's 2 sqrt(g 2 a) is 2.
    let ritter = front_speed(&front) / 2.0;
    let resolution = format!("{cells_per_a} cells per a");
    let row = |quantity: &str, value: f64| Row::new(resolution.clone(), quantity, value);
    let volume_bar = if context.method.method.capabilities().particles { 1e-2 } else { 1e-3 };
    let plot = Plot {
        title: "Dam break: front against Martin & Moyce 1952".into(),
        x: Axis::linear("T = t (2 g / a)^½"),
        y: Axis::linear("Z = x / a"),
        series: vec![],
    };
    let name = format!("{}, {resolution}", context.method.name);
    Ok(Outcome {
        rows: vec![
            row("front position, mean error", mean).bar(Bar::AtMost(0.05)),
            row("front position, largest error", largest).bar(Bar::AtMost(0.12)),
            row("front speed / Ritter's bound", ritter).bar(Bar::AtMost(1.0)),
            row("volume drift", drift).bar(Bar::AtMost(volume_bar)),
            row("volume drift without correction", raw_drift),
        ],
        plots: vec![(
            "dam-break".into(),
            plot.with(name, Style::Line, front).with("Martin & Moyce", Style::Markers, MEASURED.to_vec()),
        )],
    })
}

fn interpolate(curve: &[[f64; 2]], x: f64) -> f64 {
    let after = curve.partition_point(|p| p[0] < x).clamp(1, curve.len() - 1);
    let (a, b) = (curve[after - 1], curve[after]);
    a[1] + (x - a[0]) / (b[0] - a[0]) * (b[1] - a[1])
}

/// The farthest point of the pieces of a surface that have a hundredth of its volume at least: drops fly ahead of the
/// front, and a tongue thinner than a cell may be apart from what feeds it.
pub(super) fn front_of(mesh: &TriangleMesh) -> f32 {
    let mut root: Vec<u32> = (0..mesh.positions.len() as u32).collect();
    fn find(root: &mut [u32], mut v: u32) -> u32 {
        while root[v as usize] != v {
            root[v as usize] = root[root[v as usize] as usize];
            v = root[v as usize];
        }
        v
    }
    for &[a, b, c] in &mesh.triangles {
        for other in [b, c] {
            let (p, q) = (find(&mut root, a), find(&mut root, other));
            root[p.max(q) as usize] = p.min(q);
        }
    }
    let mut pieces = vec![(0.0f64, f32::NEG_INFINITY); mesh.positions.len()];
    for (v, x) in mesh.positions.iter().enumerate() {
        let piece = &mut pieces[find(&mut root, v as u32) as usize];
        piece.1 = piece.1.max(x.x);
    }
    for t in &mesh.triangles {
        let [a, b, c] = t.map(|v| mesh.positions[v as usize].as_dvec3());
        pieces[find(&mut root, t[0]) as usize].0 += a.dot(b.cross(c)) / 6.0;
    }
    let least_m3 = 0.01 * mesh.volume();
    pieces.into_iter().filter(|(volume_m3, _)| *volume_m3 >= least_m3).fold(0.0, |most, (_, x)| x.max(most))
}

/// Steepest slope over windows of one unit of T: single steps would measure how cells fill.
fn front_speed(front: &[[f64; 2]]) -> f64 {
    let at = |t: f64| interpolate(front, t);
    let (first, last) = (front[0][0], front[front.len() - 1][0]);
    let starts = (0..).map(|i| first + 0.1 * f64::from(i)).take_while(|t| t + 1.0 <= last);
    starts.map(|t| at(t + 1.0) - at(t)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluvial_foundation::Aabb;

    #[test]
    fn drops_are_no_front() {
        let ball = |center: f32, radius: f32| {
            let (center, clip) =
                (Vec3::new(center, 0.0, 0.0), Aabb { min: Vec3::splat(-9.0), max: Vec3::splat(9.0) });
            Shape::Sphere { center, radius }.triangulate(clip, 0.2)
        };
        let (mut mesh, drop) = (ball(1.0, 1.0), ball(4.0, 0.2));
        let first = mesh.positions.len() as u32;
        mesh.positions.extend(drop.positions);
        mesh.triangles.extend(drop.triangles.iter().map(|t| t.map(|v| v + first)));
        assert!((front_of(&mesh) - 2.0).abs() < 0.02, "{}", front_of(&mesh));
    }

    #[test]
    fn the_measured_front_stays_below_ritters_bound() {
        let speed = front_speed(&MEASURED) / 2.0;
        assert!((0.8..1.0).contains(&speed), "{speed}");
        assert!((interpolate(&MEASURED, 1.608) - 0.5 * (1.474 + 2.292)).abs() < 1e-12);
    }
}
