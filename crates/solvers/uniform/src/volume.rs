//! The account of the liquid's volume where the level set carries it.

use crate::UniformSolver;
use crate::mass::total;
use crate::state::Begin;
use fluvial_volume::Account;

impl UniformSolver {
    /// Opens the account at the start, with what the cells hold: whatever their fractions cut off beside solids never was liquid.
    pub(crate) fn open_volume_account(&mut self) {
        let solids = self.state.boundaries.solids.clone();
        let phi = std::mem::take(&mut self.state.fields.phi_cell);
        let mut fractions = std::mem::take(&mut self.state.fields.fraction_cell);
        self.fill_fractions(&mut fractions, &phi, &self.state.fields.gap_cell, &solids.fields);
        self.state.volume = Account::default();
        self.state.volume.open(total(&fractions) * self.cell_m3());
        (self.state.fields.phi_cell, self.state.fields.fraction_cell) = (phi, fractions);
    }

    /// Closes the account of the volume that fluxes have carried; without them, measures what transport did.
    pub(crate) fn control_volume(&mut self, dt_s: f64) {
        if self.params.conserves_volume() {
            return self.close_mass(dt_s);
        }
        self.measure_fractions();
        let mut account = self.state.volume;
        let sources = &self.work.sources;
        let in_m3: f64 = sources.inflow_m3.iter().sum();
        account.book_sources_and_sinks(in_m3, sources.taken_m3 + self.wall_outflow_m3_s() * dt_s);
        account.measure(self.liquid_in_cells_m3());
        self.work.volume = account;
    }

    /// What leaves through open walls, over the wet part of each face, m3/s.
    fn wall_outflow_m3_s(&self) -> f64 {
        let Begin { u_transport: u, phi_cell, .. } = self.start.of(&self.state);
        let (grid, cells) = (&self.grid, self.grid.cell_centers());
        let open_area = &self.work.boundaries.solids.fields.open_area;
        let open_walls = self.setup.open_walls();
        let mut sum = 0.0;
        for (wall, _) in open_walls.iter().enumerate().filter(|(_, open)| **open) {
            let (axis, high) = (wall / 2, wall % 2 == 1);
            let faces = grid.faces(axis);
            let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
            for (m, n) in (0..grid.cells[b]).flat_map(|n| (0..grid.cells[a]).map(move |m| (m, n))) {
                let mut at = [0; 3];
                (at[a], at[b]) = (m, n);
                at[axis] = if high { grid.cells[axis] - 1 } else { 0 };
                let phi = phi_cell[cells.index(at[0], at[1], at[2])];
                at[axis] += high as usize;
                let face = faces.index(at[0], at[1], at[2]);
                let out = if high { u[axis][face] } else { -u[axis][face] };
                let wet = (0.5 - phi / grid.dx).clamp(0.0, 1.0) * open_area[axis][face];
                sum += f64::from(out * wet) * f64::from(grid.dx).powi(2);
            }
        }
        sum
    }
}
