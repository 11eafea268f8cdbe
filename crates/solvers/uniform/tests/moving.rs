//! Solids that move through liquid.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::{Quat, Vec3};
use fluvial_solids::{Key, Motion, Shape};
use fluvial_solver_interface::{Setup, Solid, Solver, Tracker};
use fluvial_solver_uniform::{Params, UniformSolver};
use std::f64::consts::PI;

fn add(setup: &mut Setup, shape: Shape, motion: Motion) {
    setup.solids.push(Solid::new("solid", shape, motion));
}

/// A ball that moves from the first moment on has liquid around it that moves too, with the energy of potential flow:
/// half the mass of the displaced liquid, 1 + 3/8 of the images in walls three radii away [lamb-1932 §92] and [lamb-1932 §98].
#[test]
fn liquid_sets_out_with_the_solids_in_it() {
    for tracker in [Tracker::Levelset, Tracker::Flip] {
        let mut setup = tank(24, 2.0);
        let (radius, speed) = (0.17, 0.8);
        let motion =
            Motion::Constant { linear: Vec3::new(speed, 0.0, 0.0), angular: Vec3::ZERO, about: Vec3::ZERO };
        add(&mut setup, Shape::Sphere { center: Vec3::splat(0.5), radius }, motion);
        let density = setup.liquid.density;
        let solver = UniformSolver::new(setup, Params { tracker, ..Params::default() }).unwrap();
        let displaced_kg = f64::from(density) * 4.0 / 3.0 * PI * f64::from(radius).powi(3);
        let unbounded_j = 0.25 * displaced_kg * f64::from(speed).powi(2);
        let ratio = solver.initial_report().kinetic_energy_j / unbounded_j;
        assert!((0.9..1.3).contains(&ratio), "{tracker:?}: {ratio} of the energy without walls");
    }
}

/// A rod is drawn through a tank: what is below the trough of its wake stays full of liquid.
#[test]
fn a_rod_draws_no_air_down_with_it() {
    for tracker in [Tracker::Levelset, Tracker::Flip] {
        let mut setup = tank(24, 0.5);
        let (from, to) = (Vec3::new(0.75, 0.1, 0.5), Vec3::new(0.75, 2.0, 0.5));
        let about = Vec3::new(0.5, 0.0, 0.5);
        let motion = Motion::Constant { linear: Vec3::ZERO, angular: Vec3::new(0.0, 3.0, 0.0), about };
        add(&mut setup, Shape::Cylinder { from, to, radius: 0.09 }, motion);
        let mut solver = UniformSolver::new(setup, Params { tracker, ..Params::default() }).unwrap();
        let deep = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::new(2.0, 0.3, 2.0) };
        let full_m3 = solver.volume_in(&deep);
        let mut least = f64::INFINITY;
        for n in 1..=12 {
            advance(&mut solver, f64::from(n) / 24.0);
            least = least.min(solver.volume_in(&deep) / full_m3);
        }
        assert!(least > 0.99, "{tracker:?}: {least} of the volume deep below the surface is liquid");
    }
}

/// A box plunges into still water at 1.5 m/s, wherever its sides lie in their cells. Cells at its side whose column of liquid is
/// short were thrown at up to 3.8 m/s, by a pressure that can give it 2.3.
#[test]
fn a_plunging_box_throws_no_cell_faster_than_its_pressure_can() {
    let cells = 32;
    for tracker in [Tracker::Levelset, Tracker::Flip] {
        for part in [0.0, 0.2, 0.4, 0.6, 0.8] {
            let off = part / cells as f32;
            let mut setup = tank(cells, 0.4 + off / 3.0);
            let (min, max) =
                (Vec3::new(0.35 + off, 0.45, 0.36 + off / 2.0), Vec3::new(0.62 + off, 0.7, 0.61 + off));
            let linear = Vec3::new(0.0, -1.5, 0.0);
            let motion = Motion::Constant { linear, angular: Vec3::ZERO, about: Vec3::ZERO };
            add(&mut setup, Shape::Box { min, max }, motion);
            let mut solver = UniformSolver::new(setup, Params { tracker, ..Params::default() }).unwrap();
            let frames = (1..=5).flat_map(|n| advance(&mut solver, f64::from(n) / 24.0));
            let fastest = frames.fold(0.0f64, |fastest, report| fastest.max(report.max_speed_m_s));
            assert!(fastest < 2.5, "{tracker:?}, {part} cells off: {fastest} m/s");
        }
    }
}

/// A closed box with walls of one and a half cells, tilted and shaken, half full: its water stays water of the level set.
/// Walls that never rest sweep the same cells in every step. Where all that such cells are owed waits, it waits for
/// ever: 40 % of the water was gone from the surface after a second, to come out where the wall had passed.
#[test]
fn water_in_a_shaken_box_stays_water() {
    let (cells, half, amplitude, period_s) = (16, 0.22, 0.06, 0.3);
    let wall = 1.5 / cells as f32;
    let tilt = |shape: Shape| Shape::Transform {
        shape: Box::new(shape),
        scale: 1.0,
        rotation: Quat::from_rotation_z(30f32.to_radians()),
        translate: Vec3::splat(0.5),
    };
    let boxed = |half: f32| Shape::Box { min: Vec3::splat(-half), max: Vec3::splat(half) };
    let mut setup = tank(cells, 0.5);
    let below = setup.fills[0].shape.clone();
    setup.fills[0].shape = Shape::Intersection(vec![tilt(boxed(half)), below]);
    let keys = (0..40).map(|n| {
        let time_s = f64::from(n) * period_s / 6.0;
        let phase = (std::f64::consts::TAU * time_s / period_s) as f32;
        let translate = amplitude * Vec3::new(phase.sin(), 0.3 * (1.37 * phase).sin(), 0.0);
        Key { time_s, translate, rotation: Quat::IDENTITY }
    });
    let motion = Motion::Keys { about: Vec3::ZERO, keys: keys.collect() };
    add(&mut setup, tilt(Shape::Difference(Box::new(boxed(half + wall)), Box::new(boxed(half)))), motion);
    let mut solver = UniformSolver::new(setup, Params::default()).unwrap();
    let everywhere = Shape::Box { min: Vec3::splat(-1.0), max: Vec3::splat(2.0) };
    let start_m3 = solver.volume_in(&everywhere);
    advance(&mut solver, 1.0);
    let left = solver.volume_in(&everywhere) / start_m3;
    assert!(left > 0.9, "{left} of the water is inside the surface or flies");
}
