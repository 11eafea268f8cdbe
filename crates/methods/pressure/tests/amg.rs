//! Algebraic multigrid against direct solves, on irregular operators, and its promises: symmetry, mesh
//! independence, reuse.

use crate::graded::{Interface, Mesh, flux};
use fluvial_foundation::parallel;
use fluvial_foundation::random::unit_f32;
use fluvial_linear::amg::{Amg, AmgParams, PatternChanged, Smoother};
use fluvial_linear::krylov::{
    BicgstabScratch, CgScratch, LinearOperator, Preconditioner, bicgstab, conjugate_gradients, dot,
};
use fluvial_linear::sparse::FluxMatrix;
use fluvial_pressure::cases::Case;
use fluvial_pressure::{AmgCg, Info, Params, PressureSolver, SolveError};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SMOOTHERS: [Smoother; 2] = [Smoother::GaussSeidel, Smoother::Spai0];

fn params(relative_tolerance: f64) -> Params {
    Params { relative_tolerance, max_iterations: 200, ..Params::DEFAULT }
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

/// Gaussian elimination in f64; every sealed component gets its mean added to its rows, which fixes the
/// constant.
fn dense_solve(a: &FluxMatrix<f32>, component: &[usize], sealed: &[bool], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut b = b.to_vec();
    let mut m = vec![vec![0.0; n]; n];
    for row in 0..n {
        let (column, value) = a.off_diagonal().row(row);
        column.iter().zip(value).for_each(|(&c, &v)| m[row][c as usize] = v as f64);
        m[row][row] = a.excess()[row] - value.iter().map(|&v| v as f64).sum::<f64>();
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
    let mut excess: Vec<f64> = (0..n)
        .map(|k| if unit(k, 7) < outlets { 10f64.powf((decades * (unit(k, 8) - 0.5)) as f64) } else { 0.0 })
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

/// A solve may stagnate, and say so, only where f64 knows the residual no better: its terms are rounded, and
/// weak outlets make them far larger than the right side.
fn check_end(
    a: &FluxMatrix<f32>,
    x: &[f64],
    b: &[f64],
    info: Result<Info, SolveError>,
) -> Result<(), TestCaseError> {
    let terms = (0..b.len()).map(|row| {
        let (column, value) = a.off_diagonal().row(row);
        let flux = |(&c, &v): (&u32, &f32)| (v as f64).abs() * (x[c as usize].abs() + x[row].abs());
        column.iter().zip(value).map(flux).sum::<f64>() + a.excess()[row] * x[row].abs()
    });
    let size = terms.map(|t| t * t).sum::<f64>().sqrt() / b.iter().map(|b| b * b).sum::<f64>().sqrt();
    match info {
        Ok(_) => Ok(()),
        Err(SolveError::Stagnation { history }) if history.last() <= Some(&(f64::EPSILON * size)) => Ok(()),
        Err(e) => Err(TestCaseError::fail(format!("{e}, rounding {:.2e}: {e:?}", f64::EPSILON * size))),
    }
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
        check_end(&a, &x, &b, info)?;
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

/// [`Mesh`] with open walls.
fn graded(n: usize, linear: bool, partial: f32) -> (FluxMatrix<f32>, Vec<[f64; 3]>) {
    Mesh::build(n, if linear { Interface::Linear } else { Interface::Symmetric }, partial, 1.0)
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
fn a_sealed_graded_mesh_that_conserves_is_solved_without_drift() {
    for open in [0.0, 1e-5] {
        let counts = [8, 16, 24].map(|n| {
            let (a, _) = Mesh::build(n, Interface::Conservative, 0.0, open);
            assert_eq!(a.sealed_components(), (open == 0.0) as usize);
            let rows = LinearOperator::rows(&a);
            let b: Vec<f64> = (0..rows).map(|k| unit_f32(k as u64, 3) as f64 - 0.4).collect();
            let mut amg = Amg::new(&a, AmgParams::default());
            let (x, info) = solve_bi(&a, &mut amg, &b, 1e-8);
            let info = info.unwrap_or_else(|e| panic!("open {open} n {n}: {e} {e:?}"));
            if open == 0.0 {
                let largest = x.iter().fold(0.0f64, |m, v| m.max(v.abs()));
                assert!((x.iter().sum::<f64>() / rows as f64).abs() < 1e-12 * largest);
            }
            info.iterations
        });
        assert!(counts.iter().all(|&c| c <= 12) && counts[2] <= counts[1] + 2, "open {open}: {counts:?}");
    }
}

#[test]
fn a_linear_field_on_the_graded_mesh_is_found_where_the_operator_knows_it() {
    // p = x away from the change of size: the flux through every section is the same, so a pressure drop
    // along x splits as the resistances do, and values do not depend on y and z.
    let (a, center) = graded(8, false, 0.0);
    let rows = center.len();
    let mut b = vec![0.0; rows];
    for row in 0..rows {
        // Dirichlet value 1 at x = 1.
        if center[row][0] > 1.0 - 0.5 / 8.0 {
            b[row] = a.excess()[row];
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

#[test]
fn one_and_three_threads_give_the_same_bits() {
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
    // A grid of unit links with single cells behind faces of 1e-6, outlets of 1e3 at one wall, and many
    // unknowns without any neighbour.
    let n = 20usize;
    let bulk = n * n * n;
    let rows = bulk + 2 * n * n;
    let mut entries = BTreeMap::new();
    let mut excess = vec![0.0f64; rows];
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
            excess[row] = 10f64.powf(3.0 * unit_f32(row as u64, 1) as f64);
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
}
