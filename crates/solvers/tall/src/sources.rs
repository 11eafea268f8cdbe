//! Sources and sinks: shapes that add and take liquid, and what has left the domain.

use crate::TallSolver;
use crate::state::Work;
use fluvial_foundation::Vec3;
use fluvial_grids::TallGrid;
use fluvial_solids::Nozzle;
use fluvial_tall::volume::{Held, Open, held, share};

impl TallSolver {
    /// Unites the carried liquid with what has come into active sources by the end of the step, takes it out of
    /// active sinks and out of what lies beyond open walls; books all of it by column.
    pub(crate) fn apply_sources_and_sinks(&mut self, dt_s: f64) {
        self.work.exchanged.fill(0.0);
        (self.work.in_m3, self.work.out_m3) = (0.0, 0.0);
        self.fill_sources(dt_s);
        self.empty_sinks();
    }

    fn fill_sources(&mut self, dt_s: f64) {
        let (time_s, end_s, cell_m3) = (self.state.time_s, self.state.time_s + dt_s, self.frame.cell_m3());
        let flowing: Vec<usize> = self.setup.sources_flowing(time_s, dt_s).map(|(n, _)| n).collect();
        for n in flowing {
            let source = &self.setup.sources[n];
            let flows_s = source.flows_for_s(time_s, dt_s);
            let until_s = end_s.min(source.active_s[1]);
            let nozzle = source.nozzle(until_s, self.setup.domain.bounds());
            let since_s = until_s - source.active_s[0];
            let flow_m3 = self.flow_m3_s(n, dt_s) * flows_s;
            self.unite(&nozzle, since_s);
            // Its columns receive what flows in, by what they hold of its shape.
            let shares = self.columns_inside(&nozzle);
            let sum: f64 = shares.iter().map(|share| f64::from(*share)).sum();
            if sum > 0.0 {
                let scale = flow_m3 / cell_m3 / sum;
                let exchanged = self.work.exchanged.iter_mut().zip(&shares);
                exchanged.for_each(|(out, share)| *out += (scale * f64::from(*share)) as f32);
                self.work.in_m3 += flow_m3;
            }
        }
    }

    /// What a source lets in, m3/s: kept while nothing that it depends on moves.
    fn flow_m3_s(&mut self, n: usize, dt_s: f64) -> f64 {
        let time_s = self.state.time_s;
        let resting = self.setup.resting_sources(time_s, dt_s);
        if resting.is_none() || resting != self.flows.measured_for {
            self.flows.flow_m3_s.clear();
        }
        self.flows.measured_for = resting;
        self.flows.flow_m3_s.resize(self.setup.sources.len(), None);
        if let Some(known) = self.flows.flow_m3_s[n] {
            return known;
        }
        let (nozzle, solids) =
            (self.setup.nozzle_among(n, time_s, dt_s), self.setup.solids_at(time_s + dt_s));
        let (dx, bounds) = (self.frame.dx, self.setup.domain.bounds());
        let blocked = |x: Vec3| !bounds.contains(x) || solids.distance(x, dx) < 0.0;
        let flow = nozzle.section_m2(blocked) * f64::from(nozzle.outflow().length());
        self.flows.flow_m3_s[n] = Some(flow);
        flow
    }

    /// phi and velocity of what has come into a source.
    fn unite(&mut self, nozzle: &Nozzle, since_s: f64) {
        let (frame, bounds) = (self.frame, nozzle.bounds().expand(2.0 * self.frame.dx));
        let Work { phi_carried, u_carried, .. } = &mut self.work;
        for_each_in(&self.state.fields.grid, |i, y, k, n| {
            let x = frame.center(i, y, k);
            if !bounds.contains(x) || frame.is_left(i, y, k) {
                return;
            }
            let distance = nozzle.filled_distance(x, since_s);
            phi_carried[n] = phi_carried[n].min(distance);
            if distance < 0.5 * frame.dx {
                let v = nozzle.velocity(x);
                u_carried[n] = [v.x, v.y, v.z, 1.0];
            }
        });
    }

    /// How much of each column lies in a source, in cells.
    fn columns_inside(&self, nozzle: &Nozzle) -> Vec<f32> {
        let (frame, nx) = (self.frame, self.frame.columns[0]);
        let mut inside = vec![0.0f32; self.state.fields.grid.columns.len()];
        let bounds = nozzle.bounds().expand(0.5 * frame.dx);
        let highest = (frame.in_cells(bounds.max)[1] + 0.5).ceil().clamp(0.0, frame.height() as f32) as i32;
        frame.for_each_column(bounds, |column, lowest| {
            let (i, k) = (column % nx, column / nx);
            for y in lowest..if frame.is_outside(i, k) { lowest } else { highest } {
                inside[column] += share(nozzle.distance(frame.center(i, y, k)) / frame.dx);
            }
        });
        inside
    }

    fn empty_sinks(&mut self) {
        let (frame, time_s) = (self.frame, self.state.time_s);
        let has_sinks = self.setup.active_sinks(time_s).next().is_some();
        if !has_sinks && !self.has_outside {
            return;
        }
        let before = self.measure_carried();
        let phi = &mut self.work.phi_carried;
        for_each_in(&self.state.fields.grid, |i, y, k, n| {
            let x = frame.center(i, y, k);
            for (_, sink) in self.setup.active_sinks(time_s) {
                phi[n] = phi[n].max(-sink.shape.distance(x));
            }
            if frame.is_left(i, y, k) {
                phi[n] = phi[n].max(frame.dx);
            }
        });
        let after = self.measure_carried();
        // What is beyond an open wall has flowed there, and is taken as a whole with the fluxes.
        let grid = &self.state.fields.grid;
        for (c, (before, after)) in before.iter().zip(&after).enumerate() {
            let taken = before.volume - after.volume;
            if !(frame.is_outside(c % grid.nx, c / grid.nx) && self.params.conserves_volume()) {
                self.work.exchanged[c] -= taken;
                self.work.out_m3 += f64::from(taken) * frame.cell_m3();
            }
        }
    }

    /// What the carried phi says of every column.
    pub(crate) fn measure_carried(&self) -> Vec<Held> {
        let (grid, phi, open) = (&self.state.fields.grid, &self.work.phi_carried, self.open_at_end());
        let column = |c: usize| held(grid, phi, &open, [c % grid.nx, c / grid.nx], 0.0);
        fluvial_foundation::parallel::map_indices(grid.columns.len(), column)
    }

    /// What solids leave open of the old columns at the end of the step.
    pub(crate) fn open_at_end(&self) -> Open<'_> {
        match self.setup.has_moving_solids() {
            true => self.work.solids_before.open(),
            false => self.state.solids.open(),
        }
    }
}

/// Calls `body(i, y, k, index)` for every sample.
fn for_each_in(grid: &TallGrid, mut body: impl FnMut(usize, i32, usize, usize)) {
    for k in 0..grid.nz {
        for j in 0..grid.rows() {
            for i in 0..grid.nx {
                body(i, grid.y(i, j, k), k, grid.index(i, j, k));
            }
        }
    }
}
