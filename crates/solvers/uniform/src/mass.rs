//! Volume by construction for the level set: what each cell holds is carried by fluxes, and phi follows.
//!
//! Liquid is what phi stands for, drops too small for it, and a signed residual that cells are owed. A step
//!
//! 1. moves volume through faces, so that the sum changes by what sources, sinks and open walls do alone,
//! 2. displaces the carried surface by what its neighbourhood is owed,
//! 3. keeps the rest for the next step: a residual in the air becomes a drop, one deep inside is asked of the
//!    projection as divergence, which moves it to the surface.

use crate::UniformSolver;
use crate::state::Begin;
use fluvial_drops::{Drops, Obstacles, fly};
use fluvial_foundation::parallel::{chunk_count, chunk_range, map_indices, ordered_sum};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, Lattice, UniformGrid};
use fluvial_level_set::{self as level_set, Settlement};
use fluvial_mac::SourceFace;
use fluvial_solids::SolidFields;
use fluvial_solver_interface::Clamps;

/// A residual farther from the surface than this has none to be settled by, cells.
const FAR_CELLS: f32 = 1.5;
/// The smallest drop, in cells' volumes; less waits for company.
const SMALLEST_DROP: f32 = 1e-3;
/// A drop closer to the surface than this has arrived, cells.
const ARRIVES_CELLS: f32 = 0.5;
/// Drops that fill this part of a cell are liquid that the grid can hold.
const FULL_OF_DROPS: f64 = 0.5;
/// More drops than this in one cell join.
const MOST_DROPS: usize = 4;
/// Drops keep this distance from solids and walls, cells.
const MARGIN_CELLS: f32 = 0.02;
/// Part of a deep residual that one step moves to the surface, and the most of a cell's volume that it moves.
const EXPANSION: f32 = 0.3;
const LARGEST_EXPANSION: f32 = 0.1;

/// What a step carries volume with.
#[derive(Default)]
pub(crate) struct MassWork {
    /// The next state's.
    pub drops: Drops,
    /// Volume across every face, in cells.
    flux_face: FaceField,
    /// Volume of every cell after transport, in cells.
    volume_cell: Vec<f32>,
    settlement: Settlement,
    /// What came in and went out through the domain's boundary and sources, m3.
    in_m3: f64,
    out_m3: f64,
    /// Drops that have become liquid of the grid: cell, velocity, volume in cells.
    arrived: Vec<(usize, Vec3, f64)>,
    /// Part of a deep residual that is asked of the projection, 1/s.
    expansion_1_s: f32,
}

impl MassWork {
    pub fn new(grid: &UniformGrid) -> Self {
        MassWork {
            flux_face: FaceField::constant(grid, 0.0),
            volume_cell: vec![0.0; grid.cell_count()],
            ..MassWork::default()
        }
    }

    /// Divergence times dx that a cell's residual asks of the projection, m/s.
    pub fn wanted_m_s(&self, residual: f32, phi: f32, dx: f32) -> f32 {
        if phi > -FAR_CELLS * dx {
            return 0.0;
        }
        let limit = LARGEST_EXPANSION / EXPANSION;
        self.expansion_1_s * residual.clamp(-limit, limit) * dx
    }
}

impl UniformSolver {
    /// The shares that the state's phi stands for.
    pub(crate) fn measure_fractions_of_state(&mut self) {
        let mut fractions = std::mem::take(&mut self.state.fields.fraction_cell);
        let state = &self.state;
        self.fill_fractions(&mut fractions, &state.fields.phi_cell, &state.boundaries.solids.fields);
        self.state.fields.fraction_cell = fractions;
    }

    /// Measures the shares anew and returns what all cells together have gained, m3; a residual pays for it.
    pub(crate) fn gain_of_fractions(
        &self,
        fraction_cell: &mut [f32],
        phi_cell: &[f32],
        solids: &SolidFields,
        residual_cell: Option<&mut [f32]>,
    ) -> f64 {
        let before = fraction_cell.to_vec();
        self.fill_fractions(fraction_cell, phi_cell, solids);
        if let Some(residual) = residual_cell {
            for (cell, residual) in residual.iter_mut().enumerate() {
                *residual -= fraction_cell[cell] - before[cell];
            }
        }
        let gained = |cell: usize| f64::from(fraction_cell[cell]) - f64::from(before[cell]);
        (0..before.len()).map(gained).sum::<f64>() * self.cell_m3()
    }

    /// Sinks take drops and residuals; returns how much, m3.
    pub(crate) fn drain_drops(&self, sinks: &[usize], drops: &mut Drops, residual_cell: &mut [f32]) -> f64 {
        let cells = self.grid.cell_centers();
        let mut taken_m3 = 0.0;
        for &n in sinks {
            let shape = &self.setup.sinks[n].shape;
            drops.retain(|drops, n| {
                let stays = shape.distance(drops.x[n]) > 0.0;
                taken_m3 += if stays { 0.0 } else { drops.volume_m3[n] };
                stays
            });
            for (cell, residual) in residual_cell.iter_mut().enumerate().filter(|(_, r)| **r != 0.0) {
                let [i, j, k] = cells.coordinates(cell);
                if shape.distance(cells.position(i, j, k)) < 0.0 {
                    taken_m3 += f64::from(std::mem::take(residual)) * self.cell_m3();
                }
            }
        }
        taken_m3
    }

    fn cell_m3(&self) -> f64 {
        (self.grid.dx as f64).powi(3)
    }

    /// Moves the volume of every cell through its faces, and the drops through the air.
    pub(crate) fn carry_volume(&mut self, dt_s: f64) {
        if !self.params.conserves_volume() {
            return;
        }
        let (grid, start) = (self.grid, std::mem::take(&mut self.start));
        let begin = start.of(&self.state);
        // The velocity is free of divergence between the solids of the step that made it.
        let open_area = &self.state.boundaries.solids.fields.open_area;
        let mass = &mut self.work.mass;
        let (flux, u) = (&mut mass.flux_face, begin.u_transport);
        level_set::liquid_flux(
            flux,
            begin.phi_cell,
            u,
            open_area,
            &grid,
            dt_s as f32,
            self.cfl_band_cells * grid.dx,
        );
        let sources = &self.work.boundaries.sources;
        for &SourceFace { axis, face, .. } in &sources.faces {
            // Behind a source's face there is nothing but liquid.
            flux[axis][face] = u[axis][face] * open_area[axis][face] * dt_s as f32 / grid.dx;
        }
        let solids = &self.work.boundaries.solids.fields;
        let (open_walls, deep_m) = (self.setup.open_walls(), 2.0 * grid.dx);
        let left = level_set::carry_residual(
            &mut mass.volume_cell,
            begin.residual_cell,
            begin.phi_cell,
            deep_m,
            u,
            &solids.open_volume,
            open_walls,
            &grid,
            dt_s as f32,
        );
        let flux = &mass.flux_face;
        let tag = |cell: usize| sources.has(cell);
        grid.cell_centers().for_each_mut(&mut mass.volume_cell, |cell, at, volume| {
            *volume += begin.fraction_cell[cell];
            if !tag(cell) {
                *volume -= level_set::outflow(flux, &grid, at);
            }
        });
        let cells = grid.cell_centers();
        let tagged = sources.tag_cell.iter().enumerate().filter(|(_, tag)| **tag != 0);
        let inflow: f64 =
            tagged.map(|(cell, _)| f64::from(level_set::outflow(flux, &grid, cells.coordinates(cell)))).sum();
        let cell_m3 = (grid.dx as f64).powi(3);
        mass.in_m3 = inflow * cell_m3;
        mass.out_m3 = (left + boundary_outflow(flux, &grid)) * cell_m3;
        self.start = start;
        self.move_drops(dt_s);
    }

    /// Lets drops fly; those that reach liquid are its own again, those that fill a cell become liquid.
    fn move_drops(&mut self, dt_s: f64) {
        let (grid, cells, dt) = (self.grid, self.grid.cell_centers(), dt_s as f32);
        let start = std::mem::take(&mut self.start);
        let solids = self.work.boundaries.solids.clone();
        let mut drops = std::mem::take(&mut self.work.mass.drops);
        drops.clone_from(start.of(&self.state).drops);
        let nodes = grid.nodes();
        let (phi_node, u_solid) = (&solids.fields.phi_node, &solids.fields.u_solid);
        let around = Obstacles {
            bounds: grid.bounds(),
            open_walls: self.setup.open_walls(),
            has_solids: !self.setup.solids.is_empty(),
            solid_distance: |x| nodes.sample(phi_node, x),
            solid_normal: |x| nodes.gradient(phi_node, x).normalize_or_zero(),
            solid_velocity: |x| grid.sample_velocity(u_solid, x),
            margin_m: MARGIN_CELLS * grid.dx,
        };
        let cell_m3 = self.cell_m3();
        self.work.mass.out_m3 += fly(&mut drops, &around, self.setup.liquid.gravity, dt);
        let phi_cell = &mut self.work.fields.phi_cell;
        let mass = &mut self.work.mass;
        mass.arrived.clear();
        let open_volume = &solids.fields.open_volume;
        drops.retain(|drops, n| {
            let x = drops.x[n];
            let cell = cell_of(&cells, x);
            let arrives = cells.sample(phi_cell, x) < ARRIVES_CELLS * grid.dx && open_volume[cell] > 0.0;
            if arrives {
                let volume = drops.volume_m3[n] / cell_m3;
                mass.volume_cell[cell] += volume as f32;
                mass.arrived.push((cell, drops.v[n], volume));
            }
            !arrives
        });
        drops.join(MOST_DROPS, |x| cell_of(&cells, x));
        // Cells full of drops become liquid.
        let of_drop: Vec<usize> = drops.x.iter().map(|&x| cell_of(&cells, x)).collect();
        let mut is_liquid = vec![false; drops.len()];
        let mut first = 0;
        for same in of_drop.chunk_by(|a, b| a == b) {
            let (cell, numbers) = (same[0], first..first + same.len());
            first += same.len();
            let volume: f64 = drops.volume_m3[numbers.clone()].iter().sum::<f64>() / cell_m3;
            if volume < FULL_OF_DROPS * f64::from(open_volume[cell]) || open_volume[cell] <= 0.0 {
                continue;
            }
            stamp(phi_cell, &cells, cell, volume as f32);
            for n in numbers {
                is_liquid[n] = true;
                let volume = drops.volume_m3[n] / cell_m3;
                mass.volume_cell[cell] += volume as f32;
                mass.arrived.push((cell, drops.v[n], volume));
            }
        }
        let mut flags = is_liquid.into_iter();
        drops.retain(|_, _| !flags.next().unwrap_or(false));
        self.work.mass.drops = drops;
        self.start = start;
    }

    /// Displaces the carried surface by what its cells are owed.
    pub(crate) fn settle_volume(&mut self, clamps: &mut Clamps) {
        if !self.params.conserves_volume() {
            return;
        }
        self.extend_phi_into_solids();
        let mut fields = std::mem::take(&mut self.work.fields.fraction_cell);
        let solids = self.work.boundaries.solids.clone();
        self.fill_fractions(&mut fields, &self.work.fields.phi_cell, &solids.fields);
        self.work.fields.fraction_cell = fields;
        let work = &mut self.work;
        let crate::state::Fields { phi_cell, fraction_cell, residual_cell, .. } = &mut work.fields;
        subtract(residual_cell, &work.mass.volume_cell, fraction_cell);
        let held =
            work.mass.settlement.displace(phi_cell, residual_cell, &solids.fields.open_volume, &self.grid);
        clamps.add("surface_displacement", held);
    }

    /// With the surface in its place: what it does not stand for is residual, far from it drops.
    pub(crate) fn close_mass(&mut self, dt_s: f64, clamps: &mut Clamps) {
        let mut fractions = std::mem::take(&mut self.work.fields.fraction_cell);
        let solids = self.work.boundaries.solids.clone();
        self.fill_fractions(&mut fractions, &self.work.fields.phi_cell, &solids.fields);
        let start = std::mem::take(&mut self.start);
        let begin = start.of(&self.state);
        let work = &mut self.work;
        let (residual, mass) = (&mut work.fields.residual_cell, &mut work.mass);
        subtract(residual, &mass.volume_cell, &fractions);
        mass.expansion_1_s = EXPANSION / dt_s as f32;
        let gravity = self.setup.liquid.gravity;
        let shed = shed_drops(
            &mut mass.drops,
            residual,
            &work.fields.phi_cell,
            &begin,
            &self.grid,
            dt_s as f32 * gravity,
        );
        clamps.add("residual_without_surface", shed);
        let mut volume = begin.volume.totals();
        volume.book_sources_and_sinks(mass.in_m3, mass.out_m3);
        let cells = total(&fractions) + total(residual);
        volume.measure(cells * (self.grid.dx as f64).powi(3) + mass.drops.total_m3());
        if std::env::var("MASS_LOG").is_ok() {
            let abs: f64 = residual.iter().map(|r| r.abs() as f64).sum();
            let neg: f64 = residual.iter().map(|r| r.min(0.0) as f64).sum();
            let deep: f64 = residual
                .iter()
                .zip(&work.fields.phi_cell)
                .filter(|(_, p)| **p < -FAR_CELLS * self.grid.dx)
                .map(|(r, _)| r.abs() as f64)
                .sum();
            let air: f64 = residual
                .iter()
                .zip(&work.fields.phi_cell)
                .filter(|(_, p)| **p > FAR_CELLS * self.grid.dx)
                .map(|(r, _)| r.abs() as f64)
                .sum();
            let max = residual.iter().fold(0.0f32, |m, r| r.abs().max(m));
            eprintln!(
                "phi {:.2} abs r {abs:.2} neg {neg:.2} deep {deep:.2} air {air:.2} max {max:.2} drops {} = {:.2} cells",
                total(&fractions),
                mass.drops.len(),
                mass.drops.total_m3() / (self.grid.dx as f64).powi(3)
            );
        }
        work.volume = volume;
        work.fields.fraction_cell = fractions;
        self.start = start;
    }

    /// Drops that have become liquid give it their momentum: a face stands for half of the cells beside it.
    pub(crate) fn absorb_momentum(&mut self) {
        let work = &mut self.work;
        let cells = self.grid.cell_centers();
        let fraction = &work.fields.fraction_cell;
        for &(cell, v, volume) in &work.mass.arrived {
            let at = cells.coordinates(cell);
            for axis in AXES {
                let faces = self.grid.faces(axis);
                let low = faces.index(at[0], at[1], at[2]);
                for up in [false, true] {
                    let edge = if up { at[axis] + 1 == cells.size[axis] } else { at[axis] == 0 };
                    let other = match (edge, up) {
                        (true, _) => 0.0,
                        (_, true) => fraction[cell + cells.stride(axis)],
                        (_, false) => fraction[cell - cells.stride(axis)],
                    };
                    let half = 0.5 * volume as f32;
                    let share = half / (0.5 * (fraction[cell] + other)).max(half);
                    let u = &mut work.fields.u_face[axis][if up { low + faces.stride(axis) } else { low }];
                    *u += share * (v[axis] - *u);
                }
            }
        }
    }
}

/// The cell of a point, those at the walls beyond them.
fn cell_of(cells: &Lattice, x: Vec3) -> usize {
    let at = ((x - cells.origin) / cells.spacing).round();
    cells.index_clamped(at.x as isize, at.y as isize, at.z as isize)
}

/// A ball of a volume, in cells, around a cell's centre becomes liquid.
fn stamp(phi_cell: &mut [f32], cells: &Lattice, cell: usize, volume: f32) {
    let radius = (0.75 * volume / std::f32::consts::PI).cbrt();
    let at = cells.coordinates(cell);
    for n in 0..27usize {
        let d = [n % 3, n / 3 % 3, n / 9].map(|v| v as isize - 1);
        let on: [isize; 3] = std::array::from_fn(|a| at[a] as isize + d[a]);
        if (0..3).any(|a| on[a] < 0 || on[a] >= cells.size[a] as isize) {
            continue;
        }
        let other = cells.index(on[0] as usize, on[1] as usize, on[2] as usize);
        let distance = d.iter().map(|v| (v * v) as f32).sum::<f32>().sqrt();
        phi_cell[other] = phi_cell[other].min((distance - radius) * cells.spacing);
    }
}

/// Positive residuals in the air become drops with the air's velocity and this step's push; negative ones move
/// to a neighbour that holds some, or to the one nearest to the surface. Returns how many.
fn shed_drops(
    drops: &mut Drops,
    residual: &mut [f32],
    phi: &[f32],
    begin: &Begin,
    grid: &UniformGrid,
    push: Vec3,
) -> usize {
    let (cells, far_m) = (grid.cell_centers(), FAR_CELLS * grid.dx);
    let chunk = 8 * cells.slab();
    let found = map_indices(chunk_count(phi.len(), chunk), |n| {
        let range = chunk_range(n, chunk, phi.len());
        range.filter(|&cell| residual[cell] != 0.0 && phi[cell] > far_m).collect::<Vec<_>>()
    });
    let found: Vec<usize> = found.into_iter().flatten().collect();
    for &cell in found.iter().filter(|&&cell| residual[cell] < 0.0).collect::<Vec<_>>() {
        let at = cells.coordinates(cell);
        let mut best = (cell, 0.0, f32::INFINITY);
        for n in 0..27usize {
            let on: [isize; 3] =
                std::array::from_fn(|a| at[a] as isize + [n % 3, n / 3 % 3, n / 9][a] as isize - 1);
            if (0..3).all(|a| on[a] >= 0 && on[a] < cells.size[a] as isize) {
                let other = cells.index(on[0] as usize, on[1] as usize, on[2] as usize);
                if residual[other] > best.1 || (best.1 == 0.0 && phi[other] < best.2) {
                    best = (other, residual[other].max(0.0), phi[other]);
                }
            }
        }
        if best.0 != cell {
            let amount = std::mem::take(&mut residual[cell]);
            residual[best.0] += amount;
        }
    }
    let cell_m3 = (grid.dx as f64).powi(3);
    let mut shed = 0;
    for cell in found {
        if residual[cell] > SMALLEST_DROP {
            let [i, j, k] = cells.coordinates(cell);
            let x = cells.position(i, j, k);
            let v = grid.sample_velocity(begin.u_transport, x) + push;
            drops.push(x, v, f64::from(std::mem::take(&mut residual[cell])) * cell_m3);
            shed += 1;
        }
    }
    shed
}

fn total(values: &[f32]) -> f64 {
    const CHUNK: usize = 1 << 14;
    ordered_sum(chunk_count(values.len(), CHUNK), |n| {
        values[chunk_range(n, CHUNK, values.len())].iter().map(|&v| f64::from(v)).sum()
    })
}

fn subtract(out: &mut [f32], a: &[f32], b: &[f32]) {
    fluvial_foundation::parallel::for_each_indexed_mut(out, |n, out| *out = a[n] - b[n]);
}

/// What leaves the domain through its walls, in cells.
fn boundary_outflow(flux: &FaceField, grid: &UniformGrid) -> f64 {
    let mut sum = 0.0;
    for axis in AXES {
        let faces = grid.faces(axis);
        let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
        for (m, n) in (0..grid.cells[b]).flat_map(|n| (0..grid.cells[a]).map(move |m| (m, n))) {
            let mut at = [0; 3];
            (at[a], at[b]) = (m, n);
            sum -= f64::from(flux[axis][faces.index(at[0], at[1], at[2])]);
            at[axis] = grid.cells[axis];
            sum += f64::from(flux[axis][faces.index(at[0], at[1], at[2])]);
        }
    }
    sum
}
