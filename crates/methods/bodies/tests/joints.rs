//! Joints hold what they tie and leave the rest free.

use crate::{GRAVITY, body, cube, run, world};
use fluvial_bodies::{Joint, JointKind};
use fluvial_foundation::{DVec3, Vec3};

/// A bob on a hinge swings with the period of a physical pendulum, `2 pi sqrt(I / (m g l))`, at a small angle.
#[test]
fn a_hinged_body_is_a_pendulum() {
    let (length, angle, pivot) = (1.0f32, 0.1f32, Vec3::new(0.0, 5.0, 0.0));
    let at = pivot + length * Vec3::new(angle.sin(), -angle.cos(), 0.0);
    let kind = JointKind::Hinge { axis: Vec3::Z, limits: None };
    let joint = Joint { body: 0, other: None, anchor: pivot, kind };
    let mut world = world(&[body(cube(0.2), at)], &[joint]);
    let inertia = 0.2f64 * 0.2 / 6.0 + 1.0;
    let period = std::f64::consts::TAU * (inertia / 9.81).sqrt();
    let (dt, mut last, mut crossings) = (0.002, world.pose(0).translate.x, vec![]);
    for step in 0..(2.2 * period / dt) as usize {
        run(&mut world, GRAVITY, 0.0, dt, dt);
        let center = world.pose(0).translate;
        assert!((center.distance(pivot) - length).abs() < 2e-3, "{center}");
        if last * center.x < 0.0 {
            crossings.push(step as f64 * dt);
        }
        last = center.x;
    }
    let found = crossings[2] - crossings[0];
    assert!((found / period - 1.0).abs() < 0.01, "{found} instead of {period}");
}

#[test]
fn a_slider_moves_along_its_axis_to_its_limit() {
    let start = Vec3::new(0.0, 5.0, 0.0);
    let kind = JointKind::Slider { axis: Vec3::Y, limits: Some([-1.0, 0.5]) };
    let joint = Joint { body: 0, other: None, anchor: start, kind };
    let mut world = world(&[body(cube(0.2), start)], &[joint]);
    run(&mut world, DVec3::new(3.0, -9.81, 1.0), 0.0, 2.0, 0.005);
    let off = world.pose(0).translate - start;
    assert!(off.with_y(0.0).length() < 5e-3 && (off.y + 1.0).abs() < 1e-2, "{off}");
    run(&mut world, DVec3::new(3.0, 9.81, 1.0), 0.0, 2.0, 0.005);
    let off = world.pose(0).translate - start;
    assert!((off.y - 0.5).abs() < 1e-2, "{off}");
}

#[test]
fn a_rope_holds_at_its_length_and_is_slack_before() {
    let bodies = [body(cube(0.4), Vec3::new(0.0, 0.2, 0.0)), body(cube(0.2), Vec3::new(0.0, 8.0, 0.0))];
    let hook = Vec3::new(0.0, 10.0, 0.0);
    let kind = JointKind::Rope { to: hook, length: 3.0 };
    let joint = Joint { body: 1, other: None, anchor: Vec3::new(0.0, 8.0, 0.0), kind };
    let mut world = world(&bodies, &[joint]);
    run(&mut world, GRAVITY, 0.0, 0.3, 0.005);
    let fallen = 8.0 - world.pose(1).translate.y;
    assert!((fallen - 0.5 * 9.81 * 0.09).abs() < 0.01, "slack: {fallen}");
    run(&mut world, GRAVITY, 0.0, 4.0, 0.005);
    let hangs = hook.distance(world.pose(1).translate);
    assert!((hangs - 3.0).abs() < 0.03, "{hangs}");
}

/// Two bodies on a hinge between them, thrown in free space: the hinge moves their momentum only from one to the other.
#[test]
fn a_joint_between_bodies_keeps_their_momentum() {
    let mut bodies =
        [body(cube(0.2), Vec3::new(-0.2, 10.0, 0.0)), body(cube(0.3), Vec3::new(0.2, 10.0, 0.0))];
    bodies[0].start.velocity = Vec3::new(0.0, 1.0, 0.0);
    let kind = JointKind::Hinge { axis: Vec3::Z, limits: None };
    let anchor = Vec3::new(0.0, 10.0, 0.0);
    let mut world = world(&bodies, &[Joint { body: 0, other: Some(1), anchor, kind }]);
    let momentum = |w: &fluvial_bodies::World| {
        (0..2).map(|n| w.mass_kg(n) * w.twist(n).linear.as_dvec3()).sum::<DVec3>()
    };
    let before = momentum(&world);
    run(&mut world, DVec3::ZERO, 0.0, 1.0, 0.005);
    assert!((momentum(&world) - before).length() < 1e-4 * before.length(), "{}", momentum(&world));
    let ends = [Vec3::new(0.2, 0.0, 0.0), Vec3::new(-0.2, 0.0, 0.0)];
    let apart = world.pose(0).world_from_body(ends[0]).distance(world.pose(1).world_from_body(ends[1]));
    assert!(apart < 2e-3, "{apart}");
}
