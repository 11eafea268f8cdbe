//! Solids that move through liquid.

use fluvial_conformance::{advance, tank};
use fluvial_foundation::Vec3;
use fluvial_solids::{Motion, Shape};
use fluvial_solver_interface::{Setup, Solid, Solver, Tracker};
use fluvial_solver_octree::{OctreeSolver, Params};
use std::f64::consts::PI;

fn add(setup: &mut Setup, shape: Shape, motion: Motion) {
    setup.solids.push(Solid::new("solid", shape, motion));
}

/// A ball that moves from the first moment on has liquid around it that moves too, with the energy of potential flow:
/// half the mass of the displaced liquid, 1 + 3/8 of the images in walls three radii away [lamb-1932 §92, §98].
#[test]
fn liquid_sets_out_with_the_solids_in_it() {
    let mut setup = tank(24, 2.0);
    let (radius, speed) = (0.17, 0.8);
    let motion =
        Motion::Constant { linear: Vec3::new(speed, 0.0, 0.0), angular: Vec3::ZERO, about: Vec3::ZERO };
    add(&mut setup, Shape::Sphere { center: Vec3::splat(0.5), radius }, motion);
    let density = setup.liquid.density;
    let params = Params { max_dx: Some(1.0 / 24.0), ..Params::default() };
    let solver = OctreeSolver::new(setup, params).unwrap();
    let displaced_kg = f64::from(density) * 4.0 / 3.0 * PI * f64::from(radius).powi(3);
    let unbounded_j = 0.25 * displaced_kg * f64::from(speed).powi(2);
    let ratio = solver.initial_report().kinetic_energy_j / unbounded_j;
    assert!((0.9..1.3).contains(&ratio), "{ratio} of the energy without walls");
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
        let mut solver = OctreeSolver::new(setup, Params { tracker, ..Params::default() }).unwrap();
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
/// short were thrown at up to 4.9 m/s, where twice the speed of the box is much.
#[test]
fn a_plunging_box_throws_no_cell_faster_than_its_pressure_can() {
    for part in [0.0, 0.4] {
        let off = part / 32.0;
        let mut setup = tank(32, 0.4 + off / 3.0);
        let (min, max) =
            (Vec3::new(0.35 + off, 0.45, 0.36 + off / 2.0), Vec3::new(0.62 + off, 0.7, 0.61 + off));
        let motion =
            Motion::Constant { linear: Vec3::new(0.0, -1.5, 0.0), angular: Vec3::ZERO, about: Vec3::ZERO };
        setup.solids.push(Solid::new("box", Shape::Box { min, max }, motion));
        let mut solver = OctreeSolver::new(setup, Params::default()).unwrap();
        let mut fastest = 0.0f64;
        for frame in 1..=5 {
            // Equal steps, as a run takes them.
            while f64::from(frame) / 24.0 - solver.time_s() > 1e-9 {
                let rest_s = f64::from(frame) / 24.0 - solver.time_s();
                let report = solver.step(rest_s / (rest_s / solver.suggest_dt().dt_s).ceil()).unwrap();
                fastest = fastest.max(report.max_speed_m_s);
            }
        }
        assert!(fastest < 3.1, "{part} cells off: {fastest} m/s");
    }
}

/// A thin plate squeezes water towards a wall of the domain: it rises as the gap narrows. Where a thin solid was near, the wall's faces
/// moved with it, and the water stood still in what the pressure took for a gap that moves along.
#[test]
fn walls_do_not_move_with_a_thin_plate_beside_them() {
    let (n, depth, from, to, seconds) = (16, 0.3f32, 0.8125f32, 0.875f32, 0.4);
    let dx = 1.0 / n as f32;
    let mut setup = tank(n, depth);
    setup.domain.grid.cells = [n, n, 4];
    let (min, max) = (Vec3::new(from - 0.5 * dx, -1.0, -1.0), Vec3::new(from, 2.0, 2.0));
    let linear = Vec3::new((to - from) / seconds, 0.0, 0.0);
    let motion = Motion::Constant { linear, angular: Vec3::ZERO, about: Vec3::ZERO };
    add(&mut setup, Shape::Box { min, max }, motion);
    let mut solver = OctreeSolver::new(setup, Params::default()).unwrap();
    advance(&mut solver, f64::from(seconds));
    let water = |min: Vec3| solver.volume_in(&Shape::Box { min, max: Vec3::splat(2.0) });
    let [beyond, above] = [-1.0, depth].map(|y| water(Vec3::new(to, y, -1.0)));
    let all_m3 = f64::from(depth * (1.0 - from) * 4.0 * dx);
    let held = beyond / all_m3;
    let risen = above / all_m3 * f64::from((1.0 - from) / (to - from));
    assert!((held - 1.0).abs() < 0.01 && (risen - 1.0).abs() < 0.05, "{held} is left, {risen} of the rise");
}
