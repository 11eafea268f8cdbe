//! Order of the pressure in the maximum norm across transitions.

use super::trees::nested_boxes;
use fluvial_linear::amg::{Amg, AmgParams};
use fluvial_linear::krylov::{CgScratch, conjugate_gradients};
use fluvial_linear::sparse::FluxMatrix;
use fluvial_linear::{Norm, Params};
use fluvial_power::diagram::Diagram;
use fluvial_power::mesh::PowerMesh;
use std::f64::consts::PI;

/// Solves to rounding with the explicit mesh in f64.
pub fn solve(matrix: &FluxMatrix<f64>, narrow: &FluxMatrix<f32>, rhs: &[f64]) -> Vec<f64> {
    let mut amg = Amg::new(narrow, AmgParams::default());
    let params = Params {
        relative_tolerance: 1e-9,
        absolute_tolerance: 0.0,
        max_iterations: 200,
        norm: Norm::Euclidean,
    };
    let mut x = vec![0.0; rhs.len()];
    conjugate_gradients::<f32, _, _>(
        &mut x,
        matrix,
        &mut amg.on(narrow),
        rhs,
        &params,
        &mut CgScratch::default(),
    )
    .unwrap();
    x
}

/// `-lap p = 3 pi^2 p` for `p = cos(pi x) cos(pi y) cos(pi z)`, which has no flux through the walls of the
/// unit box. Both sides are determined up to a constant and compared without their means. Over 16 to 64 roots
/// the orders are as in the README.
#[test]
fn pressure_is_second_order_in_the_maximum_norm_across_transitions() {
    let exact = |c: &[f64; 3]| c.iter().map(|x| (PI * x).cos()).product::<f64>();
    let mut errors = vec![];
    for roots in [16, 24, 32] {
        let mut pyramid = nested_boxes(roots);
        let diagram = Diagram::new(&mut pyramid);
        let mesh = PowerMesh::new(&pyramid, &diagram);
        let closed = || vec![0.0; mesh.cells.len()];
        let leaves = mesh.centroids.iter().zip(&mesh.volumes);
        let rhs: Vec<f64> = leaves.map(|(c, v)| 3.0 * PI * PI * v * exact(c)).collect();
        let p = solve(&mesh.laplacian(closed()), &mesh.laplacian(closed()), &rhs);
        let difference: Vec<f64> = p.iter().zip(&mesh.centers).map(|(p, c)| p - exact(c)).collect();
        let mean: f64 = difference.iter().zip(&mesh.volumes).map(|(d, v)| d * v).sum();
        let largest = difference.iter().fold(0.0f64, |m, d| m.max((d - mean).abs()));
        println!("{roots} roots, {} leaves, {} codes: {largest:e}", p.len(), diagram.table().len());
        errors.push((roots as f64, largest));
    }
    for pair in errors.windows(2) {
        let order = (pair[0].1 / pair[1].1).ln() / (pair[1].0 / pair[0].0).ln();
        assert!(order >= 1.8, "order {order}, errors {errors:?}");
    }
}
