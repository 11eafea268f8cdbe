//! The solver against a dense direct solve on small random domains.

use fluvial_grids::ghost_theta;
use fluvial_linear::amg::AmgParams;
use fluvial_pressure::{AmgCg, FullCycles, MultigridCg, Params, PoissonProblem, PressureSolver};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// A random problem: phi and areas from the bytes of a seed.
#[derive(Clone, Debug)]
struct Domain {
    cells: [usize; 3],
    phi: Vec<f32>,
    area: [Vec<f32>; 3],
    rhs: Vec<f32>,
    start: Vec<f32>,
}

fn faces(cells: [usize; 3], axis: usize) -> usize {
    (0..3).map(|a| cells[a] + (a == axis) as usize).product()
}

impl Domain {
    fn problem(&self) -> PoissonProblem<'_> {
        PoissonProblem {
            cells: self.cells,
            phi_cell: &self.phi,
            open_area: [&self.area[0], &self.area[1], &self.area[2]],
        }
    }

    /// Closes all faces of a share of the cells.
    fn close_cells(&mut self, seed: u64, share: f32) {
        let [nx, ny, _] = self.cells;
        for n in (0..self.phi.len()).filter(|&n| unit(seed, n) < share) {
            for face in 0..6 {
                let (axis, high) = (face / 2, face % 2);
                let mut size = self.cells;
                size[axis] += 1;
                let mut at = [n % nx, n / nx % ny, n / (nx * ny)];
                at[axis] += high;
                self.area[axis][at[0] + size[0] * (at[1] + size[1] * at[2])] = 0.0;
            }
        }
    }

    /// Area and neighbour (None: outside the box) of the six faces of a cell.
    fn around(&self, n: usize) -> [(f32, Option<usize>); 6] {
        let [nx, ny, nz] = self.cells;
        let c = [n % nx, n / nx % ny, n / (nx * ny)];
        let step = [1, nx, nx * ny];
        std::array::from_fn(|f| {
            let (axis, high) = (f / 2, f % 2);
            let mut size = [nx, ny, nz];
            size[axis] += 1;
            let mut at = c;
            at[axis] += high;
            let area = self.area[axis][at[0] + size[0] * (at[1] + size[1] * at[2])];
            let inside = if high == 1 { c[axis] + 1 < self.cells[axis] } else { c[axis] > 0 };
            (area, inside.then(|| if high == 1 { n + step[axis] } else { n - step[axis] }))
        })
    }

    fn is_unknown(&self, n: usize) -> bool {
        self.phi[n] < 0.0 && self.around(n).iter().any(|f| f.0 > 0.0)
    }

    /// Rows of the matrix over all cells; identity where there is no unknown.
    fn matrix(&self) -> Vec<Vec<f64>> {
        let cells = self.phi.len();
        let mut a = vec![vec![0.0; cells]; cells];
        for n in 0..cells {
            if !self.is_unknown(n) {
                a[n][n] = 1.0;
                continue;
            }
            for (area, beyond) in self.around(n) {
                match beyond {
                    _ if area <= 0.0 => {}
                    Some(m) if self.phi[m] < 0.0 => {
                        a[n][n] += area as f64;
                        a[n][m] -= area as f64;
                    }
                    Some(m) => a[n][n] += area as f64 / ghost_theta(self.phi[n], self.phi[m]).0 as f64,
                    None => a[n][n] += area as f64,
                }
            }
        }
        a
    }

    /// Component number of every unknown, and whether each component is sealed.
    fn components(&self) -> (Vec<usize>, Vec<bool>) {
        let mut label = vec![usize::MAX; self.phi.len()];
        let mut sealed = Vec::new();
        for start in 0..self.phi.len() {
            if !self.is_unknown(start) || label[start] != usize::MAX {
                continue;
            }
            let id = sealed.len();
            sealed.push(true);
            let mut stack = vec![start];
            label[start] = id;
            while let Some(n) = stack.pop() {
                for (area, beyond) in self.around(n) {
                    match beyond {
                        _ if area <= 0.0 => {}
                        Some(m) if self.phi[m] < 0.0 => {
                            if label[m] == usize::MAX {
                                label[m] = id;
                                stack.push(m);
                            }
                        }
                        _ => sealed[id] = false,
                    }
                }
            }
        }
        (label, sealed)
    }
}

fn without_means(v: &mut [f64], label: &[usize], sealed: &[bool]) {
    for id in (0..sealed.len()).filter(|&id| sealed[id]) {
        let members: Vec<usize> = (0..v.len()).filter(|&n| label[n] == id).collect();
        let mean = members.iter().map(|&n| v[n]).sum::<f64>() / members.len() as f64;
        members.iter().for_each(|&n| v[n] -= mean);
    }
}

/// Gaussian elimination; a sealed component gets the mean equation in addition, which fixes its constant.
fn dense_solve(d: &Domain) -> Vec<f64> {
    let (label, sealed) = d.components();
    let mut a = d.matrix();
    let mut b: Vec<f64> =
        (0..d.phi.len()).map(|n| if d.is_unknown(n) { d.rhs[n] as f64 } else { 0.0 }).collect();
    without_means(&mut b, &label, &sealed);
    for n in 0..a.len() {
        for m in 0..a.len() {
            if label[n] != usize::MAX && label[n] == label[m] && sealed[label[n]] {
                a[n][m] += 1.0;
            }
        }
    }
    let size = a.len();
    for c in 0..size {
        let pivot = (c..size).max_by(|&x, &y| a[x][c].abs().total_cmp(&a[y][c].abs())).unwrap();
        a.swap(c, pivot);
        b.swap(c, pivot);
        for r in c + 1..size {
            let f = a[r][c] / a[c][c];
            if f != 0.0 {
                for k in c..size {
                    a[r][k] -= f * a[c][k];
                }
                b[r] -= f * b[c];
            }
        }
    }
    for c in (0..size).rev() {
        b[c] = (b[c] - (c + 1..size).map(|k| a[c][k] * b[k]).sum::<f64>()) / a[c][c];
    }
    b
}

fn unit(seed: u64, n: usize) -> f32 {
    fluvial_foundation::random::unit_f32(seed, n as u64)
}

fn random_domain(
    cells: [usize; 3],
    seed: u64,
    air: f32,
    closed: f32,
    partial: f32,
    walls: [bool; 6],
) -> Domain {
    let count = cells.iter().product();
    let phi = (0..count).map(|n| unit(seed, n) - air).collect();
    let area = std::array::from_fn(|axis| {
        let mut size = cells;
        size[axis] += 1;
        (0..faces(cells, axis))
            .map(|n| {
                let at = [n % size[0], n / size[0] % size[1], n / (size[0] * size[1])][axis];
                let draw = unit(seed ^ (77 + axis as u64), n);
                if at == 0 || at == cells[axis] {
                    return if walls[2 * axis + (at > 0) as usize] { 1.0 } else { 0.0 };
                }
                if draw < closed {
                    0.0
                } else if draw < closed + partial {
                    unit(seed ^ (99 + axis as u64), n).max(1e-3)
                } else {
                    1.0
                }
            })
            .collect()
    });
    Domain {
        cells,
        phi,
        area,
        rhs: (0..count).map(|n| 2.0 * unit(seed ^ 5, n) - 1.0).collect(),
        start: (0..count).map(|n| 4.0 * unit(seed ^ 6, n) - 2.0).collect(),
    }
}

/// What the domains held, and how often cycles alone gave up.
#[derive(Debug, Default)]
struct Seen {
    domains: usize,
    air: usize,
    solid_cells: usize,
    cut_faces: usize,
    sealed_pockets: usize,
    single_cells: usize,
    disconnected: usize,
    open_walls: usize,
    refusals: usize,
}

impl Seen {
    fn add(&mut self, d: &Domain) {
        let (label, sealed) = d.components();
        let cells = |id: usize| label.iter().filter(|&&l| l == id).count();
        let inside = |v: &[f32]| v.iter().any(|&a| a > 0.0 && a < 1.0);
        let closed = |n: usize| d.phi[n] < 0.0 && !d.is_unknown(n);
        let wall = |n: usize| d.is_unknown(n) && d.around(n).iter().any(|f| f.0 > 0.0 && f.1.is_none());
        self.domains += 1;
        self.air += d.phi.iter().any(|&p| p >= 0.0) as usize;
        self.solid_cells += (0..d.phi.len()).any(closed) as usize;
        self.cut_faces += d.area.iter().any(|a| inside(a)) as usize;
        self.sealed_pockets += sealed.contains(&true) as usize;
        self.single_cells += (0..sealed.len()).any(|id| cells(id) == 1) as usize;
        self.disconnected += (sealed.len() > 1) as usize;
        self.open_walls += (0..d.phi.len()).any(wall) as usize;
    }
}

fn check(d: &Domain, solver: &mut dyn PressureSolver, seen: &mut Seen) -> Result<(), TestCaseError> {
    let (label, sealed) = d.components();
    let found = solver.prepare(&d.problem());
    prop_assert_eq!(found.unknowns, label.iter().filter(|&&l| l != usize::MAX).count());
    prop_assert_eq!(found.components, sealed.len());
    prop_assert_eq!(found.sealed_components, sealed.iter().filter(|&&s| s).count());
    let mut p = d.start.clone();
    let params = Params { relative_tolerance: 1e-9, max_iterations: 200, ..Params::DEFAULT };
    let info = match solver.solve(&mut p, &d.rhs, &params) {
        Ok(info) => info,
        Err(error) if solver.name() == "multigrid" => {
            // Cycles alone may give up, and must say so with a history that shows it.
            prop_assert!(error.history().iter().all(|&r| r > 1e-9), "{}", error);
            seen.refusals += 1;
            return Ok(());
        }
        Err(error) => return Err(TestCaseError::fail(format!("{error} {error:?}"))),
    };
    prop_assert!(info.relative_residual <= 1e-9);
    let exact = dense_solve(d);
    let mut p64 = vec![0.0; p.len()];
    solver.solution_f64(&mut p64);
    let scale = exact.iter().fold(1e-30f64, |s, v| s.max(v.abs()));
    for n in 0..p.len() {
        prop_assert!((p64[n] - exact[n]).abs() <= 2e-6 * scale, "cell {n}: {} exact {}", p64[n], exact[n]);
        prop_assert_eq!(p[n], p64[n] as f32);
        prop_assert!(label[n] != usize::MAX || p[n] == 0.0);
    }
    Ok(())
}

/// 200 pairs of random domains for one solver; returns what they held.
fn check_random_domains(build: fn([usize; 3]) -> Box<dyn PressureSolver>) -> Seen {
    let config = ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() };
    let domains = (
        (1usize..8, 1usize..8, 1usize..8),
        (any::<u64>(), any::<u64>()),
        0.2f32..1.2,
        prop_oneof![Just(0.0f32), 0.0f32..0.9],
        prop_oneof![Just(0.0f32), 0.0f32..0.5],
        prop_oneof![Just(0.0f32), 0.0f32..0.4],
        (any::<bool>(), any::<[bool; 6]>()),
    );
    let seen = std::cell::RefCell::new(Seen::default());
    let result =
        TestRunner::new(config).run(&domains, |(size, seeds, air, closed, partial, solid, (open, walls))| {
            let (cells, walls) = ([size.0, size.1, size.2], walls.map(|w| w && open));
            // Two different problems in a row: nothing of the first may be left in the second.
            let mut solver = build(cells);
            for (seed, air) in [(seeds.0, air), (seeds.1, 1.4 - air)] {
                let mut domain = random_domain(cells, seed, air, closed, partial, walls);
                domain.close_cells(seed ^ 11, solid);
                seen.borrow_mut().add(&domain);
                check(&domain, solver.as_mut(), &mut seen.borrow_mut())?;
            }
            Ok(())
        });
    if let Err(error) = result {
        panic!("{error}");
    }
    seen.into_inner()
}

/// The domains must hold what they are meant to try.
fn assert_covered(seen: &Seen) {
    assert!(seen.domains >= 400, "{seen:?}");
    let held = [
        seen.air,
        seen.solid_cells,
        seen.cut_faces,
        seen.sealed_pockets,
        seen.single_cells,
        seen.disconnected,
        seen.open_walls,
    ];
    assert!(held.iter().all(|&h| h >= 40), "{seen:?}");
}

#[test]
fn random_domains_match_a_dense_direct_solve() {
    let seen = check_random_domains(|cells| Box::new(MultigridCg::new(cells)));
    assert_covered(&seen);
}

#[test]
fn full_cycles_match_it_too_or_say_that_they_do_not_converge() {
    let seen = check_random_domains(|cells| Box::new(FullCycles::new(cells)));
    assert_covered(&seen);
    assert!(10 * seen.refusals <= seen.domains, "{seen:?}");
    println!("{seen:?}");
}

#[test]
fn algebraic_multigrid_matches_it_too() {
    // Down to four unknowns: small domains have levels too.
    let build = |_| -> Box<dyn PressureSolver> {
        Box::new(AmgCg::new(AmgParams { coarsest_rows: 4, ..AmgParams::default() }))
    };
    let seen = check_random_domains(build);
    assert_covered(&seen);
    assert_eq!(seen.refusals, 0, "{seen:?}");
}
