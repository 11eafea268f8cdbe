//! Volume by construction for the level set: fluxes carry what each cell holds, and phi follows.
//!
//! Liquid is what phi stands for, drops that are too small for it, and a signed residual that cells are owed.
//! A step
//!
//! 1. moves volume through faces, so that the sum changes by what sources, sinks and open walls do alone,
//! 2. displaces the carried surface by what its neighbourhood is owed,
//! 3. keeps the rest for the next step: a residual in the air becomes a drop, one deep inside is asked of the
//!    projection as divergence, which moves it to the surface.
//!
//! Why not a correction of whole bodies: what a splash loses at its thin parts would come out of the deep ones,
//! and where there is nothing deep it cannot come back at all. Verified by tests/mass.rs.

use crate::UniformSolver;
use crate::state::{Fields, Solids};
use fluvial_drops::Drops;
use fluvial_foundation::parallel::{chunk_count, chunk_range, for_each_indexed_mut, ordered_sum};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_level_set::{self as level_set, Settlement};
use fluvial_mac::SourceFace;
use fluvial_solids::SolidFields;
use fluvial_solver_interface::Clamps;

/// A residual farther from the surface than this has none to be settled by, cells.
pub(crate) const FAR_CELLS: f32 = 1.5;
/// A residual deeper in the liquid than this stays where it is, cells: the projection moves it to the surface.
const DEEP_CELLS: f32 = 2.0;
/// Rounds of displacement in a step: the second one makes up for what the first one misses at films.
const ROUNDS: usize = 2;
/// Part of a deep residual that one step moves to the surface, and the most of a cell's volume that it moves.
const EXPANSION: f32 = 0.3;
const LARGEST_EXPANSION: f32 = 0.1;

/// What a step carries volume with.
#[derive(Default)]
pub(crate) struct MassWork {
    /// The next state's.
    pub drops: Drops,
    /// Drops that have become liquid of the grid: cell, velocity, volume in cells.
    pub arrived: Vec<(usize, Vec3, f64)>,
    /// Volume of every cell after transport, in cells.
    pub volume_cell: Vec<f32>,
    /// Volume across every face, in cells.
    flux_face: FaceField,
    settlement: Settlement,
    /// What came in from sources, and what left through open walls, m3.
    in_m3: f64,
    pub out_m3: f64,
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

    /// Divergence times dx that the residual of a cell with this open volume asks of the projection, m/s.
    pub fn wanted_m_s(&self, residual: f32, phi: f32, open: f32, dx: f32) -> f32 {
        if phi > -FAR_CELLS * dx {
            return 0.0;
        }
        let most = LARGEST_EXPANSION / EXPANSION * open;
        self.expansion_1_s * residual.clamp(-most, most) * dx
    }
}

impl UniformSolver {
    pub(crate) fn cell_m3(&self) -> f64 {
        f64::from(self.grid.dx).powi(3)
    }

    /// The shares that the state's phi stands for.
    pub(crate) fn measure_fractions_of_state(&mut self) {
        let mut fractions = std::mem::take(&mut self.state.fields.fraction_cell);
        let state = &self.state;
        self.fill_fractions(&mut fractions, &state.fields.phi_cell, &state.boundaries.solids.fields);
        self.state.fields.fraction_cell = fractions;
    }

    /// Measures the shares anew after sources or sinks have changed phi, and returns what all cells together
    /// have gained, m3. With a residual, that pays for it: the flux of a flowing source has filled its cells
    /// already.
    pub(crate) fn gain_of_fractions(
        &self,
        fraction_cell: &mut [f32],
        phi_cell: &[f32],
        solids: &SolidFields,
        residual_cell: Option<&mut [f32]>,
    ) -> f64 {
        let before = fraction_cell.to_vec();
        self.fill_fractions(fraction_cell, phi_cell, solids);
        if let Some(residual_cell) = residual_cell {
            for_each_indexed_mut(residual_cell, |cell, owed| *owed -= fraction_cell[cell] - before[cell]);
        }
        (total(fraction_cell) - total(&before)) * self.cell_m3()
    }

    /// Moves the volume of every cell through its faces: `F = L + r - sum of fluxes`, L what phi stands for, r
    /// what the cell is owed. Cells of sources stay full; what leaves them is inflow.
    pub(crate) fn carry_volume(&mut self, dt_s: f64) {
        if !self.params.conserves_volume() {
            return;
        }
        let (grid, begin, dt) = (self.grid, self.start.of(&self.state), dt_s as f32);
        let (sources, solids) = (&self.work.boundaries.sources, &self.work.boundaries.solids.fields);
        let MassWork { flux_face: flux, volume_cell, in_m3, out_m3, .. } = &mut self.work.mass;
        // The velocity is free of divergence between the solids of the step that made it.
        let (u, open_area) = (begin.u_transport, &self.state.boundaries.solids.fields.open_area);
        let band_m = self.cfl_band_cells * grid.dx;
        level_set::liquid_flux(flux, begin.phi_cell, u, open_area, &grid, dt, band_m);
        for &SourceFace { axis, face, .. } in &sources.faces {
            // Behind a source's face there is nothing but liquid.
            flux[axis][face] = u[axis][face] * open_area[axis][face] * dt / grid.dx;
        }
        let owed = level_set::Owed {
            residual_cell: begin.residual_cell,
            phi_cell: begin.phi_cell,
            deep_m: DEEP_CELLS * grid.dx,
            open_volume: &solids.open_volume,
            open_walls: self.setup.open_walls(),
        };
        let left = level_set::carry_residual(volume_cell, &owed, begin.u_face, &grid, dt);
        let flux = &*flux;
        grid.cell_centers().for_each_mut(volume_cell, |cell, at, volume| {
            let out = if sources.has(cell) { 0.0 } else { level_set::outflow(flux, &grid, at) };
            *volume += begin.fraction_cell[cell] - out;
        });
        let tagged = sources.tag_cell.iter().enumerate().filter(|(_, tag)| **tag != 0);
        let at = |cell: usize| grid.cell_centers().coordinates(cell);
        let inflow: f64 = tagged.map(|(cell, _)| f64::from(level_set::outflow(flux, &grid, at(cell)))).sum();
        let cell_m3 = f64::from(grid.dx).powi(3);
        (*in_m3, *out_m3) = (inflow * cell_m3, (left + boundary_outflow(flux, &grid)) * cell_m3);
        self.move_drops(dt_s);
    }

    /// Displaces the carried surface by what its cells are owed.
    pub(crate) fn settle_volume(&mut self, clamps: &mut Clamps) {
        if !self.params.conserves_volume() {
            return;
        }
        self.extend_phi_into_solids();
        for _ in 0..ROUNDS {
            let solids = self.find_residual();
            let Fields { phi_cell, residual_cell, .. } = &mut self.work.fields;
            let (settlement, open_volume) = (&mut self.work.mass.settlement, &solids.fields.open_volume);
            let held_back = settlement.displace(phi_cell, residual_cell, open_volume, &self.grid);
            clamps.add("surface_displacement", held_back);
        }
    }

    /// Measures what phi stands for; the rest of each cell's volume is its residual.
    fn find_residual(&mut self) -> std::sync::Arc<Solids> {
        let solids = self.work.boundaries.solids.clone();
        let mut fractions = std::mem::take(&mut self.work.fields.fraction_cell);
        self.fill_fractions(&mut fractions, &self.work.fields.phi_cell, &solids.fields);
        let volume_cell = &self.work.mass.volume_cell;
        for_each_indexed_mut(&mut self.work.fields.residual_cell, |cell, residual| {
            *residual = volume_cell[cell] - fractions[cell];
        });
        self.work.fields.fraction_cell = fractions;
        solids
    }

    /// With the surface in its place: what it does not stand for stays residual, or flies as drops; all of it
    /// is the liquid's volume.
    pub(crate) fn close_mass(&mut self, dt_s: f64) {
        self.find_residual();
        self.shed_drops(dt_s);
        let begin = self.start.of(&self.state);
        let Fields { fraction_cell, residual_cell, .. } = &self.work.fields;
        let mass = &mut self.work.mass;
        mass.expansion_1_s = EXPANSION / dt_s as f32;
        let mut volume = begin.volume.totals();
        volume.book_sources_and_sinks(mass.in_m3, mass.out_m3);
        let in_cells = total(fraction_cell) + total(residual_cell);
        volume.measure(in_cells * f64::from(self.grid.dx).powi(3) + mass.drops.total_m3());
        self.work.volume = volume;
    }
}

fn total(values: &[f32]) -> f64 {
    const CHUNK: usize = 1 << 14;
    ordered_sum(chunk_count(values.len(), CHUNK), |n| {
        values[chunk_range(n, CHUNK, values.len())].iter().map(|&v| f64::from(v)).sum()
    })
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
