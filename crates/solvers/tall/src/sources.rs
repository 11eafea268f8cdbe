//! Sources and sinks: shapes that add and take liquid, and what has left the domain.

use crate::TallSolver;
use crate::state::Work;
use fluvial_foundation::Aabb;
use fluvial_solids::Nozzle;
use fluvial_tall::exchange::{CellList, drain, pour};
use fluvial_tall::redistance::REACH_CELLS;
use fluvial_tall::volume::{Held, Open, held, share};

/// A source that flows in a step.
pub(crate) struct Flowing {
    nozzle: Nozzle,
    /// How long it has flowed by the end of the step, s.
    since_s: f64,
    /// What it lets in during the step, m3.
    flow_m3: f64,
}

impl TallSolver {
    /// Unites the carried liquid with what has come into active sources by the end of the step, takes it out of
    /// active sinks and out of what lies beyond open walls; books all of it by column.
    pub(crate) fn apply_sources_and_sinks(&mut self, dt_s: f64) {
        let poured = self.open_sources(dt_s);
        if !poured.is_empty() {
            let Work { phi_carried, u_carried, .. } = &mut self.work;
            pour(phi_carried, u_carried, &self.state.fields.grid, &poured);
        }
        self.work.poured = poured;
        self.empty_sinks(dt_s);
    }

    /// What has come into sources by the end of the step, by cell; books what that is by column.
    pub(crate) fn open_sources(&mut self, dt_s: f64) -> CellList {
        self.work.poured_column.fill([0.0; 2]);
        self.work.taken.fill(0.0);
        (self.work.in_m3, self.work.out_m3) = (0.0, 0.0);
        let flowing = self.flowing(dt_s);
        flowing.iter().for_each(|source| self.share_out(source));
        self.poured_cells(&flowing)
    }

    fn flowing(&mut self, dt_s: f64) -> Vec<Flowing> {
        let (time_s, end_s) = (self.state.time_s, self.state.time_s + dt_s);
        let numbers: Vec<usize> = self.setup.sources_flowing(time_s, dt_s).map(|(n, _)| n).collect();
        let flow = |n: usize| {
            let source = &self.setup.sources[n];
            let until_s = end_s.min(source.active_s[1]);
            let nozzle = source.nozzle(until_s, self.setup.domain.bounds());
            let (since_s, flows_s) = (until_s - source.active_s[0], source.flows_for_s(time_s, dt_s));
            let flow_m3 = self.flow_m3_s(n, dt_s) * flows_s;
            Flowing { nozzle, since_s, flow_m3 }
        };
        numbers.into_iter().map(flow).collect()
    }

    /// The columns of a source receive what flows in, by what they hold of its shape.
    fn share_out(&mut self, source: &Flowing) {
        let shares = self.columns_inside(&source.nozzle);
        let sum: f64 = shares.iter().map(|[share, _]| f64::from(*share)).sum();
        if sum > 0.0 {
            let scale = source.flow_m3 / self.frame.cell_m3() / sum;
            let poured = self.work.poured_column.iter_mut().zip(&shares);
            poured
                .for_each(|(out, share)| (0..2).for_each(|n| out[n] += (scale * f64::from(share[n])) as f32));
            self.work.in_m3 += source.flow_m3;
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
        let flow = nozzle.section_among(&solids, self.frame.dx) * f64::from(nozzle.outflow().length());
        self.flows.flow_m3_s[n] = Some(flow);
        flow
    }

    /// phi and velocity of what has come into sources.
    fn poured_cells(&self, flowing: &[Flowing]) -> CellList {
        let frame = self.frame;
        let bounds: Vec<Aabb> =
            flowing.iter().map(|source| source.nozzle.bounds().expand(2.0 * frame.dx)).collect();
        frame.list(bounds.iter().copied(), |i, y, k| {
            let x = frame.center(i, y, k);
            let mut entry = None;
            for (source, bounds) in flowing.iter().zip(&bounds) {
                if !bounds.contains(x) || frame.is_left(i, y, k) {
                    continue;
                }
                let distance = source.nozzle.filled_distance(x, source.since_s);
                let (_, nearest, u) = entry.get_or_insert((y, f32::INFINITY, [0.0; 4]));
                *nearest = nearest.min(distance);
                if distance < 0.5 * frame.dx {
                    let v = source.nozzle.velocity(x);
                    *u = [v.x, v.y, v.z, 1.0];
                }
            }
            entry
        })
    }

    /// How much of each column lies in a source, in cells, and its moment of heights.
    fn columns_inside(&self, nozzle: &Nozzle) -> Vec<[f32; 2]> {
        let (frame, nx) = (self.frame, self.frame.columns[0]);
        let mut inside = vec![[0.0f32; 2]; self.state.fields.grid.columns.len()];
        let bounds = nozzle.bounds().expand(0.5 * frame.dx);
        let highest = (frame.in_cells(bounds.max)[1] + 0.5).ceil().clamp(0.0, frame.height() as f32) as i32;
        frame.for_each_column(bounds, |column, lowest| {
            let (i, k) = (column % nx, column / nx);
            for y in lowest..if frame.is_outside(i, k) { lowest } else { highest } {
                let part = share(nozzle.distance(frame.center(i, y, k)) / frame.dx);
                inside[column] = [inside[column][0] + part, inside[column][1] + part * y as f32];
            }
        });
        inside
    }

    /// The least phi that sinks leave, where phi can be less.
    pub(crate) fn drained_cells(&self) -> CellList {
        let (frame, reach) = (self.frame, (REACH_CELLS + 1.0) * self.frame.dx);
        let sinks = || self.setup.active_sinks(self.state.time_s).map(|(_, sink)| sink);
        frame.list(sinks().map(|sink| sink.shape.bounds().expand(reach)), |i, y, k| {
            let x = frame.center(i, y, k);
            let least = sinks().map(|sink| -sink.shape.distance(x)).fold(f32::NEG_INFINITY, f32::max);
            (least > -reach).then_some((y, least, [0.0; 4]))
        })
    }

    fn empty_sinks(&mut self, dt_s: f64) {
        let (frame, time_s) = (self.frame, self.state.time_s);
        let has_sinks = self.setup.active_sinks(time_s).next().is_some();
        if !has_sinks && !self.has_outside {
            return;
        }
        let (before, drained) = (self.measure_carried(), self.drained_cells());
        let Work { phi_carried, spare, .. } = &mut self.work;
        drain(spare, phi_carried, &self.state.fields.grid, &drained, &frame.beyond());
        std::mem::swap(phi_carried, spare);
        let after = self.measure_carried();
        let conserves = self.params.conserves_volume();
        let mut taken = std::mem::take(&mut self.work.taken);
        let (grid, open) = (&self.state.fields.grid, self.state.solids.open());
        let flow = self.work.flow(grid, &open, dt_s);
        for (c, taken) in taken.iter_mut().enumerate() {
            // What is beyond an open wall has flowed there, and is taken as a whole with the fluxes.
            if conserves && frame.is_outside(c % grid.nx, c / grid.nx) {
                continue;
            }
            let by_flow = if conserves { flow.taken(c, &drained, &self.work.phi_carried) } else { None };
            *taken = by_flow.unwrap_or(before[c].volume - after[c].volume);
        }
        self.work.out_m3 += taken.iter().fold(0.0, |sum, taken| sum + f64::from(*taken)) * frame.cell_m3();
        self.work.taken = taken;
    }

    /// What the carried phi says of every column.
    pub(crate) fn measure_carried(&self) -> Vec<Held> {
        let (grid, phi, open) = (&self.state.fields.grid, &self.work.phi_carried, self.open_at_end());
        let column = |c: usize| held(grid, phi, &open, [c % grid.nx, c / grid.nx]);
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
