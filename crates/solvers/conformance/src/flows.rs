//! What flows in and out is what the scene says, and it is booked.

use crate::{Subject, advance, dam_break, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Sink, Source, Wall};

/// A tank filled from above: volume equals the inflow integral, and the inflow is flux times time.
pub fn a_source_adds_what_it_says(subject: Subject) {
    let build = subject.build;
    let mut setup = tank(16, 0.25);
    let speed = 1.0;
    setup.sources.push(Source {
        shape: Shape::Box { min: Vec3::new(0.25, 0.75, 0.25), max: Vec3::new(0.5, 0.875, 0.5) },
        motion: Motion::Static,
        velocity: Vec3::new(0.0, -speed, 0.0),
        active_s: [0.0, 10.0],
        measured: Default::default(),
    });
    let mut solver = build(setup);
    let reports = advance(solver.as_mut(), 1.0);
    let last = reports.last().unwrap();
    let flux = (0.25f64 * 0.25) * speed as f64; // m3/s
    assert!((last.inflow_m3 / flux - 1.0).abs() < 0.01, "booked inflow {}, flux {flux}", last.inflow_m3);
    assert!(last.volume_error.abs() < 0.02, "volume error {}", last.volume_error);
}

/// Two balls of a source that overlap let in what leaves their union, and no jet is faster than their liquid
/// falls.
pub fn overlapping_sources_flow_as_one(subject: Subject) {
    let mut setup = tank(16, 0.1);
    for x in [0.45, 0.55] {
        setup.sources.push(Source {
            shape: Shape::Sphere { center: Vec3::new(x, 0.7, 0.5), radius: 0.15 },
            motion: Motion::Static,
            velocity: Vec3::new(0.0, -1.0, 0.0),
            active_s: [0.0, 10.0],
            measured: Default::default(),
        });
    }
    let mut solver = (subject.build)(setup);
    let reports = advance(solver.as_mut(), 0.25);
    let (r, d) = (0.15f64, 0.1f64);
    let lens = 2.0 * r * r * (0.5 * d / r).acos() - 0.5 * d * (4.0 * r * r - d * d).sqrt();
    let flow = 2.0 * std::f64::consts::PI * r * r - lens;
    let inflow = reports.last().unwrap().inflow_m3 / (0.25 * flow);
    assert!((inflow - 1.0).abs() < 0.01, "{inflow} of what leaves both");
    // From the sources' lower ends to the floor.
    let bound = (1.0f64 + 2.0 * 9.81 * 0.7).sqrt();
    let fastest = reports.iter().map(|report| report.max_speed_m_s).fold(0.0, f64::max);
    assert!(fastest < 1.3 * bound, "{fastest} m/s, falling liquid has {bound}");
}

/// A jet keeps the energy that its source gives it, and falls, wherever its mouth lies among the faces: exactly in a plane of them, where scenes
/// with round numbers put it, or between two.
pub fn a_jet_has_the_energy_of_its_source(subject: Subject) {
    let (radius, speed, until_s, g) = (0.13, 3.0f64, 0.15f64, 9.81f64);
    let flow = std::f64::consts::PI * radius * radius * speed;
    let per_density =
        flow * until_s * (0.5 * speed * speed + 0.5 * g * speed * until_s + g * g * until_s * until_s / 6.0);
    for mouth in [0.75f32, 0.7, 0.72, 0.735] {
        let mut setup = tank(20, 0.1);
        let density = f64::from(setup.liquid.density);
        let (from, to) = (Vec3::new(0.5, mouth + 0.06, 0.5), Vec3::new(0.5, mouth, 0.5));
        setup.sources.push(Source {
            shape: Shape::Cylinder { from, to, radius: radius as f32 },
            motion: Motion::Static,
            velocity: Vec3::new(0.0, -speed as f32, 0.0),
            active_s: [0.0, 10.0],
            measured: Default::default(),
        });
        let mut solver = (subject.build)(setup);
        let last = advance(solver.as_mut(), until_s).pop().unwrap();
        let share = last.kinetic_energy_j / (density * per_density);
        // What is in the source itself, a seventh, is not counted.
        assert!((0.7..1.05).contains(&share), "mouth at {mouth} m: {share} of the energy");
    }
}

/// A sink at the floor is empty, and liquid falls into it: by its open sides at the speed of its head, Torricelli's
/// law, once the flow has begun. Whether it is as high as two cells or as three quarters of one, the flow is the same
/// part of that for every method.
pub fn a_sink_takes_what_falls_into_it(subject: Subject) {
    for height in [0.1f64, 0.0375] {
        let mut setup = tank(20, 0.4);
        let shape = Shape::Box { min: Vec3::new(0.4, -1.0, 0.4), max: Vec3::new(0.6, height as f32, 0.6) };
        setup.sinks.push(Sink { shape, active_s: [0.0, f64::INFINITY] });
        let mut solver = (subject.build)(setup);
        let start_m3 = solver.initial_report().liquid_volume_m3;
        let reports = advance(solver.as_mut(), 0.3);
        let last = reports.last().unwrap();
        let speed = |head: f64| (2.0 * 9.81 * head).sqrt();
        let flow = 0.04 * speed(0.4 - height) + 0.8 * height * speed(0.4 - 0.5 * height);
        // What lies in it at the start is taken at once.
        let taken = (last.outflow_m3 - 0.04 * height) / (0.3 * flow);
        assert!((0.5..1.1).contains(&taken), "{height} m high: {taken} of Torricelli's flow");
        let lost = last.liquid_volume_m3 - start_m3 + last.outflow_m3;
        assert!(lost.abs() < 0.02 * start_m3, "{lost} m3 are not accounted for");
    }
}

/// Liquid leaves through an open wall, and what left is booked.
pub fn an_open_wall_lets_liquid_out(subject: Subject) {
    let build = subject.build;
    let mut setup = dam_break(16, 1.0);
    setup.domain.walls[1] = Wall::Open;
    let mut solver = build(setup);
    let reports = advance(solver.as_mut(), 1.0);
    let last = reports.last().unwrap();
    assert!(last.outflow_m3 > 0.03, "only {} m3 left", last.outflow_m3);
    assert!(last.volume_error.abs() < 0.08, "volume error {}", last.volume_error);
}
