//! Accuracy, speed of convergence and honesty of the multigrid solver.

use fluvial_foundation::random::unit_f32;
use fluvial_pressure::cases::{Case, NAMES, PUBLISHED_FLOOR};
use fluvial_pressure::{Info, MultigridCg, Params, PoissonProblem, SOLVERS, SolveError};

fn params(relative_tolerance: f64) -> Params {
    Params { relative_tolerance, ..Params::DEFAULT }
}

fn solve(case: &Case, tolerance: f64) -> (Vec<f32>, Info) {
    let mut solver = MultigridCg::new(case.cells);
    solver.prepare(&case.problem());
    let mut p = vec![0.0; case.rhs.len()];
    let info = solver.solve(&mut p, &case.rhs, &params(tolerance)).expect("a solution");
    (p, info)
}

/// Open areas of 1 inside, closed walls.
fn walled(cells: [usize; 3]) -> [Vec<f32>; 3] {
    std::array::from_fn(|axis| {
        let mut size = cells;
        size[axis] += 1;
        (0..size.iter().product())
            .map(|f: usize| [f % size[0], f / size[0] % size[1], f / (size[0] * size[1])][axis])
            .map(|at| if at == 0 || at == cells[axis] { 0.0 } else { 1.0 })
            .collect()
    })
}

/// Largest error for `p = r^2 - R^2` in a drop of radius R, laplacian 6.
fn sphere_error(n: usize, theta_min: f32) -> f64 {
    let h = 1.0 / n as f64;
    let radius = 0.37;
    let r = |cell: usize| {
        let x = [cell % n, cell / n % n, cell / (n * n)].map(|i| (i as f64 + 0.5) * h);
        ((x[0] - 0.503).powi(2) + (x[1] - 0.491).powi(2) + (x[2] - 0.507).powi(2)).sqrt()
    };
    let phi: Vec<f32> = (0..n * n * n).map(|c| (r(c) - radius) as f32).collect();
    let area = walled([n; 3]);
    let mut solver = MultigridCg::new([n; 3]);
    solver.set_theta_min(theta_min);
    solver.prepare(&PoissonProblem {
        cells: [n; 3],
        phi_cell: &phi,
        open_area: [&area[0], &area[1], &area[2]],
    });
    let mut p = vec![0.0; phi.len()];
    let info =
        solver.solve(&mut p, &vec![(-6.0 * h * h) as f32; phi.len()], &params(1e-8)).expect("a solution");
    assert!(info.relative_residual <= 1e-8);
    let mut p64 = vec![0.0; phi.len()];
    solver.solution_f64(&mut p64);
    let wet = (0..phi.len()).filter(|&c| phi[c] < 0.0);
    wet.map(|c| (p64[c] - (r(c) * r(c) - radius * radius)).abs()).fold(0.0, f64::max)
}

#[test]
fn a_free_surface_sphere_converges_with_second_order() {
    let errors = [32, 64, 128].map(|n| sphere_error(n, 1e-4));
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!(order >= 1.9, "order {order:.3} of {errors:?}");
    }
}

#[test]
fn a_floored_theta_moves_the_surface_by_no_more_than_the_floor() {
    for n in [16, 32, 64] {
        let (h, gradient) = (1.0 / n as f64, 2.0 * 0.37);
        let (exact, floored) = (sphere_error(n, 1e-6), sphere_error(n, fluvial_grids::GHOST_DISTANCE_FLOOR));
        assert!(
            floored <= exact + fluvial_grids::GHOST_DISTANCE_FLOOR as f64 * h * gradient,
            "{n}: {floored} {exact}"
        );
    }
}

#[test]
fn wavy_tank_has_the_published_norms() {
    let case = Case::new("wavy-tank", 128).expect("a known case");
    let mut solver = MultigridCg::new(case.cells);
    solver.set_theta_min(PUBLISHED_FLOOR);
    let found = solver.prepare(&case.problem());
    assert_eq!(found.unknowns, 1_467_864);
    assert_eq!((found.components, found.sealed_components), (1, 0));
    let rhs = case.rhs.iter().zip(&case.phi_cell).filter(|(_, phi)| **phi < 0.0).map(|(v, _)| *v as f64);
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    let close = |value: f64, expected: f64, tolerance: f64| {
        assert!((value / expected - 1.0).abs() < tolerance, "{value} instead of {expected}");
    };
    close(norm(&mut { rhs }), 466.589_314_218_0, 1e-8);
    let mut p = vec![0.0; case.rhs.len()];
    let info = solver.solve(&mut p, &case.rhs, &params(1e-8)).expect("a solution");
    assert!(info.relative_residual <= 1e-8);
    let mut p64 = vec![0.0; p.len()];
    solver.solution_f64(&mut p64);
    close(norm(&mut p64.iter().copied()), 1.724_056_131e4, 1e-7);
    close(p64.iter().sum(), -6.191_435_799e5, 1e-6);
}

#[test]
fn iterations_are_few_and_hardly_grow() {
    for name in NAMES {
        let count = |n: usize| solve(&Case::new(name, n).expect("a known case"), 1e-6).1.iterations;
        let counts = [32, 64, 96].map(count);
        assert!(counts.iter().all(|&c| c <= 8), "{name}: {counts:?}");
        assert!(counts[2] <= counts[0] + 1, "{name}: {counts:?}");
    }
}

#[test]
fn tolerances_down_to_1e_10_are_met_by_the_true_residual() {
    for name in ["tank", "sphere-jet-mid", "bubbly", "sealed", "cut-walls"] {
        let case = Case::new(name, 48).expect("a known case");
        let (_, info) = solve(&case, 1e-10);
        assert!(info.relative_residual <= 1e-10 && info.iterations <= 20, "{name}: {info:?}");
    }
}

#[test]
fn all_solvers_find_the_same_pressure() {
    for name in ["sphere-jet-mid", "bubbly", "sealed", "cut-walls"] {
        let case = Case::new(name, 24).expect("a known case");
        let tight = Params { max_iterations: 2000, ..params(1e-10) };
        let solutions: Vec<_> = SOLVERS
            .iter()
            .map(|solver| {
                let mut solver = (solver.build)(case.cells);
                let (mut p, mut p64) = (vec![0.0; case.rhs.len()], vec![0.0; case.rhs.len()]);
                let found = solver.prepare(&case.problem());
                let info = solver.solve(&mut p, &case.rhs, &tight).expect("a solution");
                solver.solution_f64(&mut p64);
                (solver.name(), found, info.iterations, p64)
            })
            .collect();
        let scale = solutions[0].3.iter().fold(0.0f64, |s, v| s.max(v.abs()));
        for ((solver, found, _, p), listed) in solutions.iter().zip(SOLVERS) {
            assert_eq!(*solver, listed.name);
            assert_eq!(*found, solutions[0].1, "{name} {solver}");
            let error = p.iter().zip(&solutions[0].3).fold(0.0f64, |e, (a, b)| e.max((a - b).abs()));
            assert!(error < 1e-7 * scale, "{name} {solver}: {error} of {scale}");
        }
        let count = |solver: &str| solutions.iter().find(|s| s.0 == solver).expect("in the list").2;
        assert!(count("cg") > count("ic") && count("ic") > count("mic") && count("mic") > count("mg-cg"));
    }
}

#[test]
fn every_solver_gives_the_same_bits_with_any_number_of_threads() {
    for name in ["sphere-jet-mid", "bubbly", "sealed", "cut-walls"] {
        let case = Case::new(name, 41).expect("a known case");
        for solver in SOLVERS {
            let with_threads = |n: usize| {
                fluvial_foundation::parallel::with_threads(n, || {
                    let mut solver = (solver.build)(case.cells);
                    let found = solver.prepare(&case.problem());
                    let (mut p, mut p64) = (vec![0.0; case.rhs.len()], vec![0.0; case.rhs.len()]);
                    let many = Params { max_iterations: 2000, ..params(1e-6) };
                    let info = solver.solve(&mut p, &case.rhs, &many).expect("a solution");
                    solver.solution_f64(&mut p64);
                    (found, info, p64.into_iter().map(f64::to_bits).collect::<Vec<u64>>())
                })
            };
            let one = with_threads(1);
            for threads in [2, 3] {
                assert!(with_threads(threads) == one, "{name} {} with {threads} threads", solver.name);
            }
        }
    }
}

#[test]
fn thin_slabs_and_odd_sizes_converge_as_well() {
    for cells in [[96, 80, 1], [70, 90, 4], [1, 100, 100], [33, 47, 65], [129, 1, 1], [1, 1, 100], [5, 3, 2]]
    {
        let count: usize = cells.iter().product();
        let phi: Vec<f32> = (0..count)
            .map(|c| {
                let [x, y] = [c % cells[0], c / cells[0] % cells[1]].map(|v| v as f32);
                y + 0.25 - 0.6 * cells[1] as f32 - 2.0 * (0.2 * x).sin()
            })
            .collect();
        let area = walled(cells);
        let rhs: Vec<f32> = (0..count).map(|c| unit_f32(c as u64, 3) - 0.3).collect();
        let mut solver = MultigridCg::new(cells);
        solver.prepare(&PoissonProblem { cells, phi_cell: &phi, open_area: [&area[0], &area[1], &area[2]] });
        let mut p = vec![0.0; count];
        let info = solver.solve(&mut p, &rhs, &params(1e-6)).expect("a solution");
        assert!(info.iterations <= 12, "{cells:?}: {:?}", info.history);
    }
}

#[test]
fn a_solved_start_needs_no_iteration_and_reuse_leaves_no_trace() {
    let (full, splash) = (Case::new("tank", 40).expect("a case"), Case::new("bubbly", 40).expect("a case"));
    let fresh = solve(&splash, 1e-7);
    let mut solver = MultigridCg::new([40; 3]);
    let mut p = vec![0.0; 64_000];
    solver.prepare(&full.problem());
    solver.solve(&mut p, &full.rhs, &params(1e-5)).expect("a solution");
    solver.prepare(&splash.problem());
    p.fill(0.0);
    let info = solver.solve(&mut p, &splash.rhs, &params(1e-7)).expect("a solution");
    assert_eq!((&p, &info), (&fresh.0, &fresh.1));
    let again = solver.solve(&mut p, &splash.rhs, &params(1e-5)).expect("a solution");
    assert_eq!(again.iterations, 0);
}

#[test]
fn nothing_to_solve_is_solved() {
    let mut case = Case::new("tank", 16).expect("a case");
    let zero = vec![0.0; case.rhs.len()];
    let mut solver = MultigridCg::new(case.cells);
    solver.prepare(&case.problem());
    let mut p = vec![1.0; zero.len()];
    assert_eq!(solver.solve(&mut p, &zero, &params(1e-6)).expect("zero").iterations, 0);
    assert!(p.iter().all(|&v| v == 0.0));
    case.phi_cell.fill(1.0);
    assert_eq!(solver.prepare(&case.problem()), Default::default());
    p.fill(1.0);
    solver.solve(&mut p, &case.rhs, &params(1e-6)).expect("no unknown");
    assert!(p.iter().all(|&v| v == 0.0));
}

#[test]
fn failures_are_errors_with_their_history() {
    let case = Case::new("tank", 24).expect("a case");
    let mut solver = MultigridCg::new(case.cells);
    solver.prepare(&case.problem());
    let mut p = vec![0.0; case.rhs.len()];
    for bad in [f32::NAN, f32::INFINITY] {
        let mut rhs = case.rhs.clone();
        rhs[24 * 24 * 3 + 5] = bad;
        let error = solver.solve(&mut p, &rhs, &params(1e-6)).unwrap_err();
        assert!(matches!(error, SolveError::NotFinite { .. }), "{error:?}");
        let mut start = vec![0.0; case.rhs.len()];
        start[24 * 24 * 3 + 5] = bad;
        let error = solver.solve(&mut start, &case.rhs, &params(1e-6)).unwrap_err();
        assert!(matches!(error, SolveError::NotFinite { .. }), "{error:?}");
    }
    let few = Params { max_iterations: 2, ..params(1e-9) };
    match solver.solve(&mut p, &case.rhs, &few).unwrap_err() {
        SolveError::MaxIterations { history } => assert_eq!(history.len(), 3),
        error => panic!("{error:?}"),
    }
    match solver.solve(&mut p, &case.rhs, &params(1e-30)).unwrap_err() {
        SolveError::Stagnation { history } => assert!(history.iter().any(|&r| r < 1e-10)),
        error => panic!("{error:?}"),
    }
    // After all that the solver still works.
    assert!(solver.solve(&mut p, &case.rhs, &params(1e-6)).is_ok());
    let mut broken = Case::new("tank", 24).expect("a case");
    broken.phi_cell[24 * 24 * 3 + 5] = f32::NAN;
    solver.prepare(&broken.problem());
    let error = solver.solve(&mut p, &case.rhs, &params(1e-6)).unwrap_err();
    assert!(matches!(error, SolveError::NotFinite { .. }), "{error:?}");
}

#[test]
fn an_absolute_tolerance_is_enough() {
    let case = Case::new("tank", 24).expect("a case");
    let mut solver = MultigridCg::new(case.cells);
    solver.prepare(&case.problem());
    let mut p = vec![0.0; case.rhs.len()];
    let loose = Params { absolute_tolerance: 1e9, ..params(1e-9) };
    assert_eq!(solver.solve(&mut p, &case.rhs, &loose).expect("a solution").iterations, 0);
}
