//! How evenly the particles fill the cells, and what of it the pressure mends. FLIP's velocity is incompressible, its
//! particles are not: what flies is squeezed where it lands, and what a fall stirs holds air that no cell is empty of.

use crate::SheetsSolver;
use crate::state::Density;
use crate::surface::{PLAY_OF_MASS_CELLS, UNKNOWN, to_surface};
use fluvial_foundation::parallel::{for_each_beside_mut, for_each_indexed_mut, ordered_sum_of};

/// What the 5^3 cells around hold may differ from what fits by this share, and a single cell by so many cells: that is
/// how particles happen to lie. 24 w^2 of them are cut by the faces of a box of w cells, each an eighth of a cell and
/// uniformly anywhere, so that three standard deviations are 0.5 / w^2 of what the box holds.
const EVEN: f32 = 0.02;
const EVEN_IN_A_CELL: f32 = 0.5;

/// The least surface in 5^3 cells that their mass says something about, in weighted faces of a cell: a third of a flat
/// one through the middle.
const LEAST_SURFACE: f32 = 81.0;

impl SheetsSolver {
    /// The part of what is crowded or thin that a step mends: all while the fastest liquid crosses a cell. Liquid becomes
    /// uneven by its flow: at rest nothing is mended, because what cut cells and merged particles count wrongly would
    /// stir it, at 1e-3 sqrt(g h).
    pub(crate) fn mended_part(&self, dt_s: f64) -> f32 {
        (self.state.limiting_speed_m_s * dt_s / self.grid.dx as f64).min(1.0) as f32
    }

    /// Mass in the 5^3 cells around each cell over what they hold when full, the nearer the heavier.
    pub(crate) fn fill_crowding(&mut self) {
        let (density, solids) = (&mut self.work.density, &self.work.boundaries.solids);
        let crowding = &mut density.crowding_cell;
        solids.sums(crowding, &mut density.pass, &self.work.population.mass_cell, &self.grid);
        for_each_beside_mut(crowding, &solids.room_cell, |held, room| *held /= room.max(1e-3));
    }

    /// The room that the particles take up: less than their volume where they are squeezed, more where bulk liquid is
    /// thinner than it should be. A level that rises by more than [`EVEN`] of its depth shows here, as the raw volume
    /// error; what is less is how particles happen to lie. Near the surface only more than what fits says anything.
    pub(crate) fn occupied_volume(&self) -> f64 {
        let mass = &self.work.population.mass_cell;
        let Density { crowding_cell, bulk_cell, .. } = &self.work.density;
        let squeezed = |c: usize| {
            let excess = crowding_cell[c] - 1.0;
            let beyond = excess - excess.clamp(-EVEN, EVEN);
            if bulk_cell[c] { beyond.clamp(-1.0, 1.0) } else { beyond.clamp(0.0, 1.0) }
        };
        let sum = ordered_sum_of(mass.len(), |c| (mass[c] * (1.0 - squeezed(c))) as f64);
        sum * (self.params.radius_m(self.grid.dx) as f64).powi(3)
    }

    /// Compares what the cells hold with what the carried distance says that they do, `wet` where it says nothing.
    ///
    /// `shift_cell`: how far the surface must go at each cell for the cells around the surface next to it to hold the
    /// particles' mass, in cells; NaN where nothing is carried or too little of it is near. Counted around the cell itself,
    /// a lack of mass two cells below the surface weighed three times as much as the surface, and moved it by two cells.
    ///
    /// `beyond_cell`: what shall leave each cell, in cells. Where there are more particles around than fit, or in the cell
    /// itself, it is the excess: in a film that ran into a corner one cell held four times what fits while those around
    /// were half empty. Where liquid lacks more than its surface may be off, it is what it lacks, so that no level rises.
    /// Test: `a_film_is_not_squeezed_into_corners`.
    pub(crate) fn compare_with_mass(&mut self, wet: &[bool]) {
        let (cells, solids) = (self.grid.cell_centers(), &self.work.boundaries.solids);
        let (population, full) = (&self.work.population, self.params.particles_per_cell as f32);
        let (mass, open, room) = (&population.mass_cell, &solids.fields.open_volume, &solids.room_cell);
        let bins = population.neighbours.bins();
        let Density {
            crowding_cell,
            carried_cell,
            shift_cell,
            wanted_cell,
            surface_cell,
            beyond_cell,
            pass,
            ..
        } = &mut self.work.density;
        let (crowding, carried) = (&*crowding_cell, &*carried_cell);
        let share = |cell: usize| match carried[cell] {
            UNKNOWN => wet[cell] as u8 as f32,
            distance => (0.5 - distance).clamp(0.0, 1.0),
        };
        for_each_indexed_mut(shift_cell, |c, wanted| *wanted = open[c] * share(c));
        solids.sums(wanted_cell, pass, shift_cell, &self.grid);
        let is_surface = |c: usize| carried[c].abs() < 0.5;
        for_each_indexed_mut(shift_cell, |c, out| *out = if is_surface(c) { open[c] } else { 0.0 });
        solids.sums(surface_cell, pass, shift_cell, &self.grid);
        let (wanted, surface) = (&*wanted_cell, &*surface_cell);
        let lacking = |c: usize| wanted[c] - crowding[c] * room[c] / full;
        cells.for_each_mut(shift_cell, |cell, at, shift| {
            *shift = f32::NAN;
            if carried[cell] != UNKNOWN {
                let x = cells.position(at[0], at[1], at[2]);
                let seen = population.walls.seen_from(x);
                let next = bins.coordinates(x + to_surface((carried, seen), at, &cells));
                let next = if seen.is_none_or(|seen| seen.sees(next)) { bins.index(next) } else { cell };
                if surface[next] >= LEAST_SURFACE {
                    *shift = lacking(next) / surface[next];
                }
            }
        });
        // A moving solid pushes the particles in front of it out of its cells in the next step: there no cell says anything
        // for itself.
        let moves = self.setup.has_moving_solids();
        for_each_indexed_mut(beyond_cell, |c, beyond| {
            *beyond = ((crowding[c] - 1.0 - EVEN) * open[c]).max(0.0);
            if !moves {
                *beyond = beyond.max(mass[c] / full - open[c] - EVEN_IN_A_CELL);
            }
            if *beyond == 0.0 && share(c) > 0.5 {
                let lacking = lacking(c) - PLAY_OF_MASS_CELLS * surface[c];
                *beyond = -(lacking / wanted[c] - EVEN).max(0.0) * open[c];
            }
        });
    }
}
