//! The liquid as it is drawn: closed at the walls, cut off inside solids.

use super::{HALF_WIDTH_CELLS, SOLID_OVERLAP_CELLS};
use crate::VolumeSource;
use fluvial_foundation::AXES;
use fluvial_grids::UniformGrid;

/// Boxes whose longest edge is at most this, in voxels, are evaluated voxel by voxel; larger ones are halved
/// first.
const SMALL_BOX: i32 = 3;

/// The level sets at a voxel, metres, cut to ± the half width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Values {
    /// The liquid's own; beyond the walls that of the nearest cell.
    pub uncut: f32,
    /// Liquid ∩ box − solids.
    pub closed: f32,
}

/// Evaluates the level sets of a volume at any voxel.
pub(super) struct LevelSets<'a, S: VolumeSource + ?Sized> {
    source: &'a S,
    grid: UniformGrid,
    half_width: f32,
}

impl<'a, S: VolumeSource + ?Sized> LevelSets<'a, S> {
    pub fn new(source: &'a S) -> Self {
        let grid = source.grid();
        LevelSets { source, grid, half_width: HALF_WIDTH_CELLS * grid.dx }
    }

    /// The value that stands for everything farther outside.
    pub fn background(&self) -> f32 {
        self.half_width
    }

    /// Is the box of voxels from `low` to `high` (exclusive) clear of walls and solids? There the two level sets
    /// are equal.
    pub fn is_uncut(&self, low: [i32; 3], high: [i32; 3]) -> bool {
        let margin = HALF_WIDTH_CELLS.ceil() as i32;
        let inside = |a: usize| low[a] >= margin && high[a] <= self.grid.cells[a] as i32 - margin;
        AXES.into_iter().all(inside)
            && self.source.is_free_of_solids(low.map(|v| v as usize), high.map(|v| v as usize))
    }

    /// Calls `body` with the values of every voxel of a box; parts of it that
    /// are far from everything are not evaluated voxel by voxel.
    pub fn for_each(&self, low: [i32; 3], high: [i32; 3], body: &mut impl FnMut([i32; 3], Values)) {
        let far = self.source.far_from_surface(
            AXES.map(|a| self.clamp(a, low[a])),
            AXES.map(|a| self.clamp(a, high[a] - 1) + 1),
        );
        let edge = |a: usize| high[a] - low[a];
        let is_uncut = self.is_uncut(low, high);
        let longest = AXES.into_iter().fold(0, |best, a| if edge(a) > edge(best) { a } else { best });
        let known = match far {
            Some(false) => Some(self.half_width),
            Some(true) if is_uncut => Some(-self.half_width),
            _ => None,
        };
        if known.is_none() && edge(longest) > SMALL_BOX && self.source.is_sparse() {
            let middle = low[longest] + edge(longest) / 2;
            let (mut end, mut start) = (high, low);
            (end[longest], start[longest]) = (middle, middle);
            self.for_each(low, end, body);
            self.for_each(start, high, body);
            return;
        }
        for i in low[0]..high[0] {
            for j in low[1]..high[1] {
                for k in low[2]..high[2] {
                    let at = [i, j, k];
                    if let Some(value) = known {
                        body(at, Values { uncut: value, closed: value });
                        continue;
                    }
                    let uncut = if far == Some(true) { -self.half_width } else { self.uncut(at) };
                    let closed = if is_uncut { uncut } else { self.closed(at, uncut) };
                    body(at, Values { uncut, closed });
                }
            }
        }
    }

    /// The cell whose values a voxel beyond the walls has.
    fn clamp(&self, a: usize, voxel: i32) -> usize {
        voxel.clamp(0, self.grid.cells[a] as i32 - 1) as usize
    }

    fn uncut(&self, voxel: [i32; 3]) -> f32 {
        self.limit(self.source.phi(AXES.map(|a| self.clamp(a, voxel[a]))))
    }

    /// The level set of liquid ∩ box − solids from the distances to the three: the largest of them inside.
    /// Outside, beyond the edge where two meet, the distance to the edge is that of a right angle.
    fn closed(&self, voxel: [i32; 3], uncut: f32) -> f32 {
        let box_distance = self.box_distance(voxel);
        if box_distance >= self.half_width || uncut >= self.half_width {
            return self.half_width;
        }
        // Liquid reaches a little into solids.
        let depth = self.source.depth_in_solids(AXES.map(|a| self.clamp(a, voxel[a])));
        let distances = [uncut, box_distance, depth - SOLID_OVERLAP_CELLS * self.grid.dx];
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
            (-at).max(at - self.grid.cells[a] as f32)
        });
        let inside = beyond[0].max(beyond[1]).max(beyond[2]).min(0.0);
        let outside = beyond.map(|b| b.max(0.0));
        let length = (outside[0] * outside[0] + outside[1] * outside[1] + outside[2] * outside[2]).sqrt();
        self.grid.dx * (inside + length)
    }

    fn limit(&self, value: f32) -> f32 {
        // NaN counts as air, as in the mesher.
        value.min(self.half_width).max(-self.half_width)
    }
}
