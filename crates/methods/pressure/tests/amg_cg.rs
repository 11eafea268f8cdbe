//! Algebraic multigrid on the named problems of uniform grids.

use fluvial_foundation::parallel;
use fluvial_linear::amg::{AmgParams, Smoother};
use fluvial_pressure::cases::{Case, PUBLISHED_FLOOR};
use fluvial_pressure::{AmgCg, Info, MultigridCg, Params, PressureSolver, SolveError};

const SMOOTHERS: [Smoother; 2] = [Smoother::GaussSeidel, Smoother::Spai0];

fn params(relative_tolerance: f64) -> Params {
    Params { relative_tolerance, max_iterations: 200, ..Params::DEFAULT }
}

fn solve_case(case: &Case, amg: AmgParams, tolerance: f64) -> (Vec<f64>, Info) {
    let mut solver = AmgCg::new(amg);
    solver.prepare(&case.problem());
    let mut p = vec![0.0; case.rhs.len()];
    let info = solver.solve(&mut p, &case.rhs, &params(tolerance)).expect("a solution");
    let mut p64 = vec![0.0; p.len()];
    solver.solution_f64(&mut p64);
    assert!(p.iter().zip(&p64).all(|(p, p64)| *p == *p64 as f32));
    (p64, info)
}

#[test]
fn iterations_hardly_grow_with_the_grid() {
    for name in ["wavy-tank", "sealed", "sphere-jet-mid", "bubbly", "cut-walls"] {
        let counts = [24, 48, 72].map(|n| {
            solve_case(&Case::new(name, n).expect("a case"), AmgParams::default(), 1e-6).1.iterations
        });
        assert!(counts.iter().all(|&c| c <= 12), "{name}: {counts:?}");
        assert!(counts[2] <= counts[0] + 3, "{name}: {counts:?}");
    }
}

#[test]
fn the_sparse_wavy_tank_is_the_published_one() {
    let case = Case::new("wavy-tank", 128).expect("a case");
    let mut solver = AmgCg::default();
    solver.set_theta_min(PUBLISHED_FLOOR);
    let found = solver.prepare(&case.problem());
    assert_eq!(found.unknowns, 1_467_864);
    assert_eq!((found.components, found.sealed_components), (1, 0));
    let (matrix, cells) = solver.system();
    let diagonal: f64 = (0..found.unknowns).map(|row| matrix.diagonal(row)).sum();
    assert!((diagonal / 8.843048022e6 - 1.0).abs() < 1e-8, "{diagonal}");
    let square: f64 = cells.iter().map(|&c| (case.rhs[c as usize] as f64).powi(2)).sum();
    assert!((square.sqrt() / 466.589_314_218_0 - 1.0).abs() < 1e-8, "{}", square.sqrt());
    let mut p = vec![0.0; case.rhs.len()];
    let info = solver.solve(&mut p, &case.rhs, &params(1e-8)).expect("a solution");
    assert!(info.relative_residual <= 1e-8);
    let mut p64 = vec![0.0; p.len()];
    solver.solution_f64(&mut p64);
    let norm = p64.iter().map(|v| v * v).sum::<f64>().sqrt();
    assert!((norm / 1.724_056_131e4 - 1.0).abs() < 1e-7, "{norm}");
    let sum: f64 = p64.iter().sum();
    assert!((sum / -6.191_435_799e5 - 1.0).abs() < 1e-6, "{sum}");
    // Half of what AMGCL needs for matrix and solver.
    assert!(solver.bytes() < 454_000_000, "{}", solver.bytes());
}

#[test]
fn geometric_and_algebraic_multigrid_find_the_same_pressure() {
    for name in ["sphere-jet-mid", "bubbly", "sealed", "cut-walls"] {
        let case = Case::new(name, 32).expect("a case");
        let mut geometric = MultigridCg::new(case.cells);
        let found = geometric.prepare(&case.problem());
        let mut p = vec![0.0; case.rhs.len()];
        geometric.solve(&mut p, &case.rhs, &params(1e-10)).expect("a solution");
        let mut exact = vec![0.0; p.len()];
        geometric.solution_f64(&mut exact);
        let scale = exact.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for smoother in SMOOTHERS {
            let (x, _) = solve_case(&case, AmgParams { smoother, ..AmgParams::default() }, 1e-10);
            let error = x.iter().zip(&exact).fold(0.0f64, |m, (x, e)| m.max((x - e).abs()));
            assert!(error < 1e-7 * scale, "{name} {smoother:?}: {error} of {scale}");
        }
        let mut algebraic = AmgCg::default();
        assert_eq!(algebraic.prepare(&case.problem()), found, "{name}");
    }
}

#[test]
fn one_and_three_threads_give_the_same_bits() {
    for name in ["sphere-jet-mid", "bubbly", "sealed"] {
        let case = Case::new(name, 48).expect("a case");
        for smoother in SMOOTHERS {
            let run = || solve_case(&case, AmgParams { smoother, ..AmgParams::default() }, 1e-8);
            assert!(parallel::with_threads(1, run) == parallel::with_threads(3, run), "{name} {smoother:?}");
        }
    }
}

#[test]
fn what_is_not_finite_is_reported() {
    let mut broken = Case::new("tank", 24).expect("a case");
    broken.phi_cell[24 * 24 * 3 + 5] = f32::NAN;
    let mut solver = AmgCg::default();
    solver.prepare(&broken.problem());
    let mut p = vec![0.0; broken.rhs.len()];
    let error = solver.solve(&mut p, &broken.rhs, &params(1e-6)).unwrap_err();
    assert!(matches!(error, SolveError::NotFinite { .. }), "{error:?}");
}
