//! The hybrid preconditioner: symmetric, positive, and good enough for a few iterations at any size.

use super::trees::nested_boxes;
use fluvial_foundation::random::unit_f32;
use fluvial_linear::amg::{Amg, AmgParams};
use fluvial_linear::krylov::{CgScratch, LinearOperator, Preconditioner, conjugate_gradients, dot};
use fluvial_linear::sparse::FluxMatrix;
use fluvial_linear::{Norm, Params};
use fluvial_power::channels::FIRST_FREE;
use fluvial_power::diagram::Diagram;
use fluvial_power::hybrid::{Hybrid, HybridParams};
use fluvial_power::matrix;
use fluvial_power::mesh::PowerMesh;
use fluvial_power::pairs::Boundary;
use fluvial_power::rows::{Order, Rows};

/// A ball of liquid whose surface crosses transitions: both operators and the leaves with other than plain
/// stencils.
fn problem(roots: usize) -> (FluxMatrix<f32>, FluxMatrix<f32>, Vec<bool>, Vec<f64>) {
    let mut pyramid = nested_boxes(roots);
    let diagram = Diagram::new(&mut pyramid);
    let mesh = PowerMesh::new(&pyramid, &diagram);
    let radius =
        |c: &[f64; 3]| ((c[0] - 0.437).powi(2) + (c[1] - 0.461).powi(2) + (c[2] - 0.449).powi(2)).sqrt();
    let phi: Vec<f32> = mesh.centers.iter().map(|c| (radius(c) - 0.33) as f32).collect();
    pyramid.scatter(FIRST_FREE, &phi);
    pyramid.propagate(FIRST_FREE);
    let boundary = Boundary { phi: Some(FIRST_FREE), solid: None };
    let rows = |order| Rows::new(&pyramid, &diagram, boundary, order);
    let second = rows(Order::Second);
    let special = second.special_leaves(&pyramid);
    let rhs = (0..phi.len())
        .map(|n| if phi[n] < 0.0 { mesh.volumes[n] * (f64::from(unit_f32(n as u64, 5)) + 0.5) } else { 0.0 })
        .collect();
    (matrix::assemble(&pyramid, &rows(Order::First)), matrix::assemble(&pyramid, &second), special, rhs)
}

#[test]
fn the_preconditioner_is_symmetric_and_positive() {
    let (first, second, special, rhs) = problem(16);
    let mut amg = Amg::new(&first, AmgParams::default());
    let mut hybrid = Hybrid::new(&second, amg.on(&first), &special, HybridParams::default());
    assert!(hybrid.band_len() > 100 && hybrid.band_len() < rhs.len());
    for seed in 0..3 {
        let noise = |s: u64| -> Vec<f32> {
            let value = |n: usize| if rhs[n] != 0.0 { unit_f32(n as u64, s) - 0.5 } else { 0.0 };
            (0..rhs.len()).map(value).collect()
        };
        let (a, b) = (noise(10 + seed), noise(20 + seed));
        let (mut ma, mut mb) = (vec![0.0; a.len()], vec![0.0; a.len()]);
        let size = hybrid.apply(&mut ma, &a);
        hybrid.apply(&mut mb, &b);
        assert!(size > 0.0);
        let (ab, ba) = (dot(&ma, &b), dot(&mb, &a));
        assert!((ab - ba).abs() < 1e-5 * size, "{ab} {ba} of {size}");
    }
}

#[test]
fn iterations_hardly_depend_on_the_size() {
    let mut counts = vec![];
    for roots in [16, 24, 32] {
        let (first, second, special, rhs) = problem(roots);
        let mut amg = Amg::new(&first, AmgParams::default());
        let mut hybrid = Hybrid::new(&second, amg.on(&first), &special, HybridParams::default());
        let params = Params {
            relative_tolerance: 1e-5,
            absolute_tolerance: 0.0,
            max_iterations: 60,
            norm: Norm::Euclidean,
        };
        let mut x = vec![0.0; rhs.len()];
        let mut scratch = CgScratch::<f32>::default();
        let info = conjugate_gradients(&mut x, &second, &mut hybrid, &rhs, &params, &mut scratch).unwrap();
        let mut alone = Amg::new(&second, AmgParams::default());
        let mut y = vec![0.0; rhs.len()];
        let other = conjugate_gradients(&mut y, &second, &mut alone.on(&second), &rhs, &params, &mut scratch)
            .unwrap();
        println!(
            "{roots} roots, {} leaves: hybrid {}, algebraic multigrid of L2 {}",
            second.rows(),
            info.iterations,
            other.iterations
        );
        counts.push(info.iterations);
    }
    assert!(counts.iter().all(|&n| n <= 12), "{counts:?}");
}
