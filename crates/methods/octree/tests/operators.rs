//! The operators' algebra: exactness on linear fields, transposes, symmetry, definiteness, counting.

use crate::common::*;
use fluvial_foundation::random::unit_f32;
use fluvial_foundation::{AXES, DVec3, Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::{Shape, Side};
use fluvial_octree::assemble::{NO_ROW, System};
use fluvial_octree::divergence::{face_volume, inflow};
use fluvial_octree::gradient::{FreeSurface, Geometry, GradientParams, PressureGradient, gradient_row};
use proptest::prelude::*;

fn random_values(count: usize, seed: u64) -> Vec<f32> {
    (0..count).map(|i| 2.0 * unit_f32(i as u64, seed) - 1.0).collect()
}

/// A tree of several levels, open areas with closed, cut and whole faces, and a bumpy surface through all of
/// it.
fn random_problem(seed: u64) -> (Octree, Vec<f32>, Vec<f32>) {
    let tree = random_tree(4, [5, 4, 3], 1, seed);
    let mut open_area = closed_box(&tree);
    for (face, open) in open_area.iter_mut().enumerate() {
        let draw = unit_f32(face as u64, seed);
        *open *= if draw < 0.1 {
            0.0
        } else if draw < 0.2 {
            unit_f32(face as u64, seed + 1)
        } else {
            1.0
        };
    }
    let middle = tree.shape().bounds().center().as_dvec3();
    let tilt = DVec3::new(unit_f32(seed, 3) as f64 - 0.5, 1.0, unit_f32(seed, 4) as f64 - 0.5).normalize();
    let phi_cell = at_cells(&tree, |x| (x - middle).dot(tilt) + 0.05 * (9.0 * x.x + 7.0 * x.z).sin());
    (tree, phi_cell, open_area)
}

#[test]
fn gradients_of_linear_fields_are_exact_at_all_faces() {
    let tree = random_tree(4, [5, 4, 3], 0, 3);
    let slope = DVec3::new(1.5, -2.0, 0.75);
    let q: Vec<f64> =
        (0..tree.cell_count()).map(|c| 3.0 + tree.cell_center(c).as_dvec3().dot(slope)).collect();
    let mut junctions = 0;
    for face in 0..tree.face_count() {
        if !tree.sides(face).contains(&Side::Outside) {
            let expected = slope[tree.face_axis(face)];
            assert!((gradient_row(&tree, face).apply(&q) - expected).abs() < 1e-11, "face {face}");
            junctions += tree.is_junction(face) as usize;
        }
    }
    assert!(junctions > 100 && junctions == tree.junction_count());
}

/// `sum over cells of p inflow(u) = sum over faces of V A u grad p` for any `p`, `u`: minus the divergence is
/// the transpose.
#[test]
fn the_divergence_is_the_transpose_of_the_gradient() {
    for seed in 0..5 {
        let (tree, phi_cell, open_area) = random_problem(seed);
        let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
        let u = random_values(tree.face_count(), 100 + seed);
        let p: Vec<f64> = random_values(tree.cell_count(), 200 + seed).iter().map(|&v| v as f64).collect();
        let mut flow = vec![0.0; tree.cell_count()];
        inflow(&mut flow, &geometry, &u, None);
        let by_cells: f64 = flow.iter().zip(&p).map(|(f, p)| f * p).sum();
        let (mut by_faces, mut size) = (0.0, 0.0);
        for face in 0..tree.face_count() {
            let weight = face_volume(&tree, face) * open_area[face] as f64 * u[face] as f64;
            let term = weight * gradient_row(&tree, face).apply(&p);
            (by_faces, size) = (by_faces + term, size + term.abs());
        }
        assert!((by_cells - by_faces).abs() < 1e-13 * size, "{by_cells} {by_faces}");
    }
}

/// Closed parts of faces move with the solid; what solids push in leaves no trace when it all cancels.
#[test]
fn a_solid_that_moves_with_the_liquid_changes_nothing() {
    let (tree, phi_cell, open_area) = random_problem(7);
    let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
    let u = at_faces(&tree, |_| DVec3::new(1.0, -0.5, 0.25));
    let mut flow = vec![0.0; tree.cell_count()];
    inflow(&mut flow, &geometry, &u, Some(&u));
    assert!(flow.iter().all(|f| f.abs() < 1e-9));
    inflow(&mut flow, &geometry, &u, None);
    assert!(flow.iter().any(|f| f.abs() > 1e-4));
}

fn entry(system: &System, row: usize, column: u32) -> f64 {
    let range = system.start[row] as usize..system.start[row + 1] as usize;
    let at = system.column[range.clone()].binary_search(&column);
    at.map_or(0.0, |n| system.value[range.start + n])
}

/// `x . A x` and `|x|^2` scaled by the diagonal.
fn energy(system: &System, x: &[f64]) -> f64 {
    (0..x.len())
        .map(|row| {
            let range = system.start[row] as usize..system.start[row + 1] as usize;
            let off: f64 = range.map(|n| system.value[n] * (x[system.column[n] as usize] - x[row])).sum();
            x[row] * (system.row_sum[row] * x[row] + off)
        })
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_symmetric_form_is_symmetric_bit_by_bit_and_positive(seed in any::<u64>()) {
        let (tree, phi_cell, open_area) = random_problem(seed % 100_000);
        let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
        let (mut gradient, mut system) = (PressureGradient::default(), System::default());
        gradient.prepare(&geometry, &GradientParams::default());
        system.assemble(&geometry, &gradient);
        for row in 0..system.cells.len() {
            let range = system.start[row] as usize..system.start[row + 1] as usize;
            for (&column, &value) in system.column[range.clone()].iter().zip(&system.value[range]) {
                prop_assert_eq!(value.to_bits(), entry(&system, column as usize, row as u32).to_bits());
            }
        }
        for draw in 0..4 {
            let x: Vec<f64> =
                random_values(system.cells.len(), draw).iter().map(|&v| v as f64).collect();
            prop_assert!(energy(&system, &x) > 0.0);
        }
    }

    /// The matrix is the product of its factors: rows against `inflow` of the gradient of unit vectors' sums.
    #[test]
    fn the_matrix_is_the_inflow_of_the_gradient(seed in any::<u64>()) {
        let (tree, phi_cell, open_area) = random_problem(seed % 100_000);
        let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
        for form in [FreeSurface::Symmetric, FreeSurface::SecondOrder, FreeSurface::Naive] {
            let (mut gradient, mut system) = (PressureGradient::default(), System::default());
            gradient.prepare(&geometry, &GradientParams { form, ..GradientParams::default() });
            system.assemble(&geometry, &gradient);
            let x: Vec<f64> = random_values(system.cells.len(), seed).iter().map(|&v| v as f64).collect();
            let mut p_cell = vec![0.0; tree.cell_count()];
            system.scatter(&mut p_cell, &x);
            let mut u = vec![0.0f32; tree.face_count()];
            gradient.subtract(&mut u, &geometry, &p_cell);
            let mut flow = vec![0.0; tree.cell_count()];
            inflow(&mut flow, &geometry, &u, None);
            let bonded = |row: usize| system.bonds.iter().any(|bond| bond.0 == system.cells[row]);
            for row in (0..x.len()).filter(|&row| !bonded(row)) {
                let range = system.start[row] as usize..system.start[row + 1] as usize;
                let mut sum = system.row_sum[row] * x[row];
                let mut size = sum.abs();
                for n in range {
                    let term = system.value[n] * (x[system.column[n] as usize] - x[row]);
                    (sum, size) = (sum + term, size + term.abs());
                }
                let expected = -flow[system.cells[row] as usize];
                prop_assert!((sum - expected).abs() < 1e-6 * (size + expected.abs()), "{} {}", sum, expected);
            }
        }
    }
}

#[test]
fn rows_belong_to_liquid_cells_with_an_open_face() {
    let (tree, phi_cell, open_area) = random_problem(11);
    let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
    let (mut gradient, mut system) = (PressureGradient::default(), System::default());
    let info = gradient.prepare(&geometry, &GradientParams::default());
    system.assemble(&geometry, &gradient);
    assert!(info.surface_junctions > 0 && info.degenerate_junctions > 0, "{info:?}");
    for cell in 0..tree.cell_count() {
        let open = tree.cell_faces()[cell].iter().any(|&face| open_area[face as usize] > 0.0);
        assert_eq!(system.row_of_cell[cell] != NO_ROW, phi_cell[cell] < 0.0 && open);
    }
    // Rows whose faces all lie between liquid cells lead nowhere.
    let inner = (0..system.cells.len()).filter(|&row| system.row_sum[row] == 0.0).count();
    assert!(inner > system.cells.len() / 2);
}

#[test]
fn an_open_wall_is_air_one_cell_beyond() {
    let tree = random_tree(1, [2, 2, 2], 0, 0);
    let open_area = vec![1.0; tree.face_count()];
    let phi_cell = vec![-1.0; tree.cell_count()];
    let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
    let (mut gradient, mut system) = (PressureGradient::default(), System::default());
    gradient.prepare(&geometry, &GradientParams::default());
    system.assemble(&geometry, &gradient);
    let dx = tree.shape().dx as f64;
    assert!(system.row_sum.iter().all(|&s| (s - 3.0 * dx).abs() < 1e-12));
    assert!(system.value.iter().all(|&v| (v + dx).abs() < 1e-12) && system.value.len() == 24);
}

#[test]
fn systems_have_the_same_bits_with_any_number_of_threads() {
    let build = || {
        let (tree, phi_cell, open_area) = random_problem(5);
        let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
        let (mut gradient, mut system) = (PressureGradient::default(), System::default());
        let info = gradient.prepare(&geometry, &GradientParams::default());
        system.assemble(&geometry, &gradient);
        format!("{info:?} {system:?}")
    };
    assert_eq!(parallel::with_threads(1, build), parallel::with_threads(3, build));
}

/// Small cells that are open to the large cell of a T-junction alone: their pressures are determined all the
/// same, and the matrix is positive definite.
#[test]
fn cells_open_to_a_junction_alone_have_pressures() {
    let shape = Shape { min: Vec3::ZERO, dx: 0.25, levels: 2, roots: [2, 2, 2] };
    let tree = Octree::build(shape, 0, |cell| cell.at == [0, 0, 0]);
    assert_eq!(tree.junction_count(), 3);
    // Liquid in the eight small cells and in the large one across x; all of it open but the faces between
    // small cells.
    let phi_cell: Vec<f32> = (0..tree.cell_count())
        .map(|c| tree.cell_center(c))
        .map(|x| if x.y < 0.5 && x.z < 0.5 { -1.0 } else { 1.0 })
        .collect();
    let mut open_area = closed_box(&tree);
    for axis in AXES {
        for face in tree.faces(axis).filter(|&face| tree.face_places()[face].level == 0) {
            open_area[face] = 0.0;
        }
        // Nothing but the junction across x is open for the small cells.
        for face in tree.faces(axis).filter(|&face| axis > 0 && tree.is_junction(face)) {
            open_area[face] = 0.0;
        }
    }
    let geometry = Geometry { tree: &tree, phi_cell: &phi_cell, open_area: &open_area };
    let mut gradient = PressureGradient::default();
    gradient.prepare(&geometry, &GradientParams::default());
    let mut system = System::default();
    system.assemble(&geometry, &gradient);
    let rows = system.cells.len();
    assert_eq!(rows, 5, "four small cells at the junction and the large one");
    let matrix = matrix::<f64>(&system).to_csr();
    let mut a = vec![vec![0.0; rows]; rows];
    for (i, row) in a.iter_mut().enumerate() {
        let (columns, values) = matrix.row(i);
        columns.iter().zip(values).for_each(|(&j, &v)| row[j as usize] = v);
    }
    // Cholesky's pivots are positive where the matrix is.
    for k in 0..rows {
        assert!(a[k][k] > 1e-6 * shape.dx as f64, "pivot {k}: {}", a[k][k]);
        for i in k + 1..rows {
            let factor = a[i][k] / a[k][k];
            for j in k..rows {
                a[i][j] -= factor * a[k][j];
            }
        }
    }
}
