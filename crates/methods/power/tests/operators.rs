//! Kernels on pages against the explicit mesh, and against each other.

use super::trees::random_pyramid;
use fluvial_foundation::parallel::with_threads;
use fluvial_foundation::random::unit_f32;
use fluvial_grids::paged::Backing;
use fluvial_grids::pyramid::{Pyramid, bits};
use fluvial_linear::krylov::LinearOperator;
use fluvial_linear::sparse::FluxMatrix;
use fluvial_power::channels::{EDGE_VELOCITY, FACE_VELOCITY, FIRST_FREE};
use fluvial_power::diagram::Diagram;
use fluvial_power::mesh::PowerMesh;
use fluvial_power::pairs::Boundary;
use fluvial_power::rows::{Order, Rows};
use fluvial_power::{laplacian, velocity};

const P: usize = FIRST_FREE;
const OUT: usize = FIRST_FREE + 1;

fn noise(count: usize, seed: u64) -> Vec<f32> {
    (0..count as u64).map(|n| unit_f32(n, seed) - 0.5).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

fn applied(pyramid: &mut Pyramid, rows: &Rows, p: &[f32]) -> Vec<f32> {
    pyramid.scatter(P, p);
    laplacian::apply(pyramid, rows, OUT, P);
    let mut out = vec![0.0; p.len()];
    pyramid.gather(&mut out, OUT);
    out
}

#[test]
fn the_laplacian_on_pages_is_that_of_the_mesh() {
    for (backing, seed) in [(Backing::Reserved, 31), (Backing::Table, 32)] {
        let mut pyramid = random_pyramid(backing, 4, [9, 7, 8], 8, seed);
        let diagram = Diagram::new(&mut pyramid);
        let rows = Rows::new(&pyramid, &diagram, Boundary::default(), Order::Second);
        let mesh = PowerMesh::new(&pyramid, &diagram);
        let p = noise(pyramid.active_count(), 1);
        let found = applied(&mut pyramid, &rows, &p);
        let matrix: FluxMatrix<f64> = mesh.laplacian(vec![0.0; p.len()]);
        let wide: Vec<f64> = p.iter().map(|&v| v.into()).collect();
        let mut expected = vec![0.0; p.len()];
        matrix.apply_rows(&mut expected, 0..p.len(), &wide);
        laplacian::diagonal(&mut pyramid, &rows, OUT);
        let mut diagonal = vec![0.0; p.len()];
        pyramid.gather(&mut diagonal, OUT);
        for n in 0..p.len() {
            let scale = matrix.diagonal(n);
            assert!((f64::from(found[n]) - expected[n]).abs() < 1e-6 * scale, "leaf {n}");
            assert!((f64::from(diagonal[n]) - scale).abs() < 1e-6 * scale, "leaf {n}");
        }
    }
}

#[test]
fn both_laplacians_are_symmetric_and_semi_definite() {
    let mut pyramid = random_pyramid(Backing::Reserved, 3, [8, 9, 7], 9, 41);
    let diagram = Diagram::new(&mut pyramid);
    for order in [Order::First, Order::Second] {
        let rows = Rows::new(&pyramid, &diagram, Boundary::default(), order);
        let (a, b) = (noise(pyramid.active_count(), 1), noise(pyramid.active_count(), 2));
        let (la, lb) = (applied(&mut pyramid, &rows, &a), applied(&mut pyramid, &rows, &b));
        let size = dot(&a, &la);
        assert!(size > 0.0);
        assert!((dot(&a, &lb) - dot(&b, &la)).abs() < 1e-7 * size, "{order:?}");
        let constant = applied(&mut pyramid, &rows, &vec![3.25; a.len()]);
        assert!(constant.iter().all(|&v| v == 0.0), "constants are in the null space, to the last bit");
    }
}

#[test]
fn results_do_not_depend_on_threads_or_on_the_back_end() {
    let run = |backing, threads| {
        with_threads(threads, || {
            let mut pyramid = random_pyramid(backing, 4, [9, 7, 8], 8, 31);
            let diagram = Diagram::new(&mut pyramid);
            let rows = Rows::new(&pyramid, &diagram, Boundary::default(), Order::Second);
            let p = noise(pyramid.active_count(), 1);
            applied(&mut pyramid, &rows, &p)
        })
    };
    let one = run(Backing::Reserved, 1);
    assert_eq!(one, run(Backing::Reserved, 3));
    assert_eq!(one, run(Backing::Table, 2));
}

fn set_velocities(pyramid: &mut Pyramid, value: impl Fn(u64, u64) -> f32 + Sync) {
    for (l, level) in pyramid.levels_mut().iter_mut().enumerate() {
        for (c, channel) in FACE_VELOCITY.into_iter().chain(EDGE_VELOCITY).enumerate() {
            level.grid.for_each_block(None, [channel], |_, page, _, [out]| {
                (0..64).for_each(|i| out[i] = value(page * 64 + i as u64, (8 * l + c) as u64));
            });
        }
    }
}

/// With `u = -G p`: `D u = L p`. And `D = -G^T` in the faces' inner product `A d`: `sum_f A d u (G p) =
/// -sum_i p (D u)`; both sides follow from `D` and `G` alone when `u` is any field, by `D (u - G p) = D u - D
/// G p`.
#[test]
fn divergence_is_minus_the_transpose_of_the_gradient() {
    let mut pyramid = random_pyramid(Backing::Reserved, 4, [9, 7, 8], 8, 51);
    let diagram = Diagram::new(&mut pyramid);
    let rows = Rows::new(&pyramid, &diagram, Boundary::default(), Order::Second);
    let p = noise(pyramid.active_count(), 1);
    let expected = applied(&mut pyramid, &rows, &p);
    // L p, from the gradient of p in all velocities.
    set_velocities(&mut pyramid, |_, _| 0.0);
    velocity::subtract_gradient(&mut pyramid, &diagram, &rows, Boundary::default(), P, 1.0);
    velocity::divergence(&mut pyramid, &rows, OUT);
    let mut found = vec![0.0; p.len()];
    pyramid.gather(&mut found, OUT);
    let size = expected.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    for n in 0..p.len() {
        assert!((found[n] - expected[n]).abs() < 2e-6 * size, "leaf {n}: {} {}", found[n], expected[n]);
    }
    // <p, D u> = -<G p, u>: the gradient in one set of velocities, noise in the other, multiplied with the
    // mesh's areas and distances. Faces that do not exist keep their noise, and must not matter to D.
    let gradient = face_values(&pyramid, &diagram);
    set_velocities(&mut pyramid, |cell, channel| unit_f32(cell, channel) - 0.5);
    velocity::divergence(&mut pyramid, &rows, OUT);
    pyramid.gather(&mut found, OUT);
    let noise_values = face_values(&pyramid, &diagram);
    assert_eq!(gradient.len(), noise_values.len());
    // `gradient` holds -G p.
    let inner: f64 = gradient.iter().zip(&noise_values).map(|(g, u)| g.0 * g.1 * u.1).sum();
    let outer = dot(&p, &found);
    assert!((inner - outer).abs() < 1e-6 * gradient.len() as f64 * f64::from(size), "{inner} {outer}");
    assert!(inner.abs() > 1e-3, "the test sees something");
}

/// `A d` and velocity of every face, in an order fixed by the tree.
fn face_values(pyramid: &Pyramid, diagram: &Diagram) -> Vec<(f64, f64)> {
    let mut all = vec![];
    for level in pyramid.levels() {
        let layout = *level.grid.layout();
        let dx = f64::from(level.dx);
        for (n, &page) in level.grid.blocks().pages().iter().enumerate() {
            for cell in bits(level.cells()[n].active) {
                let at = layout.decode(layout.first_of(page) | cell as u64);
                for (k, &(area, distance)) in diagram.cell(level, at).level.iter().enumerate() {
                    let offset = fluvial_grids::pyramid::NEIGHBOURS[k];
                    let next = [0, 1, 2].map(|a| i64::from(at[a]) + i64::from(offset[a]));
                    let known = |set: &fluvial_grids::pyramid::CellSet| set.contains(next.map(|v| v as u32));
                    let lower = offset.iter().find(|&&v| v != 0) == Some(&1);
                    let counts =
                        layout.contains(next) && (known(level.ghost()) || (known(level.active()) && lower));
                    if area == 0.0 || !counts {
                        continue;
                    }
                    let high = [0, 1, 2].map(|a| at[a] + u32::from(offset[a] > 0));
                    let channel = if k < 6 { FACE_VELOCITY[k / 2] } else { EDGE_VELOCITY[(k - 6) / 4] };
                    all.push((area * distance * dx.powi(3), f64::from(level.grid.get(channel, high))));
                }
            }
        }
    }
    all
}

/// A constant velocity through closed power cells has no divergence, in the interior and across transitions.
#[test]
fn a_constant_velocity_has_no_divergence() {
    let mut pyramid = random_pyramid(Backing::Reserved, 4, [9, 7, 8], 8, 61);
    let diagram = Diagram::new(&mut pyramid);
    let rows = Rows::new(&pyramid, &diagram, Boundary::default(), Order::Second);
    // p = a . x has the gradient a; its differences over distances are the normal components, exactly.
    let mesh = PowerMesh::new(&pyramid, &diagram);
    let slope = [0.3, -0.7, 0.5];
    let p: Vec<f32> =
        mesh.centers.iter().map(|c| (0..3).map(|a| slope[a] * c[a]).sum::<f64>() as f32).collect();
    let found = applied(&mut pyramid, &rows, &p);
    let shape = *pyramid.shape();
    let mut inner = 0;
    for (n, cell) in mesh.cells.iter().enumerate() {
        let cells = shape.cells(cell.level as usize);
        if (0..3).any(|a| cell.at[a] == 0 || cell.at[a] as usize + 1 == cells[a]) {
            continue;
        }
        inner += 1;
        let dx = shape.dx_of(cell.level as usize);
        assert!(found[n].abs() < 1e-5 * dx, "leaf {n}: {}", found[n]);
    }
    assert!(inner > 1000);
}
