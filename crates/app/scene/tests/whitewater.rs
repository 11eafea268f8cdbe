//! `[whitewater]`: defaults from the scene, and what is refused.

use fluvial_foundation::Vec3;
use fluvial_scene::{Scene, SceneError, predict};
use fluvial_whitewater::{Params, Ramp};
use std::path::Path;

fn scene(white: &str, set: &[(&str, &str)]) -> Result<Scene, SceneError> {
    let text = format!(
        "fluvial = 1\n[domain]\nmax = [2, 0.5, 1]\nresolution = 32\n[[fill]]\n\
         shape = {{ box = {{ min = [0, 0, 0], max = [0.5, 0.3, 1] }} }}\n{white}\n"
    );
    let set: Vec<_> = set.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
    Scene::parse("x.toml", &text, Path::new("."), &set)
}

#[test]
fn an_empty_table_takes_everything_from_gravity_and_height() {
    let ready = scene("[whitewater]", &[]).unwrap().build().unwrap();
    let gravity = Vec3::new(0.0, -9.81, 0.0);
    let mut expected = Params::scaled(gravity, 0.5, 0.0625);
    let params = ready.whitewater.unwrap();
    assert!((params.spray_response_s / expected.spray_response_s - 1.0).abs() < 1e-6);
    expected.spray_response_s = params.spray_response_s;
    assert_eq!(params, expected);
    let given =
        "[whitewater]\nlength = 2\namount = 3\nair_rate = 100\ncrests = [1, 2]\nspray_fall_speed = 9.81";
    let params = scene(given, &[]).unwrap().build().unwrap().whitewater.unwrap();
    assert_eq!((params.air_rate_1_m2_s, params.crest), (300.0, Ramp { min: 1.0, max: 2.0 }));
    assert!((params.spray_response_s - 1.0).abs() < 1e-6 && (params.radius_m - 0.005).abs() < 1e-9);
    assert!(scene("", &[]).unwrap().build().unwrap().whitewater.is_none());
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    for (white, set, message) in [
        ("[whitewater]\nfoam = 3", ("time.fps", "24"), "foam"),
        ("[whitewater]\nfoam_lifetime = -1", ("time.fps", "24"), "foam_lifetime"),
        ("[whitewater]\nenergy = [2, 1]", ("time.fps", "24"), "grow from none to all"),
        ("[whitewater]", ("method.name", "cutcell"), "`cutcell` has no support for [whitewater]"),
        ("[whitewater]", ("liquid.gravity", "[0, 0, 0]"), "needs gravity"),
        (
            "[method]\nname = \"tall\"\nspray = 1\n[whitewater]",
            ("time.fps", "24"),
            "makes spray and foam itself",
        ),
    ] {
        let error = scene(white, &[set]).and_then(|s| s.build()).unwrap_err().to_string();
        assert!(error.contains(message), "{white}: {error}");
    }
}

#[test]
fn a_run_without_whitewater_gets_it_and_changes_are_checked() {
    let plain = scene("", &[]).unwrap();
    let change = |key: &str, value: &str| {
        let set = [(key.to_string(), value.to_string())];
        plain.clone().with_whitewater(&set).and_then(|s| s.build())
    };
    let ready = change("amount", "2").unwrap();
    assert_eq!(format!("{:?}", ready.setup), format!("{:?}", plain.build().unwrap().setup));
    let once = plain.clone().with_whitewater(&[]).unwrap().build().unwrap().whitewater.unwrap();
    assert_eq!(ready.whitewater.unwrap().air_rate_1_m2_s, 2.0 * once.air_rate_1_m2_s);
    assert!(change("whitewater.max_particles", "0").is_err() && change("nothing", "1").is_err());
}

#[test]
fn whitewater_is_predicted_up_to_its_limit() {
    let needs = |white: &str| predict(&scene(white, &[]).unwrap().build().unwrap());
    let (none, some) = (needs(""), needs("[whitewater]\nmax_particles = 1000"));
    assert_eq!(some.disk_bytes_per_frame, none.disk_bytes_per_frame + 42_000);
    assert!(some.memory_bytes > none.memory_bytes + 200_000 && some.checkpoint_bytes > none.checkpoint_bytes);
}
