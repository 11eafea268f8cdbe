//! Nothing touches the bodies.

use crate::{GRAVITY, body, cube, run, world};
use fluvial_bodies::{Impulse, Surroundings, World};
use fluvial_foundation::{Aabb, DVec3, Quat, Vec3};
use fluvial_solids::Shape;

/// The scheme's own solution is `x = v0 t + g t (t + dt) / 2`.
#[test]
fn a_body_falls_freely() {
    let mut thrown = body(cube(0.2), Vec3::new(0.0, 10.0, 0.0));
    thrown.start.velocity = Vec3::new(1.0, 3.0, 0.0);
    let mut world = world(&[thrown], &[]);
    let (t, dt) = (1.0, 1.0 / 128.0);
    let reactions = run(&mut world, GRAVITY, 0.0, t, dt);
    let at = world.pose(0).translate;
    let height = 10.0 + 3.0 * t - 0.5 * 9.81 * t * (t + dt);
    assert!((at.x - 1.0).abs() < 1e-5 && (at.y as f64 - height).abs() < 1e-5, "{at} {height}");
    assert!((world.twist(0).linear.y as f64 - (3.0 - 9.81 * t)).abs() < 1e-5);
    assert_eq!(reactions[0], Impulse::default());
}

/// A flat cylinder that spins about a tilted axis: its axis goes round the angular momentum with the angular velocity
/// `L / I_across`, and both momentum and energy stay.
#[test]
fn a_free_top_keeps_energy_and_momentum() {
    let top =
        Shape::Cylinder { from: Vec3::new(0.0, -0.05, 0.0), to: Vec3::new(0.0, 0.05, 0.0), radius: 0.3 };
    let mut spinning = body(top, Vec3::new(0.0, 10.0, 0.0));
    spinning.start.angular_velocity = Vec3::new(2.0, 12.0, 0.0);
    let mut world = world(&[spinning], &[]);
    let momentum = |w: &World| w.inertia(0) * w.twist(0).angular.as_dvec3();
    let energy = |w: &World| 0.5 * momentum(w).dot(w.twist(0).angular.as_dvec3());
    let (start, start_j) = (momentum(&world), energy(&world));
    let across = world.inertia(0).x_axis.x;
    let (steps, dt) = (400, 0.01);
    run(&mut world, DVec3::ZERO, 0.0, steps as f64 * dt, dt);
    let change = (momentum(&world) - start).length() / start.length();
    assert!(change < 1e-4, "momentum by {change}");
    let change = (energy(&world) / start_j - 1.0).abs();
    assert!(change < 1e-4, "energy by {change}");
    let turned = Quat::from_axis_angle(
        start.normalize().as_vec3(),
        ((start.length() / across) * steps as f64 * dt).rem_euclid(std::f64::consts::TAU) as f32,
    ) * Vec3::Y;
    let axis = world.pose(0).rotation * Vec3::Y;
    assert!(axis.distance(turned) < 2e-3, "{axis} instead of {turned}");
}

#[test]
fn locked_axes_stay() {
    let mut held = body(cube(0.2), Vec3::new(0.0, 10.0, 0.0));
    held.start.locked_translation = [true, false, true];
    held.start.locked_rotation = [true, true, false];
    let mut world = world(&[held], &[]);
    let push = Impulse { linear: DVec3::new(3.0, 1.0, -2.0), angular: DVec3::new(0.1, 0.2, 0.02) };
    let (mass, inertia) = (world.mass_kg(0), world.inertia(0).z_axis.z);
    world.advance(&mut vec![], &[push], 0.0, 0.01);
    let twist = world.twist(0);
    assert!((twist.linear - Vec3::Y * (1.0 / mass) as f32).length() < 1e-6, "{twist:?}");
    assert!((twist.angular - Vec3::Z * (0.02 / inertia) as f32).length() < 1e-5, "{twist:?}");
    let (linear, angular) = world.inverse_mass(0);
    assert_eq!((linear.x, linear.z, angular.x_axis.x, angular.y_axis.z), (0.0, 0.0, 0.0, 0.0));
}

#[test]
fn a_body_leaves_through_an_open_wall_and_is_gone() {
    let mut thrown = body(cube(0.2), Vec3::new(0.5, 0.5, 0.5));
    thrown.start.velocity = Vec3::X;
    let domain = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
    let open_walls = [false, true, false, false, false, false];
    let around = Surroundings { solids: vec![], domain, open_walls };
    let mut world = World::new(&[thrown], &[], &around).unwrap();
    run(&mut world, DVec3::ZERO, 0.0, 0.55, 0.01);
    assert!(!world.is_gone(0), "its rear is still inside");
    run(&mut world, DVec3::ZERO, 0.0, 0.5, 0.01);
    assert!(world.is_gone(0));
    let at = world.pose(0);
    run(&mut world, GRAVITY, 0.0, 0.5, 0.01);
    assert_eq!(world.pose(0), at, "nothing acts on it any more");
    assert_eq!(world.inverse_mass(0).0, DVec3::ZERO);
}
