//! Whole projections against exact solutions. The linear solve is conjugate gradients on the operator that
//! right side and gradient make together, so that the two are tested as each other's counterpart.

use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_mac::{
    Impulse, Openings, Probe, SurfacePush, Unknowns, for_each_face, impulse_at, mark_unknowns,
    push_at_surface, right_side, subtract_gradient,
};

/// A liquid with everything that its projection needs; walls of the box are closed, all other faces open.
struct Liquid {
    grid: UniformGrid,
    phi: Vec<f32>,
    area: FaceField,
    still: FaceField,
    unknowns: Unknowns,
}

impl Liquid {
    fn new(grid: UniformGrid, phi: impl Fn(Vec3) -> f32 + Sync + Send) -> Self {
        let cells = grid.cell_centers();
        let mut phi_cell = vec![0.0; cells.len()];
        cells.for_each_mut(&mut phi_cell, |_, [i, j, k], out| *out = phi(cells.position(i, j, k)));
        let (mut area, still) = (FaceField::constant(&grid, 1.0), FaceField::constant(&grid, 0.0));
        for axis in AXES {
            for_each_face(&mut area[axis], &grid, axis, |_, cells, area| {
                *area = (cells.low.is_some() && cells.high.is_some()) as u8 as f32;
            });
        }
        let mut unknowns = Unknowns::none(&grid);
        let openings = Openings {
            grid: &grid,
            area_face: &area,
            u_boundary: &still,
            inflow_cell: &[],
            at_source_cell: &[],
        };
        mark_unknowns(&mut unknowns, &phi_cell, &openings);
        Liquid { grid, phi: phi_cell, area, still, unknowns }
    }

    fn openings(&self) -> Openings<'_> {
        Openings {
            grid: &self.grid,
            area_face: &self.area,
            u_boundary: &self.still,
            inflow_cell: &[],
            at_source_cell: &[],
        }
    }

    fn velocity(&self, u: impl Fn(usize, Vec3) -> f32 + Sync + Send) -> FaceField {
        let mut field = FaceField::constant(&self.grid, 0.0);
        for axis in AXES {
            let lattice = self.grid.faces(axis);
            for_each_face(&mut field[axis], &self.grid, axis, |face, _, out| {
                let [i, j, k] = lattice.coordinates(face);
                *out = u(axis, lattice.position(i, j, k));
            });
        }
        field
    }

    fn subtract(&self, u: &mut FaceField, q: &[f32]) {
        let impulse = Impulse { q_cell: q, phi_cell: &self.phi, unknown_cell: &self.unknowns.unknown_cell };
        subtract_gradient(u, &self.openings(), &impulse, |_, u| *u = 0.0);
    }

    fn rhs(&self, u: &FaceField) -> Vec<f32> {
        let mut rhs = vec![0.0; self.phi.len()];
        right_side(&mut rhs, &self.unknowns.unknown_cell, &self.openings(), u, |_| 0.0);
        rhs
    }

    /// What flows into a cell when the gradient of `q` has been added: the operator of the projection.
    fn apply(&self, q: &[f32]) -> Vec<f32> {
        let mut u = FaceField::constant(&self.grid, 0.0);
        self.subtract(&mut u, q);
        self.rhs(&u).into_iter().map(|v| -v).collect()
    }

    /// Solves by conjugate gradients and subtracts the gradient.
    fn project(&self, u: &mut FaceField) -> Vec<f32> {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| *a as f64 * *b as f64).sum::<f64>();
        let mut r = self.rhs(u);
        let (mut q, mut p, mut rr) = (vec![0.0f32; r.len()], r.clone(), dot(&r, &r));
        let target = 1e-12 * rr;
        for _ in 0..1000 {
            if rr <= target {
                break;
            }
            let ap = self.apply(&p);
            let alpha = rr / dot(&p, &ap);
            for c in 0..q.len() {
                q[c] += (alpha * p[c] as f64) as f32;
                r[c] -= (alpha * ap[c] as f64) as f32;
            }
            let next = dot(&r, &r);
            (0..p.len()).for_each(|c| p[c] = r[c] + (next / rr * p[c] as f64) as f32);
            rr = next;
        }
        assert!(rr <= target, "the reference solve stalls at {rr:e} of {target:e}");
        self.subtract(u, &q);
        q
    }

    /// Largest magnitude of a velocity on the faces of unknowns.
    fn fastest(&self, u: &FaceField) -> f32 {
        let mut fastest = 0.0f32;
        for axis in AXES {
            let mut speed = vec![0.0f32; u[axis].len()];
            for_each_face(&mut speed, &self.grid, axis, |face, cells, out| {
                if cells.any(|c| self.unknowns.unknown_cell[c]) && self.area[axis][face] > 0.0 {
                    *out = u[axis][face].abs();
                }
            });
            fastest = speed.into_iter().fold(fastest, f32::max);
        }
        fastest
    }
}

/// `u = -2 x` in a ball of radius R has the pressure `q = R^2 - r^2` (times dx), zero on the surface;
/// projected, it stops. The ghost values at the surface have an error of second order in dx. Root of the mean
/// square over the unknowns: the largest error depends on how the surface happens to cut a single cell.
fn error_in_ball(n: usize) -> f64 {
    let (dx, radius, center) = (1.0 / n as f32, 0.37, Vec3::new(0.51, 0.49, 0.503));
    let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx };
    let liquid = Liquid::new(grid, |x| x.distance(center) - radius);
    let mut u = liquid.velocity(|axis, x| -2.0 * (x - center)[axis] * dx);
    let q = liquid.project(&mut u);
    let cells = grid.cell_centers();
    let unknown = (0..q.len()).filter(|&c| liquid.unknowns.unknown_cell[c]);
    let squares: Vec<f64> = unknown
        .map(|c| {
            let [i, j, k] = cells.coordinates(c);
            let exact = radius * radius - cells.position(i, j, k).distance_squared(center);
            ((q[c] - exact) as f64).powi(2)
        })
        .collect();
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

#[test]
fn a_quadratic_pressure_in_a_ball_converges_in_second_order() {
    let (coarse, fine) = (error_in_ball(20), error_in_ball(40));
    let order = (coarse / fine).log2();
    assert!(order > 1.9, "errors {coarse:.2e} {fine:.2e}: order {order:.2}");
}

/// Water below a height between two cell centres, pushed down by gravity.
fn still_water(height: f32) -> (Liquid, Vec<f32>, FaceField) {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [4, 12, 4], dx: 0.1 };
    let liquid = Liquid::new(grid, |x| x.y - height);
    let mut u = liquid.velocity(|axis, _| if axis == 1 { -0.5 } else { 0.0 });
    for axis in AXES {
        // Nothing moves through the walls.
        u[axis].iter_mut().zip(&liquid.area[axis]).for_each(|(u, area)| *u *= area);
    }
    let q = liquid.project(&mut u);
    (liquid, q, u)
}

#[test]
fn still_water_stays_still_at_any_level() {
    for height in [0.551, 0.6, 0.62, 0.6499] {
        let (liquid, _, u) = still_water(height);
        assert!(liquid.fastest(&u) < 2e-5, "{} m/s at height {height}", liquid.fastest(&u));
    }
}

#[test]
fn the_pressure_of_still_water_is_exact_up_to_the_floor() {
    let height = 0.62;
    let (liquid, q, _) = still_water(height);
    let closed = vec![false; q.len()];
    let probe = Probe {
        grid: &liquid.grid,
        q_cell: &q,
        phi_cell: &liquid.phi,
        closed_cell: &closed,
        open_area: &liquid.area,
    };
    for y in [0.0, 0.03, 0.2, 0.41, 0.6] {
        let found = impulse_at(Vec3::new(0.13, y, 0.4), &probe).unwrap();
        let exact = 0.5 * ((height - y) / 0.1) as f64;
        assert!((found - exact).abs() < 1e-4, "{found} at y = {y}, exact {exact}");
    }
    assert_eq!(impulse_at(Vec3::new(0.1, 1.1, 0.1), &probe), None);
}

/// The same pressure all over the surface of a ball moves nothing and is the pressure inside.
#[test]
fn a_pressure_on_the_surface_is_the_pressure_inside() {
    let (n, s) = (12, 3.0);
    let grid = UniformGrid { min: Vec3::ZERO, cells: [n; 3], dx: 1.0 / n as f32 };
    let liquid = Liquid::new(grid, |x| x.distance(Vec3::splat(0.48)) - 0.3);
    let closed = vec![false; liquid.phi.len()];
    let push = SurfacePush {
        phi_cell: &liquid.phi,
        unit: liquid.grid.dx,
        closed_cell: &closed,
        unknown_cell: &liquid.unknowns.unknown_cell,
        strength: 0.5,
    };
    let mut u = liquid.velocity(|_, _| 0.0);
    for axis in AXES {
        for_each_face(&mut u[axis], &grid, axis, |_, cells, u| {
            if let (Some(low), Some(high)) = (cells.low, cells.high) {
                push_at_surface(u, [low, high], &push, |_, _| s);
            }
        });
    }
    assert!(liquid.fastest(&u) >= 1.5);
    let q = liquid.project(&mut u);
    assert!(liquid.fastest(&u) < 1e-3, "{} m/s", liquid.fastest(&u));
    let inside = (0..q.len()).filter(|&c| liquid.unknowns.unknown_cell[c]);
    inside.for_each(|c| assert!((q[c] - 1.5).abs() < 1e-4, "{}", q[c]));
}

/// The operator is symmetric: gradient and divergence are each other's counterpart, at the surface too.
#[test]
fn the_operator_is_symmetric() {
    let grid = UniformGrid { min: Vec3::ZERO, cells: [7, 6, 5], dx: 0.2 };
    let liquid = Liquid::new(grid, |x| x.distance(Vec3::new(0.7, 0.5, 0.4)) - 0.45);
    let field = |seed: f32| -> Vec<f32> {
        let value = |c: usize| if liquid.unknowns.unknown_cell[c] { (seed * c as f32).sin() } else { 0.0 };
        (0..liquid.phi.len()).map(value).collect()
    };
    let (a, b) = (field(1.3), field(0.7));
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| *a as f64 * *b as f64).sum::<f64>();
    let (ab, ba) = (dot(&a, &liquid.apply(&b)), dot(&b, &liquid.apply(&a)));
    assert!((ab - ba).abs() < 1e-5 * ab.abs(), "{ab} {ba}");
}

mod faces;
mod friction;
mod net_force;
mod openings;
mod parting;
mod short_waves;
mod solids;
mod sources;
mod unknowns;
