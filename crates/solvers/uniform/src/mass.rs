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
use fluvial_foundation::parallel::{
    chunk_count, chunk_range, for_each_indexed_mut, map_indices, ordered_sum,
};
use fluvial_foundation::{AXES, Axis, Vec3};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_level_set::{self as level_set, Carried, Settlement};
use fluvial_mac::Openings;
use fluvial_solids::{SolidFields, nearest_open};
use fluvial_solver_interface::Clamps;
use fluvial_volume::{Expansion, beyond_swept};

/// A residual farther from the surface than this has none to be settled by, cells.
pub(crate) const FAR_CELLS: f32 = 1.5;
/// A residual deeper in the liquid than this stays where it is, cells: the projection moves it to the surface.
const DEEP_CELLS: f32 = 2.0;
/// Rounds of displacement in a step: the second one makes up for what the first one misses at films.
const ROUNDS: usize = 2;
/// Cells with less of their faces open ask the projection for nothing.
const LEAST_OPEN_PART: f32 = 0.7;
/// Cells of which solids leave less keep no residual.
const SLIVER: f32 = 0.1;

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
    carried: Carried,
    /// What part of each cell moving solids open or close in the step; empty where none moves.
    /// Test: `a_rod_draws_no_air_down_with_it`.
    swept_part_cell: Vec<f32>,
    /// Cells whose residual stays where it is.
    waits_cell: Vec<bool>,
    /// What came in from sources, and what left through sinks and open walls, m3.
    in_m3: f64,
    pub out_m3: f64,
    /// What deep residuals ask of the projection.
    expansion: Expansion,
}

impl MassWork {
    pub fn new(grid: &UniformGrid) -> Self {
        MassWork {
            flux_face: FaceField::constant(grid, 0.0),
            volume_cell: vec![0.0; grid.cell_count()],
            ..MassWork::default()
        }
    }

    /// Divergence times dx that a cell's residual asks of the projection, m/s. Cells that solids and sources
    /// leave little of ask for nothing: through what is left of their faces it would be a jet.
    pub fn wanted_m_s(&self, residual: f32, phi: f32, openings: &Openings, at: [usize; 3]) -> f32 {
        let (dx, cells) = (openings.grid.dx, openings.grid.cell_centers());
        let swept = self.swept_part_cell.get(cells.index(at[0], at[1], at[2])).map_or(0.0, |part| *part);
        let residual = beyond_swept(residual, swept);
        if residual == 0.0 || phi > -FAR_CELLS * dx || openings.open_part(at) < LEAST_OPEN_PART {
            return 0.0;
        }
        self.expansion.divergence_1_s(residual) * dx
    }
}

impl UniformSolver {
    pub(crate) fn cell_m3(&self) -> f64 {
        f64::from(self.grid.dx).powi(3)
    }

    /// Moves the volume of every cell through its faces: `F = L + r - sum of fluxes`, L what phi stands for, r
    /// what the cell is owed.
    pub(crate) fn carry_volume(&mut self, dt_s: f64) {
        if !self.params.conserves_volume() {
            return;
        }
        let (grid, begin, dt) = (self.grid, &self.state.fields, dt_s as f32);
        let [old, new] =
            [&self.state.boundaries, &self.work.boundaries].map(|b| &b.solids.fields.open_volume);
        let MassWork { flux_face: flux, volume_cell, swept_part_cell, waits_cell, carried, out_m3, .. } =
            &mut self.work.mass;
        swept_part_cell.clear();
        waits_cell.clear();
        if self.setup.has_moving_solids() {
            swept_part_cell.extend(old.iter().zip(new).map(|(old, new)| (old - new).abs()));
            let owed = begin.residual_cell.iter().zip(&*swept_part_cell);
            waits_cell.extend(owed.map(|(owed, swept)| beyond_swept(*owed, *swept) == 0.0));
        }
        // The velocity is free of divergence between the solids of the step that made it.
        let SolidFields { open_area, sides, phi_node, .. } = &self.state.boundaries.solids.fields;
        let phi_solid_node: &[f32] = if self.setup.solids.is_empty() { &[] } else { phi_node };
        let open = level_set::OpenFaces { area: open_area, phi_solid_node, sides };
        let band_m = self.cfl_band_cells * grid.dx;
        level_set::liquid_flux(flux, &begin.phi_cell, &begin.u_transport, &open, &grid, dt, band_m);
        let owed = level_set::Owed {
            residual_cell: &begin.residual_cell,
            phi_cell: &begin.phi_cell,
            deep_m: DEEP_CELLS * grid.dx,
            waits_cell,
            open_volume: &self.work.boundaries.solids.fields.open_volume,
            open_walls: self.setup.open_walls(),
            sides,
        };
        let left = carried.carry(volume_cell, &owed, &begin.u_face, &grid, dt);
        if !self.setup.solids.is_empty() {
            let cut = CutCells { open_area, swept_part_cell, grid: &grid };
            cut.pass_on(volume_cell, &owed);
        }
        let flux = &*flux;
        grid.cell_centers().for_each_mut(volume_cell, |cell, at, volume| {
            *volume += begin.fraction_cell[cell] - level_set::outflow(flux, &grid, at);
        });
        *out_m3 = (left + boundary_outflow(flux, &grid)) * f64::from(grid.dx).powi(3);
        self.hand_over_volume();
        self.move_drops(dt_s);
    }

    /// Cells that a thin solid passes give what they hold to the next cell of their old side, and share with the
    /// next one of their new side. Cells that a thick one covers give it to the nearest open cell: what stayed in
    /// them would come out on the other side.
    fn hand_over_volume(&mut self) {
        if !self.setup.has_moving_solids() {
            return;
        }
        let solids = &self.work.boundaries.solids;
        let SolidFields { open_volume: open, sides, .. } = &solids.fields;
        let volume_cell = &mut self.work.mass.volume_cell;
        for change in &self.work.side_changes {
            if let Some(refuge) = change.refuge {
                volume_cell[refuge as usize] += std::mem::take(&mut volume_cell[change.cell as usize]);
            }
        }
        for change in &self.work.side_changes {
            if let Some(donor) = change.donor {
                let [cell, donor] = [change.cell, donor].map(|c| c as usize);
                let share = open[cell] / (open[cell] + open[donor]).max(f32::MIN_POSITIVE);
                let given = share * volume_cell[donor];
                volume_cell[donor] -= given;
                volume_cell[cell] += given;
            }
        }
        let cells = self.grid.cell_centers();
        for cell in (0..cells.len()).filter(|&cell| open[cell] == 0.0) {
            if volume_cell[cell] != 0.0
                && let Some(refuge) = nearest_open(sides, &cells, cell, open, solids.away(&self.grid, cell))
            {
                volume_cell[refuge] += std::mem::take(&mut volume_cell[cell]);
            }
        }
    }

    /// With phi united with the sources and cut by the sinks: what flows in fills up the cells of the sources,
    /// which the fluxes have emptied, and sinks take what their cells hold beyond what is left of phi.
    fn fill_and_drain(&mut self) {
        let (cells, cell_m3) = (self.grid.cell_centers(), self.cell_m3());
        let (sources, Fields { residual_cell, phi_cell, .. }) = (&self.work.sources, &mut self.work.fields);
        let MassWork { volume_cell, in_m3, out_m3, drops, .. } = &mut self.work.mass;
        let inflow: f64 = sources.inflow_m3.iter().sum::<f64>() / cell_m3;
        // The cells of the sources are full to what phi says. What that takes is the inflow but for the error of
        // the fluxes there, which the cells that the sources flow into are owed.
        let mut taken = 0.0;
        for (cell, _) in sources.inside_cell.iter().enumerate().filter(|(_, inside)| **inside != 0) {
            let amount = std::mem::take(&mut residual_cell[cell]);
            volume_cell[cell] -= amount;
            taken -= f64::from(amount);
        }
        // A shape that still fills from behind has not reached those: its own cells are owed it.
        let all = self.work.boundaries.sources.flow_into_cell();
        let mut flows: Vec<(usize, f32)> =
            all.iter().copied().filter(|(cell, _)| phi_cell[*cell] < 0.0).collect();
        if flows.is_empty() {
            let inside = sources.inside_cell.iter().enumerate().filter(|(_, inside)| **inside != 0);
            flows.extend(inside.map(|(cell, _)| (cell, 1.0)));
        }
        if flows.is_empty() {
            flows.extend_from_slice(all);
        }
        let sum: f64 = flows.iter().map(|(_, flow)| f64::from(*flow)).sum();
        let (owed, mut given) = (inflow - taken, 0.0);
        for (cell, flow) in flows {
            let amount = (owed * f64::from(flow) / sum) as f32;
            volume_cell[cell] += amount;
            given += f64::from(amount);
        }
        *in_m3 = (taken + given) * cell_m3;
        for (_, sink) in self.setup.active_sinks(self.state.time_s) {
            for cell in 0..residual_cell.len() {
                let [i, j, k] = cells.coordinates(cell);
                if residual_cell[cell] != 0.0
                    && sink.shape.distance(cells.position(i, j, k)) < 0.5 * self.grid.dx
                {
                    let taken = std::mem::take(&mut residual_cell[cell]);
                    volume_cell[cell] -= taken;
                    *out_m3 += f64::from(taken) * cell_m3;
                }
            }
            drops.retain(|drops, n| {
                let stays = sink.shape.distance(drops.x[n]) > 0.0;
                *out_m3 += if stays { 0.0 } else { drops.volume_m3[n] };
                stays
            });
        }
    }

    /// Displaces the carried surface by what its cells are owed.
    pub(crate) fn settle_volume(&mut self, clamps: &mut Clamps) {
        if !self.params.conserves_volume() {
            return;
        }
        self.extend_phi_into_solids();
        for round in 0..ROUNDS {
            let solids = self.find_residual();
            if round == 0 {
                self.fill_and_drain();
                self.find_residual_of_volume();
            }
            let Fields { phi_cell, residual_cell, .. } = &mut self.work.fields;
            for (residual, &swept) in residual_cell.iter_mut().zip(&self.work.mass.swept_part_cell) {
                *residual = beyond_swept(*residual, swept);
            }
            let (settlement, fields) = (&mut self.work.mass.settlement, &solids.fields);
            let (open_volume, sides) = (&fields.open_volume, &fields.sides);
            let held_back = settlement.displace(phi_cell, residual_cell, open_volume, sides, &self.grid);
            clamps.add("surface_displacement", held_back);
        }
    }

    /// Measures what phi stands for; the rest of each cell's volume is its residual.
    fn find_residual(&mut self) -> std::sync::Arc<Solids> {
        let solids = self.measure_fractions();
        self.find_residual_of_volume();
        solids
    }

    /// Measures what phi stands for.
    pub(crate) fn measure_fractions(&mut self) -> std::sync::Arc<Solids> {
        let solids = self.work.boundaries.solids.clone();
        let mut fractions = std::mem::take(&mut self.work.fields.fraction_cell);
        let Fields { phi_cell, gap_cell, .. } = &self.work.fields;
        self.fill_fractions(&mut fractions, phi_cell, gap_cell, &solids.fields);
        self.work.fields.fraction_cell = fractions;
        solids
    }

    /// All that phi stands for, m3.
    pub(crate) fn liquid_in_cells_m3(&self) -> f64 {
        total(&self.work.fields.fraction_cell) * self.cell_m3()
    }

    fn find_residual_of_volume(&mut self) {
        let (volume_cell, Fields { fraction_cell, residual_cell, .. }) =
            (&self.work.mass.volume_cell, &mut self.work.fields);
        for_each_indexed_mut(residual_cell, |cell, owed| *owed = volume_cell[cell] - fraction_cell[cell]);
    }

    /// With the surface in its place: what it does not stand for stays residual, or flies as drops; all of it
    /// is the liquid's volume.
    pub(crate) fn close_mass(&mut self, dt_s: f64) {
        self.find_residual();
        self.shed_drops();
        let Fields { fraction_cell, residual_cell, .. } = &self.work.fields;
        let mass = &mut self.work.mass;
        let (speed_m_s, gravity) = (self.state.limiting_speed_m_s as f32, self.setup.liquid.gravity.length());
        mass.expansion = Expansion::new(self.grid.dx, speed_m_s, gravity, dt_s as f32);
        let mut volume = self.state.volume;
        volume.book_sources_and_sinks(mass.in_m3, mass.out_m3);
        let in_cells = total(fraction_cell) + total(residual_cell);
        volume.measure(in_cells * f64::from(self.grid.dx).powi(3) + mass.drops.total_m3());
        self.work.volume = volume;
    }
}

/// What solids leave of cells and their faces.
struct CutCells<'a> {
    open_area: &'a FaceField,
    swept_part_cell: &'a [f32],
    grid: &'a UniformGrid,
}

impl CutCells<'_> {
    /// The open faces of a cell: axis, whether it is the upper one, open part.
    fn faces(&self, at: [usize; 3]) -> impl Iterator<Item = (Axis, bool, f32)> {
        AXES.into_iter().flat_map(move |axis| {
            let faces = self.grid.faces(axis);
            let low = faces.index(at[0], at[1], at[2]);
            [(false, low), (true, low + faces.stride(axis))]
                .map(|(up, face)| (axis, up, self.open_area[axis][face]))
        })
    }

    /// Passes on what deep cells are owed that solids leave too little of to ask the projection for it: through their open
    /// faces, to the neighbours of which solids leave more, by the area and by how much more that is. A cell of which a corner is left is
    /// overfull after liquid has struck the wall; asked of the cell itself, all of it would leave through the corner as a jet, and
    /// kept, it stays there for ever: a tenth of the water that fell into a round bowl was missing from below its surface.
    /// Cell by cell it comes to where it can be asked for. Nothing moves: all these cells are full.
    /// Test: `water_that_falls_into_a_bowl_is_not_squeezed_into_its_wall`. Slivers pass on what they are owed wherever they are: the
    /// surface, which goes through them as through their neighbours, cannot give it to them, and tilts for ever in the attempt.
    /// Test: `a_level_that_slanted_plates_pierce_begins_at_rest`.
    fn pass_on(&self, owed_cell: &mut [f32], owed: &level_set::Owed) {
        let (cells, deep_m) = (self.grid.cell_centers(), owed.deep_m);
        let open_part = |at: [usize; 3]| self.faces(at).map(|(_, _, area)| area).sum::<f32>() / 6.0;
        let passed = map_indices(cells.size[2], |k| {
            let mut passed = vec![];
            for cell in k * cells.slab()..(k + 1) * cells.slab() {
                let swept = self.swept_part_cell.get(cell).map_or(0.0, |part| *part);
                let amount = beyond_swept(owed_cell[cell], swept);
                let at = cells.coordinates(cell);
                let is_deep = owed.phi_cell[cell] <= -deep_m && open_part(at) < LEAST_OPEN_PART;
                if amount == 0.0 || !is_deep && owed.open_volume[cell] >= SLIVER {
                    continue;
                }
                let share = |(axis, up, area): (Axis, bool, f32)| {
                    let inside = if up { at[axis] + 1 < cells.size[axis] } else { at[axis] > 0 };
                    let mut to = at;
                    to[axis] = if up { at[axis] + 1 } else { at[axis].wrapping_sub(1) };
                    let other = if inside { cells.index(to[0], to[1], to[2]) } else { return None };
                    let more = open_part(to) - open_part(at);
                    (owed.open_volume[other] > 0.0 && more > 0.0).then_some((other, area * more))
                };
                let sum: f32 = self.faces(at).filter_map(share).map(|(_, part)| part).sum();
                if sum > 0.0 {
                    passed.push((cell, -amount));
                    passed
                        .extend(self.faces(at).filter_map(share).map(|(to, part)| (to, amount * part / sum)));
                }
            }
            passed
        });
        for (cell, amount) in passed.into_iter().flatten() {
            owed_cell[cell] += amount;
        }
    }
}

/// A sum in a fixed order.
pub(crate) fn total(values: &[f32]) -> f64 {
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
