//! Memory of the state and of a step on the device.

use super::{GpuBodies, GpuGrid, GpuSpray, MultigridBuffers};
use crate::exchange::{Beyond, CellList};
use crate::field::Velocity;
use crate::hierarchy::coarsen_until;
use crate::pressure::multigrid::Cycles;
use crate::remesh::RemeshParams;
use crate::solids::Ground;
use crate::walls::Walls;
use fluvial_device::{Binding, Buffer, Device, DeviceError};
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
    /// Are there sources at any time?
    pub has_sources: bool,
    /// Are there sinks at any time?
    pub has_sinks: bool,
    /// What lies beyond open walls, where there are any.
    pub beyond: Option<Beyond>,
    /// What liquid lets go of.
    pub walls: Walls,
    /// Do solids move?
    pub has_moving: bool,
    /// How many bodies there are, and how many elements they have in all.
    pub bodies: [usize; 2],
    /// Room for particles of spray, mist and foam; 0 for none.
    pub spray: usize,
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

/// A [`CellList`] on the device, with room for more cells than it has.
pub(super) struct GpuList {
    first: Buffer<u32>,
    cells: Buffer<[f32; 2]>,
    u: Buffer<Velocity>,
}

impl GpuList {
    fn new(device: &Device, columns: usize, room: usize) -> Result<GpuList, DeviceError> {
        Ok(GpuList {
            first: device.storage("first", columns + 1)?,
            cells: device.storage("cells", room)?,
            u: device.storage("velocities", room)?,
        })
    }

    pub fn has_room(&self, list: &CellList) -> bool {
        list.cells.len() <= self.cells.len()
    }

    /// Memory for twice as many cells as a list has.
    pub fn grow(&mut self, device: &Device, columns: usize, list: &CellList) -> Result<(), DeviceError> {
        *self = GpuList::new(device, columns, 2 * list.cells.len())?;
        Ok(())
    }

    pub fn upload(&self, device: &Device, list: &CellList) -> Result<(), DeviceError> {
        device.upload(&self.first, &list.first)?;
        device.upload_part(&self.cells, &list.cells)?;
        device.upload_part(&self.u, &list.u)
    }

    /// As kernels see it that read no velocities.
    pub fn values(&self) -> [(u32, Binding); 2] {
        [(20, self.first.binding()), (21, self.cells.binding())]
    }

    pub fn all(&self) -> [(u32, Binding); 3] {
        [(20, self.first.binding()), (21, self.cells.binding()), (22, self.u.binding())]
    }
}

/// Solids on columns, as [`Placed`](crate::solids::Placed).
pub(super) struct GpuSolids {
    pub fraction: Buffer<f32>,
    pub open_cell: Buffer<f32>,
    pub open_tall: Buffer<f32>,
    pub u_solid: Buffer<Velocity>,
}

/// The state, by what a checkpoint holds, and what follows from it.
pub(super) struct GpuState {
    pub columns: Buffer<[i32; 2]>,
    pub phi: Buffer<f32>,
    pub u: Buffer<Velocity>,
    pub pressure: Buffer<f32>,
    pub residual: Buffer<f32>,
}

/// Buffers of the state and of a step.
pub(super) struct Buffers {
    /// The columns of the state, and those that a step makes.
    pub grid: GpuGrid,
    pub new: GpuGrid,
    /// Ever coarser columns, with two velocities each.
    pub coarse: Vec<(GpuGrid, [Buffer<Velocity>; 2])>,
    pub multigrid: MultigridBuffers,
    pub phi: Buffer<f32>,
    pub u: Buffer<Velocity>,
    pub pressure: Buffer<f32>,
    pub residual: Buffer<f32>,
    /// The state before the last step, to go back to.
    pub kept: GpuState,
    pub held: Buffer<[f32; 2]>,
    pub solids: GpuSolids,
    /// Solids at the end of a step on the columns of its begin; the state's where none moves.
    pub solids_before: Option<GpuSolids>,
    pub limits: Buffer<[f32; 2]>,
    pub ground: (Buffer<[f32; 4]>, Buffer<u32>, Buffer<[f32; 2]>),
    /// Solids that move, sources, sinks.
    pub moving: GpuList,
    pub poured: GpuList,
    pub drained: GpuList,
    pub poured_column: Buffer<[f32; 2]>,
    pub left: Buffer<f32>,
    pub beyond: Buffer<[i32; 8]>,
    /// Step length with gravity, with density, and alone.
    pub advect: Buffer<[f32; 4]>,
    pub projection: Buffer<[f32; 4]>,
    pub volume: Buffer<[f32; 4]>,
    pub vectors: [Buffer<Velocity>; 4],
    pub scalars: [Buffer<f32>; 3],
    /// What columns hold of the carried phi, on their ground and aloft, and the first row aloft.
    pub now: Buffer<[f32; 4]>,
    pub aloft: Buffer<i32>,
    /// What columns hold before sinks, and after.
    pub before: Buffer<[f32; 2]>,
    pub after: Buffer<[f32; 2]>,
    /// What columns lack, on their ground and aloft.
    pub lacking: [Buffer<[f32; 2]>; 2],
    pub flux: Buffer<[f32; 2]>,
    pub ranges: Buffer<[f32; 2]>,
    pub columns: [Buffer<f32>; 2],
    pub shift: Buffer<[f32; 2]>,
    pub walls: Buffer<[i32; 8]>,
    pub by_column: Buffer<f32>,
    pub by_row: Buffer<f32>,
    /// Where there are bodies.
    pub bodies: Option<GpuBodies>,
    pub spray: Option<GpuSpray>,
}

/// Columns far beyond any grid.
const ALL: i32 = i32::MAX;

impl Buffers {
    /// `room` is that of the lists of solids that move, of sources and of sinks, in cells.
    pub fn new(
        device: &Device,
        grid: &TallGrid,
        (ground, limits): (&Ground, &[[f32; 2]]),
        params: &WaterParams,
        room: [usize; 3],
    ) -> Result<Buffers, DeviceError> {
        let (samples, columns) = (grid.samples(), grid.columns.len());
        let scalar = || device.storage::<f32>("scalar", samples);
        let vector = || device.storage::<Velocity>("vector", samples);
        let column = || device.storage::<f32>("column", columns);
        let pair = || device.storage::<[f32; 2]>("column", columns);
        let list = |room: usize| GpuList::new(device, columns, room.max(1));
        let solids = || -> Result<GpuSolids, DeviceError> {
            let (fraction, open_cell, open_tall, u_solid) = (scalar()?, scalar()?, column()?, vector()?);
            Ok(GpuSolids { fraction, open_cell, open_tall, u_solid })
        };
        let mut coarse = vec![];
        for g in &coarsen_until(grid, |_| false)[1..] {
            let vector = || device.storage::<Velocity>("level", g.samples());
            coarse.push((GpuGrid::new(device, g)?, [vector()?, vector()?]));
        }
        // A buffer may not be empty.
        let cells = if ground.cells.is_empty() { vec![[0.0; 2]] } else { ground.cells.clone() };
        let height = f32::from_bits(ground.height as u32);
        let beyond = params.beyond.unwrap_or(Beyond { first: [0; 2], end: [ALL; 2], height: ALL });
        let ([x, z], [end_x, end_z]) = (beyond.first, beyond.end);
        let beyond = [x, z, end_x, end_z, beyond.height, i32::from(params.conserves_volume), 0, 0];
        let (own, phi, own_solids) = (GpuGrid::new(device, grid)?, scalar()?, solids()?);
        let finest = (&own, &phi, &own_solids.fraction);
        let multigrid =
            MultigridBuffers::on(device, grid, (params.cycles[0].coarsest, &params.walls), finest)?;
        Ok(Buffers {
            grid: own,
            new: GpuGrid::new(device, grid)?,
            coarse,
            multigrid,
            phi,
            u: vector()?,
            pressure: scalar()?,
            residual: column()?,
            kept: GpuState {
                columns: device.storage("columns", columns)?,
                phi: scalar()?,
                u: vector()?,
                pressure: scalar()?,
                residual: column()?,
            },
            held: pair()?,
            solids: own_solids,
            solids_before: params.has_moving.then(solids).transpose()?,
            limits: device.storage_from("limits", limits)?,
            ground: (
                device.uniform(&[height, ground.above, 0.0, 0.0])?,
                device.storage_from("first", &ground.first)?,
                device.storage_from("cells", &cells)?,
            ),
            moving: list(room[0])?,
            poured: list(room[1])?,
            drained: list(room[2])?,
            poured_column: device.storage("poured", columns)?,
            left: column()?,
            beyond: device.uniform(&beyond)?,
            advect: device.uniform(&[0.0; 4])?,
            projection: device.uniform(&[0.0; 4])?,
            volume: device.uniform(&[0.0; 4])?,
            vectors: [vector()?, vector()?, vector()?, vector()?],
            scalars: [scalar()?, scalar()?, scalar()?],
            now: device.storage("column", columns)?,
            aloft: device.storage("column", columns)?,
            before: pair()?,
            after: pair()?,
            lacking: [pair()?, pair()?],
            flux: pair()?,
            ranges: pair()?,
            columns: [column()?, column()?],
            shift: pair()?,
            walls: device.uniform(&params.walls.as_numbers())?,
            by_column: device.storage("numbers", super::numbers::SLOTS * columns)?,
            by_row: device.storage("numbers", super::numbers::ROW * grid.nz)?,
            bodies: (params.bodies[0] > 0)
                .then(|| GpuBodies::new(device, params.bodies[0], params.bodies[1]))
                .transpose()?,
            spray: (params.spray > 0).then(|| GpuSpray::new(device, columns, params.spray)).transpose()?,
        })
    }
}
