//! A falling ball.

use fluvial_conformance::tank;
use fluvial_foundation::{DVec3, Vec3};
use fluvial_solids::Shape;
use fluvial_solver_interface::{Solver, VolumeCorrection};
use fluvial_solver_power::{Params, PowerSolver};

const RADIUS: f32 = 0.15;

fn ball(center: Vec3) -> PowerSolver {
    let mut setup = tank(32, 0.4);
    setup.fills[0].shape = Shape::Sphere { center, radius: RADIUS };
    let params = Params { band_factor: 2, volume_correction: VolumeCorrection::Off, ..Params::default() };
    PowerSolver::new(setup, params).unwrap()
}

/// Centre of mass of what is drawn.
fn center(solver: &PowerSolver) -> DVec3 {
    let mesh = solver.surface(&Default::default());
    let (mut volume, mut moment) = (0.0, DVec3::ZERO);
    for t in &mesh.triangles {
        let [a, b, c] = t.map(|v| mesh.positions[v as usize].as_dvec3());
        let part = a.dot(b.cross(c)) / 6.0;
        volume += part;
        moment += part * 0.25 * (a + b + c);
    }
    moment / volume
}

/// A ball that has fallen is drawn where one is that was put there. (Where that is depends on its place between voxels: the mesh cuts off
/// what is round.)
#[test]
fn a_ball_falls_to_where_it_should() {
    let start = Vec3::new(0.5, 0.75, 0.5) + Vec3::new(0.31, 0.17, 0.43) / 32.0;
    let mut solver = ball(start);
    let (mut fallen, mut speed) = (0.0, 0.0);
    for _ in 0..16 {
        let dt_s = 1.0 / 64.0;
        solver.step(dt_s).unwrap();
        fallen += speed * dt_s;
        speed += 9.81 * dt_s;
    }
    let there = ball(start - Vec3::new(0.0, fallen as f32, 0.0));
    let off = center(&solver) - center(&there);
    let drawn = center(&there) - center(&ball(start)) + DVec3::new(0.0, fallen, 0.0);
    println!("off by {off} m after {fallen} m; balls put there are drawn off by {drawn} m");
    assert!(off.length() < 1e-5 * fallen, "{off} of {fallen}");
}
