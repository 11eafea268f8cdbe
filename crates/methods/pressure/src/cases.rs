//! Named problems that every solver is measured on.

use crate::PoissonProblem;
use fluvial_foundation::random::{splitmix64, unit_f32, unit_vec3};
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::GHOST_DISTANCE_FLOOR;
use std::f64::consts::PI;

/// A problem with its right side, in the unit cube.
pub struct Case {
    /// Cells along each axis.
    pub cells: [usize; 3],
    /// Level set at cell centres.
    pub phi_cell: Vec<f32>,
    /// Open areas of the faces.
    pub open_area: [Vec<f32>; 3],
    /// Right side at cells.
    pub rhs: Vec<f32>,
}

const NOBODY: u32 = u32::MAX;

/// The floor of theta in the published figures of `wavy-tank` (norms of its matrix and solution), for
/// comparison with them.
pub const PUBLISHED_FLOOR: f32 = 1e-2;

/// How well a pressure solves a case.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Remainder {
    /// Cells with a pressure.
    pub unknowns: usize,
    /// Sum of the squares of `rhs - A p`.
    pub square: f64,
    /// Largest absolute value of `rhs - A p`.
    pub largest: f64,
    /// Sum of the squares of the right side.
    pub rhs_square: f64,
    /// Sum of the squares of the pressure.
    pub solution_square: f64,
}

impl Remainder {
    /// Norm of the residual over that of the right side.
    pub fn relative(&self) -> f64 {
        if self.square == 0.0 { 0.0 } else { (self.square / self.rhs_square).sqrt() }
    }
}

/// The names that [`Case::new`] knows.
pub const NAMES: [&str; 8] = [
    "wavy-tank",
    "tank",
    "sealed",
    "sphere-jet-low",
    "sphere-jet-mid",
    "sphere-jet-high",
    "bubbly",
    "cut-walls",
];

impl Case {
    /// The case `name` on `n`^3 cells; None for an unknown name.
    pub fn new(name: &str, n: usize) -> Option<Case> {
        // Distance to the liquid's surface and to the solid, at a point of the unit cube.
        type Distance = Box<dyn Fn(Vec3) -> f32 + Sync + Send>;
        let (liquid, solid): (Distance, Option<Distance>) = match name {
            "wavy-tank" => return Some(Case::wavy_tank(n)),
            "tank" => (Box::new(|x| x.y - 0.731), None),
            "sealed" => (Box::new(|_| -1.0), None),
            "sphere-jet-low" => (Box::new(|x| jet(x, 0.1)), Some(Box::new(ball))),
            "sphere-jet-mid" => (Box::new(|x| jet(x, 0.4)), Some(Box::new(ball))),
            "sphere-jet-high" => (Box::new(|x| jet(x, 0.75)), Some(Box::new(ball))),
            "bubbly" => {
                let drops = Spheres::new(n);
                (Box::new(move |x| drops.distance(x)), None)
            }
            "cut-walls" => (Box::new(|x| tilt(x).y - 0.1), Some(Box::new(inside_tilted_box))),
            _ => return None,
        };
        Some(Case::build(n, liquid, solid))
    }

    /// The problem as the solver takes it.
    pub fn problem(&self) -> PoissonProblem<'_> {
        let a = &self.open_area;
        PoissonProblem { cells: self.cells, phi_cell: &self.phi_cell, open_area: [&a[0], &a[1], &a[2]] }
    }

    /// What is left of the equations with pressure `p`: straight from the definition in the crate's
    /// documentation, in f64, cell after cell; shares nothing with the solvers. In sealed components the
    /// right side is taken without its mean.
    pub fn remainder(&self, p: &[f64]) -> Remainder {
        let (label, sealed) = self.components();
        let mut means = vec![(0.0, 0usize); sealed.len()];
        for (cell, &id) in label.iter().enumerate().filter(|(_, id)| **id != NOBODY) {
            let mean = &mut means[id as usize];
            *mean = (mean.0 + self.rhs[cell] as f64, mean.1 + 1);
        }
        let mut found = Remainder::default();
        for (cell, &id) in label.iter().enumerate().filter(|(_, id)| **id != NOBODY) {
            let (sum, count) = means[id as usize];
            let mean = if sealed[id as usize] { sum / count as f64 } else { 0.0 };
            let b = self.rhs[cell] as f64 - mean;
            let flux = |(coefficient, beyond): (f64, Option<usize>)| {
                coefficient * (p[cell] - beyond.map_or(0.0, |n| p[n]))
            };
            let r = b - self.faces(cell).into_iter().flatten().map(flux).sum::<f64>();
            found.unknowns += 1;
            found.square += r * r;
            found.rhs_square += b * b;
            found.solution_square += p[cell] * p[cell];
            found.largest =
                if found.largest.is_nan() || r.abs() <= found.largest { found.largest } else { r.abs() };
        }
        found
    }

    /// Coefficient and neighbour (None: air or outside, pressure zero) of the open faces of a cell.
    fn faces(&self, cell: usize) -> [Option<(f64, Option<usize>)>; 6] {
        let [nx, ny, _] = self.cells;
        let at = [cell % nx, cell / nx % ny, cell / (nx * ny)];
        std::array::from_fn(|face| {
            let (axis, high) = (face / 2, face % 2);
            let (mut size, mut f) = (self.cells, at);
            size[axis] += 1;
            f[axis] += high;
            let area = self.open_area[axis][f[0] + size[0] * (f[1] + size[1] * f[2])];
            let outside = f[axis] == 0 || f[axis] == self.cells[axis];
            let step = [1, nx, nx * ny][axis];
            let beyond = if high == 1 { cell + step } else { cell.wrapping_sub(step) };
            match () {
                _ if area <= 0.0 => None,
                _ if outside => Some((area as f64, None)),
                _ if self.phi_cell[beyond] < 0.0 => Some((area as f64, Some(beyond))),
                _ => {
                    let (inside, outside) = (self.phi_cell[cell] as f64, self.phi_cell[beyond] as f64);
                    let theta = (inside / (inside - outside)).max(GHOST_DISTANCE_FLOOR as f64);
                    Some((area as f64 / theta, None))
                }
            }
        })
    }

    /// Component of every cell ([`NOBODY`] where there is no unknown), and which components are sealed.
    fn components(&self) -> (Vec<u32>, Vec<bool>) {
        let mut label = vec![NOBODY; self.phi_cell.len()];
        let (mut sealed, mut stack) = (Vec::new(), Vec::new());
        for start in 0..label.len() {
            let dry = self.phi_cell[start] >= 0.0 || label[start] != NOBODY;
            if dry || self.faces(start).iter().all(Option::is_none) {
                continue;
            }
            let id = sealed.len() as u32;
            sealed.push(true);
            label[start] = id;
            stack.push(start);
            while let Some(cell) = stack.pop() {
                for (_, beyond) in self.faces(cell).into_iter().flatten() {
                    match beyond {
                        None => sealed[id as usize] = false,
                        Some(n) if label[n] == NOBODY => {
                            label[n] = id;
                            stack.push(n);
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        (label, sealed)
    }

    /// `z - (0.7 + 0.1 sin(2 pi x) cos(2 pi y))` in f64, solid walls.
    fn wavy_tank(n: usize) -> Case {
        let h = 1.0 / n as f64;
        let phi_cell = parallel::map_indices(n * n * n, |cell| {
            let [x, y, z] = [cell % n, cell / n % n, cell / (n * n)].map(|i| (i as f64 + 0.5) * h);
            (z - (0.7 + 0.1 * (2.0 * PI * x).sin() * (2.0 * PI * y).cos())) as f32
        });
        Case { cells: [n; 3], phi_cell, open_area: open_areas(n, |_| 1.0), rhs: right_side(n) }
    }

    fn build(
        n: usize,
        liquid: impl Fn(Vec3) -> f32 + Sync + Send,
        solid: Option<impl Fn(Vec3) -> f32 + Sync + Send>,
    ) -> Case {
        let h = 1.0 / n as f32;
        let phi_cell = parallel::map_indices(n * n * n, |cell| {
            liquid(h * (Vec3::new((cell % n) as f32, (cell / n % n) as f32, (cell / (n * n)) as f32) + 0.5))
        });
        let open_area = match solid {
            Some(solid) => open_areas(n, |x| fraction(solid(x) / h)),
            None => open_areas(n, |_| 1.0),
        };
        Case { cells: [n; 3], phi_cell, open_area, rhs: right_side(n) }
    }
}

/// Open part of a face whose centre lies so many cells outside a solid; slivers are closed.
fn fraction(distance_in_cells: f32) -> f32 {
    let open = (0.5 + distance_in_cells).clamp(0.0, 1.0);
    if open < 0.01 { 0.0 } else { open }
}

/// `area(face centre)` inside, closed walls.
fn open_areas(n: usize, area: impl Fn(Vec3) -> f32 + Sync + Send) -> [Vec<f32>; 3] {
    let h = 1.0 / n as f32;
    std::array::from_fn(|axis| {
        let mut size = [n; 3];
        size[axis] += 1;
        let mut half = Vec3::splat(0.5);
        half[axis] = 0.0;
        parallel::map_indices(size.iter().product(), |f| {
            let at = [f % size[0], f / size[0] % size[1], f / (size[0] * size[1])];
            if at[axis] == 0 || at[axis] == n {
                return 0.0;
            }
            area(h * (Vec3::new(at[0] as f32, at[1] as f32, at[2] as f32) + half))
        })
    })
}

/// `cos(3 pi x) cos(5 pi y) sin(2 pi z) + 0.3 (2 r - 1)`, r random per cell.
fn right_side(n: usize) -> Vec<f32> {
    let h = 1.0 / n as f64;
    parallel::map_indices(n * n * n, |cell| {
        let [x, y, z] = [cell % n, cell / n % n, cell / (n * n)].map(|i| (i as f64 + 0.5) * h);
        let r = (splitmix64(cell as u64) >> 11) as f64 * 2f64.powi(-53);
        let wave = (3.0 * PI * x).cos() * (5.0 * PI * y).cos() * (2.0 * PI * z).sin();
        (wave + 0.3 * (2.0 * r - 1.0)) as f32
    })
}

/// A pool of the given depth and a jet along x that hits the ball and spreads around it.
fn jet(x: Vec3, depth: f32) -> f32 {
    let along = (x - Vec3::new(0.0, 0.5, 0.5)) * Vec3::new(0.0, 1.0, 1.0);
    let jet = (along.length() - 0.07).max(x.x - 0.5);
    let film = ball(x) - 0.03;
    let sheet = (Vec3::new(x.x - 0.55, 0.0, x.z - 0.5).length() - 0.06).max(x.y - 0.5);
    (x.y - depth - 0.02 * (9.0 * x.x).sin() * (7.0 * x.z).cos()).min(jet).min(film).min(sheet)
}

fn ball(x: Vec3) -> f32 {
    (x - Vec3::new(0.55, 0.5, 0.5)).length() - 0.15
}

fn tilt(x: Vec3) -> Vec3 {
    fluvial_foundation::Quat::from_axis_angle(Vec3::new(1.0, 0.5, 2.0).normalize(), 0.4) * (x - 0.5)
}

fn inside_tilted_box(x: Vec3) -> f32 {
    0.35 - tilt(x).abs().max_element()
}

/// Air bubbles in a pool and drops above it, radii from half a cell to a twentieth of the cube.
struct Spheres {
    buckets: Vec<Vec<(Vec3, f32)>>,
}

impl Spheres {
    const BUCKETS: usize = 8;

    fn new(n: usize) -> Self {
        let mut buckets = vec![Vec::new(); Self::BUCKETS.pow(3)];
        for s in 0..(n as u64 * n as u64 / 2) {
            let center = unit_vec3(s, 1);
            let radius = (0.5 / n as f32) * (0.1 * n as f32).powf(unit_f32(s, 2).powi(4));
            let reach = radius + 2.0 / n as f32;
            let bound = |v: Vec3| v.clamp(Vec3::ZERO, Vec3::ONE) * (Self::BUCKETS as f32 - 1e-3);
            let (low, high) = (bound(center - reach).as_uvec3(), bound(center + reach).as_uvec3());
            for z in low.z..=high.z {
                for y in low.y..=high.y {
                    for x in low.x..=high.x {
                        buckets[Self::bucket(x, y, z)].push((center, radius));
                    }
                }
            }
        }
        Spheres { buckets }
    }

    fn bucket(x: u32, y: u32, z: u32) -> usize {
        x as usize + Self::BUCKETS * (y as usize + Self::BUCKETS * z as usize)
    }

    fn distance(&self, x: Vec3) -> f32 {
        let b = (x * Self::BUCKETS as f32).as_uvec3();
        let nearest = self.buckets[Self::bucket(b.x, b.y, b.z)].iter();
        let spheres = nearest.map(|&(c, r)| (x - c).length() - r).fold(1.0f32, f32::min);
        let pool = x.y - 0.6 - 0.05 * (11.0 * x.x).sin() * (8.0 * x.z).sin();
        if pool < 0.0 { pool.max(-spheres) } else { pool.min(spheres) }
    }
}
