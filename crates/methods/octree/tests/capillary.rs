//! The filter that lets surface tension take long steps.

use fluvial_foundation::Vec3;
use fluvial_grids::Octree;
use fluvial_grids::octree::Shape;
use fluvial_octree::capillary::{CapillaryScratch, filter_curvature};
use std::f32::consts::PI;

/// A flat surface along the cells, which carries one wave of curvature, x fastest; before and after.
fn filtered(cells: usize, waves: usize, sigma_dt2_cells: f64) -> (Vec<f32>, Vec<f32>) {
    let shape = Shape { min: Vec3::ZERO, dx: 1.0, levels: 1, roots: [cells, 8, 4] };
    let tree = Octree::build(shape, 0, |_| false);
    let wave = |x: Vec3| (2.0 * PI * waves as f32 * x.x / cells as f32 + 0.7).cos();
    let beside = |x: Vec3| (x.y - 4.0).abs() < 1.0;
    let before: Vec<f32> = (0..tree.cell_count())
        .map(|c| tree.cell_center(c))
        .map(|x| if beside(x) { wave(x) } else { f32::NAN })
        .collect();
    let mut kappa = before.clone();
    filter_curvature(&mut kappa, &tree, sigma_dt2_cells, &mut CapillaryScratch::default());
    let rows = |values: &[f32]| {
        let mut sorted = vec![0.0; values.len()];
        for (c, &value) in values.iter().enumerate() {
            let [x, y, z] = tree.cells()[c].at.map(usize::from);
            sorted[x + cells * (y + 8 * z)] = value;
        }
        sorted
    };
    (rows(&before), rows(&kappa))
}

/// Part of a wave that is left, away from the walls, which bend it.
fn kept((before, after): &(Vec<f32>, Vec<f32>), cells: usize) -> f64 {
    let middle = |n: &usize| !before[*n].is_nan() && (cells / 4..3 * cells / 4).contains(&(n % cells));
    let sum = |f: fn(f64, f64) -> f64| -> f64 {
        (0..before.len()).filter(middle).map(|n| f(before[n] as f64, after[n] as f64)).sum()
    };
    sum(|b, a| b * a) / sum(|b, _| b * b)
}

/// Every wave keeps `1 / (1 + G k^4)`, k^2 as differences see it.
#[test]
fn waves_keep_what_the_filter_says() {
    let cells = 96;
    for sigma_dt2 in [0.3, 3.0, 100.0] {
        for waves in [1, 4, 12, 24, 48] {
            let both = filtered(cells, waves, sigma_dt2);
            let k2 = 2.0 - 2.0 * (2.0 * std::f64::consts::PI * waves as f64 / cells as f64).cos();
            let expected = 1.0 / (1.0 + 8.0 * sigma_dt2 / std::f64::consts::PI * k2 * k2);
            let found = kept(&both, cells);
            // Below that what the walls do is larger.
            assert!(
                expected < 3e-3 || (found / expected - 1.0).abs() < 0.02,
                "{waves} waves, {sigma_dt2}: {found} {expected}"
            );
        }
    }
}

/// `omega_f dt < 1.5` for all waves and any step: below the 2 at which an explicit wave becomes unstable.
#[test]
fn no_wave_is_too_fast_for_any_step() {
    let cells = 96;
    let explicit = 0.25 / std::f64::consts::PI;
    for sigma_dt2 in [0.01, explicit, 1.1 * explicit, 1.0, 1e2, 1e3] {
        for waves in 2..=48 {
            let both = filtered(cells, waves, sigma_dt2);
            let k = 2.0 * std::f64::consts::PI * waves as f64 / cells as f64;
            let omega_dt = (sigma_dt2 * k.powi(3) * kept(&both, cells)).sqrt();
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
