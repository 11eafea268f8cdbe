//! The kernels on the GPU: their sources, grids as they see them, and how many workgroups they take.

mod bodies;
mod buffers;
mod multigrid;
mod numbers;
mod record;
mod settle;
mod spray;
mod water;
pub use bodies::{GpuAround, GpuBodies};
pub use buffers::{WaterFields, WaterParams};
pub use multigrid::{GpuMultigrid, Inputs, MultigridBuffers};
pub use numbers::StepNumbers;
pub use spray::{GpuSeen, GpuSpray};
pub use water::{GpuWater, StepInputs};

use bytemuck::{Pod, Zeroable};
use fluvial_device::{Binding, Bound, Buffer, Device, DeviceError, Pipeline, ShaderSource, shader_parts};
use fluvial_grids::TallGrid;
use std::collections::BTreeMap;

/// A shader by name; every entry point stands beside its CPU twin of the same name.
pub fn source(name: &str) -> ShaderSource {
    let parts = match name {
        "advect" => shader_parts![
            "../columns.wgsl",
            "../walls/walls.wgsl",
            "../walls/beyond.wgsl",
            "../advect/advect.wgsl"
        ] as &[_],
        "bodies" => shader_parts!["../columns.wgsl", "../bodies/bodies.wgsl"],
        "exchange" => shader_parts!["../columns.wgsl", "../cells.wgsl", "../exchange/exchange.wgsl"],
        "extrapolate" => shader_parts!["../columns.wgsl", "../extrapolate/extrapolate.wgsl"],
        "ground" => shader_parts!["../columns.wgsl", "../cells.wgsl", "../solids/ground.wgsl"],
        "hierarchy" => shader_parts!["../hierarchy.wgsl"],
        "levels" => shader_parts!["../columns.wgsl", "../other.wgsl", "../extrapolate/levels.wgsl"],
        "part" => shader_parts!["../columns.wgsl", "../pressure/part.wgsl"],
        "projection" => {
            shader_parts![
                "../columns.wgsl",
                "../pressure/links.wgsl",
                "../cells.wgsl",
                "../pressure/projection.wgsl"
            ]
        }
        "redistance" => shader_parts!["../columns.wgsl", "../redistance/redistance.wgsl"],
        "remesh" => shader_parts!["../columns.wgsl", "../remesh/remesh.wgsl"],
        "report" => shader_parts![
            "../columns.wgsl",
            "../pressure/links.wgsl",
            "../volume/open.wgsl",
            "../report/report.wgsl"
        ],
        "solids" => shader_parts!["../columns.wgsl", "../solids/solids.wgsl"],
        "stencil" => shader_parts![
            "../columns.wgsl",
            "../pressure/links.wgsl",
            "../walls/walls.wgsl",
            "../pressure/stencil.wgsl"
        ],
        "sweeps" => shader_parts!["../columns.wgsl", "../pressure/sweeps.wgsl"],
        "surface" => shader_parts!["../columns.wgsl", "../other.wgsl", "../advect/surface.wgsl"],
        "transfer" => shader_parts!["../columns.wgsl", "../other.wgsl", "../pressure/transfer.wgsl"],
        "volume" => {
            shader_parts!["../columns.wgsl", "../cells.wgsl", "../volume/open.wgsl", "../volume/volume.wgsl"]
        }
        "maps" => shader_parts!["../columns.wgsl", "../maps/maps.wgsl"],
        "spray" => shader_parts!["../columns.wgsl", "../other.wgsl", "../spray/spray.wgsl"],
        "move" => shader_parts!["../columns.wgsl", "../other.wgsl", "../remesh/transfer.wgsl"],
        other => panic!("no shader is called {other}"),
    };
    ShaderSource::new(parts)
}

/// Sizes of a grid as shaders read them.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct GridSizes {
    nx: i32,
    regular: i32,
    nz: i32,
    dx_m: f32,
}

/// A grid on the device; clones are the same one.
#[derive(Clone)]
pub struct GpuGrid {
    sizes: Buffer<GridSizes>,
    /// Terrain and tall-cell heights.
    pub columns: Buffer<[i32; 2]>,
    nx: u32,
    rows: u32,
    nz: u32,
    dx_m: f32,
}

impl GpuGrid {
    /// Uploads sizes and heights.
    pub fn new(device: &Device, grid: &TallGrid) -> Result<GpuGrid, DeviceError> {
        let (nx, regular, nz) = (grid.nx as i32, grid.regular as i32, grid.nz as i32);
        Ok(GpuGrid {
            sizes: device.uniform(&GridSizes { nx, regular, nz, dx_m: grid.dx_m })?,
            columns: device.storage_from("columns", &grid.columns)?,
            nx: grid.nx as u32,
            rows: grid.rows() as u32,
            nz: grid.nz as u32,
            dx_m: grid.dx_m,
        })
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        (self.nx * self.rows * self.nz) as usize
    }

    /// As the grid whose samples a kernel writes.
    pub fn own(&self) -> [(u32, Binding); 2] {
        [(0, self.sizes.binding()), (1, self.columns.binding())]
    }

    /// As the grid that a kernel between two levels reads.
    pub fn other(&self) -> [(u32, Binding); 2] {
        [(2, self.sizes.binding()), (3, self.columns.binding())]
    }

    /// Workgroups for kernels with one invocation a sample.
    pub fn sample_groups(&self) -> [u32; 3] {
        [self.nx.div_ceil(16), self.rows.div_ceil(4), self.nz.div_ceil(2)]
    }

    /// Rows of samples along x.
    pub fn rows_along_x(&self) -> usize {
        (self.rows * self.nz) as usize
    }

    /// Workgroups for kernels with one invocation a column.
    pub fn column_groups(&self) -> [u32; 3] {
        [self.nx.div_ceil(8), self.nz.div_ceil(8), 1]
    }
}

/// Workgroups for kernels with one invocation an item of a vector; two-dimensional, because an axis is
/// limited.
pub fn item_groups(items: usize) -> [u32; 3] {
    let groups = (items as u32).div_ceil(256);
    [groups.min(32768), groups.div_ceil(32768), 1]
}

/// Compiled kernels, each made when first asked for.
pub struct Kernels<'d> {
    /// The device that they are compiled for.
    pub device: &'d Device,
    made: Made,
}

/// Pipelines by shader and entry point.
pub type Made = BTreeMap<(&'static str, &'static str), Pipeline>;

impl<'d> Kernels<'d> {
    /// None compiled yet.
    pub fn new(device: &'d Device) -> Kernels<'d> {
        Kernels { device, made: Made::new() }
    }

    /// With those that were compiled before.
    pub fn with(device: &'d Device, made: Made) -> Kernels<'d> {
        Kernels { device, made }
    }

    /// All that are compiled, for [`Self::with`].
    pub fn into_made(self) -> Made {
        self.made
    }

    /// The entry point `entry` of the shader `name` with its buffers.
    pub fn bind(
        &mut self,
        (name, entry): (&'static str, &'static str),
        buffers: impl IntoIterator<Item = (u32, Binding)>,
    ) -> Result<Bound, DeviceError> {
        if !self.made.contains_key(&(name, entry)) {
            self.made.insert((name, entry), self.device.pipeline(&source(name), entry)?);
        }
        let buffers: Vec<_> = buffers.into_iter().collect();
        self.device.bind(&self.made[&(name, entry)], &buffers)
    }
}
