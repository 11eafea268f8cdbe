//! Multigrid on the GPU: build and cycles recorded once, submitted as one compute pass in every step.

use super::{GpuGrid, Kernels, item_groups};
use crate::hierarchy::coarsen_until;
use crate::pressure::multigrid::{BUBBLE_LEVELS, COARSEST_SAMPLES, Cycles};
use crate::walls::Walls;
use fluvial_device::{Binding, Buffer, Device, DeviceError, Recording};
use fluvial_grids::TallGrid;

/// One level's buffers; as [`Level`](crate::pressure::multigrid::Level).
struct GpuLevel {
    grid: GpuGrid,
    phi: Buffer<f32>,
    fraction: Buffer<f32>,
    layers: Buffer<[f32; 2]>,
    rows: Buffer<[f32; 8]>,
    /// The pressure is in one of these; which one is known when a cycle is recorded.
    p: [Buffer<f32>; 2],
    b: Buffer<f32>,
    full_b: Buffer<f32>,
    r: Buffer<f32>,
}

/// The finest level's fields that a solution starts from.
pub struct Inputs<'a> {
    /// Terrain and tall-cell heights.
    pub columns: &'a Buffer<[i32; 2]>,
    /// Level set.
    pub phi: &'a Buffer<f32>,
    /// Solid fraction.
    pub fraction: &'a Buffer<f32>,
    /// Right side.
    pub b: &'a Buffer<f32>,
}

/// The hierarchy's memory on the device, finest level first. Several recordings may share it.
pub struct MultigridBuffers {
    levels: Vec<GpuLevel>,
    /// Of the finest level, and of the others, whose corrections nothing bounds.
    walls: [Buffer<[i32; 8]>; 2],
    colours: [Buffer<[i32; 4]>; 2],
    bubbles: [Buffer<[u32; 4]>; 2],
    /// phi of the finest level as coarser ones see it, and its pressure before a correction.
    phi_seen: Buffer<f32>,
    p_smoothed: Buffer<f32>,
    /// The work of a correction, by row of samples, and the part of it to take.
    work_by_row: Buffer<[f32; 2]>,
    part: Buffer<f32>,
    lets_go: bool,
    /// For the coarsest level: from its present pressure, and from zero.
    coarsest: [Buffer<[i32; 4]>; 2],
}

/// Records builds and cycles.
pub struct GpuMultigrid<'k, 'd, 'b> {
    kernels: &'k mut Kernels<'d>,
    buffers: &'b MultigridBuffers,
    /// Which of a level's two pressures is the present one.
    now: Vec<usize>,
    /// Levels whose pressure is zero, whatever its buffer holds.
    is_zero: Vec<bool>,
}

impl MultigridBuffers {
    /// As [`Self::new`]; columns, level set and solid fraction of the finest level are those of somebody else.
    pub fn on(
        device: &Device,
        grid: &TallGrid,
        (coarsest, walls): (usize, &Walls),
        (own, phi, fraction): (&GpuGrid, &Buffer<f32>, &Buffer<f32>),
    ) -> Result<Self, DeviceError> {
        let mut buffers = MultigridBuffers::new(device, grid, coarsest, walls)?;
        let finest = &mut buffers.levels[0];
        (finest.grid, finest.phi, finest.fraction) = (own.clone(), phi.clone(), fraction.clone());
        Ok(buffers)
    }

    /// Where a solution finds its first guess.
    pub fn first_guess(&self) -> &Buffer<f32> {
        &self.levels[0].p[0]
    }

    /// Buffers for grids of this size; `coarsest` is [`Cycles::coarsest`].
    pub fn new(
        device: &Device,
        grid: &TallGrid,
        coarsest: usize,
        walls: &Walls,
    ) -> Result<Self, DeviceError> {
        let level = |grid: &TallGrid| -> Result<GpuLevel, DeviceError> {
            let vector = || device.storage::<f32>("level", grid.samples());
            Ok(GpuLevel {
                grid: GpuGrid::new(device, grid)?,
                phi: vector()?,
                fraction: vector()?,
                layers: device.storage_from("layers", &vec![[1.0; 2]; grid.columns.len()])?,
                rows: device.storage("rows", grid.samples())?,
                p: [vector()?, vector()?],
                b: vector()?,
                full_b: vector()?,
                r: vector()?,
            })
        };
        let grids = coarsen_until(grid, |g| g.samples() <= COARSEST_SAMPLES);
        let levels = grids.iter().map(level).collect::<Result<Vec<_>, _>>()?;
        let (samples, rows) = (levels[0].grid.samples(), levels[0].grid.rows_along_x());
        Ok(MultigridBuffers {
            levels,
            phi_seen: device.storage("phi_seen", samples)?,
            p_smoothed: device.storage("p_smoothed", samples)?,
            work_by_row: device.storage("work_by_row", rows)?,
            part: device.storage("part", 1)?,
            lets_go: walls.lets_go.contains(&true),
            walls: [device.uniform(&walls.as_numbers())?, device.uniform(&Walls::HOLDING.as_numbers())?],
            colours: [device.uniform(&[0, 0, 0, 0])?, device.uniform(&[1, 0, 0, 0])?],
            bubbles: [device.uniform(&[0; 4])?, device.uniform(&[1, 0, 0, 0])?],
            coarsest: [
                device.uniform(&[0, coarsest as i32, 0, 0])?,
                device.uniform(&[0, coarsest as i32, 1, 0])?,
            ],
        })
    }
}

impl MultigridBuffers {
    /// The finest level's residual, after [`GpuMultigrid::left_over`], and its right side.
    pub fn balance(&self) -> [&Buffer<f32>; 2] {
        [&self.levels[0].r, &self.levels[0].b]
    }
}

impl<'k, 'd, 'b> GpuMultigrid<'k, 'd, 'b> {
    /// Records into these buffers.
    pub fn new(kernels: &'k mut Kernels<'d>, buffers: &'b MultigridBuffers) -> Self {
        let levels = buffers.levels.len();
        GpuMultigrid { kernels, buffers, now: vec![0; levels], is_zero: vec![false; levels] }
    }

    /// What is written before a recording is submitted.
    pub fn inputs(&self) -> Inputs<'b> {
        let finest = &self.buffers.levels[0];
        Inputs { columns: &finest.grid.columns, phi: &finest.phi, fraction: &finest.fraction, b: &finest.b }
    }

    /// The finest level's pressure after what was recorded.
    pub fn pressure(&self) -> &'b Buffer<f32> {
        &self.buffers.levels[0].p[self.now[0]]
    }

    /// The finest level's operator.
    pub fn rows(&self) -> &'b Buffer<[f32; 8]> {
        &self.buffers.levels[0].rows
    }

    /// Records what is left of the finest level's equations, see [`MultigridBuffers::balance`].
    pub fn left_over(&mut self, out: &mut Recording) -> Result<(), DeviceError> {
        self.residual(out, 0, false)
    }

    /// Records any kernel.
    pub fn run(
        &mut self,
        out: &mut Recording,
        kernel: (&'static str, &'static str),
        buffers: impl IntoIterator<Item = (u32, Binding)>,
        groups: [u32; 3],
    ) -> Result<(), DeviceError> {
        out.dispatch(&self.kernels.bind(kernel, buffers)?, groups);
        Ok(())
    }

    /// The kernels, for what is recorded after the solution.
    pub fn into_kernels(self) -> &'k mut Kernels<'d> {
        self.kernels
    }

    /// Records the operators of all levels (Algorithm 2, lines 1 to 5).
    pub fn build(&mut self, out: &mut Recording) -> Result<(), DeviceError> {
        let finest = &self.buffers.levels[0];
        let layers = [(8, finest.layers.binding())];
        let bound =
            self.kernels.bind(("stencil", "finest_layers"), finest.grid.own().into_iter().chain(layers))?;
        out.dispatch(&bound, finest.grid.column_groups());
        for n in 1..self.buffers.levels.len() {
            let (fine, coarse) = (&self.buffers.levels[n - 1], &self.buffers.levels[n]);
            let sizes =
                [fine.grid.nx as i32, fine.grid.nz as i32, coarse.grid.nx as i32, coarse.grid.nz as i32];
            let sizes = self.kernels.device.uniform(&sizes)?;
            let heights =
                [(0, sizes.binding()), (1, fine.grid.columns.binding()), (2, coarse.grid.columns.binding())];
            out.dispatch(
                &self.kernels.bind(("hierarchy", "coarsen_columns"), heights)?,
                coarse.grid.column_groups(),
            );
            let both = || coarse.grid.own().into_iter().chain(fine.grid.other());
            let fraction = [(5, fine.fraction.binding()), (6, coarse.fraction.binding())];
            let bound = self.kernels.bind(("transfer", "coarsen_fraction"), both().chain(fraction))?;
            out.dispatch(&bound, coarse.grid.sample_groups());
            // No residuals are read, but the function that sums them is the same.
            let layers = [(5, fine.r.binding()), (7, fine.layers.binding()), (8, coarse.layers.binding())];
            let bound = self.kernels.bind(("transfer", "coarsen_layers"), both().chain(layers))?;
            out.dispatch(&bound, coarse.grid.column_groups());
        }
        self.build_rows(out, 0)?;
        if self.buffers.lets_go { Ok(()) } else { self.build_coarse(out, &finest.phi) }
    }

    /// phi and operators of the coarser levels, from the finest level's phi as they see it.
    fn build_coarse(&mut self, out: &mut Recording, phi_seen: &Buffer<f32>) -> Result<(), DeviceError> {
        for n in 1..self.buffers.levels.len() {
            let (fine, coarse) = (&self.buffers.levels[n - 1], &self.buffers.levels[n]);
            let fine_phi = if n == 1 { phi_seen } else { &fine.phi };
            let keep = (4, self.buffers.bubbles[usize::from(n <= BUBBLE_LEVELS)].binding());
            let phi = [keep, (5, fine_phi.binding()), (6, coarse.phi.binding())];
            let both = coarse.grid.own().into_iter().chain(fine.grid.other());
            let bound = self.kernels.bind(("transfer", "coarsen_phi"), both.chain(phi))?;
            out.dispatch(&bound, coarse.grid.sample_groups());
            self.build_rows(out, n)?;
        }
        Ok(())
    }

    fn build_rows(&mut self, out: &mut Recording, n: usize) -> Result<(), DeviceError> {
        let level = &self.buffers.levels[n];
        let fields = [
            (25, self.buffers.walls[n.min(1)].binding()),
            (4, level.phi.binding()),
            (5, level.fraction.binding()),
            (6, level.layers.binding()),
            (7, level.rows.binding()),
        ];
        let bound =
            self.kernels.bind(("stencil", "build_rows"), level.grid.own().into_iter().chain(fields))?;
        out.dispatch(&bound, level.grid.sample_groups());
        Ok(())
    }

    /// Shows coarser levels where the pressure is at its bound.
    fn show_held_back(&mut self, out: &mut Recording) -> Result<(), DeviceError> {
        if !self.buffers.lets_go {
            return Ok(());
        }
        let (buffers, finest) = (self.buffers, &self.buffers.levels[0]);
        let fields = [
            (5, finest.rows.binding()),
            (6, finest.p[self.now[0]].binding()),
            (8, buffers.phi_seen.binding()),
            (10, finest.phi.binding()),
        ];
        let fields = finest.grid.own().into_iter().chain(fields);
        self.run(out, ("sweeps", "mark_held_back"), fields, finest.grid.sample_groups())?;
        self.build_coarse(out, &buffers.phi_seen)
    }

    /// Records the cycles of Algorithm 2, lines 8 to 13.
    pub fn solve(&mut self, out: &mut Recording, cycles: &Cycles) -> Result<(), DeviceError> {
        (0..cycles.full + cycles.v).try_for_each(|n| self.cycle(out, n, cycles))
    }

    /// Records cycle `n` of a solution: full ones come first.
    pub fn cycle(&mut self, out: &mut Recording, n: usize, cycles: &Cycles) -> Result<(), DeviceError> {
        if self.buffers.levels.len() == 1 {
            return self.solve_coarsest(out, false);
        }
        if n < cycles.full {
            self.correct(out, true, cycles)?;
        }
        self.correct(out, false, cycles)
    }

    /// Twin of `Multigrid::correct_by`, with Algorithm 4 or 3 on the coarser levels.
    fn correct(&mut self, out: &mut Recording, full: bool, cycles: &Cycles) -> Result<(), DeviceError> {
        let (buffers, finest) = (self.buffers, &self.buffers.levels[0]);
        self.smooth(out, 0, false, cycles.before)?;
        self.show_held_back(out)?;
        self.residual(out, 0, false)?;
        let next = &buffers.levels[1];
        self.restrict(out, 0, [&finest.r, if full { &next.full_b } else { &next.b }])?;
        let copy = [(3, finest.p[self.now[0]].binding()), (5, buffers.p_smoothed.binding())];
        self.run(out, ("hierarchy", "copy"), copy, item_groups(finest.grid.samples()))?;
        if full {
            self.full_cycle(out, cycles)?;
        } else {
            self.is_zero[1] = true;
            self.v_cycle(out, 1, false, cycles)?;
        }
        self.add_correction(out, 0)?;
        self.smooth(out, 0, false, cycles.after)?;
        self.residual_into(out, 0, false, &finest.full_b)?;
        let sizes = || finest.grid.own().into_iter().take(1);
        let sums = (6, buffers.work_by_row.binding());
        let p = [(8, buffers.p_smoothed.binding()), (9, finest.p[self.now[0]].binding())];
        let residuals = [(4, finest.r.binding()), (5, finest.full_b.binding()), sums.clone()];
        let groups = [(finest.grid.rows_along_x() as u32).div_ceil(64), 1, 1];
        self.run(out, ("part", "work_by_row"), sizes().chain(residuals).chain(p.clone()), groups)?;
        let part = (7, buffers.part.binding());
        self.run(out, ("part", "part_to_take"), sizes().chain([sums, part.clone()]), [1, 1, 1])?;
        let way = [part].into_iter().chain(p);
        self.run(out, ("part", "take_part"), way, item_groups(finest.grid.samples()))
    }

    fn v_cycle(
        &mut self,
        out: &mut Recording,
        l: usize,
        full: bool,
        cycles: &Cycles,
    ) -> Result<(), DeviceError> {
        if l + 1 == self.buffers.levels.len() {
            return self.solve_coarsest(out, full);
        }
        self.smooth(out, l, full, cycles.before)?;
        self.residual(out, l, full)?;
        self.restrict(out, l, [&self.buffers.levels[l].r, &self.buffers.levels[l + 1].b])?;
        self.is_zero[l + 1] = true;
        self.v_cycle(out, l + 1, false, cycles)?;
        self.add_correction(out, l)?;
        self.smooth(out, l, full, cycles.after)
    }

    fn full_cycle(&mut self, out: &mut Recording, cycles: &Cycles) -> Result<(), DeviceError> {
        let (levels, last) = (&self.buffers.levels, self.buffers.levels.len() - 1);
        for l in 1..last {
            self.restrict(out, l, [&levels[l].full_b, &levels[l + 1].full_b])?;
        }
        for l in (1..=last).rev() {
            self.is_zero[l] = true;
            if l < last {
                self.add_correction(out, l)?;
            }
            self.v_cycle(out, l, true, cycles)?;
        }
        Ok(())
    }

    fn right_side(&self, l: usize, full: bool) -> &'b Buffer<f32> {
        if full { &self.buffers.levels[l].full_b } else { &self.buffers.levels[l].b }
    }

    fn smooth(
        &mut self,
        out: &mut Recording,
        l: usize,
        full: bool,
        sweeps: usize,
    ) -> Result<(), DeviceError> {
        for half in 0..2 * sweeps {
            let (level, now) = (&self.buffers.levels[l], self.now[l]);
            let from_zero = std::mem::take(&mut self.is_zero[l]);
            let old = (6, level.p[now].binding());
            let fields = [
                (4, self.buffers.colours[half % 2].binding()),
                (5, level.rows.binding()),
                (7, self.right_side(l, full).binding()),
                (8, level.p[1 - now].binding()),
            ];
            let fields = fields.into_iter().chain((!from_zero).then_some(old));
            let kernel = ("sweeps", if from_zero { "smooth_from_zero" } else { "smooth_colour" });
            let bound = self.kernels.bind(kernel, level.grid.own().into_iter().chain(fields))?;
            out.dispatch(&bound, level.grid.sample_groups());
            self.now[l] = 1 - now;
        }
        Ok(())
    }

    fn solve_coarsest(&mut self, out: &mut Recording, full: bool) -> Result<(), DeviceError> {
        let l = self.buffers.levels.len() - 1;
        let from_zero = std::mem::take(&mut self.is_zero[l]);
        let level = &self.buffers.levels[l];
        let fields = [
            (4, self.buffers.coarsest[usize::from(from_zero)].binding()),
            (5, level.rows.binding()),
            (7, self.right_side(l, full).binding()),
            (9, level.p[self.now[l]].binding()),
        ];
        let bound =
            self.kernels.bind(("sweeps", "solve_coarsest"), level.grid.own().into_iter().chain(fields))?;
        out.dispatch(&bound, [1, 1, 1]);
        Ok(())
    }

    fn residual(&mut self, out: &mut Recording, l: usize, full: bool) -> Result<(), DeviceError> {
        self.residual_into(out, l, full, &self.buffers.levels[l].r)
    }

    fn residual_into(
        &mut self,
        out: &mut Recording,
        l: usize,
        full: bool,
        to: &Buffer<f32>,
    ) -> Result<(), DeviceError> {
        let level = &self.buffers.levels[l];
        // Without a sweep before it nothing has written the zeros yet.
        if std::mem::take(&mut self.is_zero[l]) {
            let zeros = [(5, level.p[self.now[l]].binding())];
            self.run(out, ("hierarchy", "zero"), zeros, item_groups(level.grid.samples()))?;
        }
        let fields = [
            (5, level.rows.binding()),
            (6, level.p[self.now[l]].binding()),
            (7, self.right_side(l, full).binding()),
            (8, to.binding()),
        ];
        let bound = self.kernels.bind(("sweeps", "residual"), level.grid.own().into_iter().chain(fields))?;
        out.dispatch(&bound, level.grid.sample_groups());
        Ok(())
    }

    /// What is left of level `l` becomes a right side of the next.
    fn restrict(
        &mut self,
        out: &mut Recording,
        l: usize,
        [from, to]: [&Buffer<f32>; 2],
    ) -> Result<(), DeviceError> {
        let (fine, coarse) = (&self.buffers.levels[l], &self.buffers.levels[l + 1]);
        let fields = [(5, from.binding()), (6, to.binding()), (7, fine.layers.binding())];
        let both = coarse.grid.own().into_iter().chain(fine.grid.other());
        let bound = self.kernels.bind(("transfer", "restrict_residual"), both.chain(fields))?;
        out.dispatch(&bound, coarse.grid.sample_groups());
        Ok(())
    }

    fn add_correction(&mut self, out: &mut Recording, l: usize) -> Result<(), DeviceError> {
        let (fine, coarse, now) = (&self.buffers.levels[l], &self.buffers.levels[l + 1], self.now[l]);
        let from_zero = std::mem::take(&mut self.is_zero[l]);
        let fields = [
            (5, coarse.p[self.now[l + 1]].binding()),
            (6, fine.p[1 - now].binding()),
            (9, fine.rows.binding()),
        ];
        let fields = fields.into_iter().chain((!from_zero).then_some((10, fine.p[now].binding())));
        let both = fine.grid.own().into_iter().chain(coarse.grid.other());
        let kernel = ("transfer", if from_zero { "prolong" } else { "add_prolonged" });
        let bound = self.kernels.bind(kernel, both.chain(fields))?;
        out.dispatch(&bound, fine.grid.sample_groups());
        self.now[l] = 1 - now;
        Ok(())
    }
}
