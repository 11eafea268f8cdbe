//! The liquid's volume, from voxels where there are any and from leaves elsewhere.

use super::{Band, PHI, SOLID};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::paged::Reader;

/// The part of a voxel that lies on the negative side of a plane at distance `phi` (in voxels) whose slope is `slope`:
/// linear over the width that the voxel has across the plane, so that what two voxels show of a moving plane adds up.
pub fn part_below(phi: f32, slope: Vec3) -> f32 {
    let width = (slope.abs().element_sum() / slope.length().max(1e-6)).max(1.0);
    (0.5 - phi / width).clamp(0.0, 1.0)
}

impl Band {
    /// Slope of the distance at a voxel, by differences of what is there.
    pub(super) fn slope_at(reader: &Reader<256>, band: &BandShape, voxel: u64) -> Vec3 {
        let read = |at: u64| reader.channel(band.layout.page(at), PHI)[band.layout.cell_in_page(at)];
        let own = read(voxel);
        Vec3::from_array(AXES.map(|a| {
            let [low, high] = band.beside[a].map(|step| read(band.layout.add(voxel, step)));
            match (low != 0.0, high != 0.0) {
                (true, true) => 0.5 * (high - low),
                (true, false) => own - low,
                (false, true) => high - own,
                (false, false) => 0.0,
            }
        })) / band.dx
    }

    fn shape(&self) -> BandShape {
        let layout = *self.grid.layout();
        let beside = AXES.map(|a| {
            [-1, 1].map(|s| {
                let mut step = [0; 3];
                step[a] = s;
                layout.encode(step)
            })
        });
        BandShape { layout, dx: self.dx, beside }
    }

    /// Sum over all voxels of `body(centre, liquid part, open part, slope)`, added in a fixed order. The open part is what
    /// solids leave.
    pub fn sum_voxels(
        &mut self,
        has_solids: bool,
        body: impl Fn(Vec3, f32, f32, Vec3) -> f64 + Sync + Send,
    ) -> f64 {
        let (shape, min, dx) = (self.shape(), self.min, self.dx);
        self.grid.sum_blocks(None, [], |_, page, reader, []: [&mut [f32; 256]; 0]| {
            let (phi, solid) = (reader.channel(page, PHI), reader.channel(page, SOLID));
            let mut sum = 0.0;
            for cell in (0..256).filter(|&c| phi[c] != 0.0) {
                let voxel = shape.layout.first_of(page) | cell as u64;
                let [x, y, z] = shape.layout.decode(voxel).map(|v| v as f32 + 0.5);
                let distance = phi[cell] / dx;
                let (part, slope) = if distance.abs() < 1.0 {
                    let slope = Band::slope_at(reader, &shape, voxel);
                    (part_below(distance, slope), slope)
                } else {
                    (f32::from(u8::from(distance < 0.0)), Vec3::ZERO)
                };
                let open = if has_solids { (0.5 + solid[cell] / dx).clamp(0.0, 1.0) } else { 1.0 };
                sum += body(min + dx * Vec3::new(x, y, z), part, open, slope);
            }
            sum
        })
    }
}

/// What loops over voxels need to know of a band.
pub(super) struct BandShape {
    layout: fluvial_grids::paged::Layout,
    dx: f32,
    beside: [[u64; 2]; 3],
}
