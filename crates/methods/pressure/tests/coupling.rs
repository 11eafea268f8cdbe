//! Terms of low rank beside the stencil.

use fluvial_foundation::random::splitmix64;
use fluvial_grids::ghost_theta;
use fluvial_linear::{Block, LowRank, RANK, weigh};
use fluvial_pressure::{MultigridCg, Params, PoissonProblem};

const N: usize = 16;

fn unit(seed: u64) -> f32 {
    (splitmix64(seed) >> 40) as f32 / (1u64 << 24) as f32
}

/// Water up to a height in a closed box; the box is full where that is above it.
struct Tank {
    phi: Vec<f32>,
    area: [Vec<f32>; 3],
}

impl Tank {
    fn new(height: f32) -> Tank {
        let phi = (0..N * N * N).map(|n| (n / N % N) as f32 + 0.5 - height).collect();
        let area = std::array::from_fn(|axis| {
            let size: [usize; 3] = std::array::from_fn(|a| N + (a == axis) as usize);
            let along = |n: usize| [n % size[0], n / size[0] % size[1], n / (size[0] * size[1])][axis];
            let is_inner = |n: usize| along(n) > 0 && along(n) < N;
            (0..size.iter().product()).map(|n| is_inner(n) as u8 as f32).collect()
        });
        Tank { phi, area }
    }

    fn problem(&self) -> PoissonProblem<'_> {
        let open_area = [&self.area[0][..], &self.area[1], &self.area[2]];
        PoissonProblem { cells: [N; 3], phi_cell: &self.phi, open_area }
    }

    /// `A p + sum G K G^T p`.
    fn apply(&self, p: &[f32], term: &LowRank) -> Vec<f64> {
        let is_unknown = |n: usize| self.phi[n] < 0.0;
        let mut out = vec![0.0f64; p.len()];
        for n in (0..p.len()).filter(|&n| is_unknown(n)) {
            let at = [n % N, n / N % N, n / (N * N)];
            for (axis, step) in [1, N, N * N].into_iter().enumerate() {
                let low = (at[axis] > 0).then(|| n - step);
                let high = (at[axis] + 1 < N).then(|| n + step);
                for other in [low, high].into_iter().flatten() {
                    out[n] += if is_unknown(other) {
                        f64::from(p[n]) - f64::from(p[other])
                    } else {
                        f64::from(p[n]) / f64::from(ghost_theta(self.phi[n], self.phi[other]).0)
                    };
                }
            }
        }
        for block in &term.blocks {
            let y = weigh(&block.weight, &block.gather(p));
            for (&row, values) in block.rows.iter().zip(&block.values) {
                if is_unknown(row as usize) {
                    out[row as usize] += (0..RANK).map(|c| f64::from(values[c]) * y[c]).sum::<f64>();
                }
            }
        }
        out
    }
}

/// Two blocks of some cells each, one of them partly in air, of very different weight.
fn term(strength: [f64; 2], is_balanced: bool) -> LowRank {
    let block = |seed: u64, from: usize, strength: f64| {
        let rows: Vec<u32> = (0..40).map(|n| (from + 37 * n) as u32).collect();
        let mut values: Vec<[f32; RANK]> =
            (0..40u64).map(|n| std::array::from_fn(|c| unit(seed + 1000 * n + c as u64) - 0.5)).collect();
        if is_balanced {
            for c in 0..RANK {
                let mean = values.iter().map(|v| v[c]).sum::<f32>() / 40.0;
                values.iter_mut().for_each(|v| v[c] -= mean);
            }
        }
        let weight = std::array::from_fn(|r| std::array::from_fn(|c| if r == c { strength } else { 0.0 }));
        Block { rows, values, weight }
    };
    LowRank { blocks: vec![block(7, 600, strength[0]), block(90, 2000, strength[1])] }
}

fn residual(tank: &Tank, p: &[f32], rhs: &[f32], term: &LowRank) -> f64 {
    let applied = tank.apply(p, term);
    let norm = |v: &dyn Fn(usize) -> f64| (0..rhs.len()).map(|n| v(n) * v(n)).sum::<f64>().sqrt();
    norm(&|n| f64::from(rhs[n]) - applied[n]) / norm(&|n| f64::from(rhs[n]))
}

#[test]
fn a_coupled_solution_solves_the_whole_operator() {
    let tank = Tank::new(9.7);
    let mut solver = MultigridCg::new([N; 3]);
    let params = Params { relative_tolerance: 1e-6, ..Params::DEFAULT };
    // The weight is the mass of a cell of water over that of the body: 800 for density 0.01 and half a cell across.
    for strength in [[0.01, 0.1], [1.0, 100.0], [1e3, 0.0]] {
        let coupled = term(strength, false);
        // Rows in air are dropped: their pressure is zero anyway.
        let rhs: Vec<f32> =
            (0..N * N * N).map(|n| if tank.phi[n] < 0.0 { unit(n as u64) - 0.5 } else { 0.0 }).collect();
        let mut p = vec![0.0; rhs.len()];
        solver.prepare(&tank.problem());
        let alone = solver.solve(&mut p, &rhs, &params).unwrap().iterations;
        let uncoupled = residual(&tank, &p, &rhs, &coupled);
        let info = solver.solve_coupled(&mut p, &rhs, &coupled, &params).unwrap();
        let found = residual(&tank, &p, &rhs, &coupled);
        // A solution that is rounded to f32 leaves the more, the heavier the term.
        let bar = 2e-6 + 2e-9 * strength[0].max(strength[1]);
        assert!(found < bar && uncoupled > 1e-3, "{strength:?}: {found:e} {uncoupled:e}");
        assert!(info.iterations <= alone + 24, "{strength:?}: {} {alone}", info.iterations);
    }
}

/// In a full box pressure is known up to a constant; a term that a constant does not excite leaves it so, and one that
/// it does excite is taken without that part.
#[test]
fn a_sealed_tank_is_solved_too() {
    let tank = Tank::new(100.0);
    let mut solver = MultigridCg::new([N; 3]);
    let params = Params { relative_tolerance: 1e-6, ..Params::DEFAULT };
    let mut rhs: Vec<f32> = (0..N * N * N).map(|n| unit(n as u64) - 0.5).collect();
    let mean = rhs.iter().map(|v| f64::from(*v)).sum::<f64>() / rhs.len() as f64;
    rhs.iter_mut().for_each(|v| *v -= mean as f32);
    solver.prepare(&tank.problem());
    let mut p = vec![0.0; rhs.len()];
    let balanced = term([5.0, 50.0], true);
    solver.solve_coupled(&mut p, &rhs, &balanced, &params).unwrap();
    assert!(residual(&tank, &p, &rhs, &balanced) < 5e-6, "{}", residual(&tank, &p, &rhs, &balanced));
    solver.solve_coupled(&mut p, &rhs, &term([5.0, 50.0], false), &params).unwrap();
}

/// Cubes of three cells with one cell of water between them, eight of them, of a hundredth of the water's density: they move each
/// other through films. The term's eigenvalues are far apart, and the preconditioner knows them.
#[test]
fn light_cubes_close_to_each_other_take_few_iterations() {
    let mut tank = Tank::new(13.4);
    let lows: Vec<[usize; 3]> = (0..8).map(|n| [0, 1, 2].map(|a| 3 + 4 * (n >> a & 1))).collect();
    let mut blocks = vec![];
    for low in &lows {
        let mut values = std::collections::BTreeMap::<u32, [f32; RANK]>::new();
        let is_inside = |at: [usize; 3]| (0..3).all(|a| (low[a]..low[a] + 3).contains(&at[a]));
        for axis in 0..3 {
            let size: [usize; 3] = std::array::from_fn(|a| N + (a == axis) as usize);
            for n in 0..tank.area[axis].len() {
                let high = [n % size[0], n / size[0] % size[1], n / (size[0] * size[1])];
                if (0..3).any(|a| high[a] == 0 || high[a] >= N) {
                    continue;
                }
                let mut below = high;
                below[axis] -= 1;
                if !is_inside(high) && !is_inside(below) {
                    continue;
                }
                tank.area[axis][n] = 0.0;
                let outward = if is_inside(high) { 1.0 } else { -1.0 };
                let outside = if is_inside(high) { below } else { high };
                if is_inside(outside) {
                    continue;
                }
                let row = values.entry((outside[0] + N * (outside[1] + N * outside[2])) as u32).or_default();
                let arm: [f32; 3] = std::array::from_fn(|a| {
                    high[a] as f32 + if a == axis { 0.0 } else { 0.5 } - (low[a] as f32 + 1.5)
                });
                let (s, t) = ((axis + 1) % 3, (axis + 2) % 3);
                row[axis] += outward;
                row[3 + s] += outward * arm[t];
                row[3 + t] -= outward * arm[s];
            }
        }
        let strength = 1.0 / (0.01 * 27.0);
        let weight: [[f64; RANK]; RANK] = std::array::from_fn(|r| {
            std::array::from_fn(|c| {
                if r != c {
                    0.0
                } else if r < 3 {
                    strength
                } else {
                    strength / 1.5
                }
            })
        });
        blocks.push(Block {
            rows: values.keys().copied().collect(),
            values: values.into_values().collect(),
            weight,
        });
    }
    let coupled = LowRank { blocks };
    let is_free = |n: usize| {
        let at = [n % N, n / N % N, n / (N * N)];
        !lows.iter().any(|low| (0..3).all(|a| (low[a]..low[a] + 3).contains(&at[a])))
    };
    let wet = |n: usize| tank.phi[n] < 0.0 && is_free(n);
    let rhs: Vec<f32> = (0..N * N * N).map(|n| if wet(n) { unit(n as u64) - 0.5 } else { 0.0 }).collect();
    let mut solver = MultigridCg::new([N; 3]);
    let params = Params { relative_tolerance: 1e-5, ..Params::DEFAULT };
    solver.prepare(&tank.problem());
    let (mut p, mut held) = (vec![0.0; rhs.len()], vec![0.0; rhs.len()]);
    let fixed = solver.solve(&mut held, &rhs, &params).unwrap().iterations;
    let free = solver.solve_coupled(&mut p, &rhs, &coupled, &params).unwrap().iterations;
    // Without modes of the bodies in the preconditioner there are 33.
    assert!(free <= 3 * fixed, "{fixed} iterations with cubes that do not move, {free} with free ones");
}
