//! The library as a program that embeds it sees it.

use fluvial::{ChosenMethod, Domain, Fill, Go, Liquid, Reached, Setup, Shape, Simulation, UniformGrid, Vec3};

#[path = "../examples/embed.rs"]
#[allow(dead_code)]
mod embed;

fn column() -> Setup {
    let shape = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(0.4, 0.5, 2.0) };
    Setup {
        domain: Domain::closed(UniformGrid { min: Vec3::ZERO, cells: [16; 3], dx: 1.0 / 16.0 }),
        liquid: Liquid::default(),
        fills: vec![Fill { shape, velocity: Vec3::ZERO }],
        solids: vec![],
        sources: vec![],
        sinks: vec![],
        refine: vec![],
        flow: None,
        cfl: 2.0,
    }
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
