//! Velocity for tracing paths.

use super::trilinear::Dual;
use super::{Interpolation, Sampler};
use crate::slope::slopes;
use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::OUTSIDE;

/// Velocity at cell centres, and its slopes where cells of different size meet.
///
/// Traced points need a velocity of second order, all three components at once: in uniform surroundings it is
/// trilinear, elsewhere the value and slopes of the point's leaf give it, without a fit at every point. What
/// is carried along the paths is still read from faces.
#[derive(Clone, Debug, Default)]
pub struct Tracing {
    /// Velocity at cell centres, m/s.
    pub v_cell: Vec<Vec3>,
    /// Its derivatives along the axes, 1/s; not set in uniform surroundings, where they are not read.
    slope_cell: Vec<[Vec3; 3]>,
}

impl Tracing {
    /// From velocity at faces: the mean of a cell's two faces of an axis, or interpolated beside larger
    /// cells, whose faces are not centred on the small one. Keeps linear fields, but not all short waves: for
    /// tracing, not to be carried along. Verified by `interpolation.rs`.
    #[inline]
    pub fn fill(&mut self, tree: &Octree, u_face: &[f32]) {
        assert_eq!(u_face.len(), tree.face_count(), "one velocity per face");
        let sampler = Sampler::new(tree, Interpolation::Mls);
        self.v_cell.resize(tree.cell_count(), Vec3::ZERO);
        parallel::for_each_indexed_mut(&mut self.v_cell, |cell, out| {
            let level = tree.cells()[cell].level as usize;
            let faces = &tree.cell_faces()[cell];
            // Leaves of higher numbers than a level's are larger.
            let end = tree.cells_of(level).end as u32;
            let is_larger =
                |side: usize| tree.leaf_across(cell, side).is_some_and(|n| n >= end && n != OUTSIDE);
            for axis in AXES {
                out[axis] = if !is_larger(2 * axis) && !is_larger(2 * axis + 1) {
                    0.5 * (u_face[faces[2 * axis] as usize] + u_face[faces[2 * axis + 1] as usize])
                } else {
                    let spot = sampler.spot(tree.cell_center(cell), level);
                    sampler.component_at(u_face, axis, &spot)
                };
            }
        });
        let v = &self.v_cell;
        self.slope_cell.resize(tree.cell_count(), [Vec3::ZERO; 3]);
        parallel::for_each_indexed_mut(&mut self.slope_cell, |cell, out| {
            let level = tree.cells()[cell].level as usize;
            if !tree.locate_near(tree.cell_center(cell), level).uniform {
                let [x, y, z] = slopes(tree, cell, |_| true, |cell| v[cell].to_array()).map(|s| s.as_vec3());
                *out = [Vec3::new(x.x, y.x, z.x), Vec3::new(x.y, y.y, z.y), Vec3::new(x.z, y.z, z.z)];
            }
        });
    }

    /// Velocity at a point. Points outside are moved to the domain's hull.
    #[inline]
    pub fn at(&self, tree: &Octree, x_in_world: Vec3) -> Vec3 {
        self.at_near(tree, x_in_world, 0)
    }

    /// The same at a point whose leaf is probably of this level.
    #[inline]
    pub fn at_near(&self, tree: &Octree, x_in_world: Vec3, level: usize) -> Vec3 {
        let bounds = tree.shape().bounds();
        let x = x_in_world.max(bounds.min).min(bounds.max);
        let located = tree.locate_near(x, level);
        if located.uniform {
            return Dual::new(tree, &located, x).cells().read(&self.v_cell);
        }
        let cell = located.cell as usize;
        let (d, [along_x, along_y, along_z]) = (x - tree.cell_center(cell), self.slope_cell[cell]);
        self.v_cell[cell] + (d.x * along_x + d.y * along_y + d.z * along_z)
    }

    /// Where a particle goes in `dt_s` from a point with velocity `u`, by the midpoint rule.
    #[inline]
    pub fn trace(&self, tree: &Octree, x_in_world: Vec3, u: Vec3, dt_s: f32) -> Vec3 {
        self.trace_near(tree, x_in_world, (u, 0), dt_s)
    }

    /// The same where leaves on the way are probably of a level.
    #[inline]
    pub fn trace_near(&self, tree: &Octree, x_in_world: Vec3, (u, level): (Vec3, usize), dt_s: f32) -> Vec3 {
        x_in_world + dt_s * self.at_near(tree, x_in_world + 0.5 * dt_s * u, level)
    }
}
