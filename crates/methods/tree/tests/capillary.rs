//! The filter that lets surface tension take long steps.

use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_tree::capillary::{CapillaryScratch, filter_curvature};
use std::f32::consts::PI;

/// A flat surface along the cells, which carries one wave of curvature.
fn filtered(cells: usize, waves: usize, sigma_dt2_cells: f64) -> (Vec<f32>, Vec<f32>) {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0, levels: 1, roots: [cells, 8, 4] };
    let tree = Octree::build(shape, 0, |_| false);
    let wave = |x: Vec3| (2.0 * PI * waves as f32 * x.x / cells as f32).cos();
    let beside = |x: Vec3| (x.y - 4.0).abs() < 1.0;
    let before: Vec<f32> = (0..tree.cell_count())
        .map(|c| tree.cell_center(c))
        .map(|x| if beside(x) { wave(x) } else { f32::NAN })
        .collect();
    let mut kappa = before.clone();
    filter_curvature(&mut kappa, &tree, sigma_dt2_cells, &mut CapillaryScratch::default());
    (before, kappa)
}

fn kept(before: &[f32], after: &[f32]) -> f64 {
    let sum = |f: fn(f64, f64) -> f64| -> f64 {
        before.iter().zip(after).filter(|(b, _)| !b.is_nan()).map(|(&b, &a)| f(b as f64, a as f64)).sum()
    };
    sum(|b, a| b * a) / sum(|b, _| b * b)
}

/// Every wave keeps `1 / (1 + G k^4)`, k^2 as differences see it (walls cut the band's ends: a little off).
#[test]
fn waves_keep_what_the_filter_says() {
    let cells = 96;
    for sigma_dt2 in [0.3, 3.0, 100.0] {
        for waves in [1, 4, 12, 24, 48] {
            let (before, after) = filtered(cells, waves, sigma_dt2);
            let k2 = 2.0 - 2.0 * (2.0 * std::f64::consts::PI * waves as f64 / cells as f64).cos();
            let expected = 1.0 / (1.0 + 8.0 * sigma_dt2 / std::f64::consts::PI * k2 * k2);
            let found = kept(&before, &after);
            assert!((found / expected - 1.0).abs() < 0.1, "{waves} waves, {sigma_dt2}: {found} {expected}");
        }
    }
}

/// `omega_f dt < 1.5` for all waves and any step: below the 2 at which an explicit wave becomes unstable.
#[test]
fn no_wave_is_too_fast_for_any_step() {
    let cells = 96;
    for sigma_dt2 in [0.01, 1.0, 1e2, 1e4] {
        for waves in 1..=48 {
            let (before, after) = filtered(cells, waves, sigma_dt2);
            let k = 2.0 * std::f64::consts::PI * waves as f64 / cells as f64;
            let omega_dt = (sigma_dt2 * k.powi(3) * kept(&before, &after)).sqrt();
            assert!(omega_dt < 1.5, "{waves} waves, {sigma_dt2}: {omega_dt}");
        }
    }
}

/// What varies nowhere is not changed.
#[test]
fn a_constant_curvature_stays() {
    let (before, after) = filtered(32, 0, 50.0);
    for (b, a) in before.iter().zip(&after) {
        assert!(b.is_nan() == a.is_nan() && (b.is_nan() || (b - a).abs() < 1e-6));
    }
}
