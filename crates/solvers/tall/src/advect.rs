//! Lines 1 to 3 of Algorithm 1: velocity in the air, phi as a distance, transport.

use crate::state::Work;
use crate::{PhiScheme, TallSolver};
use fluvial_tall::extrapolate::{self, BandParams};
use fluvial_tall::{advect, redistance, volume};

impl TallSolver {
    /// A velocity at every sample, from those in liquid.
    pub(crate) fn extrapolate(&mut self) {
        let (before, work) = (&self.state.fields, &mut self.work);
        work.u_air.copy_from_slice(&before.u);
        fluvial_tall::hierarchy::refresh(&mut work.grids, &before.grid);
        let band = BandParams::default();
        extrapolate::extrapolate(&mut work.u_air, &work.grids, &before.phi, band, &mut work.extrapolate);
    }

    /// phi as a distance: in every tenth step or so, and within its bounds in the others.
    pub(crate) fn reinitialise(&mut self) {
        let (before, Work { phi_start, spare, .. }) = (&self.state.fields, &mut self.work);
        let every = u64::from(self.params.redistance_every);
        if self.state.steps % every == every - 1 {
            phi_start.copy_from_slice(&before.phi);
            redistance::redistance(phi_start, &before.grid, spare);
        } else {
            redistance::clamp_frame(phi_start, &before.phi, &before.grid);
        }
    }

    /// phi and velocity carried along the flow, forces by one Euler step, and what flows between columns.
    pub(crate) fn advect(&mut self, dt_s: f64) {
        let (before, dt) = (&self.state.fields, dt_s as f32);
        // Forces do not act for as long as the liquid moves.
        let push_s = self.work.centring.push_s as f32;
        let gravity = self.setup.liquid.gravity.to_array().map(|g| push_s / dt * g);
        let Work { u_air, phi_start, phi_carried, u_carried, carried, from, .. } = &mut self.work;
        let (flow, walls) = ((&u_air[..], &phi_start[..]), (&self.walls, &before.pressure[..]));
        advect::trace_back((carried, from), &before.grid, flow, walls, dt);
        advect::correct(u_carried, &before.grid, u_air, (carried, from), gravity, dt);
        match self.params.phi_advection {
            PhiScheme::SemiLagrangian => advect::carried_phi(phi_carried, carried),
            PhiScheme::MacCormack => {
                advect::correct_phi(phi_carried, &before.grid, (u_air, phi_start), (carried, from), dt);
            }
        }
        if self.params.conserves_volume() {
            let open = self.state.solids.open();
            let mut flux = std::mem::take(&mut self.work.flux);
            volume::fluxes(&mut flux, &self.work.flow(&before.grid, &open, dt_s));
            self.work.flux = flux;
        }
    }
}
