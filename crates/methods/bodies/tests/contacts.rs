//! Bodies that touch walls, solids and each other.

use crate::{GRAVITY, body, cube, run, world, world_among};
use fluvial_foundation::{DVec3, Quat, Vec3};
use fluvial_grids::TriangleMesh;
use fluvial_solids::{MeshDistance, Motion, Shape};
use std::sync::Arc;

#[test]
fn a_ball_bounces_with_its_restitution() {
    for restitution in [0.3f32, 0.8] {
        let mut ball = body(Shape::Sphere { center: Vec3::ZERO, radius: 0.1 }, Vec3::new(0.0, 0.2, 0.0));
        ball.start.velocity = Vec3::new(0.0, -2.0, 0.0);
        ball.start.restitution = restitution;
        let mut world = world(&[ball], &[]);
        run(&mut world, DVec3::ZERO, 0.0, 0.2, 0.005);
        let speed = world.twist(0).linear.y;
        assert!((speed - 2.0 * restitution).abs() < 0.01, "{speed} after {restitution}");
    }
}

/// The way is `v^2 / (2 mu g)`.
#[test]
fn friction_stops_a_sliding_crate() {
    for friction in [0.2f32, 0.5] {
        let mut crate_ = body(cube(0.2), Vec3::new(0.0, 0.1, 0.0));
        crate_.start.velocity = 2.0 * Vec3::X;
        crate_.start.friction = friction;
        let mut world = world(&[crate_], &[]);
        run(&mut world, GRAVITY, 0.0, 2.0, 0.005);
        let (way, wanted) = (world.pose(0).translate.x, 2.0 * 2.0 / (2.0 * friction * 9.81));
        assert!((way / wanted - 1.0).abs() < 0.02, "{way} instead of {wanted}");
        assert!(world.twist(0).linear.length() < 1e-3);
    }
}

/// A slope of 20 degrees holds what has a coefficient above its tangent.
#[test]
fn friction_holds_a_crate_on_a_slope() {
    let mut world = world(&[body(cube(0.2), Vec3::new(0.0, 0.1, 0.0))], &[]);
    let angle = 20.0f64.to_radians();
    run(&mut world, 9.81 * DVec3::new(angle.sin(), -angle.cos(), 0.0), 0.0, 3.0, 0.01);
    assert!(world.pose(0).translate.x.abs() < 1e-3, "{:?}", world.pose(0));
}

/// The floor carries the weight of all, every crate that of those above it, and the stack stays for 10 s.
#[test]
fn a_stack_of_ten_crates_stays() {
    let crates: Vec<_> =
        (0..10).map(|n| body(cube(0.2), Vec3::new(0.0, 0.1 + 0.2 * n as f32, 0.0))).collect();
    let mut world = world(&crates, &[]);
    run(&mut world, GRAVITY, 0.0, 9.0, 0.01);
    let reactions = run(&mut world, GRAVITY, 9.0, 1.0, 0.01);
    for n in 0..10 {
        let (at, turn) = (world.pose(n).translate, world.pose(n).rotation);
        let off = at - Vec3::new(0.0, 0.1 + 0.2 * n as f32, 0.0);
        assert!(off.with_y(0.0).length() < 2e-3 && off.y.abs() < 0.02, "crate {n} is off by {off}");
        assert!(turn.angle_between(Quat::IDENTITY) < 5e-3, "crate {n} has turned: {turn}");
        assert!(world.twist(n).linear.length() < 2e-3, "crate {n}: {:?}", world.twist(n));
        let weight = 9.81 * world.mass_kg(n);
        assert!((reactions[n].linear.y / weight - 1.0).abs() < 1e-2, "crate {n}: {:?}", reactions[n]);
    }
}

#[test]
fn a_moving_solid_pushes_a_body() {
    let plate = Shape::Box { min: Vec3::new(-0.1, 0.0, -1.0), max: Vec3::new(0.0, 1.0, 1.0) };
    let motion = Motion::Constant { linear: 0.5 * Vec3::X, angular: Vec3::ZERO, about: Vec3::ZERO };
    let mut slick = body(cube(0.2), Vec3::new(0.15, 0.1, 0.0));
    slick.start.friction = 0.0;
    let mut world = world_among(&[slick], &[], vec![(&plate, &motion)]);
    run(&mut world, GRAVITY, 0.0, 2.0, 0.01);
    let x = world.pose(0).translate.x;
    // A soft contact gives the crate up to a fortieth of the plate's speed, which nothing brakes.
    assert!((1.095..1.125).contains(&x), "the plate's face is at 1, the middle of the crate at {x}");
}

/// A bowl as a mesh and as a difference: a ball that falls into it comes to rest at its bottom and not at its hull.
#[test]
fn concave_bodies_and_solids_are_not_their_hulls() {
    let outer = Shape::Box { min: Vec3::new(-0.5, 0.0, -0.5), max: Vec3::new(0.5, 0.5, 0.5) };
    let inner = Shape::Box { min: Vec3::new(-0.4, 0.1, -0.4), max: Vec3::new(0.4, 0.6, 0.4) };
    let tray = Shape::Difference(Box::new(outer), Box::new(inner));
    let mesh: TriangleMesh = tray.triangulate(tray.bounds().expand(0.05), 0.05);
    let mesh = Shape::Mesh(Arc::new(MeshDistance::new(mesh).unwrap()));
    let ball = || body(Shape::Sphere { center: Vec3::ZERO, radius: 0.1 }, Vec3::new(0.0, 0.6, 0.0));
    let mut among_bodies = world(&[ball(), body(tray, Vec3::ZERO)], &[]);
    let mut on_solid = world_among(&[ball()], &[], vec![(&mesh, &Motion::Static)]);
    for world in [&mut among_bodies, &mut on_solid] {
        run(world, GRAVITY, 0.0, 1.0, 0.01);
        let height = world.pose(0).translate.y;
        assert!((height - 0.2).abs() < 0.02, "the ball lies at {height}");
    }
}
