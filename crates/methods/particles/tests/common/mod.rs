//! Fields on a grid and a plain level-set method, enough to drive particles through prescribed flows.

use fluvial_foundation::{Vec3, parallel, random};
use fluvial_grids::{FaceField, Lattice, UniformGrid};
use fluvial_particles::*;

pub fn grid(cells: [usize; 3], dx: f32) -> UniformGrid {
    UniformGrid { min: Vec3::new(-0.3, 0.2, 0.1), cells, dx }
}

pub fn fill(lattice: Lattice, f: impl Fn(Vec3) -> f32 + Sync + Send) -> Vec<f32> {
    parallel::map_indices(lattice.len(), |n| {
        let [i, j, k] = lattice.coordinates(n);
        f(lattice.position(i, j, k))
    })
}

pub fn fill_faces(grid: &UniformGrid, u: impl Fn(Vec3) -> Vec3 + Sync + Send) -> FaceField {
    let mut field = FaceField::constant(grid, 0.0);
    for axis in 0..3 {
        field[axis] = fill(grid.faces(axis), |x| u(x)[axis]);
    }
    field
}

/// Particles anywhere in the box at least `inset` cells from its walls, with random velocities and rows.
pub fn scattered(grid: &UniformGrid, count: usize, inset: f32, affine: bool) -> Particles {
    let bounds = grid.bounds().expand(-inset * grid.dx);
    let mut particles = Particles::default();
    for n in 0..count as u64 {
        let r = |draw| 2.0 * random::unit_vec3(n, draw) - 1.0;
        let x = bounds.min + random::unit_vec3(n, 0) * bounds.size();
        let rows = affine.then(|| [5.0 * r(2) + 3.0 * Vec3::Y, 5.0 * r(3) - 3.0 * Vec3::X, 5.0 * r(4)]);
        particles.push(x, r(1) + Vec3::new(1.0, 0.0, -0.5), rows);
    }
    particles
}

/// Particles with what sorting and resampling need.
#[derive(Default)]
pub struct Cloud {
    pub particles: Particles,
    pub ranges: CellRanges,
    pub reserve: Reserve,
    pub scratch: Scratch,
}

impl Cloud {
    pub fn of(particles: Particles, grid: &UniformGrid) -> Self {
        let mut cloud = Cloud { particles, ..Default::default() };
        cloud.sort(grid);
        cloud
    }

    pub fn sort(&mut self, grid: &UniformGrid) {
        self.particles.sort_by_cell(grid, &mut self.ranges, &mut self.scratch);
    }

    pub fn to_faces(&self, grid: &UniformGrid, transfer: &Transfer) -> (FaceField, FaceField) {
        // Garbage first: the transfer must overwrite all of it.
        let (mut u, mut w) = (FaceField::constant(grid, 7.0), FaceField::constant(grid, 7.0));
        let still = FaceField::constant(grid, 0.0);
        let sides = fluvial_grids::Sides::NONE;
        let deposit = Deposit { transfer: *transfer, sides, u_face: &still, steep_cell: &[] };
        particles_to_faces(&mut u, &mut w, &self.particles, &self.ranges, grid, &deposit);
        (u, w)
    }

    /// Moves the particles and leaves them sorted.
    pub fn advect(&mut self, u: &FaceField, around: &Surroundings, dt_s: f32) -> AdvectReport {
        let mut moved = Particles::default();
        let report =
            advect(&mut moved, &mut self.ranges, &self.particles, (u, &[]), around, dt_s, &mut self.scratch);
        assert!(self.ranges.describe(&moved, around.grid));
        self.particles = moved;
        report
    }

    pub fn resample(
        &mut self,
        phi: &[f32],
        u: &FaceField,
        around: &Surroundings,
        band_m: f32,
        seed: u64,
    ) -> ResampleReport {
        let occasion = if self.particles.is_empty() { Occasion::Start } else { Occasion::Step };
        let open = open_shares(around);
        let shares = liquid_shares(phi, around.grid).into_iter().enumerate();
        let fractions: Vec<f32> = shares.map(|(cell, f)| f as f32 * open.get(cell).unwrap_or(&1.0)).collect();
        let open_volume = [&open[..]; 2];
        let liquid = Liquid { band_m, open_volume, ..liquid_of(phi, &fractions, u, seed, occasion) };
        self.resample_to(&liquid, around)
    }

    pub fn resample_to(&mut self, liquid: &Liquid, around: &Surroundings) -> ResampleReport {
        self.sort(around.grid);
        self.reserve.deep_cell.resize(around.grid.cell_count(), 0);
        let mut out = Particles::default();
        let (ranges, reserve, scratch) = (&mut self.ranges, &mut self.reserve, &mut self.scratch);
        let before_m3 = reserve.volume_m3(self.particles.len(), liquid.open_volume[0], around.grid.dx);
        let report = resample(&mut out, ranges, &self.particles, reserve, liquid, around, scratch);
        let after_m3 = reserve.volume_m3(out.len(), liquid.open_volume[1], around.grid.dx);
        assert!((after_m3 - before_m3).abs() < 1e-9 * (before_m3.abs() + 1.0), "{before_m3} {after_m3}");
        assert!(self.ranges.describe(&out, around.grid));
        self.particles = out;
        report
    }

    pub fn correct(&mut self, phi: &mut [f32], around: &Surroundings) {
        self.sort(around.grid);
        correct_by_particles(phi, &self.particles, &self.ranges, around, &mut self.scratch);
    }
}

/// A closed box with solids.
pub fn with_solids<'a>(grid: &'a UniformGrid, phi_solid_node: &'a [f32]) -> Surroundings<'a> {
    Surroundings { phi_solid_node, ..Surroundings::closed(grid) }
}

/// Open share of each cell, as if the solids' surface were flat; empty without solids.
pub fn open_shares(around: &Surroundings) -> Vec<f32> {
    if around.phi_solid_node.is_empty() {
        return vec![];
    }
    let (nodes, cells) = (around.grid.nodes(), around.grid.cell_centers());
    fill(cells, |x| (0.5 + nodes.sample(around.phi_solid_node, x) / nodes.spacing).clamp(0.0, 1.0))
}

/// Liquid share of each cell, as if its surface were flat.
pub fn shares(phi: &[f32], dx: f32) -> Vec<f32> {
    phi.iter().map(|phi| (0.5 - phi / dx).clamp(0.0, 1.0)).collect()
}

/// A liquid of FLIP particles all through, without sources.
pub fn liquid_of<'a>(
    phi_cell: &'a [f32],
    fraction_cell: &'a [f32],
    u_face: &'a FaceField,
    step_seed: u64,
    occasion: Occasion,
) -> Liquid<'a> {
    Liquid {
        from_deep_cell: &[],
        phi_cell,
        fraction_cell,
        open_volume: [&[]; 2],
        u_face,
        band_m: f32::INFINITY,
        transfer: Transfer::Flip { ratio: 1.0 },
        step_seed,
        occasion,
    }
}

/// Cells this far from the surface keep their value, in cells.
const BAND: f32 = 5.0;

/// Semi-Lagrangian step of a level set near its surface, traced with the midpoint rule.
pub fn advect_phi(
    phi: &mut Vec<f32>,
    u: impl Fn(Vec3) -> Vec3 + Sync + Send,
    grid: &UniformGrid,
    dt_s: f32,
    sample: impl Fn(&Lattice, &[f32], Vec3) -> f32 + Sync + Send,
) {
    let centers = grid.cell_centers();
    let old = phi.clone();
    *phi = fill(centers, |x| {
        let here = centers.sample(&old, x);
        if here.abs() > BAND * grid.dx {
            return here;
        }
        let middle = x - 0.5 * dt_s * u(x);
        sample(&centers, &old, x - dt_s * u(middle))
    });
}

/// Catmull-Rom interpolation within the range of the eight nearest samples: third order, no new extrema.
pub fn sample_cubic(lattice: &Lattice, values: &[f32], x: Vec3) -> f32 {
    let stencil = lattice.stencil(x);
    let low = lattice.coordinates(stencil.base);
    let weights = stencil.fraction.map(|t| {
        let (t2, t3) = (t * t, t * t * t);
        [
            0.5 * (2.0 * t2 - t - t3),
            0.5 * (2.0 - 5.0 * t2 + 3.0 * t3),
            0.5 * (t + 4.0 * t2 - 3.0 * t3),
            0.5 * (t3 - t2),
        ]
    });
    let mut sum = 0.0;
    for n in 0..64 {
        let offset = [n % 4, n / 4 % 4, n / 16];
        let at: [isize; 3] = std::array::from_fn(|axis| (low[axis] + offset[axis]) as isize - 1);
        let weight: f32 = (0..3).map(|axis| weights[axis][offset[axis]]).product();
        sum += weight * values[lattice.index_clamped(at[0], at[1], at[2])];
    }
    let corners = lattice.corner_values(values, stencil.base);
    let range = |f: fn(f32, f32) -> f32| corners.into_iter().reduce(f).unwrap();
    sum.clamp(range(f32::min), range(f32::max))
}

/// Distance from the zero set: exact for planes next to it, fast sweeping beyond [zhao-2005].
pub fn redistance(phi: &mut [f32], grid: &UniformGrid) {
    let lattice = grid.cell_centers();
    let n = lattice.size;
    let old = phi.to_vec();
    let far = BAND * 1.5 * grid.dx;
    let mut fixed = vec![false; phi.len()];
    for index in 0..phi.len() {
        let c = lattice.coordinates(index);
        let mut inverse_squares = 0.0;
        for axis in 0..3 {
            let mut nearest = f32::INFINITY;
            for step in [-1isize, 1] {
                let at = c[axis] as isize + step;
                if at >= 0 && (at as usize) < n[axis] {
                    let other = old[(index as isize + step * lattice.stride(axis) as isize) as usize];
                    if (other < 0.0) != (old[index] < 0.0) {
                        nearest = nearest.min(old[index] / (old[index] - other));
                    }
                }
            }
            inverse_squares += nearest.powi(-2);
        }
        fixed[index] = inverse_squares > 0.0;
        phi[index] = if fixed[index] { grid.dx / inverse_squares.sqrt() } else { far };
        phi[index] = phi[index].copysign(old[index]);
    }
    for sweep in 0..8 {
        sweep_distances(phi, &fixed, &lattice, sweep);
    }
}

fn sweep_distances(phi: &mut [f32], fixed: &[bool], lattice: &Lattice, sweep: usize) {
    let n = lattice.size;
    for count in 0..phi.len() {
        let c = lattice.coordinates(count);
        let c: [usize; 3] = std::array::from_fn(|a| if sweep >> a & 1 == 1 { n[a] - 1 - c[a] } else { c[a] });
        let index = lattice.index(c[0], c[1], c[2]);
        if fixed[index] {
            continue;
        }
        let mut near: [f32; 3] = std::array::from_fn(|a| {
            let low = if c[a] > 0 { phi[index - lattice.stride(a)].abs() } else { f32::MAX };
            let high = if c[a] + 1 < n[a] { phi[index + lattice.stride(a)].abs() } else { f32::MAX };
            low.min(high)
        });
        near.sort_by(f32::total_cmp);
        let h = lattice.spacing;
        let mut d = near[0] + h;
        if d > near[1] {
            d = 0.5 * (near[0] + near[1] + (2.0 * h * h - (near[0] - near[1]).powi(2)).sqrt());
            if d > near[2] {
                let (sum, squares) = (near.iter().sum::<f32>(), near.iter().map(|v| v * v).sum::<f32>());
                d = (sum + (sum * sum - 3.0 * (squares - h * h)).max(0.0).sqrt()) / 3.0;
            }
        }
        phi[index] = d.min(phi[index].abs()).copysign(phi[index]);
    }
}

/// Share of each cell that is liquid, by 64 samples a cell with a linear ramp across each.
pub fn liquid_shares(phi: &[f32], grid: &UniformGrid) -> Vec<f64> {
    let centers = grid.cell_centers();
    parallel::map_indices(phi.len(), |cell| {
        let distance = phi[cell] / grid.dx;
        if distance.abs() > 1.5 {
            return if distance < 0.0 { 1.0 } else { 0.0 };
        }
        let [i, j, k] = centers.coordinates(cell);
        let corner = centers.position(i, j, k) - 0.375 * grid.dx;
        let sum: f64 = (0..64)
            .map(|n| {
                let offset = Vec3::new((n % 4) as f32, (n / 4 % 4) as f32, (n / 16) as f32);
                let distance = centers.sample(phi, corner + 0.25 * grid.dx * offset) / (0.25 * grid.dx);
                (0.5 - distance as f64).clamp(0.0, 1.0)
            })
            .sum();
        sum / 64.0
    })
}

/// Liquid volume, m3.
pub fn volume(phi: &[f32], grid: &UniformGrid) -> f64 {
    liquid_shares(phi, grid).iter().sum::<f64>() * (grid.dx as f64).powi(3)
}
