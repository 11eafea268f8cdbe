//! Sums over the band's voxels: volume, energy, what lies in a shape.

use super::{Band, PHI, SOLID};
use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_grids::cut::cube_below_plane;

/// A voxel with liquid in it or beside it.
#[derive(Clone, Copy, Debug)]
pub struct Voxel {
    /// Centre, m.
    pub center: Vec3,
    /// Distance to the surface, m.
    pub phi: f32,
    /// The part of it that is liquid, were there no solids.
    pub part: f32,
    /// The part that solids leave.
    pub open: f32,
}

struct Sums<const K: usize>([f64; K]);

impl<const K: usize> Default for Sums<K> {
    fn default() -> Self {
        Sums([0.0; K])
    }
}

/// The part of a voxel that lies on the negative side of the plane where a function with the value `phi` (in voxels) at its centre and the
/// slope `slope` is zero. Exact for planes, so that what voxels show of a moving plane changes by what it sweeps: the slope of a carried
/// distance is one within a tenth only, and a part linear over the width that the voxel has across the plane made content run ahead of the
/// surface by the plane's tilt. Test: `content_moves_with_a_tilted_plane`.
pub fn part_below(phi: f32, slope: Vec3) -> f32 {
    // A function without a slope is no distance: it lies between two surfaces.
    let steep = (0.5 / slope.abs().element_sum().max(1e-6)).max(1.0);
    cube_below_plane(f64::from(phi), slope.to_array().map(|s| f64::from(steep * s))) as f32
}

impl Band {
    /// Slope of the distance at a voxel, by differences of what is there: across the surface where it passes on one side. Carried distances are
    /// kept near it with whatever slope the flow has given them, and go on with a slope of one; over that bend a difference would not show
    /// the plane that both sides agree on.
    fn voxel_slope(&self, voxel: u64) -> Vec3 {
        let layout = self.grid.layout();
        let own = self.phi(voxel);
        Vec3::from_array(AXES.map(|a| {
            // Voxel (1, 1, 1) of the 64 around is the voxel itself.
            let stride = [1, 4, 16][a];
            let [low, high] = [21 - stride, 21 + stride].map(|n| self.phi(layout.add(voxel, self.steps[n])));
            let crosses = |v: f32| v != 0.0 && (v < 0.0) != (own < 0.0);
            match (crosses(low), crosses(high)) {
                (true, false) => return own - low,
                (false, true) => return high - own,
                _ => {}
            }
            match (low != 0.0, high != 0.0) {
                (true, true) => 0.5 * (high - low),
                (true, false) => own - low,
                (false, true) => high - own,
                (false, false) => 0.0,
            }
        })) / self.dx
    }

    /// What a voxel that exists holds.
    #[inline]
    pub fn voxel(&self, page: u64, cell: usize, has_solids: bool) -> Voxel {
        let (layout, phi) = (self.grid.layout(), self.grid.channel(page, PHI)[cell]);
        let voxel = layout.first_of(page) | cell as u64;
        let distance = phi / self.dx;
        let part = match distance.abs() < 1.0 {
            true => part_below(distance, self.voxel_slope(voxel)),
            false => f32::from(u8::from(distance < 0.0)),
        };
        let solid = self.grid.channel(page, SOLID)[cell];
        let open = if has_solids { (0.5 + solid / self.dx).clamp(0.0, 1.0) } else { 1.0 };
        Voxel { center: self.center(layout.decode(voxel)), phi, part, open }
    }

    /// What `body(memory, voxel)` has made of each page's memory after all its voxels, in the order of pages.
    pub fn by_page<M: Default + Send>(
        &self,
        has_solids: bool,
        body: impl Fn(&mut M, Voxel) + Sync,
    ) -> Vec<M> {
        let pages = self.grid.blocks().pages();
        let of_page = |n: usize| {
            let phi = self.grid.channel(pages[n], PHI);
            let mut memory = M::default();
            for cell in (0..256).filter(|&c| phi[c] != 0.0) {
                body(&mut memory, self.voxel(pages[n], cell, has_solids));
            }
            memory
        };
        parallel::map_indices(pages.len(), of_page)
    }

    /// Sums of `body(memory of the page, voxel)` over all voxels, added in the order of pages.
    pub fn sums<const K: usize, M: Default + Send>(
        &self,
        has_solids: bool,
        body: impl Fn(&mut M, Voxel) -> [f64; K] + Sync,
    ) -> [f64; K] {
        let of_pages = self.by_page(has_solids, |(memory, sums): &mut (M, Sums<K>), voxel| {
            sums.0.iter_mut().zip(body(memory, voxel)).for_each(|(sum, term)| *sum += term);
        });
        let mut total = [0.0; K];
        for (_, sums) in of_pages {
            total.iter_mut().zip(sums.0).for_each(|(total, sum)| *total += sum);
        }
        total
    }

    /// Area of the surface, m2: the volume that a shift by a voxel would add, over that voxel.
    pub fn area(&self, has_solids: bool) -> f64 {
        let pages = self.grid.blocks().pages();
        let sum = parallel::ordered_sum(pages.len(), |n| {
            let (phi, solid) = (self.grid.channel(pages[n], PHI), self.grid.channel(pages[n], SOLID));
            let part = |distance: f32| f64::from((0.5 - distance).clamp(0.0, 1.0));
            let voxels = phi.iter().zip(solid).filter(|(phi, _)| **phi != 0.0);
            voxels
                .map(|(phi, solid)| {
                    let open = if has_solids { (0.5 + solid / self.dx).clamp(0.0, 1.0) } else { 1.0 };
                    f64::from(open) * (part(phi / self.dx - 0.5) - part(phi / self.dx + 0.5))
                })
                .sum()
        });
        sum * f64::from(self.dx).powi(2)
    }
}
