//! The solver on a GPU against the one on the processor. Skipped, with a message, where there is no adapter.

use fluvial_conformance::{Subject, tank};
use fluvial_device::{AdapterChoice, Device, DeviceError};
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Pose, Shape};
use fluvial_solver_interface::{
    BodyReport, FreeBody, Setup, Sink, Solid, Solver, Source, Start, StateReader, StateWriter, Wall, Weight,
};
use fluvial_solver_tall::{GpuTallSolver, Params, TallSolver};

fn open() -> Option<Device> {
    match Device::open(&AdapterChoice::Auto) {
        Ok(device) => Some(device),
        Err(fault @ DeviceError::NoAdapter { .. }) => {
            eprintln!("skipped: {fault}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

fn params() -> Params {
    // With spray, so that all that is said of states holds for it too.
    Params { cubic_cells: 10, cells_below: 3.0, cells_above: 4.0, spray: 1.0, ..Params::default() }
}

fn on_processor(mut setup: Setup) -> TallSolver {
    setup.liquid.surface_tension = 0.0;
    TallSolver::new(setup, params()).unwrap()
}

fn on_gpu(setup: Setup) -> Box<dyn Solver> {
    Box::new(GpuTallSolver::new(on_processor(setup), open().expect("looked for before")).unwrap())
}

const SUBJECT: Subject = Subject { build: on_gpu, symmetry_cells: 0.01 };

fn saved(solver: &dyn Solver) -> Vec<u8> {
    let mut bytes = vec![];
    solver.save(&mut StateWriter::new(&mut bytes)).unwrap();
    bytes
}

/// As the conformance suite's test of this name, which builds a solver for every step: pipelines are compiled
/// each time.
#[test]
fn a_restored_state_goes_on_bit_for_bit() {
    let Some(device) = open() else { return };
    let mut first = GpuTallSolver::new(on_processor(lively(0.0)), device).unwrap();
    let mut second = on_gpu(lively(0.0));
    for step in 0..14 {
        // Before the source and the sink, among them, and in the middle of redistancing.
        if [3, 8, 12].contains(&step) {
            let bytes = saved(&first);
            let mut source = bytes.as_slice();
            second.restore(&mut StateReader::new(&mut source, bytes.len() as u64)).unwrap();
            assert!(saved(second.as_ref()) == bytes, "step {step}: not what was saved");
        }
        let dt_s = first.suggest_dt().dt_s;
        let one = first.step(dt_s).unwrap();
        if step >= 3 {
            let other = second.step(dt_s).unwrap();
            assert!(saved(&first) == saved(second.as_ref()), "step {step}: another state");
            assert_eq!(one.liquid_volume_m3, other.liquid_volume_m3, "step {step}");
            assert_eq!(one.kinetic_energy_j, other.kinetic_energy_j, "step {step}");
            assert_eq!(first.surface(&Default::default()), second.surface(&Default::default()));
        }
    }
}

#[test]
fn a_step_given_up_or_failed_leaves_no_trace() {
    if open().is_some() {
        fluvial_conformance::a_step_given_up_or_failed_leaves_no_trace(SUBJECT);
    }
}

#[test]
fn a_failed_restore_leaves_no_trace() {
    if open().is_some() {
        fluvial_conformance::a_failed_restore_leaves_no_trace(SUBJECT);
    }
}

/// Everything at once: a sloping floor, an obstacle, a plunger, a source, a sink and an open wall.
fn lively(raised_m: f32) -> Setup {
    let mut setup = tank(16, 0.55 + raised_m);
    setup.domain.walls[1] = Wall::Open;
    let block = |min: [f32; 3], max: [f32; 3]| Shape::Box { min: min.into(), max: max.into() };
    let slope =
        Shape::Plane { point: Vec3::new(0.0, 0.12, 0.0), normal: Vec3::new(-0.2, 1.0, 0.1).normalize() };
    setup.solids.push(Solid::new("floor", slope, Motion::default()));
    let obstacle = Shape::Sphere { center: Vec3::new(0.3, 0.5, 0.6), radius: 0.14 };
    setup.solids.push(Solid::new("ball", obstacle, Motion::default()));
    let down =
        Motion::Constant { linear: Vec3::new(0.0, -0.1, 0.05), angular: Vec3::ZERO, about: Vec3::ZERO };
    setup.solids.push(Solid::new("plunger", block([0.6, 0.6, 0.2], [0.8, 0.9, 0.4]), down));
    setup.sources.push(Source {
        shape: block([0.1, 0.75, 0.1], [0.3, 0.85, 0.3]),
        motion: Motion::default(),
        velocity: Vec3::new(0.5, -0.5, 0.0),
        active_s: [0.05, 1.0],
        measured: Default::default(),
    });
    setup.sinks.push(Sink { shape: block([0.1, -1.0, 0.7], [0.25, 0.35, 0.9]), active_s: [0.1, 0.6] });
    setup
}

/// Largest differences of heights and velocities over a grid of places, m and m/s.
fn differences(a: &dyn Solver, b: &dyn Solver) -> [f64; 2] {
    let (mut heights, mut velocities) = (0.0f64, 0.0f64);
    for n in 0..256 {
        let (x, z) = ((n % 16) as f32 / 16.0 + 0.03, (n / 16) as f32 / 16.0 + 0.03);
        heights = heights.max((a.height_at(x, z) - b.height_at(x, z)).abs());
        for y in [0.25, 0.35, 0.45, 0.5] {
            let at = Vec3::new(x, y, z);
            velocities = velocities.max(f64::from((a.velocity_at(at) - b.velocity_at(at)).length()));
        }
    }
    [heights, velocities]
}

/// Every one of a hundred steps, each from the processor's state: what the device makes of one step is the same to rounding. Nothing can add up here, so that
/// the bound is that of single kernels and not of what a lively flow makes of their rounding.
#[test]
fn every_step_from_the_same_state_is_the_same() {
    let Some(device) = open() else { return };
    let mut cpu = on_processor(lively(0.0));
    let mut gpu = GpuTallSolver::new(on_processor(lively(0.0)), device).unwrap();
    let (mut most, mut jumps) = ([0.0f64; 2], 0);
    for step in 1..=100 {
        let bytes = saved(&cpu);
        let mut source = bytes.as_slice();
        gpu.restore(&mut StateReader::new(&mut source, bytes.len() as u64)).unwrap();
        let [a, b] = [&mut cpu as &mut dyn Solver, &mut gpu].map(|s| s.step(0.01).unwrap());
        let off = differences(&gpu, &cpu);
        assert!(a.cells == b.cells && a.clamps == b.clamps, "step {step}: {a:?} {b:?}");
        // A few units in the last place of heights of half a metre and of speeds of some m/s.
        jumps += usize::from(off[0] > 1e-6 || off[1] > 1e-5);
        most = [0, 1].map(|n| off[n].max(most[n]));
    }
    println!("largest differences of one step {most:?}, {jumps} steps jump");
    assert!(jumps == 0, "{jumps} {most:?}");
}

/// Beside the two go others on the processor that begin with a level some millionths of a cell higher or lower: what
/// rounding becomes in this flow, which differs from one to the other. The GPU may be off by a few times as much as the
/// farthest of them.
#[test]
fn a_hundred_steps_with_everything_are_the_same() {
    let Some(device) = open() else { return };
    println!("on {}", device.record());
    let mut cpu = on_processor(lively(0.0));
    let mut shaken = [1e-6, -1e-6, 2e-6].map(|cells| on_processor(lively(cells / 16.0)));
    let mut gpu = GpuTallSolver::new(on_processor(lively(0.0)), device).unwrap();
    let dt_s = 0.01;
    for step in 1..=100 {
        let [a, b] = [&mut cpu as &mut dyn Solver, &mut gpu].map(|s| s.step(dt_s).unwrap());
        shaken.iter_mut().for_each(|s| drop(s.step(dt_s).unwrap()));
        for (name, a, b) in [
            ("volume", a.liquid_volume_m3, b.liquid_volume_m3),
            ("inflow", a.inflow_m3, b.inflow_m3),
            ("outflow", a.outflow_m3, b.outflow_m3),
        ] {
            assert!((a - b).abs() < 2e-4, "step {step}: {name} {a} {b}");
        }
        assert!(b.volume_error.abs() < 1e-5, "step {step}: {}", b.volume_error);
        if step == 1 {
            let off = |a: f64, b: f64| (a - b).abs() / a.abs().max(1e-9);
            assert!(off(a.kinetic_energy_j, b.kinetic_energy_j) < 1e-3, "{a:?} {b:?}");
            assert!(off(a.potential_energy_j, b.potential_energy_j) < 1e-5, "{a:?} {b:?}");
            assert!(off(a.max_divergence_1_s, b.max_divergence_1_s) < 1e-2, "{a:?} {b:?}");
            assert!(a.cells == b.cells && a.clamps == b.clamps, "{a:?} {b:?}");
        }
        if [1, 10, 100].contains(&step) {
            let ours = differences(&gpu, &cpu);
            let theirs = shaken
                .iter()
                .map(|s| differences(s, &cpu))
                .fold([0.0; 2], |most, off| [0, 1].map(|n| if off[n] > most[n] { off[n] } else { most[n] }));
            let fastest = a.max_speed_m_s;
            println!(
                "after {step} steps: height and velocity off by {ours:?}, shaken {theirs:?}; speed {fastest:.2} m/s"
            );
            assert!(ours[0] <= 1e-6 + 5.0 * theirs[0] && ours[1] <= 1e-5 + 5.0 * theirs[1]);
        }
    }
}

/// A tank with a crate that falls into it, one that floats and a stone on the floor.
fn with_bodies() -> Setup {
    let mut setup = tank(16, 0.5);
    for (name, density, at, edge) in [
        ("falls", 400.0, [0.35, 0.75, 0.4], 0.2f32),
        ("floats", 500.0, [0.7, 0.5, 0.6], 0.2),
        ("lies", 2500.0, [0.3, 0.1, 0.7], 0.2),
    ] {
        let half = Vec3::splat(0.5 * edge);
        let start = Start {
            weight: Weight::Density(density),
            pose: Pose { translate: at.into(), ..Pose::IDENTITY },
            velocity: if name == "falls" { Vec3::new(0.5, -1.0, 0.2) } else { Vec3::ZERO },
            ..Start::default()
        };
        let shape = Shape::Box { min: -half, max: half };
        setup.solids.push(Solid::body(name, shape, FreeBody { start, joints: vec![] }));
    }
    setup
}

/// Farthest distance and difference in velocity of the bodies of two solvers.
fn apart(a: &dyn Solver, b: &dyn Solver) -> [f32; 2] {
    let off = |(a, b): (&BodyReport, &BodyReport)| {
        [a.pose.translate.distance(b.pose.translate), a.twist.linear.distance(b.twist.linear)]
    };
    let (a, b) = (a.bodies(), b.bodies());
    a.iter().zip(&b).map(off).fold([0.0; 2], |most, off| [most[0].max(off[0]), most[1].max(off[1])])
}

#[test]
fn bodies_move_the_same() {
    let Some(device) = open() else { return };
    let mut cpu = on_processor(with_bodies());
    let mut gpu = GpuTallSolver::new(on_processor(with_bodies()), device).unwrap();
    for step in 1..=30 {
        let [a, b] = [&mut cpu as &mut dyn Solver, &mut gpu].map(|s| s.step(0.01).unwrap());
        assert!((a.liquid_volume_m3 - b.liquid_volume_m3).abs() < 1e-5, "step {step}");
        if [1, 10, 30].contains(&step) {
            let [metres, speed] = apart(&cpu, &gpu);
            println!(
                "after {step} steps: {metres:.1e} m and {speed:.1e} m/s apart of {:.2} m/s",
                a.max_speed_m_s
            );
            assert!(metres < 1e-4 && speed < 5e-3, "step {step}: {metres} m, {speed} m/s");
        }
    }
    // The crate has fallen into the water, and the stone lies where it was.
    let bodies = gpu.bodies();
    assert!(bodies[0].pose.translate.y < 0.62 && bodies[0].force_n.y > 0.0, "{:?}", bodies[0]);
    assert!(bodies[2].pose.translate.distance(Vec3::new(0.3, 0.1, 0.7)) < 5e-3, "{:?}", bodies[2]);
}

#[test]
fn restored_bodies_go_on_to_the_bit() {
    if open().is_some() {
        fluvial_conformance::restored_bodies_go_on_to_the_bit(on_gpu);
    }
}

#[test]
fn a_lost_device_is_an_error_and_no_panic() {
    let Some(device) = open() else { return };
    let mut gpu = GpuTallSolver::new(on_processor(tank(8, 0.5)), device).unwrap();
    gpu.step(0.01).unwrap();
    gpu.give_up_device();
    assert!(gpu.fetch().unwrap_err().to_string().contains("lost"));
    assert!(gpu.step(0.01).unwrap_err().to_string().contains("lost"));
    let mut bytes = vec![];
    assert!(gpu.save(&mut StateWriter::new(&mut bytes)).is_err());
    assert!(gpu.computes_on().contains('('));
}
