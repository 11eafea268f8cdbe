//! Algebraic multigrid against direct solves, on irregular operators, and its promises: symmetry, mesh independence, reuse.

use fluvial_foundation::parallel;
use fluvial_foundation::random::unit_f32;
use fluvial_pressure::amg::{Amg, AmgParams, PatternChanged, Smoother};
use fluvial_pressure::cases::Case;
use fluvial_pressure::krylov::{
    BicgstabScratch, CgScratch, LinearOperator, Preconditioner, bicgstab, conjugate_gradients, dot,
};
use fluvial_pressure::sparse::{Csr, FluxMatrix};
use fluvial_pressure::{AmgCg, Info, MultigridCg, Params, PressureSolver, SolveError};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SMOOTHERS: [Smoother; 2] = [Smoother::GaussSeidel, Smoother::Spai0];

fn params(relative_tolerance: f64) -> Params {
    Params { relative_tolerance, max_iterations: 200, ..Params::DEFAULT }
}

/// A matrix from `(row, column) -> entry` and row sums.
fn flux(rows: usize, entries: &BTreeMap<(u32, u32), f64>, excess: Vec<f32>) -> FluxMatrix<f32> {
    let mut start = vec![0u32; rows + 1];
    entries.keys().for_each(|k| start[k.0 as usize + 1] += 1);
    (0..rows).for_each(|n| start[n + 1] += start[n]);
    let column = entries.keys().map(|k| k.1).collect();
    FluxMatrix::new(Csr::new(rows, start, column, entries.values().map(|&v| v as f32).collect()), excess)
}

fn solve(
    a: &FluxMatrix<f32>,
    amg: &mut Amg,
    b: &[f64],
    tolerance: f64,
) -> (Vec<f64>, Result<Info, SolveError>) {
    let mut x = vec![0.0; b.len()];
    let scratch = &mut CgScratch::<f32>::default();
    let info = conjugate_gradients(&mut x, a, &mut amg.on(a), b, &params(tolerance), scratch);
    (x, info)
}

fn solve_bi(
    a: &FluxMatrix<f32>,
    amg: &mut Amg,
    b: &[f64],
    tolerance: f64,
) -> (Vec<f64>, Result<Info, SolveError>) {
    let mut x = vec![0.0; b.len()];
    let scratch = &mut BicgstabScratch::<f32>::default();
    let info = bicgstab(&mut x, a, &mut amg.on(a), b, &params(tolerance), scratch);
    (x, info)
}

/// Gaussian elimination in f64; every sealed component gets its mean added to its rows, which fixes the constant.
fn dense_solve(a: &FluxMatrix<f32>, component: &[usize], sealed: &[bool], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut b = b.to_vec();
    let mut m = vec![vec![0.0; n]; n];
    for row in 0..n {
        let (column, value) = a.off_diagonal().row(row);
        column.iter().zip(value).for_each(|(&c, &v)| m[row][c as usize] = v as f64);
        m[row][row] = a.excess()[row] as f64 - value.iter().map(|&v| v as f64).sum::<f64>();
        for c in 0..n {
            if component[c] == component[row] && sealed[component[row]] {
                m[row][c] += 1.0;
            }
        }
    }
    for id in (0..sealed.len()).filter(|&id| sealed[id]) {
        let members: Vec<usize> = (0..n).filter(|&r| component[r] == id).collect();
        let mean = members.iter().map(|&r| b[r]).sum::<f64>() / members.len() as f64;
        members.iter().for_each(|&r| b[r] -= mean);
    }
    for c in 0..n {
        let pivot = (c..n).max_by(|&x, &y| m[x][c].abs().total_cmp(&m[y][c].abs())).unwrap();
        m.swap(c, pivot);
        b.swap(c, pivot);
        for r in c + 1..n {
            let f = m[r][c] / m[c][c];
            if f != 0.0 {
                for k in c..n {
                    m[r][k] -= f * m[c][k];
                }
                b[r] -= f * b[c];
            }
        }
    }
    for c in (0..n).rev() {
        b[c] = (b[c] - (c + 1..n).map(|k| m[c][k] * b[k]).sum::<f64>()) / m[c][c];
    }
    b
}

/// A random graph with coefficients over six decades; `skew` makes the two directions of a link differ.
fn random_matrix(
    n: usize,
    seed: u64,
    links: f32,
    outlets: f32,
    decades: f32,
    skew: f64,
) -> (FluxMatrix<f32>, Vec<usize>, Vec<bool>) {
    let unit = |k: usize, s: u64| unit_f32(seed ^ s, k as u64);
    let mut entries = BTreeMap::new();
    let mut component: Vec<usize> = (0..n).collect();
    for link in 0..(n as f32 * links) as usize {
        let i = (unit(link, 1) * n as f32) as usize % n;
        let j = (i + 1 + (unit(link, 2) * unit(link, 3) * n as f32) as usize) % n;
        if i == j {
            continue;
        }
        let c = 10f64.powf((decades * (unit(link, 4) - 0.5)) as f64);
        *entries.entry((i as u32, j as u32)).or_insert(0.0) -=
            c * (1.0 + skew * (unit(link, 5) as f64 - 0.5));
        *entries.entry((j as u32, i as u32)).or_insert(0.0) -=
            c * (1.0 + skew * (unit(link, 6) as f64 - 0.5));
        let (from, to) = (component[i], component[j]);
        component.iter_mut().filter(|c| **c == from).for_each(|c| *c = to);
    }
    let mut excess: Vec<f32> = (0..n)
        .map(|k| if unit(k, 7) < outlets { 10f32.powf(decades * (unit(k, 8) - 0.5)) } else { 0.0 })
        .collect();
    // An unknown without anything is none.
    let linked: Vec<bool> =
        (0..n as u32).map(|i| entries.range((i, 0)..(i + 1, 0)).next().is_some()).collect();
    for k in (0..n).filter(|&k| !linked[k]) {
        excess[k] = excess[k].max(1.0);
    }
    let sealed = (0..n).map(|id| (0..n).all(|k| component[k] != id || excess[k] == 0.0)).collect();
    (flux(n, &entries, excess), component, sealed)
}

/// The error in the operator's own measure: small coefficients let single values be known less well.
fn check_against_dense(x: &[f64], exact: &[f64], what: &str) -> Result<(), TestCaseError> {
    let scale = exact.iter().fold(1e-30f64, |m, v| m.max(v.abs()));
    for n in 0..x.len() {
        prop_assert!(
            (x[n] - exact[n]).abs() <= 1e-5 * scale,
            "{what} row {n}: {} exact {} of {scale}",
            x[n],
            exact[n]
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_symmetric_matrices_match_a_direct_solve(
        n in 1usize..90,
        seed in any::<u64>(),
        links in 0.3f32..5.0,
        outlets in prop_oneof![Just(0.0f32), 0.0f32..0.5],
        decades in prop_oneof![Just(0.0f32), 0.0f32..6.0],
        smoother in prop_oneof![Just(Smoother::GaussSeidel), Just(Smoother::Spai0)],
    ) {
        let (a, component, sealed) = random_matrix(n, seed, links, outlets, decades, 0.0);
        let found = sealed.iter().enumerate().filter(|(id, s)| **s && component.contains(id)).count();
        prop_assert_eq!(a.sealed_components(), found);
        let b: Vec<f64> = (0..n).map(|k| 2.0 * unit_f32(seed, 1000 + k as u64) as f64 - 1.0).collect();
        let mut amg = Amg::new(&a, AmgParams { smoother, coarsest_rows: 4, ..AmgParams::default() });
        let exact = dense_solve(&a, &component, &sealed, &b);
        let (x, info) = solve(&a, &mut amg, &b, 1e-11);
        if let Err(e) = info {
            return Err(TestCaseError::fail(format!("{e} {e:?}")));
        }
        check_against_dense(&x, &exact, "cg")?;
    }

    #[test]
    fn random_matrices_that_are_not_quite_symmetric_match_a_direct_solve(
        n in 1usize..90,
        seed in any::<u64>(),
        links in 0.3f32..5.0,
        skew in 0.0f64..0.6,
        decades in prop_oneof![Just(0.0f32), 0.0f32..4.0],
    ) {
        // With outlets everywhere: the left null space of a sealed part is not known.
        let (a, component, sealed) = random_matrix(n, seed, links, 1.0, decades, skew);
        let b: Vec<f64> = (0..n).map(|k| 2.0 * unit_f32(seed, 1000 + k as u64) as f64 - 1.0).collect();
        let mut amg = Amg::new(&a, AmgParams { coarsest_rows: 4, ..AmgParams::default() });
        let exact = dense_solve(&a, &component, &sealed, &b);
        let (x, info) = solve_bi(&a, &mut amg, &b, 1e-11);
        if let Err(e) = info {
            return Err(TestCaseError::fail(format!("{e} {e:?}")));
        }
        check_against_dense(&x, &exact, "bicgstab")?;
    }
}

/// A graded mesh of the unit cube: cells of `2 h` where x < 1/2, of `h` beyond, `n` coarse cells along an edge. Faces have
/// the coefficient area over distance of the centres; with `linear` a fine cell sees the coarse value beside it
/// interpolated to its own height from the coarse cell's neighbours, which is not symmetric. Walls of x are open, the
/// others closed; `partial` closes faces to a thousandth at random.
fn graded(n: usize, linear: bool, partial: f32) -> (FluxMatrix<f32>, Vec<[f64; 3]>) {
    let (nx, fine) = (n / 2, 2 * n);
    let coarse_cells = nx * n * n;
    let coarse = |i: usize, j: usize, k: usize| i + nx * (j + n * k);
    let small = |i: usize, j: usize, k: usize| coarse_cells + i + n * (j + fine * k);
    let h = 0.5 / n as f64;
    let rows = coarse_cells + n * fine * fine;
    let mut entries: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    let mut excess = vec![0.0f64; rows];
    let mut face = 0u64;
    let mut area = || {
        face += 1;
        if unit_f32(face, 9) < partial { 1e-3 } else { 1.0 }
    };
    let mut link = |i: usize, j: usize, c: f64| {
        *entries.entry((i as u32, j as u32)).or_insert(0.0) -= c;
    };
    let mut center = vec![[0.0; 3]; rows];
    for k in 0..n {
        for j in 0..n {
            for i in 0..nx {
                let row = coarse(i, j, k);
                center[row] = [i, j, k].map(|v| (2.0 * v as f64 + 1.0) * h);
                let c = 2.0 * h;
                let mut both = |other: usize| {
                    let c = c * area();
                    link(row, other, c);
                    link(other, row, c);
                };
                if i > 0 {
                    both(coarse(i - 1, j, k));
                }
                if j > 0 {
                    both(coarse(i, j - 1, k));
                }
                if k > 0 {
                    both(coarse(i, j, k - 1));
                }
                if i == 0 {
                    excess[row] += 2.0 * c;
                }
            }
        }
    }
    for k in 0..fine {
        for j in 0..fine {
            for i in 0..n {
                let row = small(i, j, k);
                center[row] = [(n + i) as f64, j as f64, k as f64].map(|v| (v + 0.5) * h);
                let mut both = |other: usize| {
                    let c = h * area();
                    link(row, other, c);
                    link(other, row, c);
                };
                if i > 0 {
                    both(small(i - 1, j, k));
                }
                if j > 0 {
                    both(small(i, j - 1, k));
                }
                if k > 0 {
                    both(small(i, j, k - 1));
                }
                if i + 1 == n {
                    excess[row] += 2.0 * h;
                }
                if i > 0 {
                    continue;
                }
                let (cj, ck) = (j / 2, k / 2);
                let beside = coarse(nx - 1, cj, ck);
                let c = h * h / (1.5 * h) * area();
                link(beside, row, c);
                // Weights of the coarse values: a quarter of a coarse cell to either side.
                let near = |v: usize, c: usize| {
                    if v.is_multiple_of(2) { c.checked_sub(1) } else { (c + 1 < n).then_some(c + 1) }
                };
                let mut rest = 1.0;
                if linear {
                    for other in [
                        near(j, cj).map(|cj| coarse(nx - 1, cj, ck)),
                        near(k, ck).map(|ck| coarse(nx - 1, cj, ck)),
                    ]
                    .into_iter()
                    .flatten()
                    {
                        link(row, other, 0.25 * c);
                        rest -= 0.25;
                    }
                }
                link(row, beside, rest * c);
            }
        }
    }
    (flux(rows, &entries, excess.iter().map(|&v| v as f32).collect()), center)
}

#[test]
fn a_graded_mesh_is_solved_in_few_iterations_at_any_size() {
    for linear in [false, true] {
        for partial in [0.0, 0.3] {
            let counts = [8, 16, 24].map(|n| {
                let (a, _) = graded(n, linear, partial);
                let b: Vec<f64> =
                    (0..LinearOperator::rows(&a)).map(|k| unit_f32(k as u64, 3) as f64 - 0.4).collect();
                let mut amg = Amg::new(&a, AmgParams::default());
                let (x, info) =
                    if linear { solve_bi(&a, &mut amg, &b, 1e-8) } else { solve(&a, &mut amg, &b, 1e-8) };
                let info = info.unwrap_or_else(|e| panic!("linear {linear} n {n}: {e} {e:?}"));
                let mut ax = vec![0.0; b.len()];
                a.apply_rows(&mut ax, 0..b.len(), &x);
                let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
                let left = norm(&mut ax.iter().zip(&b).map(|(ax, b)| b - ax)) / norm(&mut b.iter().copied());
                assert!(left <= 1.001e-8, "{left}");
                info.iterations
            });
            let most = if partial > 0.0 { 30 } else { 16 };
            assert!(counts.iter().all(|&c| c <= most), "linear {linear} partial {partial}: {counts:?}");
            assert!(counts[2] <= counts[0] + 4, "linear {linear} partial {partial}: {counts:?}");
        }
    }
}

#[test]
fn a_linear_field_on_the_graded_mesh_is_found_where_the_operator_knows_it() {
    // p = x away from the change of size: the flux through every section is the same, so a pressure drop along x
    // splits as the resistances do, and values do not depend on y and z.
    let (a, center) = graded(8, false, 0.0);
    let rows = center.len();
    let mut b = vec![0.0; rows];
    for row in 0..rows {
        // Dirichlet value 1 at x = 1.
        if center[row][0] > 1.0 - 0.5 / 8.0 {
            b[row] = a.excess()[row] as f64;
        }
    }
    let mut amg = Amg::new(&a, AmgParams::default());
    let (x, info) = solve(&a, &mut amg, &b, 1e-10);
    info.expect("a solution");
    for row in 0..rows {
        let left = center[row][0] < 0.5;
        // Half of the cube is coarse; the interface has 1.5 h between centres as it should.
        let exact = center[row][0];
        assert!((x[row] - exact).abs() < 1e-6, "row {row} left {left}: {} {exact}", x[row]);
    }
}

/// `b . M a` and `a . M b`.
fn cross(a: &FluxMatrix<f32>, amg: &mut Amg, seed: u64) -> ([f64; 2], f64) {
    let rows = LinearOperator::rows(a);
    let random = |s: u64| {
        let mut v: Vec<f32> = (0..rows).map(|k| 2.0 * unit_f32(s, k as u64) - 1.0).collect();
        a.project(&mut v);
        v
    };
    let (u, v) = (random(seed), random(seed + 1));
    let (mut mu, mut mv) = (vec![0.0; rows], vec![0.0; rows]);
    let (uu, vv) = (amg.on(a).apply(&mut mu, &u), amg.on(a).apply(&mut mv, &v));
    assert!(uu > 0.0 && vv > 0.0, "{uu} {vv}");
    ([dot(&v, &mu), dot(&u, &mv)], (uu * vv).sqrt())
}

#[test]
fn the_cycle_is_symmetric_and_positive() {
    for smoother in SMOOTHERS {
        let check = |a: &FluxMatrix<f32>, what: &str| {
            let mut amg = Amg::new(a, AmgParams { smoother, ..AmgParams::default() });
            assert!(amg.levels().count() > 1, "{what}");
            for seed in 0..4 {
                let ([left, right], scale) = cross(a, &mut amg, 10 * seed);
                assert!(
                    (left - right).abs() < 2e-5 * scale,
                    "{smoother:?} {what}: {left} {right} of {scale}"
                );
            }
        };
        for name in ["wavy-tank", "sealed", "sphere-jet-mid", "bubbly", "cut-walls"] {
            let case = Case::new(name, 24).expect("a case");
            let mut solver = AmgCg::default();
            solver.prepare(&case.problem());
            check(solver.system().0, name);
        }
        check(&graded(12, false, 0.0).0, "graded");
        check(&graded(12, false, 0.3).0, "graded with nearly closed faces");
        check(&random_matrix(4000, 3, 3.0, 0.1, 6.0, 0.0).0, "random");
    }
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
    let (a, _) = graded(12, true, 0.2);
    let b: Vec<f64> = (0..LinearOperator::rows(&a)).map(|k| unit_f32(k as u64, 3) as f64 - 0.4).collect();
    let run = || {
        let mut amg = Amg::new(&a, AmgParams::default());
        amg.refresh(&a).expect("the same pattern");
        solve_bi(&a, &mut amg, &b, 1e-8)
    };
    assert!(parallel::with_threads(1, run) == parallel::with_threads(3, run));
}

#[test]
fn a_refresh_gives_the_bits_of_a_new_set_up() {
    for linear in [false, true] {
        let (a, _) = graded(12, linear, 0.1);
        let (other, _) = graded(12, linear, 0.4);
        let b: Vec<f64> = (0..LinearOperator::rows(&a)).map(|k| unit_f32(k as u64, 3) as f64 - 0.4).collect();
        let mut fresh = Amg::new(&a, AmgParams::default());
        let expected = solve_bi(&a, &mut fresh, &b, 1e-8);
        let mut reused = Amg::new(&a, AmgParams::default());
        // Over other values and back, and over the same values.
        for values in [&other, &a, &a] {
            reused.refresh(values).expect("the same pattern");
            let (_, info) = solve_bi(values, &mut reused, &b, 1e-6);
            assert!(info.is_ok(), "{info:?}");
        }
        assert!(solve_bi(&a, &mut reused, &b, 1e-8) == expected, "linear {linear}");
        assert_eq!(reused.refresh(&graded(8, linear, 0.1).0), Err(PatternChanged));
    }
    // Same unknowns, other connections.
    let (a, _, _) = random_matrix(500, 1, 3.0, 0.2, 0.0, 0.0);
    let (c, _, _) = random_matrix(500, 2, 3.0, 0.2, 0.0, 0.0);
    assert_eq!(Amg::new(&a, AmgParams::default()).refresh(&c), Err(PatternChanged));
}

#[test]
fn isolated_unknowns_and_strong_contrasts_do_no_harm() {
    // A grid of unit links with single cells behind faces of 1e-6, outlets of 1e3 at one wall, and many unknowns
    // without any neighbour.
    let n = 20usize;
    let bulk = n * n * n;
    let rows = bulk + 2 * n * n;
    let mut entries = BTreeMap::new();
    let mut excess = vec![0.0f32; rows];
    let mut link = |i: usize, j: usize, c: f64| {
        entries.insert((i as u32, j as u32), -c);
        entries.insert((j as u32, i as u32), -c);
    };
    for row in 0..bulk {
        let at = [row % n, row / n % n, row / (n * n)];
        for (axis, step) in [1, n, n * n].into_iter().enumerate() {
            if at[axis] > 0 {
                link(row, row - step, 1.0);
            }
        }
        if at[2] == 0 {
            excess[row] = 10f32.powf(3.0 * unit_f32(row as u64, 1));
        }
    }
    for m in 0..n * n {
        link(bulk + m, bulk - 1 - m * 7, 1e-6);
        excess[bulk + n * n + m] = 0.5;
    }
    let a = flux(rows, &entries, excess);
    let b: Vec<f64> = (0..rows).map(|k| unit_f32(k as u64, 3) as f64 - 0.5).collect();
    for smoother in SMOOTHERS {
        let mut amg = Amg::new(&a, AmgParams { smoother, ..AmgParams::default() });
        let (x, info) = solve(&a, &mut amg, &b, 1e-8);
        let info = info.unwrap_or_else(|e| panic!("{smoother:?}: {e} {e:?}"));
        assert!(info.iterations <= 30, "{smoother:?}: {:?}", info.history);
        for m in 0..n * n {
            let alone = bulk + n * n + m;
            assert!((x[alone] - 2.0 * b[alone]).abs() < 1e-5, "{smoother:?}");
        }
    }
    // Only isolated unknowns: nothing to coarsen.
    let alone = flux(1000, &BTreeMap::new(), vec![3.0; 1000]);
    let mut amg = Amg::new(&alone, AmgParams::default());
    let (x, info) = solve(&alone, &mut amg, &vec![6.0; 1000], 1e-10);
    info.expect("a solution");
    assert!(x.iter().all(|v| (v - 2.0).abs() < 1e-9));
    // Nothing at all.
    let nothing = flux(0, &BTreeMap::new(), Vec::new());
    let mut amg = Amg::new(&nothing, AmgParams::default());
    solve(&nothing, &mut amg, &[], 1e-10).1.expect("nothing to do");
}

#[test]
fn f64_vectors_and_failures_pass_through_the_same_cycle() {
    let (a, _) = graded(12, false, 0.0);
    let rows = LinearOperator::rows(&a);
    let mut amg = Amg::new(&a, AmgParams::default());
    // Far outside the range of f32.
    let b: Vec<f64> = (0..rows).map(|k| 1e-60 * (unit_f32(k as u64, 3) as f64 - 0.4)).collect();
    let mut x = vec![0.0; rows];
    let mut scratch = CgScratch::<f64>::default();
    let info = conjugate_gradients(&mut x, &a, &mut amg.on(&a), &b, &params(1e-10), &mut scratch);
    let info = info.expect("a solution");
    assert!(info.iterations <= 20, "{info:?}");
    let mut bad = b.clone();
    bad[5] = f64::NAN;
    let error = conjugate_gradients(&mut x, &a, &mut amg.on(&a), &bad, &params(1e-10), &mut scratch);
    assert!(matches!(error, Err(SolveError::NotFinite { .. })), "{error:?}");
    let mut broken = Case::new("tank", 24).expect("a case");
    broken.phi_cell[24 * 24 * 3 + 5] = f32::NAN;
    let mut solver = AmgCg::default();
    solver.prepare(&broken.problem());
    let mut p = vec![0.0; broken.rhs.len()];
    let error = solver.solve(&mut p, &broken.rhs, &params(1e-6)).unwrap_err();
    assert!(matches!(error, SolveError::NotFinite { .. }), "{error:?}");
}
