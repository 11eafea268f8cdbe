//! The Krylov methods: exact solutions, accuracy with f32 vectors, and honest failures.

use fluvial_foundation::parallel;
use fluvial_foundation::random::unit_f32;
use fluvial_linear::krylov::{
    BicgstabScratch, CgScratch, Identity, LinearOperator, Preconditioner, Real, bicgstab, conjugate_gradients,
};
use fluvial_linear::sparse::{Csr, FluxMatrix};
use fluvial_linear::{Block, Coupled, Info, LowRank, Norm, Params, RANK, SolveError};
use std::f64::consts::PI;
use std::ops::Range;

const TIGHT: Params = Params { relative_tolerance: 1e-10, max_iterations: 2000, ..Params::DEFAULT };

/// `-laplacian + c d/dx` on the unit cube, values zero beyond the walls' ghost points, matrix-free: seven
/// points of second order on `n`^3 interior nodes.
struct ConvectionDiffusion {
    n: usize,
    c: f64,
}

impl LinearOperator for ConvectionDiffusion {
    fn rows(&self) -> usize {
        self.n.pow(3)
    }

    fn apply_rows<T: Real>(&self, out: &mut [T], rows: Range<usize>, x: &[T]) {
        let n = self.n;
        let h = 1.0 / (n + 1) as f64;
        for (out, row) in out.iter_mut().zip(rows) {
            let at = [row % n, row / n % n, row / (n * n)];
            let mut sum: f64 = 6.0 * x[row].into();
            for (axis, step) in [1, n, n * n].into_iter().enumerate() {
                let convect = if axis == 0 { 0.5 * h * self.c } else { 0.0 };
                let low: f64 = if at[axis] > 0 { x[row - step].into() } else { 0.0 };
                let high: f64 = if at[axis] + 1 < n { x[row + step].into() } else { 0.0 };
                sum += (convect - 1.0) * high - (convect + 1.0) * low;
            }
            *out = T::from_f64(sum / (h * h));
        }
    }
}

/// The operator's matrix.
fn matrix(a: &impl LinearOperator) -> Csr<f64> {
    let rows = a.rows();
    let (mut start, mut column, mut value) = (vec![0], Vec::new(), Vec::new());
    let mut columns = vec![Vec::new(); rows];
    let (mut unit, mut out) = (vec![0.0; rows], vec![0.0; rows]);
    for c in 0..rows {
        unit[c] = 1.0;
        a.apply_rows(&mut out, 0..rows, &unit);
        unit[c] = 0.0;
        (0..rows).filter(|&r| out[r] != 0.0).for_each(|r| columns[r].push((c as u32, out[r])));
    }
    for entries in columns {
        entries.iter().for_each(|&(c, v)| {
            column.push(c);
            value.push(v);
        });
        start.push(column.len() as u32);
    }
    Csr::new(rows, start, column, value)
}

/// `sin(pi x) sin(pi y) sin(pi z)` and what the operator makes of it.
fn manufactured(a: &ConvectionDiffusion) -> (Vec<f64>, Vec<f64>) {
    let n = a.n;
    let values = (0..a.rows()).map(|row| {
        let [x, y, z] = [row % n, row / n % n, row / (n * n)].map(|i| PI * (i + 1) as f64 / (n + 1) as f64);
        let exact = x.sin() * y.sin() * z.sin();
        (exact, 3.0 * PI * PI * exact + a.c * PI * x.cos() * y.sin() * z.sin())
    });
    values.unzip()
}

fn cg<T: Real>(a: &impl LinearOperator, b: &[f64], params: &Params) -> (Vec<f64>, Result<Info, SolveError>) {
    let mut x = vec![0.0; b.len()];
    let info = conjugate_gradients(&mut x, a, &mut Identity, b, params, &mut CgScratch::<T>::default());
    (x, info)
}

fn bi<T: Real>(a: &impl LinearOperator, b: &[f64], params: &Params) -> (Vec<f64>, Result<Info, SolveError>) {
    let mut x = vec![0.0; b.len()];
    let info = bicgstab(&mut x, a, &mut Identity, b, params, &mut BicgstabScratch::<T>::default());
    (x, info)
}

/// `|b - A x| / |b|` by an own loop.
fn residual(a: &impl LinearOperator, b: &[f64], x: &[f64], norm: Norm) -> f64 {
    let mut ax = vec![0.0; b.len()];
    a.apply_rows(&mut ax, 0..b.len(), x);
    let r: Vec<f64> = b.iter().zip(&ax).map(|(b, ax)| b - ax).collect();
    norm.of(&r) / norm.of(b)
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m, (x, y)| m.max((x - y).abs()))
}

#[test]
fn exact_solutions_are_approached_with_second_order() {
    for c in [0.0, 20.0] {
        let errors = [7, 15, 31].map(|n| {
            let a = ConvectionDiffusion { n, c };
            let (exact, b) = manufactured(&a);
            let (x, info) = if c == 0.0 { cg::<f32>(&a, &b, &TIGHT) } else { bi::<f32>(&a, &b, &TIGHT) };
            info.expect("a solution");
            largest_difference(&x, &exact)
        });
        for pair in errors.windows(2) {
            let order = (pair[0] / pair[1]).log2();
            assert!((1.9..2.1).contains(&order), "c {c}: order {order:.3} of {errors:?}");
        }
    }
}

#[test]
fn f32_vectors_meet_f64_tolerances_in_either_norm() {
    for norm in [Norm::Euclidean, Norm::Maximum] {
        let params = Params { norm, ..TIGHT };
        for c in [0.0, 20.0] {
            let a = ConvectionDiffusion { n: 20, c };
            let b: Vec<f64> = (0..a.rows()).map(|n| unit_f32(n as u64, 1) as f64 - 0.3).collect();
            let solve = |half: bool| match (c == 0.0, half) {
                (true, true) => cg::<f32>(&a, &b, &params),
                (true, false) => cg::<f64>(&a, &b, &params),
                (false, true) => bi::<f32>(&a, &b, &params),
                (false, false) => bi::<f64>(&a, &b, &params),
            };
            for half in [true, false] {
                let (x, info) = solve(half);
                let info = info.unwrap_or_else(|e| panic!("c {c} f32 {half}: {e} {e:?}"));
                let found = residual(&a, &b, &x, norm);
                assert!(found <= 1e-10, "c {c} f32 {half}: {found}");
                assert!((found / info.relative_residual - 1.0).abs() < 1e-3, "{found} {info:?}");
                assert_eq!(info.history.len(), info.iterations + 1);
            }
        }
    }
}

#[test]
fn matrix_free_and_matrix_give_the_same_solution() {
    for c in [0.0, 20.0] {
        let a = ConvectionDiffusion { n: 9, c };
        let b: Vec<f64> = (0..a.rows()).map(|n| unit_f32(n as u64, 2) as f64).collect();
        let sparse = matrix(&a);
        let flux = FluxMatrix::<f64>::from_csr(&sparse, 1e-12);
        assert_eq!((flux.components(), flux.sealed_components()), (1, 0));
        let back = flux.to_csr();
        assert_eq!(back.entries(), sparse.entries());
        for row in 0..a.rows() {
            let (left, right) = (back.row(row), sparse.row(row));
            assert_eq!(left.0, right.0);
            assert!(left.1.iter().zip(right.1).all(|(x, y)| (x - y).abs() < 1e-9 * y.abs().max(1.0)));
        }
        let solutions =
            [bi::<f64>(&a, &b, &TIGHT), bi::<f64>(&sparse, &b, &TIGHT), bi::<f64>(&flux, &b, &TIGHT)];
        for (x, info) in &solutions {
            assert!(info.is_ok(), "{info:?}");
            assert!(largest_difference(x, &solutions[0].0) < 1e-9);
        }
    }
}

#[test]
fn a_solved_start_and_loose_tolerances_need_no_iteration() {
    let a = ConvectionDiffusion { n: 8, c: 0.0 };
    let (_, b) = manufactured(&a);
    let (mut x, _) = cg::<f64>(&a, &b, &TIGHT);
    let mut scratch = CgScratch::<f32>::default();
    let again = conjugate_gradients(
        &mut x,
        &a,
        &mut Identity,
        &b,
        &Params { relative_tolerance: 1e-9, ..TIGHT },
        &mut scratch,
    );
    assert_eq!(again.expect("solved").iterations, 0);
    let absolute = Params { relative_tolerance: 0.0, absolute_tolerance: 1e9, ..TIGHT };
    assert_eq!(cg::<f64>(&a, &b, &absolute).1.expect("good enough").iterations, 0);
    assert_eq!(bi::<f64>(&a, &b, &absolute).1.expect("good enough").iterations, 0);
    let (x, info) = cg::<f64>(&a, &vec![0.0; b.len()], &TIGHT);
    assert!(info.is_ok() && x.iter().all(|&v| v == 0.0));
}

#[test]
fn one_and_three_threads_give_the_same_bits() {
    let a = ConvectionDiffusion { n: 21, c: 5.0 };
    let b: Vec<f64> = (0..a.rows()).map(|n| unit_f32(n as u64, 3) as f64 - 0.5).collect();
    let symmetric = ConvectionDiffusion { n: 21, c: 0.0 };
    let solve = || (cg::<f32>(&symmetric, &b, &TIGHT), bi::<f32>(&a, &b, &TIGHT), bi::<f64>(&a, &b, &TIGHT));
    assert!(parallel::with_threads(1, solve) == parallel::with_threads(3, solve));
}

/// A diagonal matrix.
fn diagonal(values: &[f64]) -> Csr<f64> {
    let n = values.len() as u32;
    Csr::new(values.len(), (0..=n).collect(), (0..n).collect(), values.to_vec())
}

fn assert_history(error: &SolveError, least: usize) {
    let history = error.history();
    assert!(history.len() >= least && !history.is_empty(), "{error:?}");
}

#[test]
fn an_indefinite_operator_is_reported() {
    let mut values: Vec<f64> = (0..200).map(|n| 1.0 + n as f64).collect();
    values[77] = -50.0;
    let b: Vec<f64> = (0..200).map(|n| 1.0 + (n % 7) as f64).collect();
    for error in [
        cg::<f64>(&diagonal(&values), &b, &TIGHT).1.unwrap_err(),
        cg::<f32>(&diagonal(&values), &b, &TIGHT).1.unwrap_err(),
    ] {
        assert!(matches!(error, SolveError::Indefinite { .. }), "{error:?}");
        assert_history(&error, 1);
    }
    // No method is fooled by a preconditioner that is not positive definite.
    struct Minus;
    impl Preconditioner<f64> for Minus {
        fn apply(&mut self, z: &mut [f64], r: &[f64]) -> f64 {
            z.iter_mut().zip(r).for_each(|(z, r)| *z = -r);
            fluvial_linear::krylov::dot(z, r)
        }
    }
    let mut x = vec![0.0; 200];
    let positive = diagonal(&vec![2.0; 200]);
    let error = conjugate_gradients(&mut x, &positive, &mut Minus, &b, &TIGHT, &mut CgScratch::default())
        .unwrap_err();
    assert!(matches!(error, SolveError::Indefinite { .. }), "{error:?}");
    // The method for general operators solves both.
    assert!(bi::<f64>(&diagonal(&values), &b, &TIGHT).1.is_ok());
    let solved = bicgstab(&mut x, &positive, &mut Minus, &b, &TIGHT, &mut BicgstabScratch::default());
    assert!(solved.is_ok() && x.iter().zip(&b).all(|(x, b)| (x - 0.5 * b).abs() < 1e-9));
}

#[test]
fn a_breakdown_is_reported() {
    // Skew: A r is orthogonal to r, and no step can be made.
    let skew = Csr::new(2, vec![0, 1, 2], vec![1, 0], vec![1.0, -1.0]);
    let error = bi::<f64>(&skew, &[1.0, 0.0], &TIGHT).1.unwrap_err();
    assert!(matches!(error, SolveError::Breakdown { .. }), "{error:?}");
    assert_history(&error, 1);
    let error = cg::<f64>(&skew, &[1.0, 0.0], &TIGHT).1.unwrap_err();
    assert!(matches!(error, SolveError::Indefinite { .. }), "{error:?}");
    assert_history(&error, 1);
}

#[test]
fn what_is_not_finite_is_reported() {
    let a = ConvectionDiffusion { n: 5, c: 0.0 };
    for bad in [f64::NAN, f64::INFINITY] {
        let mut b = vec![1.0; a.rows()];
        b[31] = bad;
        for norm in [Norm::Euclidean, Norm::Maximum] {
            let params = Params { norm, ..TIGHT };
            for error in
                [cg::<f32>(&a, &b, &params).1.unwrap_err(), bi::<f64>(&a, &b, &params).1.unwrap_err()]
            {
                assert!(matches!(error, SolveError::NotFinite { .. }), "{error:?}");
                assert_history(&error, 1);
            }
        }
        let mut x = vec![0.0; a.rows()];
        x[3] = bad;
        let b = vec![1.0; a.rows()];
        let error =
            conjugate_gradients(&mut x, &a, &mut Identity, &b, &TIGHT, &mut CgScratch::<f32>::default());
        assert!(matches!(error, Err(SolveError::NotFinite { .. })), "{error:?}");
    }
    let mut values = vec![1.0; 50];
    values[20] = f64::NAN;
    let error = cg::<f64>(&diagonal(&values), &[1.0; 50], &TIGHT).1.unwrap_err();
    assert!(matches!(error, SolveError::NotFinite { .. }), "{error:?}");
}

#[test]
fn stagnation_and_too_few_iterations_are_reported() {
    let a = ConvectionDiffusion { n: 12, c: 3.0 };
    let symmetric = ConvectionDiffusion { n: 12, c: 0.0 };
    let (_, b) = manufactured(&a);
    let b: Vec<f64> = b.iter().enumerate().map(|(n, b)| b + unit_f32(n as u64, 4) as f64).collect();
    let impossible = Params { relative_tolerance: 1e-30, ..TIGHT };
    for error in [
        cg::<f32>(&symmetric, &b, &impossible).1.unwrap_err(),
        cg::<f64>(&symmetric, &b, &impossible).1.unwrap_err(),
        bi::<f32>(&a, &b, &impossible).1.unwrap_err(),
        bi::<f64>(&a, &b, &impossible).1.unwrap_err(),
    ] {
        assert!(matches!(error, SolveError::Stagnation { .. } | SolveError::Breakdown { .. }), "{error:?}");
        assert!(error.history().iter().any(|&r| r < 1e-12), "{error:?}");
    }
    let few = Params { max_iterations: 4, ..TIGHT };
    for error in [cg::<f64>(&symmetric, &b, &few).1.unwrap_err(), bi::<f32>(&a, &b, &few).1.unwrap_err()] {
        assert!(matches!(error, SolveError::MaxIterations { .. }), "{error:?}");
        assert_eq!(error.history().len(), 5);
    }
}

/// A ring of unknowns without any outlet, and a chain with one.
fn ring_and_chain() -> FluxMatrix<f64> {
    let (ring, chain) = (30u32, 20u32);
    let mut rows: Vec<Vec<u32>> = (0..ring).map(|n| vec![(n + ring - 1) % ring, (n + 1) % ring]).collect();
    rows.extend((0..chain).map(|n| {
        let near = [n.checked_sub(1), (n + 1 < chain).then_some(n + 1)];
        near.into_iter().flatten().map(|m| ring + m).collect()
    }));
    rows.iter_mut().for_each(|r| r.sort_unstable());
    let mut start = vec![0];
    rows.iter().for_each(|r| start.push(start.last().unwrap() + r.len() as u32));
    let column: Vec<u32> = rows.concat();
    let value = vec![-1.0; column.len()];
    let mut excess = vec![0.0; rows.len()];
    excess[45] = 1e-6;
    FluxMatrix::new(Csr::new(rows.len(), start, column, value), excess)
}

#[test]
fn sealed_parts_have_no_mean_and_weak_outlets_are_no_seals() {
    let a = ring_and_chain();
    assert_eq!((a.components(), a.sealed_components()), (2, 1));
    let b: Vec<f64> = (0..50).map(|n| unit_f32(n, 5) as f64).collect();
    let params = Params { relative_tolerance: 1e-7, ..TIGHT };
    let (x, info) = cg::<f64>(&a, &b, &params);
    info.expect("a solution");
    assert!(
        x[..30].iter().sum::<f64>().abs()
            < 1e-12 * x[..30].iter().fold(0.0, |m: f64, v| m.max(v.abs())) * 30.0
    );
    // All that enters the chain leaves by its outlet.
    let through = 1e-6 * x[45];
    let entered: f64 = b[30..].iter().sum();
    assert!((through / entered - 1.0).abs() < 1e-6, "{through} {entered}");
    let mean = b[..30].iter().sum::<f64>() / 30.0;
    for n in 0..30 {
        let ax = 2.0 * x[n] - x[(n + 29) % 30] - x[(n + 1) % 30];
        assert!((ax - (b[n] - mean)).abs() < 1e-6, "row {n}");
    }
}

/// `(A + G K G^T) x = b` by both methods, against the same operator written out as a matrix.
#[test]
fn a_term_of_low_rank_is_part_of_the_operator() {
    let stencil = ConvectionDiffusion { n: 14, c: 0.0 };
    let rows = stencil.rows();
    let block = |first: usize, step: usize| {
        let rows: Vec<u32> = (first..rows).step_by(step).map(|row| row as u32).collect();
        let value = |row: u32, c: usize| unit_f32(u64::from(row), c as u64) - 0.5;
        let values = rows.iter().map(|&row| std::array::from_fn(|c| value(row, c))).collect();
        let weight = std::array::from_fn(|r| std::array::from_fn(|c| if r == c { 40.0 } else { 3.0 }));
        Block { rows, values, weight }
    };
    let term = LowRank { blocks: vec![block(5, 7), block(400, 11)] };
    let coupled = Coupled { operator: &stencil, term: &term };
    let exact: Vec<f64> = (0..rows).map(|row| (row as f64 * 0.37).sin()).collect();
    let mut b = vec![0.0; rows];
    stencil.apply_rows(&mut b, 0..rows, &exact);
    for block in &term.blocks {
        let sums = block.gather(&exact);
        let weighed: [f64; RANK] =
            std::array::from_fn(|r| (0..RANK).map(|c| block.weight[r][c] * sums[c]).sum());
        block.scatter(&mut b, &weighed);
    }
    let off = |x: &[f64]| x.iter().zip(&exact).map(|(x, e)| (x - e).abs()).fold(0.0, f64::max);
    let (x, info) = cg::<f64>(&coupled, &b, &TIGHT);
    assert!(info.is_ok() && off(&x) < 1e-6, "{info:?}: off by {}", off(&x));
    let mut x = vec![0.0; rows];
    let info = bicgstab(&mut x, &coupled, &mut Identity, &b, &TIGHT, &mut BicgstabScratch::<f64>::default());
    assert!(info.is_ok() && off(&x) < 1e-6, "{info:?}: off by {}", off(&x));
}
