//! The library as a program that embeds it sees it.

use fluvial::{
    ChosenMethod, Domain, Fill, Flow, Go, MeshDistance, Motion, Reached, Refine, Setup, Shape, Simulation,
    Solid, TriangleMesh, UniformGrid, Vec3,
};

#[path = "../examples/embed.rs"]
#[allow(dead_code)]
mod embed;

fn column() -> Setup {
    let shape = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(0.4, 0.5, 2.0) };
    let grid = UniformGrid { min: Vec3::ZERO, cells: [16; 3], dx: 1.0 / 16.0 };
    Setup { fills: vec![Fill { shape, velocity: Vec3::ZERO }], ..Setup::new(Domain::closed(grid)) }
}

#[test]
fn the_example_runs() {
    embed::main().unwrap();
}

#[test]
fn every_method_can_be_embedded_and_goes_back_in_time_to_the_bit() {
    for name in fluvial::method_names() {
        let method = ChosenMethod::new(name, serde_json::json!({})).unwrap();
        let mut water = Simulation::new(method, column()).unwrap();
        assert_eq!(water.advance_to(0.05, |_| Go::On).unwrap(), Reached::Time);
        let mut saved = vec![];
        water.save(&mut saved).unwrap();
        water.advance_to(0.1, |_| Go::On).unwrap();
        assert!((water.time_s() - 0.1).abs() < 1e-9, "{name}: {}", water.time_s());
        let there = water.surface(0);
        assert!((there.volume() - 0.2).abs() < 0.02, "{name}: {}", there.volume());
        water.restore(&mut saved.as_slice(), saved.len() as u64).unwrap();
        water.advance_to(0.1, |_| Go::On).unwrap();
        assert_eq!(water.surface(0), there, "{name}");
    }
}

#[test]
fn a_program_stops_a_simulation_from_within_and_from_outside() {
    let mut water = Simulation::new(ChosenMethod::default(), column()).unwrap();
    let mut steps = 0;
    let ended = water.advance_to(0.2, |_| {
        steps += 1;
        if steps == 2 { Go::Back } else { Go::On }
    });
    assert_eq!((ended.unwrap(), steps), (Reached::Stopped, 2));
    let handle = water.stop_handle();
    handle.stop();
    let time_s = water.time_s();
    assert_eq!(water.advance_to(0.2, |_| Go::On).unwrap(), Reached::Stopped);
    assert_eq!(water.time_s(), time_s);
    handle.clear();
    assert_eq!(water.advance_to(0.2, |_| Go::On).unwrap(), Reached::Time);
}

#[test]
fn a_state_of_other_parameters_is_refused_with_the_reason() {
    let water = Simulation::new(ChosenMethod::default(), column()).unwrap();
    let mut saved = vec![];
    water.save(&mut saved).unwrap();
    let flip = ChosenMethod::new("uniform", serde_json::json!({ "tracker": "flip" })).unwrap();
    let mut other = Simulation::new(flip, column()).unwrap();
    let error = other.restore(&mut saved.as_slice(), saved.len() as u64).unwrap_err();
    assert!(error.to_string().contains("another method, other parameters"), "{error}");
}

#[test]
fn a_damaged_or_foreign_state_is_refused_and_leaves_no_trace() {
    let mut water = Simulation::new(ChosenMethod::default(), column()).unwrap();
    let saved = |water: &Simulation| {
        let mut bytes = vec![];
        water.save(&mut bytes).unwrap();
        bytes
    };
    water.advance_to(0.02, |_| Go::On).unwrap();
    let good = saved(&water);
    water.advance_to(0.03, |_| Go::On).unwrap();
    let before = saved(&water);
    let mut refuse = |bytes: &[u8], why: &str| {
        let error = water.restore(&mut &*bytes, bytes.len() as u64).unwrap_err().to_string();
        assert!(error.contains(why), "{why}: {error}");
        assert!(saved(&water) == before, "{why}");
    };
    refuse(&[], "too short");
    refuse(&good[..good.len() / 2], "checksum");
    refuse(&[good.as_slice(), &[0]].concat(), "checksum");
    for at in (0..good.len()).step_by(good.len() / 12) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        refuse(&bad, "checksum");
    }
    let mut other = column();
    other.liquid.density = 900.0;
    let other = Simulation::new(ChosenMethod::default(), other).unwrap();
    refuse(&saved(&other), "another scene");
    water.restore(&mut good.as_slice(), good.len() as u64).unwrap();
    assert!(saved(&water) == good);
}

/// Two solids of as many triangles in different places: a state with one is none of a scene with the other.
#[test]
fn a_state_beside_another_mesh_is_refused() {
    let corner = |n: u32| Vec3::new((n & 1) as f32, (n >> 1 & 1) as f32, (n >> 2 & 1) as f32);
    let beside = |x: f32| {
        let mesh = TriangleMesh {
            positions: [0, 1, 2, 4].map(|n| Vec3::new(x, 0.1, 0.4) + 0.2 * corner(n)).to_vec(),
            velocities: vec![],
            triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
        };
        let shape = Shape::Mesh(std::sync::Arc::new(MeshDistance::new(mesh).unwrap()));
        let mut setup = column();
        setup.solids = vec![Solid::new("wedge", shape, Motion::Static)];
        Simulation::new(ChosenMethod::default(), setup).unwrap()
    };
    let mut saved = vec![];
    beside(0.6).save(&mut saved).unwrap();
    beside(0.6).restore(&mut saved.as_slice(), saved.len() as u64).expect("the same scene");
    let error = beside(0.7).restore(&mut saved.as_slice(), saved.len() as u64).unwrap_err().to_string();
    assert!(error.contains("another scene"), "{error}");
}

/// What a method lacks is refused where a set-up is built in Rust, too, and so are parameters that it does not have.
#[test]
fn nothing_is_accepted_and_ignored() {
    let refused = |name: &str, change: fn(&mut Setup)| {
        let mut setup = column();
        change(&mut setup);
        let method = ChosenMethod::new(name, serde_json::json!({})).unwrap();
        Simulation::new(method, setup).err().map(|error| error.to_string()).unwrap_or_default()
    };
    for name in ["uniform", "octree"] {
        let flow = refused(name, |setup| setup.flow = Some(Flow::Enright { period_s: 3.0 }));
        assert!(flow.contains("no support for [flow]"), "{name}: {flow}");
    }
    let refine = refused("uniform", |setup| {
        let shape = Shape::Sphere { center: Vec3::splat(0.5), radius: 0.1 };
        setup.refine.push(Refine { shape, dx: 0.1 });
    });
    assert!(refine.contains("no support for [[refine]]"), "{refine}");
    let angles = refused("sheets", |setup| setup.domain.contact_angles_deg[2] = 60.0);
    assert!(angles.contains("no support for contact angles"), "{angles}");
    for name in fluvial::method_names() {
        let nothing = refused(name, |setup| setup.domain.grid.cells[0] = 0);
        assert!(nothing.contains("at least one cell"), "{name}: {nothing}");
    }
    let stranger = ChosenMethod::new("uniform", serde_json::json!({ "typo": 1 })).unwrap_err();
    assert!(stranger.contains("no parameter `typo`"), "{stranger}");
}

#[test]
fn a_time_that_is_never_reached_is_an_error_of_its_own() {
    let mut water = Simulation::new(ChosenMethod::default(), column()).unwrap();
    for end_s in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = water.advance_to(end_s, |_| Go::On).unwrap_err().to_string();
        assert!(error.contains("finite time") && error.contains(&end_s.to_string()), "{error}");
    }
    assert_eq!(water.advance_to(-1.0, |_| Go::On).unwrap(), Reached::Time);
    assert_eq!(water.time_s(), 0.0);
}
