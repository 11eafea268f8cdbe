//! Departure points and interpolation: what must be exact, and the order where it cannot be.

use crate::common::*;
use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, Sides, UniformGrid};
use fluvial_level_set::*;

const PHI_SCHEMES: [PhiAdvection; 3] =
    [PhiAdvection::SemiLagrangian, PhiAdvection::MacCormack, PhiAdvection::Cubic];
const SCHEMES: [AdvectionScheme; 2] = [AdvectionScheme::SemiLagrangian, AdvectionScheme::MacCormack];

/// Not a cube, not at the origin, no power of two.
fn grid() -> UniformGrid {
    UniformGrid { min: Vec3::new(-0.4, 1.3, 0.2), cells: [21, 16, 13], dx: 0.017 }
}

#[test]
fn planes_move_exactly() {
    let g = grid();
    let l = g.cell_centers();
    let (dx, band) = (g.dx as f64, 5.0 * g.dx);
    let normal = [0.36f64, 0.8, 0.48];
    let plane =
        |x: [f64; 3]| normal[0] * (x[0] + 0.22) + normal[1] * (x[1] - 1.44) + normal[2] * (x[2] - 0.31);
    let cells = [1.7, -0.45, 0.8]; // cells per step
    let phi = fill_band(&l, band, plane);
    let u = velocity(&g, |_| cells);
    let exact = fill_band(&l, band, |x| plane(std::array::from_fn(|a| x[a] - dx * cells[a])));
    for scheme in PHI_SCHEMES {
        let mut out = vec![0.0; phi.len()];
        advect_phi(&mut out, &phi, &u, &g, g.dx, scheme, band, &mut Scratch::default());
        // Away from where phi saturates and from the walls that the flow comes through.
        let error = max_difference(&out, &exact, g.dx, |n| {
            let c = l.coordinates(n);
            phi[n].abs() < 2.0 * g.dx && c[0] > 1 && c[1] + 1 < g.cells[1] && c[2] > 0
        });
        assert!(error < 2e-6, "{scheme:?}: {error} dx");
    }
}

/// A flow that is faster above a surface than below leaves phi a distance where it moves with the surface, and moves the surface itself
/// as it would be moved by its own velocity.
#[test]
fn a_layer_moves_with_its_surface() {
    let g = cube(16);
    let (l, band, dt) = (g.cell_centers(), 5.0 * g.dx, 0.1 * g.dx);
    let flat = |level: f64| fill_band(&l, band, |x| x[1] - level);
    // 1 at the surface, 1.9 and 0.1 three cells off it.
    let rise = |x: [f64; 3]| [0.0, 1.0 + 4.8 * (x[1] - 0.503), 0.0];
    let (phi, u) = (flat(0.503), velocity(&g, rise));
    let carried = |with_surface: bool| {
        let mut out = vec![0.0; phi.len()];
        let (scheme, mut scratch) = (PhiAdvection::Cubic, Scratch::default());
        let by = (&u, with_surface);
        advect_phi_on_sides(&mut out, &phi, by, &g, dt, scheme, band, Sides::NONE, &mut scratch);
        out
    };
    // Where the surface ends: dy/dt = 1 + 4.8 (y - 0.503).
    let moved = flat(0.503 + (4.8 * f64::from(dt)).exp_m1() / 4.8);
    let error = |out: &[f32]| max_difference(out, &moved, g.dx, |n| moved[n].abs() < 1.6 * g.dx);
    let (with, without) = (error(&carried(true)), error(&carried(false)));
    assert!(with < 2e-3, "{with} cells");
    assert!(without > 0.02, "{without} cells with their own velocity");
}

/// Liquid below the first cell centres is no liquid to the pressure: flow away from the floor must not raise
/// it.
#[test]
fn films_under_half_a_cell_do_not_come_alive() {
    let g = grid();
    let l = g.cell_centers();
    let floor = g.min.y as f64;
    let phi = fill_band(&l, 4.0 * g.dx, |x| x[1] - floor - 0.2 * g.dx as f64);
    let u = velocity(&g, |x| [0.0, x[1] - floor, 0.0]);
    for scheme in PHI_SCHEMES {
        let mut out = vec![0.0; phi.len()];
        advect_phi(&mut out, &phi, &u, &g, 1.5, scheme, 4.0 * g.dx, &mut Scratch::default());
        assert!(out.iter().all(|&v| v >= 0.0), "{scheme:?}");
    }
}

#[test]
fn liquid_at_rest_keeps_its_bits() {
    let g = grid();
    let phi = fill_band(&g.cell_centers(), 4.0 * g.dx, |x| distance(x, [-0.2, 1.44, 0.3]) - 0.07);
    let u = FaceField::constant(&g, 0.0);
    for scheme in PHI_SCHEMES {
        let mut out = vec![0.0; phi.len()];
        advect_phi(&mut out, &phi, &u, &g, 0.1, scheme, 4.0 * g.dx, &mut Scratch::default());
        assert!(out == phi, "{scheme:?}");
    }
}

#[test]
fn uniform_velocity_keeps_its_bits() {
    let g = grid();
    let phi = fill(&g.cell_centers(), |x| distance(x, [-0.2, 1.44, 0.3]) - 0.07);
    let band = 3.0 * g.dx;
    let u = velocity(&g, |_| [0.7, -0.31, 0.123]);
    for scheme in SCHEMES {
        for steps in [0.0, 0.4, 3.3, 40.0] {
            let mut out = FaceField::default();
            advect_velocity(
                &mut out,
                &transport(&u, &phi, &g, steps * g.dx, scheme, band),
                &mut Scratch::default(),
            );
            for axis in 0..3 {
                let faces = g.faces(axis);
                for f in 0..faces.len() {
                    let c = faces.coordinates(f);
                    let cell = |d: usize| {
                        let mut c = c;
                        c[axis] = c[axis].saturating_sub(d).min(g.cells[axis] - 1);
                        phi[g.cell_centers().index(c[0], c[1], c[2])]
                    };
                    let mean = 0.5 * (cell(1) + if c[axis] == 0 { cell(1) } else { cell(0) });
                    let expected = if mean < band { u[axis][f] } else { 0.0 };
                    assert_eq!(out[axis][f].to_bits(), expected.to_bits(), "{scheme:?} {axis} {c:?}");
                }
            }
        }
    }
}

/// In a linear field interpolation is exact and the only error is that of Runge-Kutta, which we repeat in
/// f64.
#[test]
fn linear_velocity_is_carried_exactly() {
    let g = grid();
    let a = [[0.3, -0.9, 0.2], [0.8, 0.1, -0.5], [-0.4, 0.6, -0.4]];
    let at = |x: [f64; 3]| -> [f64; 3] {
        let r = [x[0] + 0.2, x[1] - 1.4, x[2] - 0.3];
        std::array::from_fn(|n| (0..3).map(|m| a[n][m] * r[m]).sum::<f64>() + 0.05)
    };
    let u = velocity(&g, at);
    let phi = vec![-1.0; g.cell_count()];
    let dt = 0.5f32;
    let go = |x: [f64; 3], u: [f64; 3], s: f64| std::array::from_fn(|n| x[n] - s * dt as f64 * u[n]);
    let departure = |x: [f64; 3]| {
        let k1 = at(x);
        let k2 = at(go(x, k1, 0.5));
        let k3 = at(go(x, k2, 0.75));
        go(x, std::array::from_fn(|n| (2.0 * k1[n] + 3.0 * k2[n] + 4.0 * k3[n]) / 9.0), 1.0)
    };
    let bounds = g.bounds();
    for scheme in SCHEMES {
        let mut out = FaceField::default();
        advect_velocity(&mut out, &transport(&u, &phi, &g, dt, scheme, 1.0), &mut Scratch::default());
        let mut checked = 0;
        for axis in 0..3 {
            let faces = g.faces(axis);
            let exact = fill(&faces, |x| {
                let from = departure(x);
                // MacCormack adds half of what a step forth and back does not bring back: nothing but the
                // Runge-Kutta error, of fourth order in dt |a|.
                at(from)[axis]
            });
            let inside = |n: usize, margin: f64| {
                let c = faces.coordinates(n);
                let x = faces.position(c[0], c[1], c[2]);
                let x = [x.x as f64, x.y as f64, x.z as f64];
                let to = go(x, at(x), -1.0);
                (0..3).all(|m| {
                    let (low, high) = (bounds.min[m] as f64 + margin, bounds.max[m] as f64 - margin);
                    [x[m], departure(x)[m], to[m]].iter().all(|v| (low..high).contains(v))
                })
            };
            let tolerance = if scheme == AdvectionScheme::SemiLagrangian { 1e-6 } else { 2e-3 };
            for n in (0..faces.len()).filter(|&n| inside(n, 1.0 * g.dx as f64)) {
                let error = (out[axis][n] - exact[n]).abs();
                assert!(error < tolerance, "{scheme:?} axis {axis} {:?}: {error}", faces.coordinates(n));
                checked += 1;
            }
        }
        assert!(checked > 3000, "{checked}");
    }
}

/// v = sin carried by u = 1 along x: v(x, t) = sin(x - t), CFL 0.8, mean error over the undisturbed middle.
fn carried_wave_error(n: usize, scheme: AdvectionScheme) -> f64 {
    let g = UniformGrid { min: Vec3::ZERO, cells: [n, 4, 4], dx: 1.0 / n as f32 };
    let wave = |x: f64| (std::f64::consts::TAU * 2.0 * x).sin();
    let mut u = velocity(&g, |x| [1.0, wave(x[0]), 0.0]);
    let phi = vec![-1.0; g.cell_count()];
    let steps = n / 8;
    let dt = 0.8 / n as f32;
    let (mut scratch, mut out) = (Scratch::default(), FaceField::default());
    for _ in 0..steps {
        advect_velocity(&mut out, &transport(&u, &phi, &g, dt, scheme, 1.0), &mut scratch);
        std::mem::swap(&mut u, &mut out);
    }
    let t = steps as f64 * dt as f64;
    let faces = g.faces(1);
    let exact = fill(&faces, |x| wave(x[0] - t));
    let (mut sum, mut count) = (0.0, 0);
    for f in (0..faces.len()).filter(|&f| (n / 4..n * 7 / 8).contains(&faces.coordinates(f)[0])) {
        sum += (u[1][f] - exact[f]).abs() as f64;
        count += 1;
    }
    sum / count as f64
}

#[test]
fn velocity_order() {
    for (scheme, low, high) in
        [(AdvectionScheme::SemiLagrangian, 0.8, 1.3), (AdvectionScheme::MacCormack, 1.8, 3.0)]
    {
        let errors: Vec<f64> = [64, 128, 256].map(|n| carried_wave_error(n, scheme)).into();
        println!("{scheme:?} {errors:?} order {}", order(&errors));
        assert!((low..high).contains(&order(&errors)), "{scheme:?} {errors:?}");
    }
}

/// Faces known from elsewhere keep their value to the share of their weight; the others get bit for bit what
/// they get when nothing is known, although most estimates around them are never made.
#[test]
fn known_faces_are_kept_and_the_others_do_not_notice() {
    let g = UniformGrid { min: Vec3::ZERO, cells: [30, 26, 24], dx: 0.1 };
    let phi = fill(&g.cell_centers(), |x| distance(x, [1.5, 1.3, 1.2]) - 1.0);
    let u = velocity(&g, |x| [(3.0 * x[1]).sin(), (2.0 * x[2]).cos(), (4.0 * x[0]).sin()]);
    let (dt, band) = (1.9 * g.dx, 2.0 * g.dx);
    let mut weight_face = FaceField::constant(&g, 0.0);
    for axis in 0..3 {
        // Known under the surface, partly at the edge, unknown deep inside and in a corner outside.
        let depth = |x: [f64; 3]| 1.0 - distance(x, [1.5, 1.3, 1.2]);
        weight_face[axis] = fill(&g.faces(axis), |x| {
            (1.0 - 8.0 * (depth(x) - 0.3)).clamp(0.0, 2.0) * (x[0] - 0.6).clamp(0.0, 1.0)
        });
    }
    let (mut computed, mut kept, mut between) = (0, 0, 0);
    for scheme in SCHEMES {
        let plain = transport(&u, &phi, &g, dt, scheme, band);
        let known = Some(KnownFaces { weight_face: &weight_face, full_weight: 0.5, reach_cells: 2 });
        let mut expected = FaceField::default();
        advect_velocity(&mut expected, &plain, &mut Scratch::default());
        let mut out = FaceField::constant(&g, 7.0);
        advect_velocity(&mut out, &VelocityTransport { known, ..plain }, &mut Scratch::default());
        for axis in 0..3 {
            for (f, &out) in out[axis].iter().enumerate() {
                let (advected, share) = (expected[axis][f], (2.0 * weight_face[axis][f]).min(1.0));
                assert!(
                    (out - (advected + share * (7.0 - advected))).abs() <= 1e-6 * share,
                    "{out} {advected} {share}"
                );
                *(if share == 0.0 {
                    &mut computed
                } else if share == 1.0 {
                    &mut kept
                } else {
                    &mut between
                }) += 1;
            }
        }
    }
    assert!(computed > 5000 && kept > 5000 && between > 1000, "{computed} {kept} {between}");
}

/// Shear under a flat surface, constant beyond it, rising by a third of a cell: the topmost faces lose half of what
/// first order takes from them, `c D - c (1 - c) D / 2` instead of `c D`.
#[test]
fn the_topmost_faces_are_carried_to_second_order() {
    let (g, c) = (cube(16), 1.0 / 3.0);
    let phi = fill(&g.cell_centers(), |x| x[1] - 0.52);
    let u = velocity(&g, |x| [x[1].min(0.5 - 0.5 / 16.0), 1.0, 0.0]);
    let plain = transport(&u, &phi, &g, c as f32 * g.dx, AdvectionScheme::MacCormack, 2.5 * g.dx);
    let mut out = FaceField::default();
    advect_velocity(&mut out, &VelocityTransport { smooth_m: 1.5 * g.dx, ..plain }, &mut Scratch::default());
    let top = g.faces(0).index(8, 7, 8);
    let lost = f64::from(u[0][top] - out[0][top]) * 16.0;
    assert!((lost - (c - 0.5 * c * (1.0 - c))).abs() < 0.01, "{lost} of the difference to the next row");
}
