//! The parts of a step that keep volume, exchange it with sources and sinks, and count.

use super::buffers::{Buffers, GpuSolids, WaterParams};
use super::record::Recorder;
use crate::field::Velocity;
use crate::volume::SPREAD_PASSES;
use fluvial_device::{Buffer, DeviceError};

impl Buffers {
    /// What solids leave open of the old columns at the end of the step.
    fn solids_at_end(&self) -> &GpuSolids {
        self.solids_before.as_ref().unwrap_or(&self.solids)
    }

    /// What phi says of every column of the state.
    pub fn measure(
        &self,
        r: &mut Recorder,
        phi: &Buffer<f32>,
        solids: &GpuSolids,
        out: &Buffer<[f32; 2]>,
    ) -> Result<(), DeviceError> {
        let fields = [
            (5, phi.binding()),
            (6, solids.open_cell.binding()),
            (7, solids.open_tall.binding()),
            (8, out.binding()),
        ];
        r.run(("volume", "measure"), self.grid.own().into_iter().chain(fields), self.grid.column_groups())
    }

    /// Liquid that flows between columns.
    pub fn fluxes(
        &self,
        r: &mut Recorder,
        phi_start: &Buffer<f32>,
        u_air: &Buffer<Velocity>,
    ) -> Result<(), DeviceError> {
        let flow = [
            (4, self.volume.binding()),
            (5, phi_start.binding()),
            (6, self.solids.open_cell.binding()),
            (7, self.solids.open_tall.binding()),
            (9, u_air.binding()),
            (10, self.flux.binding()),
        ];
        r.run(("volume", "fluxes"), self.grid.own().into_iter().chain(flow), self.grid.column_groups())
    }

    /// Sources, sinks and what lies beyond open walls.
    pub fn exchange(
        &self,
        r: &mut Recorder,
        params: &WaterParams,
        (phi, u): (&Buffer<f32>, &Buffer<Velocity>),
        (phi_start, u_air): (&Buffer<f32>, &Buffer<Velocity>),
    ) -> Result<(), DeviceError> {
        let own = || self.grid.own().into_iter();
        if params.has_sources {
            let fields = [(5, phi.binding()), (6, u.binding())];
            let fields = own().chain(fields).chain(self.poured.all());
            r.run(("exchange", "pour"), fields, self.grid.sample_groups())?;
        }
        if !params.has_sinks && params.beyond.is_none() {
            return Ok(());
        }
        let solids = self.solids_at_end();
        self.measure(r, phi, solids, &self.before)?;
        let fields = [(4, self.beyond.binding()), (5, phi.binding())];
        let fields = own().chain(fields).chain(self.drained.values());
        r.run(("exchange", "drain"), fields, self.grid.sample_groups())?;
        self.measure(r, phi, solids, &self.after)?;
        let taken = [
            (4, self.volume.binding()),
            (5, phi_start.binding()),
            (6, self.solids.open_cell.binding()),
            (7, self.solids.open_tall.binding()),
            (9, u_air.binding()),
            (24, phi.binding()),
            (11, self.before.binding()),
            (22, self.after.binding()),
            (17, self.beyond.binding()),
            (19, self.left.binding()),
        ];
        let taken = own().chain(taken).chain(self.drained.values());
        r.run(("volume", "take"), taken, self.grid.column_groups())
    }

    /// phi displaced to what columns hold after the fluxes: `settled` receives it.
    pub fn settle_volume(
        &self,
        r: &mut Recorder,
        params: &WaterParams,
        [phi_start, phi_new, settled]: [&Buffer<f32>; 3],
        u_air: &Buffer<Velocity>,
    ) -> Result<(), DeviceError> {
        let own = || self.grid.own().into_iter();
        let ([lack, other], shift) = (&self.lacking, &self.shift);
        let groups = self.grid.column_groups();
        let solids = self.solids_at_end();
        let divide = [
            (5, phi_new.binding()),
            (6, solids.open_cell.binding()),
            (7, solids.open_tall.binding()),
            (17, self.beyond.binding()),
            (18, self.poured_column.binding()),
            (20, self.now.binding()),
            (21, self.aloft.binding()),
        ];
        r.run(("volume", "divide"), own().chain(divide), groups)?;
        let sizes = || self.grid.own().into_iter().take(1);
        let lacking = [
            (4, self.volume.binding()),
            (5, phi_start.binding()),
            (6, self.solids.open_cell.binding()),
            (7, self.solids.open_tall.binding()),
            (9, u_air.binding()),
            (10, self.flux.binding()),
            (11, self.held.binding()),
            (12, self.now.binding()),
            (13, self.residual.binding()),
            (15, lack.binding()),
            (23, self.aloft.binding()),
            (24, self.phi.binding()),
        ];
        r.run(("volume", "lacking"), own().chain(lacking), groups)?;
        if params.has_sources || params.has_sinks || params.beyond.is_some() {
            let exchange = [
                (12, self.now.binding()),
                (15, lack.binding()),
                (17, self.beyond.binding()),
                (18, self.poured_column.binding()),
                (19, self.left.binding()),
                (23, self.aloft.binding()),
            ];
            r.run(("volume", "exchange"), own().chain(exchange), groups)?;
        }
        const { assert!(SPREAD_PASSES.is_multiple_of(2)) };
        let (mut a, mut b) = (lack, other);
        for _ in 0..SPREAD_PASSES {
            let pass = [(12, self.now.binding()), (14, a.binding()), (15, b.binding())];
            r.run(("volume", "spread_pass"), sizes().chain(pass), groups)?;
            (a, b) = (b, a);
        }
        let wanted = [
            (5, phi_new.binding()),
            (6, solids.open_cell.binding()),
            (7, solids.open_tall.binding()),
            (12, self.now.binding()),
            (14, lack.binding()),
            (15, shift.binding()),
            (23, self.aloft.binding()),
        ];
        r.run(("volume", "displacements"), own().chain(wanted), groups)?;
        let displace = [
            (5, phi_new.binding()),
            (12, self.now.binding()),
            (14, lack.binding()),
            (16, shift.binding()),
            (23, self.aloft.binding()),
            (27, settled.binding()),
        ];
        r.run(("volume", "displace"), own().chain(displace), self.grid.sample_groups())
    }

    /// With the surface in its place: what it stands for, and what is left as residual.
    pub fn close_volume(&self, r: &mut Recorder, params: &WaterParams) -> Result<(), DeviceError> {
        self.measure(r, &self.phi, &self.solids, &self.held)?;
        if !params.conserves_volume {
            return Ok(());
        }
        let close = [
            (11, self.held.binding()),
            (12, self.now.binding()),
            (13, self.residual.binding()),
            (14, self.lacking[0].binding()),
        ];
        let sizes = self.grid.own()[0].clone();
        r.run(("volume", "close"), [sizes].into_iter().chain(close), self.grid.column_groups())
    }

    /// The numbers of the step, by rows of columns.
    pub fn report(&self, r: &mut Recorder) -> Result<(), DeviceError> {
        let (own, diverges) = (|| self.grid.own().into_iter(), &self.scalars[0]);
        let divergence = [
            (4, self.phi.binding()),
            (5, self.solids.fraction.binding()),
            (7, self.u.binding()),
            (8, self.solids.u_solid.binding()),
            (9, diverges.binding()),
        ];
        r.run(("projection", "divergence"), own().chain(divergence), self.grid.sample_groups())?;
        let [left_over, right_side] = self.multigrid.balance().map(|b| b.binding());
        let columns = [
            (4, self.phi.binding()),
            (5, self.solids.fraction.binding()),
            (6, self.solids.open_cell.binding()),
            (7, self.solids.open_tall.binding()),
            (8, self.u.binding()),
            (9, diverges.binding()),
            (10, left_over),
            (11, right_side),
            (12, self.held.binding()),
            (13, self.residual.binding()),
            (14, self.left.binding()),
            (15, self.shift.binding()),
            (16, self.by_column.binding()),
        ];
        r.run(("report", "columns_of_step"), own().chain(columns), self.grid.column_groups())?;
        let rows = [(16, self.by_column.binding()), (17, self.by_row.binding())];
        r.run(("report", "rows_of_step"), own().take(1).chain(rows), [self.grid.nz, 1, 1])
    }
}
