//! Volume kept by columns: what flows between them is counted, and phi follows (`fluvial_tall::volume`).

use crate::TallSolver;
use crate::state::Work;
use fluvial_foundation::parallel::ordered_sum_of;
use fluvial_solver_interface::Clamps;
use fluvial_tall::volume::{
    Held, SPREAD_PASSES, Start, displace, displacements, divide, lacking, measure, spread_pass,
};

/// Sum of what columns hold, in cells.
pub(crate) fn total(held: &[Held]) -> f64 {
    ordered_sum_of(held.len(), |c| f64::from(held[c].volume))
}

impl TallSolver {
    /// Finds what every column shall hold after the fluxes and displaces its surfaces to it.
    pub(crate) fn settle_volume(&mut self, dt_s: f64, clamps: &mut Clamps) {
        if !self.params.conserves_volume() {
            return;
        }
        let (frame, cell_m3) = (self.frame, self.frame.cell_m3());
        let grid = &self.state.fields.grid;
        let mut now = std::mem::take(&mut self.work.divided);
        let is_outside = |[i, k]: [usize; 2]| frame.is_outside(i, k);
        let pours = |[i, k]: [usize; 2]| self.work.poured_column[i + grid.nx * k][0] != 0.0;
        divide(&mut now, grid, &self.work.phi_carried, &self.open_at_end(), is_outside, pours);
        let mut lack = std::mem::take(&mut self.work.lacking);
        let before = &self.state.fields;
        let start = Start { phi: &before.phi, held: &self.state.held, residual: &before.residual };
        let open = self.state.solids.open();
        let flow = self.work.flow(grid, &open, dt_s);
        lacking(&mut lack, &start, &flow, &self.work.flux, &now);
        for (c, lack) in lack.iter_mut().enumerate() {
            let column = [c % grid.nx, c / grid.nx];
            lack[now[c].part_of(grid, column, self.work.poured_column[c])] += self.work.poured_column[c][0];
            lack[0] -= self.work.taken[c];
            if is_outside(column) {
                self.work.out_m3 += f64::from(lack[0] + now[c].volume()) * cell_m3;
                *lack = [-now[c].volume(), 0.0];
            }
        }
        let mut spread = std::mem::take(&mut self.work.spread);
        for _ in 0..SPREAD_PASSES {
            spread_pass(&mut spread, &lack, grid, &now);
            std::mem::swap(&mut spread, &mut lack);
        }
        let mut shift = std::mem::take(&mut self.work.shift);
        displacements(&mut shift, grid, &self.work.phi_carried, &self.open_at_end(), (&now, &lack));
        clamps.add("surface_displacement", shift.iter().filter(|(_, is_bounded)| *is_bounded).count());
        let Work { phi_carried, spare, target, .. } = &mut self.work;
        displace(spare, grid, phi_carried, (&now, &lack), &shift);
        std::mem::swap(phi_carried, spare);
        for (target, (now, lack)) in target.iter_mut().zip(now.iter().zip(&lack)) {
            *target = now.volume() + (lack[0] + lack[1]);
        }
        (self.work.divided, self.work.lacking) = (now, lack);
        (self.work.spread, self.work.shift) = (spread, shift);
    }

    /// With the surface in its place: what it does not stand for stays residual; all of it is the liquid's volume.
    pub(crate) fn close_volume(&mut self) {
        let cell_m3 = self.frame.cell_m3();
        let Work { fields, solids, held, target, volume, in_m3, out_m3, .. } = &mut self.work;
        measure(held, &fields.grid, &fields.phi, &solids.open());
        *volume = self.state.volume;
        volume.book_sources_and_sinks(*in_m3, *out_m3);
        if !self.params.conserves_volume() {
            volume.measure(total(held) * cell_m3);
            return;
        }
        let residual = fields.residual.iter_mut().zip(target.iter().zip(&*held));
        residual.for_each(|(residual, (target, held))| *residual = target - held.volume);
        let owed = ordered_sum_of(fields.residual.len(), |c| f64::from(fields.residual[c]));
        volume.measure((total(held) + owed) * cell_m3);
    }
}
