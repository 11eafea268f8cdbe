//! The operator and the multigrid cycle on streams: the same numbers as the assembled matrix, symmetric, and few iterations.

use super::trees::{nested_boxes, random_pyramid};
use fluvial_foundation::parallel;
use fluvial_foundation::random::unit_f32;
use fluvial_grids::paged::Backing;
use fluvial_grids::pyramid::Pyramid;
use fluvial_linear::krylov::{
    CgScratch, LinearOperator, Preconditioner, SymmetricOperator, conjugate_gradients, dot,
};
use fluvial_linear::sparse::FluxMatrix;
use fluvial_linear::{Norm, Params};
use fluvial_power::channels::FIRST_FREE;
use fluvial_power::diagram::Diagram;
use fluvial_power::matrix;
use fluvial_power::mesh::PowerMesh;
use fluvial_power::pairs::Boundary;
use fluvial_power::rows::{Order, Rows};
use fluvial_power::stream::{Composite, Cycle, Streams};

/// Rows of the second and of the first order for a ball of liquid beside a solid plane.
fn rows(pyramid: &mut Pyramid, center: [f64; 3], radius: f64) -> (Diagram, [Rows; 2]) {
    let diagram = Diagram::new(pyramid);
    let mesh = PowerMesh::new(pyramid, &diagram);
    let far = |c: &[f64; 3]| (0..3).map(|a| (c[a] - center[a]).powi(2)).sum::<f64>().sqrt();
    let phi: Vec<f32> = mesh.centers.iter().map(|c| (far(c) - radius) as f32).collect();
    pyramid.scatter(FIRST_FREE, &phi);
    pyramid.propagate(FIRST_FREE);
    let low = center[1] - 0.61 * radius;
    let solid = move |x: [f64; 3]| 0.8 * (x[1] - low) + 0.6 * (x[0] - center[0]);
    let boundary = Boundary { phi: Some(FIRST_FREE), solid: Some(&solid) };
    let both = [Order::Second, Order::First].map(|order| Rows::new(pyramid, &diagram, boundary, order));
    (diagram, both)
}

fn noise(streams: &Streams, leaves: usize, seed: u64) -> Vec<f64> {
    let values: Vec<f64> = (0..leaves).map(|n| f64::from(unit_f32(n as u64, seed)) - 0.5).collect();
    let mut field = streams.field::<f64>();
    streams.scatter(&mut field, &values);
    field.as_flattened().to_vec()
}

fn rounded(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&v| v as f32).collect()
}

#[test]
fn streams_have_the_operator_of_the_assembled_matrix() {
    for seed in 0..3 {
        let mut pyramid = random_pyramid(Backing::Table, 4, [3, 4, 3], 9, seed);
        let (_, rows) = rows(&mut pyramid, [1.0, 2.0, 2.4], 1.6);
        for rows in &rows {
            let matrix: FluxMatrix<f32> = matrix::assemble(&pyramid, rows);
            let streams = Streams::new(&pyramid, rows);
            let leaves = pyramid.active_count();
            let mut p = noise(&streams, leaves, seed);
            let mut by_leaf = vec![0.0; leaves];
            streams.gather(&mut by_leaf, p.as_chunks().0);
            let mut expected = vec![0.0; leaves];
            matrix.apply_rows(&mut expected, 0..leaves, &by_leaf);
            let composite = Composite { streams: &streams, rows: &rows.rows };
            let mut out = streams.field::<f64>();
            composite.apply(&mut out, p.as_chunks_mut().0);
            let mut found = vec![0.0; leaves];
            streams.gather(&mut found, &out);
            let scale = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            let worst = expected.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(scale > 0.0 && worst < 1e-6 * scale, "{worst} of {scale}");
            let others = out.as_flattened().iter().map(|v| v.abs()).sum::<f64>();
            let leaves = found.iter().map(|v| v.abs()).sum::<f64>();
            assert!((others - leaves).abs() < 1e-9 * leaves, "nothing but unknown leaves has a value");
        }
    }
}

#[test]
fn the_cycle_is_symmetric_and_positive() {
    for seed in 0..3 {
        let mut pyramid = random_pyramid(Backing::Table, 4, [3, 4, 3], 9, seed);
        let (_, rows) = rows(&mut pyramid, [1.0, 2.0, 2.4], 1.6);
        let streams = Streams::new(&pyramid, &rows[0]);
        let mut cycle = Cycle::new(&streams, &pyramid, &rows[0], &rows[1]);
        let leaves = pyramid.active_count();
        let (a, b) =
            (rounded(&noise(&streams, leaves, 10 + seed)), rounded(&noise(&streams, leaves, 20 + seed)));
        let (mut ma, mut mb) = (vec![0.0; a.len()], vec![0.0; a.len()]);
        let size = cycle.apply(&mut ma, &a);
        cycle.apply(&mut mb, &b);
        let (ab, ba) = (dot(&ma, &b), dot(&mb, &a));
        assert!(size > 0.0 && (ab - ba).abs() < 1e-5 * size, "{ab} {ba} of {size}");
    }
}

/// Iterations to 1e-5 with right sides that are as large everywhere.
fn iterations(roots: usize, order: usize) -> usize {
    let mut pyramid = nested_boxes(roots);
    let (_, rows) = rows(&mut pyramid, [0.437, 0.461, 0.449], 0.33);
    let streams = Streams::new(&pyramid, &rows[order]);
    let mut cycle = Cycle::new(&streams, &pyramid, &rows[order], &rows[1]);
    let composite = Composite { streams: &streams, rows: &rows[order].rows };
    let right: Vec<f64> = noise(&streams, pyramid.active_count(), 5).iter().map(|v| v.abs()).collect();
    let params = Params {
        relative_tolerance: 1e-5,
        absolute_tolerance: 0.0,
        max_iterations: 60,
        norm: Norm::Euclidean,
    };
    let mut x = vec![0.0; right.len()];
    let mut scratch = CgScratch::<f32>::default();
    let info = conjugate_gradients(&mut x, &composite, &mut cycle, &right, &params, &mut scratch).unwrap();
    let mut left = vec![0.0f32; right.len()];
    let norm = composite.residual(&mut left, &right, &mut x).square.sqrt();
    assert!(norm <= 1e-5 * right.iter().map(|v| v * v).sum::<f64>().sqrt());
    println!("{roots} roots, order {order}: {} unknowns, {} iterations", streams.unknowns(), info.iterations);
    info.iterations
}

#[test]
fn iterations_hardly_depend_on_the_size_on_streams() {
    let counts = [16, 24, 32].map(|roots| iterations(roots, 0).max(iterations(roots, 1)));
    assert!(counts.iter().all(|&n| n <= 10), "{counts:?}");
}

#[test]
fn streams_give_the_same_bytes_with_any_number_of_threads() {
    let counts = [1, 3].map(|threads| {
        parallel::with_threads(threads, || {
            let mut pyramid = nested_boxes(16);
            let (_, rows) = rows(&mut pyramid, [0.437, 0.461, 0.449], 0.33);
            let streams = Streams::new(&pyramid, &rows[0]);
            let mut cycle = Cycle::new(&streams, &pyramid, &rows[0], &rows[1]);
            let right = rounded(&noise(&streams, pyramid.active_count(), 5));
            let mut z = vec![0.0; right.len()];
            cycle.apply(&mut z, &right);
            z.iter().fold(0u64, |sum, v| sum.rotate_left(5) ^ u64::from(v.to_bits()))
        })
    });
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn a_sealed_box_is_solved_up_to_a_constant() {
    let mut pyramid = random_pyramid(Backing::Table, 4, [3, 4, 3], 9, 1);
    let diagram = Diagram::new(&mut pyramid);
    let rows = [Order::Second, Order::First].map(|o| Rows::new(&pyramid, &diagram, Boundary::default(), o));
    let streams = Streams::new(&pyramid, &rows[0]);
    assert_eq!((streams.parts.sealed(), streams.parts.alone.len()), (1, 0));
    let mut cycle = Cycle::new(&streams, &pyramid, &rows[0], &rows[1]);
    let composite = Composite { streams: &streams, rows: &rows[0].rows };
    let right = noise(&streams, pyramid.active_count(), 5);
    let params = Params {
        relative_tolerance: 1e-6,
        absolute_tolerance: 0.0,
        max_iterations: 60,
        norm: Norm::Euclidean,
    };
    let mut x = vec![0.0; right.len()];
    let mut scratch = CgScratch::<f32>::default();
    let info = conjugate_gradients(&mut x, &composite, &mut cycle, &right, &params, &mut scratch).unwrap();
    assert!(info.iterations <= 12, "{}", info.iterations);
    let (mut found, mut wanted) = (vec![0.0; pyramid.active_count()], vec![0.0; pyramid.active_count()]);
    streams.gather(&mut found, x.as_chunks().0);
    streams.gather(&mut wanted, right.as_chunks().0);
    let matrix: FluxMatrix<f32> = matrix::assemble(&pyramid, &rows[0]);
    let mut flow = vec![0.0; found.len()];
    matrix.apply_rows(&mut flow, 0..found.len(), &found);
    let mean = wanted.iter().sum::<f64>() / wanted.len() as f64;
    let left = flow.iter().zip(&wanted).map(|(f, w)| (f - (w - mean)).powi(2)).sum::<f64>();
    let size = wanted.iter().map(|w| (w - mean).powi(2)).sum::<f64>();
    assert!(left < 4e-12 * size, "{left} of {size}");
}
