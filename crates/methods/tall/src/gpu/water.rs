//! Algorithm 1 on the GPU: a step is recorded once and submitted as one compute pass; nothing is read back in it.
//!
//! The order of kernels is that of the solver on the CPU, whose twin this is. What differs from step to step are
//! numbers in uniform buffers: the step's length. Steps that redistance and the first step, whose pressure takes more
//! cycles, are recordings of their own.

use super::{GpuGrid, GpuMultigrid, Kernels, item_groups};
use crate::extrapolate::BandParams;
use crate::field::Velocity;
use crate::hierarchy::coarsen_until;
use crate::pressure::multigrid::Cycles;
use crate::redistance::PASSES;
use crate::remesh::RemeshParams;
use crate::solids::Ground;
use crate::volume::SPREAD_PASSES;
use fluvial_device::{Binding, Buffer, Device, DeviceError, Recording};
use fluvial_grids::TallGrid;

/// What a step works with, the same in all steps.
#[derive(Clone, Debug)]
pub struct WaterParams {
    /// m/s2.
    pub gravity: [f32; 3],
    /// kg/m3.
    pub density: f32,
    /// What the heights aim at.
    pub remesh: RemeshParams,
    /// Cycles of a step, and of the first step.
    pub cycles: [Cycles; 2],
    /// Does the right side count what flows through the sides of tall cells?
    pub is_counting: bool,
    /// Is phi carried to second order?
    pub corrects_phi: bool,
    /// Is volume kept by columns?
    pub conserves_volume: bool,
}

/// The state of a simulation as arrays in main memory.
#[derive(Clone, Debug, Default)]
pub struct WaterFields {
    /// Terrain and tall-cell heights.
    pub columns: Vec<[i32; 2]>,
    /// Level set, metres.
    pub phi: Vec<f32>,
    /// Velocity, m/s.
    pub u: Vec<Velocity>,
    /// Pressure, Pa.
    pub pressure: Vec<f32>,
    /// Liquid of columns that phi does not stand for, in cells.
    pub residual: Vec<f32>,
}

/// Buffers of the state and of a step.
struct Buffers {
    /// The columns of the state, and those that a step makes.
    grid: GpuGrid,
    new: GpuGrid,
    phi: Buffer<f32>,
    u: Buffer<Velocity>,
    pressure: Buffer<f32>,
    residual: Buffer<f32>,
    held: Buffer<[f32; 2]>,
    fraction: Buffer<f32>,
    u_solid: Buffer<Velocity>,
    open_cell: Buffer<f32>,
    open_tall: Buffer<f32>,
    limits: Buffer<[f32; 2]>,
    ground: (Buffer<[f32; 4]>, Buffer<u32>, Buffer<[f32; 2]>),
    /// Step length with gravity, with density, and alone.
    advect: Buffer<[f32; 4]>,
    projection: Buffer<[f32; 4]>,
    volume: Buffer<[f32; 4]>,
    vectors: [Buffer<Velocity>; 4],
    scalars: [Buffer<f32>; 3],
    now: Buffer<[f32; 2]>,
    flux: Buffer<[f32; 2]>,
    ranges: Buffer<[f32; 2]>,
    columns: [Buffer<f32>; 3],
}

/// Water on the GPU.
pub struct GpuWater {
    device: Device,
    buffers: Buffers,
    params: WaterParams,
    place_solids: Recording,
    /// By whether the step redistances, and whether it is the first.
    steps: [[Recording; 2]; 2],
}

/// Records kernels one after the other.
struct Recorder<'k, 'd> {
    kernels: &'k mut Kernels<'d>,
    out: Recording,
}

impl Recorder<'_, '_> {
    fn run(
        &mut self,
        kernel: (&'static str, &'static str),
        buffers: impl IntoIterator<Item = (u32, Binding)>,
        groups: [u32; 3],
    ) -> Result<(), DeviceError> {
        self.out.dispatch(&self.kernels.bind(kernel, buffers)?, groups);
        Ok(())
    }

    fn copy(&mut self, from: &Buffer<f32>, to: &Buffer<f32>) -> Result<(), DeviceError> {
        self.run(("hierarchy", "copy"), [(3, from.binding()), (5, to.binding())], item_groups(to.len()))
    }
}

impl Buffers {
    fn new(
        device: &Device,
        grid: &TallGrid,
        ground: &Ground,
        limits: &[[f32; 2]],
    ) -> Result<Buffers, DeviceError> {
        let (samples, columns) = (grid.samples(), grid.columns.len());
        let scalar = || device.storage::<f32>("scalar", samples);
        let vector = || device.storage::<Velocity>("vector", samples);
        let column = || device.storage::<f32>("column", columns);
        let pair = || device.storage::<[f32; 2]>("column", columns);
        // A buffer may not be empty.
        let cells = if ground.cells.is_empty() { vec![[0.0; 2]] } else { ground.cells.clone() };
        let height = f32::from_bits(ground.height as u32);
        Ok(Buffers {
            grid: GpuGrid::new(device, grid)?,
            new: GpuGrid::new(device, grid)?,
            phi: scalar()?,
            u: vector()?,
            pressure: scalar()?,
            residual: column()?,
            held: pair()?,
            fraction: scalar()?,
            u_solid: vector()?,
            open_cell: scalar()?,
            open_tall: column()?,
            limits: device.storage_from("limits", limits)?,
            ground: (
                device.uniform(&[height, ground.above, 0.0, 0.0])?,
                device.storage_from("first", &ground.first)?,
                device.storage_from("cells", &cells)?,
            ),
            advect: device.uniform(&[0.0; 4])?,
            projection: device.uniform(&[0.0; 4])?,
            volume: device.uniform(&[0.0; 4])?,
            vectors: [vector()?, vector()?, vector()?, vector()?],
            scalars: [scalar()?, scalar()?, scalar()?],
            now: pair()?,
            flux: pair()?,
            ranges: pair()?,
            columns: [column()?, column()?, column()?],
        })
    }
}

impl GpuWater {
    /// Records the steps for columns of this size among solids that rest.
    pub fn new(
        device: Device,
        grid: &TallGrid,
        ground: &Ground,
        limits: &[[f32; 2]],
        params: WaterParams,
    ) -> Result<GpuWater, DeviceError> {
        let buffers = Buffers::new(&device, grid, ground, limits)?;
        let mut kernels = Kernels::new(&device);
        let place_solids = {
            let mut recorder = Recorder { kernels: &mut kernels, out: Recording::new() };
            buffers.place_solids(&mut recorder, &buffers.grid)?;
            buffers.measure(&mut recorder, &buffers.grid, &buffers.phi, &buffers.held)?;
            recorder.out
        };
        let mut record = |redistances: bool, is_first: bool| {
            let recorder = Recorder { kernels: &mut kernels, out: Recording::new() };
            buffers.record(recorder, grid, &params, redistances, is_first)
        };
        let steps =
            [[record(false, false)?, record(false, true)?], [record(true, false)?, record(true, true)?]];
        drop(kernels);
        Ok(GpuWater { device, buffers, params, place_solids, steps })
    }

    /// Replaces the state.
    pub fn upload(&self, fields: &WaterFields) -> Result<(), DeviceError> {
        let (device, b) = (&self.device, &self.buffers);
        device.upload(&b.grid.columns, &fields.columns)?;
        device.upload(&b.phi, &fields.phi)?;
        device.upload(&b.u, &fields.u)?;
        device.upload(&b.pressure, &fields.pressure)?;
        device.upload(&b.residual, &fields.residual)?;
        device.submit(&self.place_solids)
    }

    /// Submits a step and returns without waiting for it.
    pub fn step(&self, dt_s: f32, redistances: bool, is_first: bool) -> Result<(), DeviceError> {
        let (device, b, [x, y, z]) = (&self.device, &self.buffers, self.params.gravity);
        device.upload(&b.advect, &[[x, y, z, dt_s]])?;
        device.upload(&b.projection, &[[self.params.density, dt_s, 0.0, 0.0]])?;
        device.upload(&b.volume, &[[dt_s, 0.0, 0.0, 0.0]])?;
        device.submit(&self.steps[usize::from(redistances)][usize::from(is_first)])
    }

    /// The state, after all steps so far.
    pub fn read(&self) -> Result<WaterFields, DeviceError> {
        let (device, b) = (&self.device, &self.buffers);
        Ok(WaterFields {
            columns: device.read(&b.grid.columns)?,
            phi: device.read(&b.phi)?,
            u: device.read(&b.u)?,
            pressure: device.read(&b.pressure)?,
            residual: device.read(&b.residual)?,
        })
    }

    /// Dispatches of a step.
    pub fn dispatches(&self) -> usize {
        self.steps[0][0].len()
    }
}

impl Buffers {
    fn record(
        &self,
        mut r: Recorder,
        grid: &TallGrid,
        params: &WaterParams,
        redistances: bool,
        is_first: bool,
    ) -> Result<Recording, DeviceError> {
        let [u_air, carried, from, u_new] = &self.vectors;
        let [phi_start, phi_new, spare] = &self.scalars;
        r.out.stage("extrapolate");
        self.extrapolate(&mut r, grid, [u_air, carried])?;
        r.out.stage("redistance");
        self.reinitialise(&mut r, [phi_start, spare], redistances)?;
        r.out.stage("advect");
        let own = || self.grid.own().into_iter();
        let back = [
            (4, self.advect.binding()),
            (5, u_air.binding()),
            (6, phi_start.binding()),
            (7, carried.binding()),
            (8, from.binding()),
        ];
        r.run(("advect", "trace_back"), own().chain(back.clone()), self.grid.sample_groups())?;
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
            r.out.stage("settle_volume");
            self.settle_volume(&mut r, [phi_start, phi_new, spare], u_air)?;
        }
        r.out.stage("remesh");
        self.remesh(&mut r, params, [phi_new, spare], [u_new, carried])?;
        r.out.stage("pressure");
        let out = self.project(r, grid, params, is_first, carried)?;
        let mut r = out;
        if params.conserves_volume {
            self.measure(&mut r, &self.grid, &self.phi, &self.held)?;
            let close = [
                (11, self.held.binding()),
                (12, self.now.binding()),
                (13, self.residual.binding()),
                (14, self.columns[0].binding()),
            ];
            let sizes = self.grid.own()[0].clone();
            r.run(("volume", "close"), [sizes].into_iter().chain(close), self.grid.column_groups())?;
        }
        Ok(r.out)
    }

    /// Velocity everywhere, into `u_air`.
    fn extrapolate(
        &self,
        r: &mut Recorder,
        grid: &TallGrid,
        [u_air, spare]: [&Buffer<Velocity>; 2],
    ) -> Result<(), DeviceError> {
        let (device, band) = (r.kernels.device, BandParams::default());
        let own = || self.grid.own().into_iter();
        let mark = [(5, self.u.binding()), (6, self.phi.binding()), (7, u_air.binding())];
        r.run(("extrapolate", "mark_known"), own().chain(mark), self.grid.sample_groups())?;
        let width = device.uniform(&[band.band_cells * grid.dx_m, 0.0, 0.0, 0.0])?;
        let (mut a, mut b) = (u_air, spare);
        for _ in 0..band.passes {
            let pass = [(4, width.binding()), (5, a.binding()), (6, self.phi.binding()), (7, b.binding())];
            r.run(("extrapolate", "band_pass"), own().chain(pass), self.grid.sample_groups())?;
            (a, b) = (b, a);
        }
        let grids = coarsen_until(grid, |_| false);
        let mut levels = vec![];
        for g in &grids[1..] {
            let vector = || device.storage::<Velocity>("level", g.samples());
            levels.push((GpuGrid::new(device, g)?, [vector()?, vector()?]));
        }
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

    fn measure(
        &self,
        r: &mut Recorder,
        grid: &GpuGrid,
        phi: &Buffer<f32>,
        out: &Buffer<[f32; 2]>,
    ) -> Result<(), DeviceError> {
        let fields = [
            (5, phi.binding()),
            (6, self.open_cell.binding()),
            (7, self.open_tall.binding()),
            (8, out.binding()),
        ];
        r.run(("volume", "measure"), grid.own().into_iter().chain(fields), grid.column_groups())
    }

    /// Fluxes between columns, and phi displaced to what they hold: `phi_new` receives it.
    fn settle_volume(
        &self,
        r: &mut Recorder,
        [phi_start, phi_new, spare]: [&Buffer<f32>; 3],
        u_air: &Buffer<Velocity>,
    ) -> Result<(), DeviceError> {
        let own = || self.grid.own().into_iter();
        let [lack, other, shift] = &self.columns;
        let groups = self.grid.column_groups();
        let flow = [
            (4, self.volume.binding()),
            (5, phi_start.binding()),
            (6, self.open_cell.binding()),
            (7, self.open_tall.binding()),
            (9, u_air.binding()),
            (10, self.flux.binding()),
        ];
        r.run(("volume", "fluxes"), own().chain(flow), groups)?;
        self.measure(r, &self.grid, phi_new, &self.now)?;
        let sizes = || self.grid.own().into_iter().take(1);
        let lacking = [
            (10, self.flux.binding()),
            (11, self.held.binding()),
            (12, self.now.binding()),
            (13, self.residual.binding()),
            (15, lack.binding()),
        ];
        r.run(("volume", "lacking"), sizes().chain(lacking), groups)?;
        const { assert!(SPREAD_PASSES.is_multiple_of(2)) };
        let (mut a, mut b) = (lack, other);
        for _ in 0..SPREAD_PASSES {
            let pass = [(12, self.now.binding()), (14, a.binding()), (15, b.binding())];
            r.run(("volume", "spread_pass"), sizes().chain(pass), groups)?;
            (a, b) = (b, a);
        }
        let wanted = [
            (5, phi_new.binding()),
            (6, self.open_cell.binding()),
            (7, self.open_tall.binding()),
            (12, self.now.binding()),
            (14, lack.binding()),
            (15, shift.binding()),
        ];
        r.run(("volume", "displacements"), own().chain(wanted), groups)?;
        let displace = [
            (5, phi_new.binding()),
            (12, self.now.binding()),
            (14, lack.binding()),
            (15, spare.binding()),
            (16, shift.binding()),
        ];
        r.run(("volume", "displace"), own().chain(displace), self.grid.sample_groups())?;
        r.copy(spare, phi_new)
    }

    /// New heights, the fields on them, and the solids; the new columns become the state's.
    fn remesh(
        &self,
        r: &mut Recorder,
        params: &WaterParams,
        [phi_new, spare]: [&Buffer<f32>; 2],
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
        let bound = [ranges.clone(), (10, self.limits.binding())];
        r.run(("remesh", "limit_ranges"), sizes().chain(bound), groups)?;
        let [_, tops, other] = &self.columns;
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
        move_scalar(r, phi_new, &self.phi)?;
        move_scalar(r, &self.pressure, spare)?;
        r.copy(spare, &self.pressure)?;
        let fields = [(6, u_new.binding()), (7, u_moved.binding())];
        r.run(("move", "transfer_velocity"), both().chain(fields), groups)?;
        let columns = [(6, self.new.columns.binding()), (7, self.grid.columns.binding())];
        r.run(("hierarchy", "copy_columns"), columns, item_groups(self.grid.columns.len()))?;
        self.place_solids(r, &self.grid)?;
        let solids = [(4, self.phi.binding()), (5, self.fraction.binding()), (6, spare.binding())];
        r.run(("solids", "phi_in_solids"), own().chain(solids), self.grid.sample_groups())?;
        r.copy(spare, &self.phi)
    }

    fn place_solids(&self, r: &mut Recorder, grid: &GpuGrid) -> Result<(), DeviceError> {
        let (sizes, first, cells) = &self.ground;
        let fields = [
            (4, sizes.binding()),
            (5, first.binding()),
            (6, cells.binding()),
            (7, self.fraction.binding()),
            (8, self.open_cell.binding()),
            (9, self.open_tall.binding()),
        ];
        r.run(("ground", "place"), grid.own().into_iter().chain(fields), grid.column_groups())
    }

    /// Pressure, and the velocity without its gradient.
    fn project<'k, 'd>(
        &self,
        r: Recorder<'k, 'd>,
        grid: &TallGrid,
        params: &WaterParams,
        is_first: bool,
        u: &Buffer<Velocity>,
    ) -> Result<Recorder<'k, 'd>, DeviceError> {
        let cycles = &params.cycles[usize::from(is_first)];
        let Recorder { kernels, mut out } = r;
        let mut multigrid = GpuMultigrid::new(kernels, grid, cycles.coarsest)?;
        multigrid.start_from(&mut out, &self.grid.columns, [&self.phi, &self.fraction, &self.pressure])?;
        multigrid.build(&mut out)?;
        let shape = || {
            let fields = [
                (4, self.phi.binding()),
                (5, self.fraction.binding()),
                (6, self.projection.binding()),
                (7, u.binding()),
                (8, self.u_solid.binding()),
            ];
            self.grid.own().into_iter().chain(fields)
        };
        let entry = if params.is_counting { "right_side_counting" } else { "right_side" };
        let right_side = shape().chain([(9, multigrid.inputs().b.binding())]);
        multigrid.run(&mut out, ("projection", entry), right_side, self.grid.sample_groups())?;
        multigrid.solve(&mut out, cycles)?;
        let pressure = [(3, multigrid.pressure().binding()), (5, self.pressure.binding())];
        multigrid.run(&mut out, ("hierarchy", "copy"), pressure, item_groups(self.pressure.len()))?;
        let free = &self.vectors[0];
        let gradient = shape().chain([
            (10, multigrid.rows().binding()),
            (11, self.pressure.binding()),
            (12, free.binding()),
        ]);
        multigrid.run(&mut out, ("projection", "subtract_gradient"), gradient, self.grid.sample_groups())?;
        let solids = [
            (5, self.fraction.binding()),
            (7, free.binding()),
            (8, self.u_solid.binding()),
            (9, self.u.binding()),
        ];
        let solids = self.grid.own().into_iter().chain(solids);
        multigrid.run(&mut out, ("solids", "velocity_in_solids"), solids, self.grid.sample_groups())?;
        Ok(Recorder { kernels: multigrid.into_kernels(), out })
    }
}
