//! Still water stays still for as long as one waits.

use fluvial_conformance::tank;
use fluvial_foundation::Vec3;
use fluvial_solids::Shape;
use fluvial_solver_interface::{Fill, Setup, Solver};
use fluvial_solver_power::{Params, PowerSolver};

/// Water in which small boxes move up and down at 1e-4 m/s.
fn noisy_water() -> Setup {
    let mut setup = tank(16, 0.47);
    setup.domain.grid.cells = [16, 12, 6];
    let side = 1.0 / 16.0;
    let still = setup.fills.pop().expect("the tank is filled");
    for n in 0..16 * 6 {
        let (i, k) = (n % 16, n / 16);
        let min = side * Vec3::new(i as f32, 6.0, k as f32);
        let shape = Shape::Box { min, max: min + side };
        // Numbers without a pattern of their own.
        let velocity = 1e-4 * Vec3::Y * ((n * n * 7 + 3 * n) % 11) as f32 / 5.0 - 1e-4 * Vec3::Y;
        setup.fills.push(Fill { shape, velocity });
    }
    setup.fills.push(still);
    setup
}

/// Under the band's own surface, which follows the volume late, it grew by 0.7 a second.
#[test]
fn noise_in_still_water_does_not_grow() {
    let params = Params { band_factor: 2, levels: Some(1), ..Params::default() };
    let mut solver = PowerSolver::new(noisy_water(), params).unwrap();
    let speeds: Vec<f64> = (0..100).map(|_| solver.step(0.04).unwrap().max_speed_m_s).collect();
    let [first, last] = [&speeds[..25], &speeds[75..]].map(|part| part.iter().copied().fold(0.0, f64::max));
    println!("{first:.3e} m/s in the first second, {last:.3e} m/s in the last");
    assert!(first > 1e-6 && last < 2.0 * first, "{first} {last}");
}
