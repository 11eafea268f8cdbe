//! Multigrid alone: how fast full cycles converge, and that they say when they do not.

use fluvial_pressure::cases::{Case, NAMES};
use fluvial_pressure::{FullCycles, Info, Norm, Params, PressureSolver, SolveError};

fn solve(case: &Case, params: &Params) -> (Vec<f64>, Result<Info, SolveError>) {
    let mut solver = FullCycles::new(case.cells);
    solver.prepare(&case.problem());
    let (mut p, mut p64) = (vec![0.0; case.rhs.len()], vec![0.0; case.rhs.len()]);
    let result = solver.solve(&mut p, &case.rhs, params);
    solver.solution_f64(&mut p64);
    (p64, result)
}

#[test]
fn every_cycle_takes_the_residual_down_on_every_case_and_size() {
    for name in NAMES {
        for n in [24, 33, 64] {
            let case = Case::new(name, n).expect("a known case");
            let tight = Params { relative_tolerance: 1e-10, max_iterations: 16, ..Params::DEFAULT };
            let (p, result) = solve(&case, &tight);
            let info = result.unwrap_or_else(|error| panic!("{name} {n}: {error} {:?}", error.history()));
            let worst = info.history.windows(2).map(|r| r[1] / r[0]).fold(0.0, f64::max);
            // Bubbles of a cell are what coarse grids see least of.
            let bound = if name == "bubbly" { 0.3 } else { 0.2 };
            assert!(worst < bound, "{name} {n}: {worst} in {:?}", info.history);
            let remainder = case.remainder(&p);
            assert!(remainder.relative() <= 1.001e-10, "{name} {n}: {remainder:?}");
        }
    }
}

#[test]
fn the_largest_value_can_be_the_measure() {
    let case = Case::new("sphere-jet-mid", 40).expect("a known case");
    for goal in [1e-3, 1e-8] {
        let params = Params {
            relative_tolerance: 0.0,
            absolute_tolerance: goal,
            max_iterations: 20,
            norm: Norm::Maximum,
        };
        let (p, result) = solve(&case, &params);
        let info = result.expect("a solution");
        let largest = case.remainder(&p).largest;
        assert!(largest <= 1.001 * goal && largest > 1e-3 * goal, "{largest} {goal}");
        let rhs = case.rhs.iter().zip(&case.phi_cell).filter(|(_, phi)| **phi < 0.0);
        let rhs_largest = rhs.fold(0.0f32, |m, (v, _)| m.max(v.abs())) as f64;
        assert!((info.relative_residual * rhs_largest / largest - 1.0).abs() < 1e-3);
    }
}

#[test]
fn failures_are_errors_with_their_history() {
    let case = Case::new("tank", 24).expect("a known case");
    match solve(&case, &Params { relative_tolerance: 1e-9, max_iterations: 2, ..Params::DEFAULT }).1 {
        Err(SolveError::MaxIterations { history }) => assert_eq!(history.len(), 3),
        other => panic!("{other:?}"),
    }
    match solve(&case, &Params { relative_tolerance: 1e-30, ..Params::DEFAULT }).1 {
        Err(SolveError::Stagnation { history }) => assert!(history.iter().any(|&r| r < 1e-12), "{history:?}"),
        other => panic!("{other:?}"),
    }
    for bad in [f32::NAN, f32::INFINITY] {
        let mut broken = Case::new("tank", 24).expect("a known case");
        broken.rhs[24 * 24 * 3 + 5] = bad;
        let error = solve(&broken, &Params::DEFAULT).1.unwrap_err();
        assert!(matches!(error, SolveError::NotFinite { .. }), "{error:?}");
    }
}
