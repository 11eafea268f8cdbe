//! The pressure operator against exact solutions: a free surface, and a curved solid.

use super::{Bar, Case, CaseError, Context, Outcome, Row};
use fluvial_foundation::{DVec3, Vec3, parallel};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_output::{Axis, Plot, Style};
use fluvial_pressure::{MultigridCg, Params, PoissonProblem};
use fluvial_solids::{Motion, Shape, SolidFields, rasterize};
use fluvial_solver_interface::{Tracker, TransportTest};

pub const FREE_SURFACE: Case = Case {
    name: "poisson-free-surface",
    what: "div grad p = 6 in a sphere with p = 0 on it: p = r^2 - R^2",
    source: "exact",
    applies: |method| matches!(method.transport, TransportTest::UniformKernels(Tracker::Levelset)),
    run: free_surface,
};

pub const SOLID: Case = Case {
    name: "poisson-solid",
    what: "a = sin x sin 2y sin 3z inside and outside a sphere R 0.392 of the unit cube, right side -14 a, Neumann",
    source: "exact; Basilisk's largest error: 2.6e-4, 6.9e-5, 5.0e-6, 1.5e-6 at 32, 64, 128, 256",
    applies: |method| matches!(method.transport, TransportTest::UniformKernels(Tracker::Levelset)),
    run: solid,
};

/// Far below the errors measured here; f32 right sides of sealed problems carry no more.
const TIGHT: Params = Params { relative_tolerance: 1e-8, max_iterations: 200, ..Params::DEFAULT };

fn resolutions(context: &Context) -> &'static [usize] {
    if context.fine { &[32, 64, 128, 256] } else { &[32, 64, 128] }
}

fn unit_box(n: usize) -> UniformGrid {
    UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 }
}

fn free_surface(context: &Context) -> Result<Outcome, CaseError> {
    // Off the grid's symmetries.
    let (center, radius) = (DVec3::new(0.503, 0.497, 0.511), 0.36);
    let errors = resolutions(context).iter().map(|&n| {
        let grid = unit_box(n);
        let (dx, centers) = (1.0 / n as f64, grid.cell_centers());
        let offset = |index| (cell_center(&centers.coordinates(index), dx) - center).length();
        let phi: Vec<f32> = (0..grid.cell_count()).map(|i| (offset(i) - radius) as f32).collect();
        let open = FaceField::constant(&grid, 1.0);
        let rhs: Vec<f32> =
            phi.iter().map(|&p| if p < 0.0 { (-6.0 * dx * dx) as f32 } else { 0.0 }).collect();
        let p = solve(&grid, &phi, &open, &rhs);
        let exact = |i: usize| offset(i).powi(2) - radius * radius;
        let largest =
            (0..p.len()).filter(|&i| phi[i] < 0.0).map(|i| (p[i] - exact(i)).abs()).fold(0.0, f64::max);
        (n, largest)
    });
    Ok(study("Poisson, free surface", "poisson-free-surface", "", 1.9, errors.collect()))
}

fn solid(context: &Context) -> Result<Outcome, CaseError> {
    let mut outcome = Outcome::default();
    for (name, inside) in [("inside", true), ("outside", false)] {
        let errors = resolutions(context).iter().map(|&n| (n, solid_error(n, inside))).collect();
        let title = format!("Poisson, {name} a solid sphere");
        let part = study(&title, &format!("poisson-solid-{name}"), &format!("{name}: "), 1.8, errors);
        outcome.rows.extend(part.rows);
        outcome.plots.extend(part.plots);
    }
    Ok(outcome)
}

/// Basilisk centres its cube on the origin.
fn exact(x: DVec3) -> f64 {
    x.x.sin() * (2.0 * x.y).sin() * (3.0 * x.z).sin()
}

fn exact_gradient(x: DVec3) -> DVec3 {
    let (s, c) = (
        [x.x.sin(), (2.0 * x.y).sin(), (3.0 * x.z).sin()],
        [x.x.cos(), (2.0 * x.y).cos(), (3.0 * x.z).cos()],
    );
    DVec3::new(c[0] * s[1] * s[2], 2.0 * s[0] * c[1] * s[2], 3.0 * s[0] * s[1] * c[2])
}

/// Largest error over the cells with liquid, the free constant taken out.
fn solid_error(n: usize, inside: bool) -> f64 {
    let (grid, dx, radius) = (unit_box(n), 1.0 / n as f64, 0.392);
    let ball = Shape::Sphere { center: Vec3::splat(0.5), radius: radius as f32 };
    let everything = Shape::Box { min: Vec3::splat(-2.0), max: Vec3::splat(3.0) };
    let shape = if inside { Shape::Difference(Box::new(everything), Box::new(ball)) } else { ball };
    let mut fields = SolidFields::default();
    rasterize(&mut fields, &[(&shape, &Motion::Static)], [false; 6], &grid, 0.0);
    let centers = grid.cell_centers();
    let rhs = |index: usize| {
        let at = centers.coordinates(index);
        let x = cell_center(&at, dx) - 0.5;
        // div grad a over the open part less the flux through its closed boundary = the flux through open
        // faces.
        let mut flux = -14.0 * exact(x) * f64::from(fields.open_volume[index]) * dx * dx;
        let (mut cut, mut walls) = (DVec3::ZERO, 0.0);
        for axis in 0..3 {
            let faces = grid.faces(axis);
            for side in 0..2 {
                let mut face = at;
                face[axis] += side;
                let open = f64::from(fields.open_area[axis][faces.index(face[0], face[1], face[2])]);
                let outward = if side == 1 { 1.0 } else { -1.0 };
                if face[axis] == 0 || face[axis] == n {
                    // The cube's own wall is part of the boundary where no solid covers it.
                    let mut on_wall = x;
                    on_wall[axis] = face[axis] as f64 * dx - 0.5;
                    let uncovered = if inside { 0.0 } else { 1.0 };
                    walls += outward * uncovered * exact_gradient(on_wall)[axis];
                    cut[axis] -= outward * uncovered;
                } else {
                    // The boundary closes the cell: its area vector is what the open faces lack.
                    cut[axis] -= outward * open;
                }
            }
        }
        let on_sphere = x.normalize_or_zero() * radius;
        flux -= (exact_gradient(on_sphere).dot(cut) + walls) * dx;
        -flux as f32
    };
    let phi = vec![-1.0; grid.cell_count()];
    let rhs = parallel::map_indices(grid.cell_count(), rhs);
    let p = solve(&grid, &phi, &fields.open_area, &rhs);
    let is_unknown = |index: usize| {
        let at = centers.coordinates(index);
        (0..3).any(|axis| {
            let mut high = at;
            high[axis] += 1;
            let area = |f: [usize; 3]| fields.open_area[axis][grid.faces(axis).index(f[0], f[1], f[2])];
            area(at) > 0.0 || area(high) > 0.0
        })
    };
    let difference: Vec<f64> = (0..p.len())
        .filter(|&i| is_unknown(i) && fields.open_volume[i] > 0.0)
        .map(|i| p[i] - exact(cell_center(&centers.coordinates(i), dx) - 0.5))
        .collect();
    let mean = difference.iter().sum::<f64>() / difference.len() as f64;
    difference.iter().map(|d| (d - mean).abs()).fold(0.0, f64::max)
}

/// In f64: the errors measured here are below f32's resolution of positions.
fn cell_center(at: &[usize; 3], dx: f64) -> DVec3 {
    DVec3::new(at[0] as f64 + 0.5, at[1] as f64 + 0.5, at[2] as f64 + 0.5) * dx
}

fn solve(grid: &UniformGrid, phi_cell: &[f32], open: &FaceField, rhs: &[f32]) -> Vec<f64> {
    let mut solver = MultigridCg::new(grid.cells);
    solver.prepare(&PoissonProblem {
        cells: grid.cells,
        phi_cell,
        open_area: [&open[0], &open[1], &open[2]],
    });
    let mut p = vec![0.0; grid.cell_count()];
    let mut p_f64 = vec![f64::NAN; grid.cell_count()];
    // A solve that fails leaves NaN, which passes no bar.
    if let Err(error) = solver.solve(&mut p, rhs, &TIGHT) {
        tracing::warn!("the Poisson solve failed: {error}");
        return p_f64;
    }
    solver.solution_f64(&mut p_f64);
    p_f64
}

/// Rows of errors and the order between the finest two, with a plot.
fn study(title: &str, stem: &str, prefix: &str, bar: f64, errors: Vec<(usize, f64)>) -> Outcome {
    let mut outcome = Outcome::default();
    for &(n, error) in &errors {
        outcome.rows.push(Row::new(format!("{n}^3"), format!("{prefix}largest error"), error));
    }
    let [(n_0, coarse), (n_1, fine)] = [errors[errors.len() - 2], errors[errors.len() - 1]];
    let order = (coarse / fine).ln() / (n_1 as f64 / n_0 as f64).ln();
    outcome
        .rows
        .push(Row::new(format!("{n_0}^3, {n_1}^3"), format!("{prefix}order"), order).bar(Bar::AtLeast(bar)));
    let points: Vec<[f64; 2]> = errors.iter().map(|&(n, error)| [n as f64, error]).collect();
    let slope = points.iter().map(|p| [p[0], points[0][1] * (points[0][0] / p[0]).powi(2)]).collect();
    let plot = Plot {
        title: title.into(),
        x: Axis::log("cells per side"),
        y: Axis::log("largest error"),
        series: vec![],
    };
    let plot =
        plot.with("largest error", Style::LineMarkers, points).with("second order", Style::Dashed, slope);
    outcome.plots.push((stem.into(), plot));
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_solution_satisfies_its_equation() {
        let (x, h) = (DVec3::new(0.21, -0.33, 0.4), 1e-4);
        let mut laplacian = 0.0;
        for axis in DVec3::AXES {
            laplacian += (exact(x + h * axis) - 2.0 * exact(x) + exact(x - h * axis)) / (h * h);
            let slope = (exact(x + h * axis) - exact(x - h * axis)) / (2.0 * h);
            assert!((slope - exact_gradient(x).dot(axis)).abs() < 1e-6);
        }
        assert!((laplacian + 14.0 * exact(x)).abs() < 1e-5);
    }
}
