//! Order of pressure and gradient, beside ghost fluid on the same grid.

use crate::common::phi_at_nodes;
use fluvial_cutcell::cut::{CutScratch, cut_liquid};
use fluvial_cutcell::iso::IsoSamples;
use fluvial_cutcell::mesh::{CutCells, NONE};
use fluvial_cutcell::nodes::Tracker;
use fluvial_cutcell::poisson::System;
use fluvial_cutcell::velocity::Given;
use fluvial_foundation::{DVec3, Vec3};
use fluvial_grids::UniformGrid;
use fluvial_linear::Params;
use fluvial_linear::krylov::{CgScratch, Identity, conjugate_gradients};
use fluvial_linear::sparse::{Csr, FluxMatrix};

const TIGHT: Params = Params { relative_tolerance: 1e-8, max_iterations: 2000, ..Params::DEFAULT };

/// A problem `laplace p = f`, `p = 0` where phi vanishes.
struct Problem<'a> {
    phi: &'a dyn Fn(DVec3) -> f64,
    p: &'a dyn Fn(DVec3) -> f64,
    gradient: &'a dyn Fn(DVec3) -> DVec3,
    laplacian: &'a dyn Fn(DVec3) -> f64,
}

/// Largest and root mean square error of pressure, and of the gradient on grid faces.
#[derive(Clone, Copy)]
struct Errors {
    pressure: [f64; 2],
    gradient: [f64; 2],
}

impl std::fmt::Debug for Errors {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let ([a, b], [c, d]) = (self.pressure, self.gradient);
        write!(f, "p {a:.2e} rms {b:.2e}, gradient {c:.2e} rms {d:.2e}")
    }
}

fn norms(errors: &[f64]) -> [f64; 2] {
    let most = errors.iter().fold(0.0, |m: f64, e| m.max(e.abs()));
    [most, (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()]
}

fn cut_cell_errors(grid: UniformGrid, factor: usize, problem: &Problem) -> Errors {
    let phi_node = phi_at_nodes(&grid, factor, problem.phi);
    let tracker = Tracker { grid, factor, phi_node: &phi_node };
    let mesh = cut_liquid(&tracker, &mut CutScratch::default());
    let mut iso = IsoSamples::default();
    iso.find(&mesh, &tracker);
    let dx = grid.dx as f64;
    let rhs: Vec<f64> = mesh
        .pieces
        .iter()
        .map(|p| -p.volume * dx * dx * (problem.laplacian)(mesh.in_world(p.centroid)))
        .collect();
    let system = System::assemble(&mesh, &iso, &Given::NOTHING);
    let mut p = vec![0.0; mesh.pieces.len()];
    let info = system.solve(&mut p, &rhs, &TIGHT, &mut CgScratch::default()).expect("it converges");
    assert!(info.iterations < 60, "slivers cost {} iterations", info.iterations);
    let (mut pressure, mut gradient) = (vec![], vec![]);
    for (f, face) in mesh.faces.iter().enumerate() {
        for side in (0..2).filter(|&s| face.pieces[s] != NONE) {
            let x = mesh.in_world(sample_position(&mesh, &iso, f, side));
            pressure.push(p[face.pieces[side] as usize] - (problem.p)(x));
        }
        if !face.pieces.contains(&NONE) {
            let [low, high] = face.pieces.map(|n| p[n as usize]);
            let [a, b] = iso.to_sample[f];
            let exact = (problem.gradient)(mesh.in_world(face.centroid))[face.axis as usize];
            gradient.push((high - low) / ((a + b) * dx) - exact);
        }
    }
    Errors { pressure: norms(&pressure), gradient: norms(&gradient) }
}

/// Pieces without surface have their pressure at the cell's centre.
fn sample_position(mesh: &CutCells, iso: &IsoSamples, face: usize, side: usize) -> DVec3 {
    let piece = mesh.faces[face].pieces[side] as usize;
    if iso.phi_piece[piece] < 0.0 {
        iso.position(mesh, face, side)
    } else {
        mesh.corner(mesh.pieces[piece].cell as usize) + 0.5
    }
}

/// Ghost fluid on the same grid: cells whose centre is liquid, the surface on the line between centres.
fn ghost_fluid_errors(grid: UniformGrid, problem: &Problem) -> Errors {
    let cells = grid.cell_centers();
    let at = |n: usize| {
        let c = cells.coordinates(n).map(|c| c as f64 + 0.5);
        grid.min.as_dvec3() + grid.dx as f64 * DVec3::from_array(c)
    };
    let phi: Vec<f64> = (0..cells.len()).map(|n| (problem.phi)(at(n))).collect();
    let dx = grid.dx as f64;
    let (mut row_of, mut cell_of) = (vec![u32::MAX; cells.len()], vec![]);
    for n in (0..cells.len()).filter(|&n| phi[n] < 0.0) {
        row_of[n] = cell_of.len() as u32;
        cell_of.push(n);
    }
    let (mut start, mut column, mut value, mut excess) = (vec![0u32], vec![], vec![], vec![]);
    let neighbours = |n: usize| {
        let c = cells.coordinates(n);
        (0..3).flat_map(move |axis| [false, true].map(|up| (axis, up))).filter_map(move |(axis, up)| {
            let inside = if up { c[axis] + 1 < cells.size[axis] } else { c[axis] > 0 };
            let s = cells.stride(axis);
            inside.then(|| (axis, up, if up { n + s } else { n - s }))
        })
    };
    for &n in &cell_of {
        let (mut own, mut off) = (0.0, vec![]);
        for (_, _, m) in neighbours(n) {
            if phi[m] < 0.0 {
                off.push(row_of[m])
            } else {
                own += 1.0 / (phi[n] / (phi[n] - phi[m])).max(1e-3)
            }
        }
        off.sort_unstable();
        value.extend(off.iter().map(|_| -1.0f32));
        column.extend(off);
        start.push(column.len() as u32);
        excess.push(own);
    }
    let matrix = FluxMatrix::new(Csr::new(cell_of.len(), start, column, value), excess);
    let b: Vec<f64> = cell_of.iter().map(|&n| -dx * dx * (problem.laplacian)(at(n))).collect();
    let mut p = vec![0.0; b.len()];
    let mut scratch = CgScratch::<f64>::default();
    conjugate_gradients(&mut p, &matrix, &mut Identity, &b, &TIGHT, &mut scratch).expect("it converges");
    let pressure: Vec<f64> = cell_of.iter().zip(&p).map(|(&n, p)| p - (problem.p)(at(n))).collect();
    let mut gradient = vec![];
    for (row, &n) in cell_of.iter().enumerate() {
        for (axis, up, m) in neighbours(n) {
            let sign = if up { 1.0 } else { -1.0 };
            let mut x = at(n);
            x[axis] += 0.5 * sign * dx;
            let difference = if phi[m] < 0.0 {
                p[row_of[m] as usize] - p[row]
            } else {
                -p[row] / (phi[n] / (phi[n] - phi[m])).max(1e-3)
            };
            gradient.push(sign * difference / dx - (problem.gradient)(x)[axis]);
        }
    }
    Errors { pressure: norms(&pressure), gradient: norms(&gradient) }
}

/// Orders between the last two of three grids, each twice as fine as the one before, of the cut cells and of
/// ghost fluid.
struct Orders {
    cut: [Errors; 3],
    ghost: [Errors; 3],
}

fn measure(grids: [UniformGrid; 3], factor: usize, problem: &Problem) -> Orders {
    let cut = grids.map(|g| cut_cell_errors(g, factor, problem));
    let ghost = grids.map(|g| ghost_fluid_errors(g, problem));
    for (cut, ghost) in cut.iter().zip(&ghost) {
        println!("cut cells {cut:?}, ghost fluid {ghost:?}");
    }
    Orders { cut, ghost }
}

/// Order over both refinements together: single ones depend on where the surface passes the grid.
fn order(errors: &[Errors; 3], of: impl Fn(&Errors) -> f64) -> f64 {
    0.5 * (of(&errors[0]) / of(&errors[2])).log2()
}

#[test]
fn pressure_is_second_order_and_gradient_first_on_a_sphere() {
    // An octant of a ball between walls, which are its planes of symmetry.
    let center = DVec3::ZERO;
    let radius = 0.77;
    let problem = Problem {
        phi: &|x| (x - center).length() - radius,
        p: &|x| radius * radius - (x - center).length_squared(),
        gradient: &|x| -2.0 * (x - center),
        laplacian: &|_| -6.0,
    };
    let grids = [11, 22, 44].map(|n| UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 });
    let Orders { cut, ghost } = measure(grids, 4, &problem);
    assert!(order(&cut, |e| e.pressure[0]) > 1.7, "{}", order(&cut, |e| e.pressure[0]));
    assert!(order(&cut, |e| e.pressure[1]) > 1.7, "{}", order(&cut, |e| e.pressure[1]));
    assert!(order(&cut, |e| e.gradient[1]) > 1.2, "{}", order(&cut, |e| e.gradient[1]));
    assert!(order(&ghost, |e| e.pressure[0]) > 1.7);
    // Not worse than twice ghost fluid's, on a body that ghost fluid resolves.
    assert!(cut[2].pressure[1] < 2.5 * ghost[2].pressure[1]);
}

/// The function "peaks" of Matlab, less 1: hills with curved feet.
fn peaks(x: f64, y: f64) -> f64 {
    3.0 * (1.0 - x).powi(2) * (-x * x - (y + 1.0).powi(2)).exp()
        - 10.0 * (x / 5.0 - x.powi(3) - y.powi(5)) * (-x * x - y * y).exp()
        - (-(x + 1.0).powi(2) - y * y).exp() / 3.0
        - 1.0
}

const STEP: f64 = 1e-4;

fn peaks_gradient(x: DVec3) -> DVec3 {
    let d = |a: f64, b: f64| (peaks(x.x + a, x.y + b) - peaks(x.x - a, x.y - b)) / (2.0 * STEP);
    DVec3::new(d(STEP, 0.0), d(0.0, STEP), 0.0)
}

/// Signed distance to where peaks vanishes: the closest point by projections onto the curve and along it.
fn distance_to_peaks(start: DVec3) -> f64 {
    let value = peaks(start.x, start.y);
    let guess = value / peaks_gradient(start).length().max(1e-9);
    if guess.abs() > 1.0 {
        return -guess.clamp(-3.0, 3.0);
    }
    let mut x = start;
    for _ in 0..30 {
        let g = peaks_gradient(x);
        x -= peaks(x.x, x.y) / g.length_squared().max(1e-12) * g;
        let n = peaks_gradient(x).normalize_or_zero();
        let back = start - x;
        x += 0.7 * (back - back.dot(n) * n) * DVec3::new(1.0, 1.0, 0.0);
    }
    let g = peaks_gradient(x);
    x -= peaks(x.x, x.y) / g.length_squared().max(1e-12) * g;
    let distance = ((x - start) * DVec3::new(1.0, 1.0, 0.0)).length();
    if distance < 2.0 { -value.signum() * distance } else { -guess }
}

#[test]
fn pressure_is_second_order_and_gradient_first_on_peaks() {
    let problem = Problem {
        phi: &distance_to_peaks,
        p: &|x| peaks(x.x, x.y),
        gradient: &peaks_gradient,
        laplacian: &|x| {
            let h = 1e-3;
            let around =
                peaks(x.x + h, x.y) + peaks(x.x - h, x.y) + peaks(x.x, x.y + h) + peaks(x.x, x.y - h);
            (around - 4.0 * peaks(x.x, x.y)) / (h * h)
        },
    };
    let grids = [32, 64, 128].map(|n| UniformGrid {
        min: Vec3::new(-3.0, -3.0, 0.0),
        cells: [n, n, 1],
        dx: 6.0 / n as f32,
    });
    let Orders { cut, ghost } = measure(grids, 2, &problem);
    assert!(order(&cut, |e| e.pressure[1]) > 1.7, "{}", order(&cut, |e| e.pressure[1]));
    assert!(order(&cut, |e| e.pressure[0]) > 1.5, "{}", order(&cut, |e| e.pressure[0]));
    assert!(order(&cut, |e| e.gradient[1]) > 1.0, "{}", order(&cut, |e| e.gradient[1]));
    assert!(order(&ghost, |e| e.pressure[1]) > 1.7, "{}", order(&ghost, |e| e.pressure[1]));
}
