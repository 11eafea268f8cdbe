//! Reading, extrapolation, redistancing, advection and remeshing.

use crate::scenes::*;
use fluvial_foundation::parallel::with_threads;
use fluvial_grids::TallGrid;
use fluvial_grids::tall::LEAST_TALL;
use fluvial_tall::hierarchy::coarsen_until;
use fluvial_tall::walls::Walls;
use fluvial_tall::{advect, extrapolate, field as fields, redistance, remesh};

fn linear(x: f32, y: f32, z: f32) -> f32 {
    0.5 * x - 0.25 * y + 0.125 * z + 1.0
}

#[test]
fn a_linear_field_comes_back_exactly_between_samples() {
    let grid = lake([12, 10, 9], 0.1, 30, 6);
    let values = field(&grid, linear);
    for n in 0..400 {
        let part = |m: usize| (n * m % 97) as f32 / 97.0;
        let (x, z) = (part(31) * 11.0, part(53) * 8.0);
        // Between the highest of the grounds and the lowest of the tops around.
        let y = 20.0 + 7.0 * part(71);
        let got = fields::interpolate(&grid, &values, [x, y, z]);
        assert!((got - linear(x, y, z)).abs() < 1e-5, "{got} at {x} {y} {z}");
    }
}

/// Columns of another height over the same terrain.
fn with_tops(grid: &TallGrid, change: impl Fn(usize) -> i32) -> TallGrid {
    let heights = grid.columns.iter().enumerate();
    let columns = heights.map(|(n, c)| [c[0], (c[1] + change(n)).max(2)]).collect();
    TallGrid::new([grid.nx, grid.regular, grid.nz], grid.dx_m, columns)
}

#[test]
fn a_linear_field_survives_remeshing() {
    let old = lake([12, 10, 9], 0.1, 30, 6);
    let values = field(&old, linear);
    for change in [|n: usize| (n % 5) as i32 - 6, |n: usize| (n % 3) as i32] {
        let new = with_tops(&old, change);
        let mut out = vec![0.0; new.samples()];
        remesh::transfer(&mut out, &new, &old, &values);
        for k in 0..new.nz {
            for j in 0..new.rows() {
                for i in 0..new.nx {
                    let y = new.y(i, j, k);
                    if y < old.above(i, k) {
                        let error = out[new.index(i, j, k)] - linear(i as f32, y as f32, k as f32);
                        assert!(error.abs() < 2e-5, "{error} at {i} {j} {k}");
                    }
                }
            }
        }
    }
}

/// Columns whose cubic cells have gone up with what splashes leave a pool, or what hangs under a ceiling, to the tall cell: its line must hold as much liquid.
/// (The line that fits distances best held 1 cell of the 5 of a pool.)
#[test]
fn tall_cells_with_a_surface_keep_their_liquid() {
    let dx = 0.1;
    let old = TallGrid::new([4, 48, 4], dx, vec![[0, 2]; 16]);
    let new = TallGrid::new([4, 48, 4], dx, vec![[0, 45]; 16]);
    let liquid = |grid: &TallGrid, phi: &[f32]| -> f32 {
        let cells = (0..45).map(|y| fields::at(phi, grid.locate(1, 1, y as f32)) / dx);
        cells.map(fluvial_tall::volume::share).sum()
    };
    for (level, sign) in
        [(5.0, 1.0), (5.3, 1.0), (35.6, 1.0), (20.0, -1.0), (0.4, 1.0), (43.5, 1.0), (60.0, 1.0), (-9.0, 1.0)]
    {
        let phi = field(&old, |_, y, _| sign * (y + 0.5 - level).clamp(-5.0, 5.0) * dx);
        let mut moved = vec![0.0; new.samples()];
        remesh::transfer_phi(&mut moved, &new, &old, &phi);
        let [before, after] = [liquid(&old, &phi), liquid(&new, &moved)];
        assert!((after - before).abs() < 1e-3, "{before} cells become {after} at {level}");
        // Keeping phi in its bounds and redistancing do not move it either.
        let (mut bounded, mut work) = (moved.clone(), moved.clone());
        fluvial_tall::redistance::clamp_frame(&mut bounded, &moved, &new);
        fluvial_tall::redistance::redistance(&mut bounded, &new, &mut work);
        let kept = liquid(&new, &bounded);
        assert!((kept - before).abs() < 1e-3, "{before} cells become {kept} at {level}, as distances");
    }
}

#[test]
fn remeshing_keeps_the_sum_of_what_a_tall_cell_swallows() {
    let old = lake([12, 10, 9], 0.1, 30, 6);
    let values = field(&old, |x, y, z| (0.3 * y + x).sin() + 0.1 * z);
    let new = with_tops(&old, |n| (n % 7) as i32);
    let mut out = vec![0.0; new.samples()];
    remesh::transfer(&mut out, &new, &old, &values);
    for k in 0..new.nz {
        for i in 0..new.nx {
            let [terrain, tall] = new.column(i, k);
            let sum = |grid: &TallGrid, values: &[f32]| -> f64 {
                let cells = terrain..terrain + tall;
                cells.map(|y| f64::from(fields::at(values, grid.locate(i, k, y as f32)))).sum()
            };
            assert!((sum(&new, &out) - sum(&old, &values)).abs() < 1e-4);
        }
    }
}

#[test]
fn neighbouring_tops_differ_by_no_more_than_allowed() {
    // A ramp that rises by six cells a column: every column has a higher neighbour.
    let columns = (0..16 * 4).map(|c| [0, 20 + 6 * (c % 16)]).collect();
    let grid = TallGrid::new([16, 120, 4], 0.1, columns);
    let phi = field(&grid, |x, y, _| (y + 0.5 - (30.0 + 6.0 * x)) * 0.1);
    let params = remesh::RemeshParams { difference: 3.0, limiting: 16, ..Default::default() };
    let mut out = vec![[0; 2]; 64];
    remesh::remesh(&mut out, &grid, &phi, &params, &[], &mut remesh::Scratch::default());
    for c in 0..63 {
        if c % 16 != 15 {
            let step = (out[c + 1][1] - out[c][1]).abs();
            assert!(step <= 4, "{step}");
        }
    }
    // Room above the surface holds everywhere, cells below it where the bound on differences leaves the
    // choice.
    for (c, [terrain, tall]) in out.iter().enumerate() {
        let surface = 30.0 + 6.0 * (c % 16) as f32;
        assert!((terrain + tall + 120) as f32 >= surface + params.cells_above);
        assert!((terrain + tall) as f32 <= surface - params.cells_below + 1.0);
    }
}

#[test]
fn no_tall_cell_stands_beside_shallow_water() {
    // A sheet of two columns climbs the wall at the end of water six cells deep; a pool of forty lies at the other end.
    let surface = |x: usize| if (12..22).contains(&x) { 6.0 } else { 40.0 };
    let grid = TallGrid::new([24, 60, 4], 0.1, vec![[0, 2]; 24 * 4]);
    let phi = field(&grid, |x, y, _| (y + 0.5 - surface(x as usize)) * 0.1);
    let mut out = vec![[0; 2]; 24 * 4];
    let params = remesh::RemeshParams::default();
    remesh::remesh(&mut out, &grid, &phi, &params, &[], &mut remesh::Scratch::default());
    for (c, [_, tall]) in out.iter().enumerate() {
        match c % 24 {
            4.. => assert_eq!(*tall, LEAST_TALL, "column {c}"),
            0 => assert!(*tall > 8, "column {c}: {tall}"),
            _ => {}
        }
    }
}

/// Distance to a sphere and velocity that is constant along its normals.
fn sphere(n: usize) -> (TallGrid, Vec<f32>, impl Fn(f32, f32, f32) -> [f32; 3]) {
    let grid = TallGrid::new([n, n - 2, n], 1.0 / n as f32, vec![[0, 2 + n as i32 / 16]; n * n]);
    let c = 0.5 * n as f32 + 0.37;
    let phi = field(&grid, move |x, y, z| {
        (((x - c).powi(2) + (y - c).powi(2) + (z - c).powi(2)).sqrt() - 0.3 * n as f32) / n as f32
    });
    let flow = move |x: f32, y: f32, z: f32| {
        let d = [x - c, y - c, z - c];
        let r = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt().max(1e-6);
        [d[0] / r, d[1] * d[2] / (r * r), (2.0 * d[2] / r).sin()]
    };
    (grid, phi, flow)
}

#[test]
fn extrapolation_is_first_order() {
    let errors = [16, 32, 64].map(|n| {
        let (grid, phi, flow) = sphere(n);
        let exact = velocity(&grid, &flow);
        let mut u = vec![[0.0; 4]; grid.samples()];
        let mut v = u.clone();
        extrapolate::mark_known(&mut u, &exact, &grid, &phi);
        for _ in 0..4 {
            extrapolate::band_pass(&mut v, &u, &grid, &phi, 2.0 * grid.dx_m);
            std::mem::swap(&mut u, &mut v);
        }
        let mut error = 0.0f32;
        for n in 0..u.len() {
            if phi[n] > 0.0 && phi[n] < 2.0 * grid.dx_m {
                assert_eq!(u[n][3], 1.0, "the band fills");
                (0..3).for_each(|c| error = error.max((u[n][c] - exact[n][c]).abs()));
            }
        }
        error
    });
    println!("extrapolation {errors:?}");
    let order = (errors[0] / errors[2]).log2() / 2.0;
    assert!(order > 0.8, "{order}");
}

#[test]
fn every_sample_gets_a_velocity_and_a_uniform_one_exactly() {
    let grid = lake([20, 12, 13], 0.1, 24, 6);
    let phi = still_phi(&grid, 22.3);
    let grids = coarsen_until(&grid, |_| false);
    let mut u = velocity(&grid, |_, _, _| [0.5, -0.25, 2.0]);
    u.iter_mut().zip(&phi).filter(|(_, phi)| **phi > 0.0).for_each(|(u, _)| *u = [f32::NAN; 4]);
    let mut work = extrapolate::Scratch::new(&grids);
    extrapolate::extrapolate(&mut u, &grids, &phi, Default::default(), &mut work);
    for v in u {
        assert!(
            (v[0] - 0.5).abs() < 1e-6 && (v[1] + 0.25).abs() < 1e-6 && (v[2] - 2.0).abs() < 1e-6,
            "{v:?}"
        );
    }
}

#[test]
fn redistancing_is_first_order_and_keeps_the_surface() {
    // In a band of fixed cells, first order means errors that shrink with dx^2.
    let errors = [16, 32, 64].map(|n| {
        let (grid, exact, _) = sphere(n);
        let dx = grid.dx_m;
        let distorted = |d: f32| if d.abs() < 1.8 * dx { d } else { d * (0.4 + 0.2 * (40.0 * d).sin()) };
        let mut phi: Vec<f32> = exact.iter().map(|&d| distorted(d)).collect();
        redistance::redistance(&mut phi, &grid, &mut vec![0.0; grid.samples()]);
        let mut error = 0.0f32;
        for n in 0..phi.len() {
            assert_eq!(phi[n] <= 0.0, exact[n] <= 0.0);
            if exact[n].abs() < 4.0 * dx {
                error = error.max((phi[n].clamp(-5.0 * dx, 5.0 * dx) - exact[n]).abs());
            }
        }
        error
    });
    println!("redistancing {errors:?}");
    let order = (errors[1] / errors[2]).log2();
    assert!(order > 1.0, "{order}");
}

/// Carries w = g(x - t) with the uniform stream u = 1 for 0.3 s and returns the mean errors of w, with and
/// without the correction.
fn carried(n: usize) -> [f64; 2] {
    let grid = TallGrid::new([n, 6, 3], 1.0 / n as f32, vec![[0, 4]; 3 * n]);
    let bump = |x: f32, t: f32| (-((((x + 0.5) / n as f32) - 0.35 - t) / 0.08).powi(2)).exp();
    let steps = n * 3 / 10 * 10 / 7;
    let dt = 0.3 / steps as f32;
    let phi = vec![-1.0; grid.samples()];
    [true, false].map(|corrected| {
        let mut u = velocity(&grid, |x, _, _| [1.0, 0.0, bump(x, 0.0)]);
        let (mut moved, mut from, mut out) = (u.clone(), u.clone(), u.clone());
        for _ in 0..steps {
            advect::trace_back((&mut moved, &mut from), &grid, (&u, &phi), (&Walls::HOLDING, &phi), dt);
            advect::correct(&mut out, &grid, &u, (&moved, &from), [0.0; 3], dt);
            let next = if corrected { &out } else { &moved };
            u.copy_from_slice(next);
        }
        let exact = velocity(&grid, |x, _, _| [1.0, 0.0, bump(x, 0.3)]);
        u.iter().zip(&exact).map(|(a, b)| f64::from((a[2] - b[2]).abs())).sum::<f64>() / u.len() as f64
    })
}

#[test]
fn maccormack_is_second_order_and_semi_lagrangian_first() {
    let errors = [40, 80, 160].map(carried);
    println!("advection {errors:?}");
    let order = |m: usize| (errors[1][m] / errors[2][m]).log2();
    assert!(order(0) > 1.8, "{}", order(0));
    assert!((0.7..1.3).contains(&order(1)), "{}", order(1));
}

#[test]
fn a_plane_surface_moves_exactly_by_several_cells_a_step() {
    let grid = lake([24, 16, 20], 0.1, 30, 4);
    let plane = |x: f32, y: f32, z: f32| (y - 28.0 + 0.25 * x - 0.1 * z) * 0.1;
    let (phi, u) = (field(&grid, plane), velocity(&grid, |_, _, _| [8.0, 0.0, 0.0]));
    let (mut moved, mut from) = (u.clone(), u.clone());
    // 8 m/s for 0.1 s is eight cells of 0.1 m.
    advect::trace_back((&mut moved, &mut from), &grid, (&u, &phi), (&Walls::HOLDING, &phi), 0.1);
    let exact = field(&grid, |x, y, z| plane(x - 8.0, y, z));
    for k in 0..grid.nz {
        for i in 8..grid.nx {
            for j in 2..grid.rows() {
                let (n, y) = (grid.index(i, j, k), grid.y(i, j, k));
                let source = i - 8;
                if y < grid.above(source, k) && y >= grid.column(source, k)[0] {
                    assert!((moved[n][3] - exact[n]).abs() < 2e-5);
                }
            }
        }
    }
}

/// The grid of half the cell size with the same terrain and tall cells, and twice as many cubic cells.
pub fn finer(grid: &TallGrid) -> TallGrid {
    let (nx, nz) = (2 * grid.nx, 2 * grid.nz);
    let columns = (0..nx * nz).map(|c| grid.column(c % nx / 2, c / nx / 2).map(|h| 2 * h)).collect();
    TallGrid::new([nx, 2 * grid.regular, nz], 0.5 * grid.dx_m, columns)
}

#[test]
fn a_finer_surface_is_carried_exactly() {
    let grid = lake([24, 16, 20], 0.1, 30, 4);
    let surface = finer(&grid);
    // In metres, with cell centres at (c + 1/2) dx.
    let plane = |x: f32, y: f32, z: f32| y - 2.9 + 0.25 * x - 0.1 * z;
    let metres = |c: f32| (c + 0.5) * surface.dx_m;
    let phi = field(&surface, |x, y, z| plane(metres(x), metres(y), metres(z)));
    let u = velocity(&grid, |_, _, _| [3.0, 0.0, -1.0]);
    let mut out = vec![0.0; surface.samples()];
    advect::surface_back(&mut out, (&surface, &phi), (&grid, &u), 2.0, 0.1);
    let mut checked = 0;
    for k in 0..surface.nz - 3 {
        for i in 7..surface.nx {
            for j in 2..surface.rows() {
                let y = surface.y(i, j, k);
                // The four columns that the value comes from must all hold this height.
                let from = [(i - 6, k + 2), (i - 5, k + 2), (i - 6, k + 3), (i - 5, k + 3)];
                if from.iter().all(|&(i, k)| y >= surface.column(i, k)[0] && y < surface.above(i, k)) {
                    let exact = plane(metres(i as f32) - 0.3, metres(y as f32), metres(k as f32) + 0.1);
                    assert!((out[surface.index(i, j, k)] - exact).abs() < 2e-5);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 10_000);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let (grid, phi, _, u) = crate::pressure::flood(32, 0.6);
    let run = |threads: usize| {
        with_threads(threads, || {
            let grids = coarsen_until(&grid, |_| false);
            let mut u = u.clone();
            let mut work = extrapolate::Scratch::new(&grids);
            extrapolate::extrapolate(&mut u, &grids, &phi, Default::default(), &mut work);
            let (mut moved, mut from, mut out) = (u.clone(), u.clone(), u.clone());
            advect::trace_back((&mut moved, &mut from), &grid, (&u, &phi), (&Walls::HOLDING, &phi), 0.03);
            advect::correct(&mut out, &grid, &u, (&moved, &from), [0.0, -9.81, 0.0], 0.03);
            out.iter().flatten().map(|v| v.to_bits()).collect::<Vec<_>>()
        })
    };
    assert!(run(1) == run(3));
}
