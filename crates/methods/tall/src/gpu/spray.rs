//! Spray, mist, foam and the maps of the surface on the device.
//!
//! They follow the water and do not act on it: their step is a recording of its own, submitted once the water's step is known to have succeeded.

use super::record::Recorder;
use super::{GpuGrid, Kernels, item_groups};
use crate::field::Velocity;
use crate::maps::{Change, Shown};
use crate::spray::{Counters, Params, Particle, SprayFields};
use fluvial_device::{Binding, Buffer, Device, DeviceError, Recording};

/// Counts that one workgroup adds up.
const BLOCK: usize = 1024;

/// Counts and the sums before their blocks.
struct Counts {
    counts: Buffer<u32>,
    blocks: Buffer<u32>,
}

impl Counts {
    fn new(device: &Device, len: usize) -> Result<Counts, DeviceError> {
        let (counts, blocks) =
            (device.storage("counts", len)?, device.storage("blocks", len.div_ceil(BLOCK))?);
        Ok(Counts { counts, blocks })
    }

    fn both(&self) -> [(u32, Binding); 2] {
        [(11, self.counts.binding()), (12, self.blocks.binding())]
    }

    fn groups(&self) -> [u32; 3] {
        let blocks = self.blocks.len() as u32;
        [blocks.min(32768), blocks.div_ceil(32768), 1]
    }
}

/// The water that particles see, as buffers.
pub struct GpuSeen<'a> {
    /// Columns after the step.
    pub grid: &'a GpuGrid,
    /// Columns before it.
    pub columns_before: &'a Buffer<[i32; 2]>,
    /// Level set after and before it.
    pub phi: [&'a Buffer<f32>; 2],
    /// Velocity before it, in the air too.
    pub u: &'a Buffer<Velocity>,
    /// Solid part of the cells after it.
    pub fraction: &'a Buffer<f32>,
}

/// Memory of particles and maps.
pub struct GpuSpray {
    params: Buffer<Params>,
    change: Buffer<Change>,
    particles: Buffer<Particle>,
    placed: Buffer<Particle>,
    counters: Buffer<[u32; 8]>,
    landed: Buffer<u32>,
    by_column: Counts,
    by_particle: Counts,
    surfaces: Buffer<[f32; 4]>,
    shown: Buffer<Shown>,
    carried: Buffer<Shown>,
}

impl GpuSpray {
    /// Memory for so many columns and `most` particles.
    pub fn new(device: &Device, columns: usize, most: usize) -> Result<GpuSpray, DeviceError> {
        Ok(GpuSpray {
            params: device.uniform(&bytemuck::Zeroable::zeroed())?,
            change: device.uniform(&bytemuck::Zeroable::zeroed())?,
            particles: device.storage("particles", most)?,
            placed: device.storage("particles", most)?,
            counters: device.storage("counters", 1)?,
            landed: device.storage_from("landed", &vec![0u32; columns])?,
            by_column: Counts::new(device, columns)?,
            by_particle: Counts::new(device, most)?,
            surfaces: device.storage("surfaces", columns)?,
            shown: device.storage("shown", columns)?,
            carried: device.storage("shown", columns)?,
        })
    }

    /// Replaces the state.
    pub fn upload(&self, device: &Device, fields: &SprayFields) -> Result<(), DeviceError> {
        let Counters { next_id, wanted, escaped, fallen, foam, refused } = fields.counters;
        let live = fields.particles.len() as u32;
        device.upload_part(&self.particles, &fields.particles)?;
        device.upload(&self.counters, &[[live, next_id, wanted, escaped, fallen, foam, refused, 0]])?;
        device.upload(&self.shown, &fields.shown)
    }

    /// The state.
    pub fn read(&self, device: &Device) -> Result<SprayFields, DeviceError> {
        let [live, next_id, wanted, escaped, fallen, foam, refused, _] = device.read(&self.counters)?[0];
        let mut particles = device.read(&self.particles)?;
        particles.truncate(live as usize);
        let counters = Counters { next_id, wanted, escaped, fallen, foam, refused };
        Ok(SprayFields { particles, counters, shown: device.read(&self.shown)? })
    }

    /// What the next step reads.
    pub fn give(&self, device: &Device, params: &Params, change: &Change) -> Result<(), DeviceError> {
        device.upload(&self.params, std::slice::from_ref(params))?;
        device.upload(&self.change, std::slice::from_ref(change))
    }

    fn add_up(&self, r: &mut Recorder, counts: &Counts) -> Result<(), DeviceError> {
        r.run(("spray", "sum_blocks"), counts.both(), counts.groups())?;
        let all = [(12, counts.blocks.binding()), (13, self.counters.binding())];
        r.run(("spray", "sum_all"), all, [1, 1, 1])
    }

    /// A step of the particles and of the maps, as one stage.
    pub fn recording(&self, kernels: &mut Kernels, water: &GpuSeen) -> Result<Recording, DeviceError> {
        let mut r = Recorder { kernels, out: Recording::new() };
        r.out.stage("spray");
        self.record(&mut r, water)?;
        self.record_maps(&mut r, water)?;
        Ok(r.out)
    }

    fn record(&self, r: &mut Recorder, water: &GpuSeen) -> Result<(), DeviceError> {
        let (columns, most) = (item_groups(self.landed.len()), item_groups(self.particles.len()));
        let before = || {
            let sizes = water.grid.own()[0].1.clone();
            [
                (2, sizes),
                (3, water.columns_before.binding()),
                (4, self.params.binding()),
                (6, water.phi[1].binding()),
                (7, water.u.binding()),
                (13, self.counters.binding()),
            ]
        };
        let [numbers, _] = self.by_column.both();
        let list = (9, self.particles.binding());
        r.run(("spray", "seed_count"), before().into_iter().chain([list.clone(), numbers]), columns)?;
        self.add_up(r, &self.by_column)?;
        let new = [list].into_iter().chain(self.by_column.both());
        r.run(("spray", "seed"), before().into_iter().chain(new), columns)?;
        let counters = || [(4, self.params.binding()), (13, self.counters.binding())];
        r.run(("spray", "take_in"), counters(), [1, 1, 1])?;
        let after = [
            (5, water.phi[0].binding()),
            (8, water.fraction.binding()),
            (9, self.particles.binding()),
            (10, self.landed.binding()),
            (11, self.by_particle.counts.binding()),
        ];
        r.run(("spray", "advance"), water.grid.own().into_iter().chain(before()).chain(after), most)?;
        self.add_up(r, &self.by_particle)?;
        let moved = [(9, self.particles.binding()), (14, self.placed.binding())];
        let sizes = water.grid.own().into_iter().take(1);
        let all = sizes.chain(counters()).chain(moved.clone()).chain(self.by_particle.both());
        r.run(("spray", "place_all"), all, most)?;
        r.run(("spray", "count_placed"), counters(), [1, 1, 1])?;
        let back = moved.into_iter().chain([(13, self.counters.binding())]);
        r.run(("spray", "take_back"), back, most)
    }

    fn record_maps(&self, r: &mut Recorder, water: &GpuSeen) -> Result<(), DeviceError> {
        let sizes = || (0, water.grid.own()[0].1.clone());
        let top = [
            sizes(),
            (1, water.columns_before.binding()),
            (5, water.phi[1].binding()),
            (6, water.u.binding()),
            (7, self.surfaces.binding()),
        ];
        r.run(("maps", "surfaces"), top, water.grid.column_groups())?;
        let maps = [
            sizes(),
            (4, self.change.binding()),
            (7, self.surfaces.binding()),
            (8, self.landed.binding()),
            (9, self.shown.binding()),
            (10, self.carried.binding()),
        ];
        r.run(("maps", "carry"), maps, water.grid.column_groups())?;
        let copy = [(9, self.carried.binding()), (10, self.shown.binding())];
        r.run(("maps", "copy_shown"), copy, item_groups(self.shown.len()))
    }
}
