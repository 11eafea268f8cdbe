//! Still water stays still for as long as one waits.

use fluvial_conformance::tank;
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Fill, Refine, Setup, Solver};
use fluvial_solver_power::{Params, PowerSolver};

const CELLS: usize = 16;
const LEAF_M: f32 = 1.0 / CELLS as f32;

/// Water at rest but for balls of a leaf's size that touch the surface from below and move up or down at 0.1 mm/s, in a tank so many
/// leaves wide.
fn noisy_water(up: Vec3, width: usize) -> Setup {
    let mut setup = tank(CELLS, 0.47);
    setup.domain.grid.cells[2] = width;
    setup.liquid.gravity = -9.81 * up;
    let point = Vec3::new(0.5, 0.47, 0.5);
    setup.fills = vec![Fill { shape: Shape::Plane { point, normal: up }, velocity: Vec3::ZERO }];
    for n in 0..CELLS * width {
        let (x, z) = ((n % CELLS) as f32 + 0.5, (n / CELLS) as f32 + 0.5);
        let below = LEAF_M * Vec3::new(x, 0.0, z);
        let surface = below + (point - below).dot(up) / up.y * Vec3::Y;
        // Numbers without a pattern of their own.
        let speed = 1e-4 * (((n * n * 7 + 3 * n) % 11) as f32 / 5.0 - 1.0);
        let radius = 0.7 * LEAF_M;
        let shape = Shape::Sphere { center: surface - 1.01 * radius * up, radius };
        setup.fills.push(Fill { shape, velocity: speed * up });
    }
    setup
}

/// The largest speeds in the second second and in the last.
fn speeds(setup: Setup, params: Params, seconds: usize) -> [f64; 2] {
    let mut solver = PowerSolver::new(setup, Params { band_factor: 2, ..params }).unwrap();
    let all: Vec<f64> = (0..25 * seconds).map(|_| solver.step(0.04).unwrap().max_speed_m_s).collect();
    let fastest = |of: &[f64]| of.iter().copied().fold(0.0, f64::max);
    let [early, late] = [fastest(&all[25..50]), fastest(&all[25 * (seconds - 1)..])];
    println!("{early:.3e} m/s in the second second, {late:.3e} m/s in the last");
    [early, late]
}

/// Under the band's own surface, which follows the volume late, it grew by 0.7 a second.
#[test]
fn noise_in_still_water_does_not_grow() {
    let params = Params { levels: Some(1), ..Params::default() };
    let [early, late] = speeds(noisy_water(Vec3::Y, 6), params, 5);
    assert!(early > 1e-6 && late < 1.2 * early, "{early} {late}");
}

/// Water that leans about two axes, with leaves of two sizes at its surface. Flow around crossed faces at the transition, which the surface does
/// not follow, grew by 0.5 a second.
#[test]
fn noise_in_leaning_water_of_two_sizes_hardly_grows() {
    let mut setup = noisy_water(Vec3::new(-3.0, 8.6, 2.15).normalize(), CELLS);
    let shape = Shape::Box { min: Vec3::ZERO, max: Vec3::new(0.5, 1.0, 0.5) };
    setup.refine.push(Refine { shape, dx: LEAF_M });
    let params = Params { surface_dx: Some(2.0 * LEAF_M), ..Params::default() };
    let [early, late] = speeds(setup, params, 5);
    assert!(early > 1e-6 && late < 1.5 * early, "{early} {late}");
}
