//! Tests of `motion`.

use fluvial_foundation::{Aabb, Quat, Vec3};
use fluvial_solids::{Key, Motion, Pose};

fn examples() -> Vec<Motion> {
    let key = |time_s, x: f32, turn: f32| Key {
        time_s,
        translate: Vec3::new(x, -0.5 * x, 0.2),
        rotation: Quat::from_scaled_axis(Vec3::new(0.3, 1.0, -0.4).normalize() * turn),
    };
    let about = Vec3::new(0.3, -0.2, 0.7);
    vec![
        Motion::Constant { linear: Vec3::new(0.3, 0.1, -0.2), angular: Vec3::new(0.5, 2.0, -1.0), about },
        Motion::Keys { about, keys: vec![key(0.0, 0.0, 0.0), key(1.0, 1.0, 2.0), key(1.5, -1.0, 5.0)] },
        Motion::per_frame(
            2.0,
            &[key(0.0, 0.0, 0.1), key(0.0, 0.4, 0.4), key(0.0, 1.0, -0.3)]
                .map(|k| Pose { rotation: k.rotation, translate: k.translate }),
        ),
    ]
}

#[test]
fn velocity_is_the_derivative_of_the_pose() {
    for motion in examples() {
        for t in [0.13, 0.37, 0.71, 0.93] {
            let x_in_body = Vec3::new(0.4, 0.9, -0.3);
            let h = 4e-3;
            let at = |t: f64| motion.pose(t).world_from_body(x_in_body);
            let difference = (at(t + h) - at(t - h)) / (2.0 * h as f32);
            let exact = motion.velocity_at(t, at(t));
            assert!((difference - exact).length() < 3e-4, "{motion:?} at {t}: {difference} {exact}");
            assert!(exact.length() > 0.05);
        }
    }
}

#[test]
fn keys_are_met_and_held() {
    for motion in &examples()[1..] {
        let Motion::Keys { about, keys } = motion else { unreachable!() };
        for key in keys {
            let x = motion.pose(key.time_s).world_from_body(*about);
            assert!(x.distance(*about + key.translate) < 1e-6);
        }
        let last = keys.last().unwrap();
        assert_eq!(motion.pose(last.time_s), motion.pose(last.time_s + 7.0));
        assert_eq!(motion.velocity_at(last.time_s + 1.0, Vec3::ONE), Vec3::ZERO);
        assert_eq!(motion.pose(-3.0), motion.pose(0.0));
        assert!(!motion.is_static());
    }
}

#[test]
fn body_and_world_are_inverse_and_bounds_hold() {
    let pose = examples()[0].pose(0.8);
    let x = Vec3::new(0.1, 0.2, 0.3);
    assert!(pose.body_from_world(pose.world_from_body(x)).distance(x) < 1e-6);
    let bounds = pose.world_bounds(Aabb { min: Vec3::ZERO, max: Vec3::ONE });
    assert!(bounds.expand(1e-6).contains(pose.world_from_body(Vec3::new(1.0, 0.0, 1.0))));
}
