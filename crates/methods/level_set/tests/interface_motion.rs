//! The interface carried by known flows: Zalesak's slotted disk, Enright's deformation.

use crate::common::*;
use fluvial_foundation::Vec3;
use fluvial_grids::UniformGrid;
use fluvial_level_set::*;
use std::f64::consts::{PI, TAU};

/// What a tracker did to a shape that should have come back.
#[derive(Debug)]
struct Outcome {
    /// Relative change of volume.
    volume_change: f64,
    /// Volume between the two interfaces, relative to the shape's.
    shape_error: f64,
}

fn volume(phi: &[f32], g: &UniformGrid) -> f64 {
    liquid_volume(phi, &vec![1.0; phi.len()], &vec![1.0; g.nodes().len()], g)
}

/// Volume where one shape is and the other is not.
fn symmetric_difference(a: &[f32], b: &[f32], g: &UniformGrid) -> f64 {
    let pick = |f: fn(f32, f32) -> f32| -> Vec<f32> { a.iter().zip(b).map(|(&x, &y)| f(x, y)).collect() };
    volume(&pick(f32::min), g) - volume(&pick(f32::max), g)
}

fn carry(
    g: &UniformGrid,
    shape: impl Fn([f64; 3]) -> f64,
    flow: impl Fn(f64, [f64; 3]) -> [f64; 3],
    (duration, steps): (f64, usize),
    scheme: PhiAdvection,
) -> Outcome {
    let band = 5.0 * g.dx;
    let l = g.cell_centers();
    let mut scratch = Scratch::default();
    let mut phi = fill_band(&l, band, shape);
    let start = phi.clone();
    let mut out = phi.clone();
    let dt = duration / steps as f64;
    for step in 0..steps {
        let u = velocity(g, |x| flow((step as f64 + 0.5) * dt, x));
        advect_phi(&mut out, &phi, &u, g, dt as f32, scheme, band, &mut scratch);
        std::mem::swap(&mut phi, &mut out);
        redistance(&mut phi, &l, band, &mut scratch);
    }
    let v = volume(&start, g);
    Outcome {
        volume_change: volume(&phi, g) / v - 1.0,
        shape_error: symmetric_difference(&phi, &start, g) / v,
    }
}

/// Disk of radius 0.15 at (0.5, 0.75) with a slot 0.05 wide and 0.25 deep, as a distance (also at its corners
/// outside: to the nearest of arc and slot).
fn slotted_disk(x: [f64; 3]) -> f64 {
    let disk = (x[0] - 0.5).hypot(x[1] - 0.75) - 0.15;
    let slot = ((x[0] - 0.5).abs() - 0.025).max(x[1] - 0.85);
    disk.max(-slot)
}

#[test]
fn zalesak_disk_one_turn() {
    let n = 100;
    let g = UniformGrid { min: Vec3::ZERO, cells: [n, n, 1], dx: 1.0 / n as f32 };
    let turn = |_: f64, x: [f64; 3]| [TAU * (0.5 - x[1]), TAU * (x[0] - 0.5), 0.0];
    for (scheme, volume_bound, shape_bound) in [
        (PhiAdvection::SemiLagrangian, 0.25, 0.4),
        (PhiAdvection::MacCormack, 0.01, 0.08),
        (PhiAdvection::Cubic, 0.015, 0.03),
    ] {
        let r = carry(&g, slotted_disk, turn, (1.0, 200), scheme);
        println!("zalesak {scheme:?} {r:?}");
        assert!(r.volume_change.abs() < volume_bound && r.shape_error < shape_bound, "{scheme:?} {r:?}");
    }
}

#[test]
fn enright_deformation_short() {
    let n = 40;
    let g = cube(n);
    let sphere = |x: [f64; 3]| distance(x, [0.35; 3]) - 0.15;
    let period = 1.0;
    let flow = |t: f64, x: [f64; 3]| {
        let (s, d) = (x.map(|v| (PI * v).sin().powi(2)), x.map(|v| (TAU * v).sin()));
        let c = (PI * t / period).cos();
        [2.0 * s[0] * d[1] * d[2] * c, -d[0] * s[1] * d[2] * c, -d[0] * d[1] * s[2] * c]
    };
    for (scheme, volume_bound, shape_bound) in [
        (PhiAdvection::SemiLagrangian, 0.6, 0.6),
        (PhiAdvection::MacCormack, 0.015, 0.025),
        (PhiAdvection::Cubic, 0.015, 0.022),
    ] {
        let r = carry(&g, sphere, flow, (period, 60), scheme);
        println!("enright {scheme:?} {r:?}");
        assert!(r.volume_change.abs() < volume_bound && r.shape_error < shape_bound, "{scheme:?} {r:?}");
    }
}
