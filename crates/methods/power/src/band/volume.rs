//! Sums over the band's voxels: volume, energy, what lies in a shape.

use super::{Band, PHI, SOLID};
use fluvial_foundation::{AXES, Vec3, parallel};

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
/// slope `slope` is zero: linear over the width that the voxel has across the plane, so that what two voxels show of a moving plane adds
/// up. The slope of a carried distance is one within a tenth only; taken for one, what a cell holds would change with the place of the surface
/// between voxels, by more than small waves are high.
pub fn part_below(phi: f32, slope: Vec3) -> f32 {
    (0.5 - phi / slope.abs().element_sum().max(0.5)).clamp(0.0, 1.0)
}

impl Band {
    /// Slope of the distance at a voxel, by differences of what is there.
    fn voxel_slope(&self, voxel: u64) -> Vec3 {
        let layout = self.grid.layout();
        let own = self.phi(voxel);
        Vec3::from_array(AXES.map(|a| {
            // Voxel (1, 1, 1) of the 64 around is the voxel itself.
            let stride = [1, 4, 16][a];
            let [low, high] = [21 - stride, 21 + stride].map(|n| self.phi(layout.add(voxel, self.steps[n])));
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
