//! A world as bytes.

use crate::{GRAVITY, body, cube, run, world};
use fluvial_bodies::{Joint, JointKind, World};
use fluvial_foundation::{Quat, Vec3};
use fluvial_solids::Shape;

fn heap() -> World {
    let mut bodies: Vec<_> = (0..8)
        .map(|n| {
            let shape = match n % 3 {
                0 => cube(0.2),
                1 => Shape::Sphere { center: Vec3::ZERO, radius: 0.12 },
                _ => Shape::Cylinder { from: -0.1 * Vec3::Y, to: 0.1 * Vec3::Y, radius: 0.1 },
            };
            let mut body =
                body(shape, Vec3::new(0.03 * n as f32, 0.2 + 0.3 * n as f32, 0.02 * (n % 2) as f32));
            body.start.pose.rotation = Quat::from_axis_angle(Vec3::ONE.normalize(), 0.3 * n as f32);
            body.start.restitution = 0.2;
            body
        })
        .collect();
    bodies[7].start.velocity = -2.0 * Vec3::Y;
    let kind = JointKind::Rope { to: bodies[3].start.pose.translate, length: 0.5 };
    world(&bodies, &[Joint { body: 2, other: Some(3), anchor: bodies[2].start.pose.translate, kind }])
}

fn state(world: &World) -> Vec<u8> {
    world.save().unwrap()
}

#[test]
fn a_restored_world_goes_on_to_the_bit() {
    let mut going = heap();
    for _ in 0..12 {
        run(&mut going, GRAVITY, 0.0, 0.1, 0.01);
        let mut restored = heap();
        restored.restore(&state(&going)).unwrap();
        assert!(state(&restored) == state(&going), "the bytes of what was restored");
        let mut twin = going.clone();
        run(&mut twin, GRAVITY, 0.0, 0.3, 0.01);
        run(&mut restored, GRAVITY, 0.0, 0.3, 0.01);
        for n in 0..going.len() {
            assert_eq!((twin.pose(n), twin.twist(n)), (restored.pose(n), restored.twist(n)), "body {n}");
        }
        assert!(state(&restored) == state(&twin));
    }
}

#[test]
fn damaged_bytes_and_other_scenes_are_refused() {
    let mut heap = heap();
    run(&mut heap, GRAVITY, 0.0, 0.3, 0.01);
    let bytes = state(&heap);
    for length in (0..bytes.len()).step_by(97) {
        assert!(heap.restore(&bytes[..length]).is_err(), "cut at {length}");
    }
    assert!(heap.restore(&[bytes.clone(), vec![0]].concat()).is_err());
    assert!(world(&[body(cube(0.2), Vec3::Y)], &[]).restore(&bytes).is_err());
    assert!(state(&heap) == bytes, "a failed restore leaves everything as it was");
}
