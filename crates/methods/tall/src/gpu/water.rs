//! Algorithm 1 on the GPU: a step is recorded once and submitted as one compute pass; nothing is read back in it.
//!
//! What differs from step to step are numbers in uniform buffers and lists that the host makes: the step's length,
//! solids that move, sources and sinks. Steps that redistance and the first step, whose pressure takes more cycles,
//! are recordings of their own, in the same memory. After a step a few numbers a row of columns are read back
//! ([`StepNumbers`]); fields are read where somebody asks for them.

use super::buffers::Buffers;
use super::record::Recorder;
use super::{GpuSeen, Kernels, Made, StepNumbers, WaterFields, WaterParams};
use crate::bodies::{Coupled, Element};
use crate::exchange::CellList;
use crate::maps::Change;
use crate::solids::Ground;
use crate::spray::{self, SprayFields};
use fluvial_device::{Clock, Device, DeviceError, Recording, StageTime};
use fluvial_grids::TallGrid;

/// What the host gives to a step. What is none is as it was.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepInputs<'a> {
    /// How high tops of tall cells may be, see [`remesh::limit_ranges`](crate::remesh::limit_ranges).
    pub limits: Option<&'a [[f32; 2]]>,
    /// Solids that move, at the end of the step: solid part and velocity.
    pub moving: Option<&'a CellList>,
    /// What has come into sources: distance and velocity.
    pub poured: Option<&'a CellList>,
    /// What that adds to every column, in cells.
    pub poured_column: Option<&'a [[f32; 2]]>,
    /// Sinks: the least phi that they leave.
    pub drained: Option<&'a CellList>,
    /// Bodies and their surfaces at the end of the step.
    pub bodies: Option<(&'a [Coupled], &'a [Element])>,
}

struct Recordings {
    /// What follows from a state.
    follow: Recording,
    /// Back to the state before the last step.
    undo: Recording,
    /// Spray and maps after a step, where there are any.
    spray: Option<(Recording, Option<Clock>)>,
    /// By whether the step redistances, and whether it is the first.
    steps: [[(Recording, Option<Clock>); 2]; 2],
}

/// Water on the GPU.
pub struct GpuWater {
    device: Device,
    /// Sizes; its heights are those of the start.
    grid: TallGrid,
    params: WaterParams,
    buffers: Buffers,
    recordings: Recordings,
    /// Which recording was submitted last.
    last: [usize; 2],
    made: Made,
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
        let buffers = Buffers::new(&device, grid, (ground, limits), &params, [0; 3])?;
        let (recordings, made) = record_all(&device, &buffers, &params, Made::new())?;
        Ok(GpuWater { device, grid: grid.clone(), params, buffers, recordings, last: [0; 2], made })
    }

    /// The device that it lies on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Replaces the state. Where solids move, theirs must have been given before ([`Self::give`]).
    pub fn upload(&self, fields: &WaterFields) -> Result<(), DeviceError> {
        let (device, b) = (&self.device, &self.buffers);
        device.upload(&b.grid.columns, &fields.columns)?;
        device.upload(&b.phi, &fields.phi)?;
        device.upload(&b.u, &fields.u)?;
        device.upload(&b.pressure, &fields.pressure)?;
        device.upload(&b.residual, &fields.residual)?;
        device.submit(&self.recordings.follow)
    }

    /// Uploads what the host has for the next step. Lists that have outgrown their memory get more, in which the state
    /// is kept.
    pub fn give(&mut self, inputs: &StepInputs) -> Result<(), DeviceError> {
        self.make_room(inputs)?;
        let (device, b) = (&self.device, &self.buffers);
        if let Some(limits) = inputs.limits {
            device.upload(&b.limits, limits)?;
        }
        if let Some(poured) = inputs.poured_column {
            device.upload(&b.poured_column, poured)?;
        }
        for (to, list) in
            [(&b.moving, inputs.moving), (&b.poured, inputs.poured), (&b.drained, inputs.drained)]
        {
            list.map_or(Ok(()), |list| to.upload(device, list))?;
        }
        match (inputs.bodies, &b.bodies) {
            (Some((bodies, elements)), Some(to)) => to.upload(device, bodies, elements),
            _ => Ok(()),
        }
    }

    /// From now on steps read what sources give, also where there were none at the start.
    pub fn expect_sources(&mut self) -> Result<(), DeviceError> {
        if !std::mem::replace(&mut self.params.has_sources, true) {
            let made = std::mem::take(&mut self.made);
            (self.recordings, self.made) = record_all(&self.device, &self.buffers, &self.params, made)?;
        }
        Ok(())
    }

    fn make_room(&mut self, inputs: &StepInputs) -> Result<(), DeviceError> {
        let b = &mut self.buffers;
        let lists = [inputs.moving, inputs.poured, inputs.drained];
        let columns = self.grid.columns.len();
        let mut has_grown = false;
        for (to, list) in [&mut b.moving, &mut b.poured, &mut b.drained].into_iter().zip(lists) {
            if let Some(list) = list.filter(|list| !to.has_room(list)) {
                to.grow(&self.device, columns, list)?;
                has_grown = true;
            }
        }
        if has_grown {
            let made = std::mem::take(&mut self.made);
            (self.recordings, self.made) = record_all(&self.device, &self.buffers, &self.params, made)?;
        }
        Ok(())
    }

    /// Submits a step with what was given and returns without waiting for it. Forces act for `push_s`.
    pub fn submit(
        &mut self,
        [dt_s, push_s]: [f32; 2],
        redistances: bool,
        is_first: bool,
    ) -> Result<(), DeviceError> {
        let (device, b) = (&self.device, &self.buffers);
        let [x, y, z] = self.params.gravity.map(|g| push_s / dt_s * g);
        device.upload(&b.advect, &[[x, y, z, dt_s]])?;
        device.upload(&b.projection, &[[self.params.density, push_s, 0.0, 0.0]])?;
        device.upload(&b.volume, &[[dt_s, 0.0, 0.0, 0.0]])?;
        self.last = [usize::from(redistances), usize::from(is_first)];
        match &self.recordings.steps[self.last[0]][self.last[1]] {
            (recording, Some(clock)) => device.submit_clocked(recording, clock),
            (recording, None) => device.submit(recording),
        }
    }

    /// The numbers of the last step, and the time of its stages on the device's clock, where it has one.
    pub fn numbers(&self) -> Result<(StepNumbers, Vec<StageTime>), DeviceError> {
        let numbers = StepNumbers::of_rows(&self.device.read(&self.buffers.by_row)?);
        let clock = &self.recordings.steps[self.last[0]][self.last[1]].1;
        let times = clock.as_ref().map_or(Ok(vec![]), |clock| self.device.times(clock))?;
        Ok((numbers, times))
    }

    /// After a step that has succeeded: spray and the maps of the surface follow it. Returns without waiting.
    pub fn submit_spray(&self, params: &spray::Params, change: &Change) -> Result<(), DeviceError> {
        let (Some(spray), Some((recording, clock))) = (&self.buffers.spray, &self.recordings.spray) else {
            return Ok(());
        };
        spray.give(&self.device, params, change)?;
        match clock {
            Some(clock) => self.device.submit_clocked(recording, clock),
            None => self.device.submit(recording),
        }
    }

    /// Replaces particles and maps.
    pub fn upload_spray(&self, fields: &SprayFields) -> Result<(), DeviceError> {
        self.buffers.spray.as_ref().map_or(Ok(()), |spray| spray.upload(&self.device, fields))
    }

    /// Particles and maps, after all steps so far.
    pub fn read_spray(&self) -> Result<Option<SprayFields>, DeviceError> {
        self.buffers.spray.as_ref().map(|spray| spray.read(&self.device)).transpose()
    }

    /// Time of the last step of spray and maps on the device's clock, where it has one.
    pub fn spray_times(&self) -> Result<Vec<StageTime>, DeviceError> {
        let clock = self.recordings.spray.as_ref().and_then(|(_, clock)| clock.as_ref());
        clock.map_or(Ok(vec![]), |clock| self.device.times(clock))
    }

    /// What the last step made of the bodies.
    pub fn read_bodies(&self, bodies: &mut [Coupled]) -> Result<(), DeviceError> {
        self.buffers.bodies.as_ref().map_or(Ok(()), |from| from.read(&self.device, bodies))
    }

    /// Back to the state before the last step. Where solids move, theirs of that moment must have been given again.
    pub fn undo(&self) -> Result<(), DeviceError> {
        self.device.submit(&self.recordings.undo)?;
        self.device.submit(&self.recordings.follow)
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
        self.recordings.steps[0][0].0.len()
    }
}

fn record_all(
    device: &Device,
    buffers: &Buffers,
    params: &WaterParams,
    made: Made,
) -> Result<(Recordings, Made), DeviceError> {
    let mut kernels = Kernels::with(device, made);
    let mut r = Recorder { kernels: &mut kernels, out: Recording::new() };
    buffers.follow(&mut r)?;
    let follow = std::mem::take(&mut r.out);
    buffers.undo(&mut r)?;
    let undo = std::mem::take(&mut r.out);
    let seen = GpuSeen {
        grid: &buffers.grid,
        columns_before: &buffers.kept.columns,
        phi: [&buffers.phi, &buffers.kept.phi],
        u: &buffers.vectors[0],
        fraction: &buffers.solids.fraction,
    };
    let with_clock = |recording: Recording| device.clock(&recording).map(|clock| (recording, clock));
    let spray = buffers.spray.as_ref().map(|spray| spray.recording(&mut kernels, &seen));
    let spray = spray.transpose()?.map(with_clock).transpose()?;
    let mut step = |redistances: bool, is_first: bool| -> Result<_, DeviceError> {
        let r = Recorder { kernels: &mut kernels, out: Recording::new() };
        let recording = buffers.record(r, params, redistances, is_first)?.out;
        let clock = device.clock(&recording)?;
        Ok((recording, clock))
    };
    let steps = [[step(false, false)?, step(false, true)?], [step(true, false)?, step(true, true)?]];
    Ok((Recordings { follow, undo, spray, steps }, kernels.into_made()))
}
