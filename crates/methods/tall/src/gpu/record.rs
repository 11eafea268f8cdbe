//! A step as recorded dispatches, in the order of the solver on the CPU, whose twin this is.

use super::buffers::{Buffers, GpuSolids, GpuState, WaterParams};
use super::{GpuAround, GpuMultigrid, Kernels, item_groups};
use crate::extrapolate::BandParams;
use crate::field::Velocity;
use crate::redistance::PASSES;
use crate::remesh::RemeshParams;
use fluvial_device::{Binding, Buffer, DeviceError, Recording};

/// Records kernels one after the other.
pub(super) struct Recorder<'k, 'd> {
    pub kernels: &'k mut Kernels<'d>,
    pub out: Recording,
}

impl Recorder<'_, '_> {
    pub fn run(
        &mut self,
        kernel: (&'static str, &'static str),
        buffers: impl IntoIterator<Item = (u32, Binding)>,
        groups: [u32; 3],
    ) -> Result<(), DeviceError> {
        self.out.dispatch(&self.kernels.bind(kernel, buffers)?, groups);
        Ok(())
    }
}

impl Buffers {
    /// A whole step; `redistances` and `is_first` as in [`GpuWater::step`](super::GpuWater::step).
    pub fn record<'k, 'd>(
        &self,
        mut r: Recorder<'k, 'd>,
        params: &WaterParams,
        redistances: bool,
        is_first: bool,
    ) -> Result<Recorder<'k, 'd>, DeviceError> {
        let [u_air, carried, _, u_new] = &self.vectors;
        let [phi_start, phi_new, spare] = &self.scalars;
        r.out.stage("solids");
        self.keep(&mut r)?;
        if let Some(solids) = &self.solids_before {
            self.place_solids(&mut r, solids)?;
        }
        r.out.stage("extrapolate");
        self.extrapolate(&mut r, [u_air, carried])?;
        r.out.stage("redistance");
        self.reinitialise(&mut r, [phi_start, spare], redistances)?;
        r.out.stage("advect");
        self.advect(&mut r, params)?;
        if params.has_sources || params.has_sinks || params.beyond.is_some() {
            r.out.stage("sources");
            self.exchange(&mut r, params, (phi_new, u_new), (phi_start, u_air))?;
        }
        if params.conserves_volume {
            r.out.stage("settle_volume");
            self.settle_volume(&mut r, params, [phi_start, phi_new, spare], u_air)?;
        }
        r.out.stage("remesh");
        let settled = if params.conserves_volume { spare } else { phi_new };
        self.remesh(&mut r, params, settled, [u_new, carried])?;
        r.out.stage("pressure");
        let mut r = self.project(r, params, is_first, carried)?;
        r.out.stage("measure");
        self.close_volume(&mut r, params)?;
        self.report(&mut r)?;
        Ok(r)
    }

    fn state(&self) -> GpuState {
        let (columns, phi, u) = (self.grid.columns.clone(), self.phi.clone(), self.u.clone());
        GpuState { columns, phi, u, pressure: self.pressure.clone(), residual: self.residual.clone() }
    }

    fn copy_state(r: &mut Recorder, from: &GpuState, to: &GpuState) -> Result<(), DeviceError> {
        let fields = [
            (6, from.columns.binding()),
            (7, to.columns.binding()),
            (8, from.phi.binding()),
            (9, to.phi.binding()),
            (10, from.u.binding()),
            (11, to.u.binding()),
            (12, from.pressure.binding()),
            (13, to.pressure.binding()),
            (14, from.residual.binding()),
            (15, to.residual.binding()),
        ];
        r.run(("hierarchy", "copy_state"), fields, item_groups(to.phi.len()))
    }

    /// Keeps the state, to go back to should the step fail.
    fn keep(&self, r: &mut Recorder) -> Result<(), DeviceError> {
        Self::copy_state(r, &self.state(), &self.kept)
    }

    /// The kept state becomes the state again; what follows from it is [`Self::follow`]'s.
    pub fn undo(&self, r: &mut Recorder) -> Result<(), DeviceError> {
        Self::copy_state(r, &self.kept, &self.state())
    }

    /// What follows from a state and the solids of its moment.
    pub fn follow(&self, r: &mut Recorder) -> Result<(), DeviceError> {
        self.place_solids(r, &self.solids)?;
        self.measure(r, &self.phi, &self.solids, &self.held)
    }

    /// phi and velocity carried along the flow, and what flows between columns.
    fn advect(&self, r: &mut Recorder, params: &WaterParams) -> Result<(), DeviceError> {
        let [u_air, carried, from, u_new] = &self.vectors;
        let [phi_start, phi_new, _] = &self.scalars;
        let own = || self.grid.own().into_iter();
        let back = [
            (4, self.advect.binding()),
            (5, u_air.binding()),
            (6, phi_start.binding()),
            (7, carried.binding()),
            (8, from.binding()),
        ];
        let walls = [(25, self.walls.binding()), (26, self.pressure.binding())];
        let back_from = own().chain(back.clone()).chain(walls);
        r.run(("advect", "trace_back"), back_from, self.grid.sample_groups())?;
        let forth = [
            (4, self.advect.binding()),
            (5, u_air.binding()),
            (7, carried.binding()),
            (8, from.binding()),
            (9, u_new.binding()),
            (10, phi_new.binding()),
        ];
        r.run(("advect", "correct"), own().chain(forth), self.grid.sample_groups())?;
        if params.corrects_phi {
            let phi = back.into_iter().chain([(10, phi_new.binding())]);
            r.run(("advect", "correct_phi"), own().chain(phi), self.grid.sample_groups())?;
        }
        if params.conserves_volume {
            self.fluxes(r, phi_start, u_air)?;
        }
        Ok(())
    }

    /// Velocity everywhere, into `u_air`.
    fn extrapolate(
        &self,
        r: &mut Recorder,
        [u_air, spare]: [&Buffer<Velocity>; 2],
    ) -> Result<(), DeviceError> {
        let (device, band) = (r.kernels.device, BandParams::default());
        let own = || self.grid.own().into_iter();
        let mark = [(5, self.u.binding()), (6, self.phi.binding()), (7, u_air.binding())];
        r.run(("extrapolate", "mark_known"), own().chain(mark), self.grid.sample_groups())?;
        let width = device.uniform(&[band.band_cells * self.grid.dx_m, 0.0, 0.0, 0.0])?;
        let (mut a, mut b) = (u_air, spare);
        for _ in 0..band.passes {
            let pass = [(4, width.binding()), (5, a.binding()), (6, self.phi.binding()), (7, b.binding())];
            r.run(("extrapolate", "band_pass"), own().chain(pass), self.grid.sample_groups())?;
            (a, b) = (b, a);
        }
        let levels = &self.coarse;
        for l in 0..levels.len() {
            let (coarse, [known, _]) = &levels[l];
            let (fine, from) = if l == 0 { (&self.grid, a) } else { (&levels[l - 1].0, &levels[l - 1].1[0]) };
            let sizes = [fine.nx as i32, fine.nz as i32, coarse.nx as i32, coarse.nz as i32];
            let sizes = device.uniform(&sizes)?;
            let heights = [(0, sizes.binding()), (1, fine.columns.binding()), (2, coarse.columns.binding())];
            r.run(("hierarchy", "coarsen_columns"), heights, coarse.column_groups())?;
            let both = coarse.own().into_iter().chain(fine.other());
            let fields = [(5, from.binding()), (6, known.binding())];
            r.run(("levels", "restrict_known"), both.chain(fields), coarse.sample_groups())?;
        }
        if let Some((coarsest, [known, all])) = levels.last() {
            let fields = [coarsest.own()[0].clone(), (4, known.binding()), (6, all.binding())];
            r.run(("levels", "fill_coarsest"), fields, [1, 1, 1])?;
        }
        for l in (0..levels.len()).rev() {
            let (coarse, [_, coarse_u]) = &levels[l];
            let (fine, from, to) = match l {
                0 => (&self.grid, a, b),
                _ => (&levels[l - 1].0, &levels[l - 1].1[0], &levels[l - 1].1[1]),
            };
            let both = fine.own().into_iter().chain(coarse.other());
            let fields = [(4, from.binding()), (5, coarse_u.binding()), (6, to.binding())];
            r.run(("levels", "prolong_unknown"), both.chain(fields), fine.sample_groups())?;
        }
        // An odd number of passes, the prolongation included, ends in the other buffer.
        let last = if levels.is_empty() { a } else { b };
        if !std::ptr::eq(last, u_air) {
            let copy = [(3, last.binding()), (5, u_air.binding())];
            r.run(("hierarchy", "copy"), copy, item_groups(4 * u_air.len()))?;
        }
        Ok(())
    }

    /// phi as a distance or within its bounds, into `out`.
    fn reinitialise(
        &self,
        r: &mut Recorder,
        [out, spare]: [&Buffer<f32>; 2],
        redistances: bool,
    ) -> Result<(), DeviceError> {
        let own = || self.grid.own().into_iter();
        let mut pass = |entry, from: &Buffer<f32>, to: &Buffer<f32>| {
            let fields = [(4, from.binding()), (5, to.binding())];
            r.run(("redistance", entry), own().chain(fields), self.grid.sample_groups())
        };
        if !redistances {
            return pass("clamp_frame", &self.phi, out);
        }
        // With the start an even number of passes ends where it should.
        const { assert!(PASSES % 2 == 1) };
        pass("start", &self.phi, spare)?;
        let (mut a, mut b) = (spare, out);
        for _ in 0..PASSES {
            pass("distance_pass", a, b)?;
            (a, b) = (b, a);
        }
        Ok(())
    }

    /// New heights, the fields on them, and the solids; the new columns become the state's.
    fn remesh(
        &self,
        r: &mut Recorder,
        params: &WaterParams,
        phi_new: &Buffer<f32>,
        [u_new, u_moved]: [&Buffer<Velocity>; 2],
    ) -> Result<(), DeviceError> {
        let RemeshParams { cells_below, cells_above, difference, smoothing, limiting } = params.remesh;
        let aims = r.kernels.device.uniform(&[cells_below, cells_above, difference, 0.0])?;
        let groups = self.grid.column_groups();
        let own = || self.grid.own().into_iter();
        let sizes = || self.grid.own().into_iter().take(1);
        let ranges = (6, self.ranges.binding());
        let find = [(4, aims.binding()), (5, phi_new.binding()), ranges.clone()];
        r.run(("remesh", "top_ranges"), own().chain(find), groups)?;
        let [tops, other] = &self.columns;
        let along_x = [(4, aims.binding()), ranges.clone(), (8, tops.binding())];
        r.run(("remesh", "lowest_along_x"), sizes().chain(along_x), groups)?;
        let along_z = [(4, aims.binding()), ranges.clone(), (7, tops.binding())];
        r.run(("remesh", "lowest_along_z"), own().chain(along_z), groups)?;
        let bound = [ranges.clone(), (10, self.limits.binding())];
        r.run(("remesh", "limit_ranges"), sizes().chain(bound), groups)?;
        r.run(("remesh", "middles"), sizes().chain([ranges.clone(), (8, tops.binding())]), groups)?;
        let (mut a, mut b) = (tops, other);
        let passes = (0..smoothing).map(|_| "smooth_pass").chain((0..limiting).map(|_| "limit_pass"));
        for entry in passes {
            let mut fields = vec![ranges.clone(), (7, a.binding()), (8, b.binding())];
            if entry == "limit_pass" {
                fields.push((4, aims.binding()));
            }
            r.run(("remesh", entry), sizes().chain(fields), groups)?;
            (a, b) = (b, a);
        }
        let heights = [(7, a.binding()), (9, self.new.columns.binding())];
        r.run(("remesh", "columns_from_tops"), own().chain(heights), groups)?;
        let both = || self.new.own().into_iter().chain(self.grid.other());
        let move_scalar = |r: &mut Recorder, from: &Buffer<f32>, to: &Buffer<f32>| {
            r.run(("move", "transfer_scalar"), both().chain([(4, from.binding()), (5, to.binding())]), groups)
        };
        // What phi was before the step is of no use any more.
        let moved = &self.scalars[0];
        move_scalar(r, phi_new, moved)?;
        let liquid = [(4, phi_new.binding()), (5, moved.binding())];
        r.run(("move", "keep_liquid"), both().chain(liquid), groups)?;
        move_scalar(r, &self.pressure, self.multigrid.first_guess())?;
        let fields = [(6, u_new.binding()), (7, u_moved.binding())];
        r.run(("move", "transfer_velocity"), both().chain(fields), groups)?;
        let columns = [(6, self.new.columns.binding()), (7, self.grid.columns.binding())];
        r.run(("hierarchy", "copy_columns"), columns, item_groups(self.grid.columns.len()))?;
        self.place_solids(r, &self.solids)?;
        let solids = [(4, moved.binding()), (5, self.solids.fraction.binding()), (6, self.phi.binding())];
        r.run(("solids", "phi_in_solids"), own().chain(solids), self.grid.sample_groups())
    }

    /// Solids at the end of the step on the state's columns.
    fn place_solids(&self, r: &mut Recorder, solids: &GpuSolids) -> Result<(), DeviceError> {
        let (sizes, first, cells) = &self.ground;
        let fields = [
            (4, sizes.binding()),
            (5, first.binding()),
            (6, cells.binding()),
            (7, solids.fraction.binding()),
            (8, solids.open_cell.binding()),
            (9, solids.open_tall.binding()),
            (10, solids.u_solid.binding()),
        ];
        let all = self.grid.own().into_iter().chain(fields).chain(self.moving.all());
        r.run(("ground", "place"), all, self.grid.column_groups())
    }

    /// Pressure, and the velocity without its gradient.
    fn project<'k, 'd>(
        &self,
        r: Recorder<'k, 'd>,
        params: &WaterParams,
        is_first: bool,
        u: &Buffer<Velocity>,
    ) -> Result<Recorder<'k, 'd>, DeviceError> {
        let cycles = &params.cycles[usize::from(is_first)];
        let Recorder { kernels, mut out } = r;
        let mut multigrid = GpuMultigrid::new(kernels, &self.multigrid);
        multigrid.build(&mut out)?;
        let shape = || {
            let fields = [
                (4, self.phi.binding()),
                (5, self.solids.fraction.binding()),
                (6, self.projection.binding()),
                (7, u.binding()),
                (8, self.solids.u_solid.binding()),
            ];
            self.grid.own().into_iter().chain(fields)
        };
        let entry = if params.is_counting { "right_side_counting" } else { "right_side" };
        let around = GpuAround {
            grid: &self.grid,
            falls: &self.advect,
            liquid: &self.projection,
            phi: &self.phi,
            fraction: &self.solids.fraction,
            u,
            u_solid: &self.solids.u_solid,
        };
        for cycle in 0..cycles.full + cycles.v {
            if let Some(bodies) = &self.bodies {
                let (kernel, buffers, groups) = bodies.show(&around);
                multigrid.run(&mut out, kernel, buffers, groups)?;
            }
            if cycle == 0 || self.bodies.is_some() {
                let right_side = shape().chain([(9, multigrid.inputs().b.binding())]);
                multigrid.run(&mut out, ("projection", entry), right_side, self.grid.sample_groups())?;
                if params.has_sources {
                    let b = (9, multigrid.inputs().b.binding());
                    let let_in = shape().chain([b]).chain(self.poured.all());
                    multigrid.run(&mut out, ("projection", "let_in"), let_in, self.grid.sample_groups())?;
                }
            }
            multigrid.cycle(&mut out, cycle, cycles)?;
            if let Some(bodies) = &self.bodies {
                for (kernel, buffers, groups) in bodies.push(&around, multigrid.pressure()) {
                    multigrid.run(&mut out, kernel, buffers, groups)?;
                }
            }
        }
        if let Some(bodies) = &self.bodies {
            let (kernel, buffers, groups) = bodies.show(&around);
            multigrid.run(&mut out, kernel, buffers, groups)?;
        }
        let pressure = [(3, multigrid.pressure().binding()), (5, self.pressure.binding())];
        multigrid.run(&mut out, ("hierarchy", "copy"), pressure, item_groups(self.pressure.len()))?;
        // The velocity in the air stays: spray is carried by it after the step.
        let free = &self.vectors[2];
        let gradient = shape().chain([
            (10, multigrid.rows().binding()),
            (11, self.pressure.binding()),
            (12, free.binding()),
        ]);
        multigrid.run(&mut out, ("projection", "subtract_gradient"), gradient, self.grid.sample_groups())?;
        multigrid.left_over(&mut out)?;
        let solids = [
            (5, self.solids.fraction.binding()),
            (7, free.binding()),
            (8, self.solids.u_solid.binding()),
            (9, self.u.binding()),
        ];
        let solids = self.grid.own().into_iter().chain(solids);
        multigrid.run(&mut out, ("solids", "velocity_in_solids"), solids, self.grid.sample_groups())?;
        if params.has_sources {
            let fields = [(6, self.u.binding())].into_iter().chain(self.poured.all());
            let fields = self.grid.own().into_iter().chain(fields);
            multigrid.run(&mut out, ("exchange", "impose"), fields, self.grid.sample_groups())?;
        }
        if let Some(bodies) = &self.bodies {
            let (kernel, buffers, groups) = bodies.shed(&around, &self.u);
            multigrid.run(&mut out, kernel, buffers, groups)?;
        }
        Ok(Recorder { kernels: multigrid.into_kernels(), out })
    }
}
