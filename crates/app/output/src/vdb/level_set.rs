//! The liquid as it is drawn: closed at the walls, cut off inside solids.

use super::{HALF_WIDTH_CELLS, SOLID_OVERLAP_CELLS};
use crate::VolumeView;
use fluvial_foundation::AXES;
use fluvial_grids::Lattice;

/// Evaluates the level sets of a volume at any voxel, in metres, cut to ± the half width.
pub(super) struct LevelSets<'a> {
    volume: VolumeView<'a>,
    cells: Lattice,
    nodes: Lattice,
    half_width: f32,
}

impl<'a> LevelSets<'a> {
    pub fn new(volume: VolumeView<'a>) -> Self {
        let (cells, nodes) = (volume.grid.cell_centers(), volume.grid.nodes());
        assert_eq!(volume.phi_cell.len(), cells.len(), "one value per cell");
        LevelSets { volume, cells, nodes, half_width: HALF_WIDTH_CELLS * volume.grid.dx }
    }

    /// The value that stands for everything farther outside.
    pub fn background(&self) -> f32 {
        self.half_width
    }

    /// The liquid's own level set; beyond the walls that of the nearest cell.
    pub fn uncut(&self, voxel: [i32; 3]) -> f32 {
        let n = self.cells.index_clamped(voxel[0] as isize, voxel[1] as isize, voxel[2] as isize);
        self.limit(self.volume.phi_cell[n])
    }

    /// Does nothing but the liquid itself reach into the box of voxels from `low` to `high` (exclusive)? There
    /// [`Self::closed`] is [`Self::uncut`].
    pub fn is_uncut(&self, low: [i32; 3], high: [i32; 3]) -> bool {
        let margin = HALF_WIDTH_CELLS.ceil() as i32;
        let inside = |a: usize| low[a] >= margin && high[a] <= self.cells.size[a] as i32 - margin;
        self.volume.phi_solid_node.is_none() && AXES.into_iter().all(inside)
    }

    /// The level set of liquid ∩ box − solids from the distances to the three: the largest of them inside. Outside,
    /// beyond the edge where two meet, the distance to the edge is that of a right angle.
    pub fn closed(&self, voxel: [i32; 3]) -> f32 {
        let box_distance = self.box_distance(voxel);
        if box_distance >= self.half_width {
            return self.half_width;
        }
        let solid = self.volume.phi_solid_node.map(|phi| self.inside_solid(phi, voxel));
        let distances = [self.uncut(voxel), box_distance, solid.unwrap_or(f32::NEG_INFINITY)];
        let largest = distances.into_iter().fold(f32::NEG_INFINITY, f32::max);
        let outside = distances.iter().filter(|d| **d > 0.0);
        if outside.clone().count() < 2 {
            self.limit(largest)
        } else {
            self.limit(outside.map(|d| d * d).sum::<f32>().sqrt())
        }
    }

    /// Signed distance to the domain's box, metres, negative inside.
    fn box_distance(&self, voxel: [i32; 3]) -> f32 {
        let beyond = AXES.map(|a| {
            let at = voxel[a] as f32 + 0.5;
            (-at).max(at - self.cells.size[a] as f32)
        });
        let inside = beyond[0].max(beyond[1]).max(beyond[2]).min(0.0);
        let outside = beyond.map(|b| b.max(0.0));
        let length = (outside[0] * outside[0] + outside[1] * outside[1] + outside[2] * outside[2]).sqrt();
        self.volume.grid.dx * (inside + length)
    }

    /// Depth inside the solids, less the overlap. Nodal distances end at three cells; what lies deeper is outside the
    /// liquid's band whatever its depth.
    fn inside_solid(&self, phi_solid: &[f32], voxel: [i32; 3]) -> f32 {
        let dx = self.volume.grid.dx;
        let at = AXES.map(|a| voxel[a].clamp(0, self.cells.size[a] as i32 - 1) as usize);
        let corners = self.nodes.corner_values(phi_solid, self.nodes.index(at[0], at[1], at[2]));
        let deepest = -(HALF_WIDTH_CELLS - 1e-3) * dx;
        if corners.iter().any(|&c| c <= deepest) {
            return self.half_width;
        }
        -corners.iter().sum::<f32>() / 8.0 - SOLID_OVERLAP_CELLS * dx
    }

    fn limit(&self, value: f32) -> f32 {
        // NaN counts as air, as in the mesher.
        value.min(self.half_width).max(-self.half_width)
    }
}
