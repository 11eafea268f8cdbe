//! Velocity for tracing paths.

use super::stencil::Stencils;
use super::trilinear::Dual;
use super::{Interpolation, Sampler};
use crate::select::select;
use crate::slope::slopes;
use fluvial_foundation::{AXES, Axis, Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::OUTSIDE;

/// Cells that share a list of stencils.
const PIECE: usize = 1024;

/// What velocities at the centres of a tree's cells are made of: found once for all fields on the tree.
#[derive(Clone, Debug, Default)]
pub struct Centres {
    pieces: Vec<Piece>,
    /// The cells where sizes meet.
    uneven: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Piece {
    /// Cell of the piece and axis, for each stencil: those of which a face is a larger cell's, and not centred on the small one.
    places: Vec<(u32, Axis)>,
    stencils: Stencils,
}

impl Centres {
    /// For a tree.
    pub fn prepare(&mut self, tree: &Octree) {
        let sampler = Sampler::new(tree, Interpolation::Mls);
        self.pieces.resize_with(parallel::chunk_count(tree.cell_count(), PIECE), Piece::default);
        parallel::for_each_indexed_mut(&mut self.pieces, |n, Piece { places, stencils }| {
            places.clear();
            stencils.clear();
            for cell in parallel::chunk_range(n, PIECE, tree.cell_count()) {
                let level = tree.cells()[cell].level as usize;
                // Leaves of higher numbers than a level's are larger.
                let end = tree.cells_of(level).end as u32;
                let is_larger =
                    |side: usize| tree.leaf_across(cell, side).is_some_and(|n| n >= end && n != OUTSIDE);
                for axis in AXES.into_iter().filter(|axis| is_larger(2 * axis) || is_larger(2 * axis + 1)) {
                    places.push(((cell - n * PIECE) as u32, axis));
                    stencils.add_component(&sampler, axis, &sampler.spot(tree.cell_center(cell), level));
                }
            }
        });
        let is_uneven = |cell: usize| {
            let level = tree.cells()[cell].level as usize;
            !tree.locate_near(tree.cell_center(cell), level).uniform
        };
        self.uneven = select(tree.cell_count(), is_uneven);
    }
}

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
    pub fn fill(&mut self, tree: &Octree, u_face: &[f32]) {
        let mut centres = Centres::default();
        centres.prepare(tree);
        Tracing::fill_all([self], [u_face], (tree, &centres));
    }

    /// The same for several velocities.
    pub fn fill_all<const N: usize>(
        mut all: [&mut Tracing; N],
        u_face: [&[f32]; N],
        (tree, centres): (&Octree, &Centres),
    ) {
        for (tracing, u_face) in all.iter_mut().zip(u_face) {
            tracing.fill_centres(tree, u_face, centres);
        }
        let v = all.each_ref().map(|tracing| &tracing.v_cell);
        let slopes = parallel::map_indices(centres.uneven.len(), |n| {
            let value = |cell: usize| v.map(|v| v[cell]);
            slopes_of(tree, centres.uneven[n] as usize, value)
        });
        for (n, tracing) in all.into_iter().enumerate() {
            tracing.slope_cell.resize(tree.cell_count(), [Vec3::ZERO; 3]);
            for (&cell, slopes) in centres.uneven.iter().zip(&slopes) {
                tracing.slope_cell[cell as usize] = slopes[n];
            }
        }
    }

    fn fill_centres(&mut self, tree: &Octree, u_face: &[f32], centres: &Centres) {
        assert_eq!(u_face.len(), tree.face_count(), "one velocity per face");
        self.v_cell.resize(tree.cell_count(), Vec3::ZERO);
        parallel::for_each_chunk_mut(&mut self.v_cell, PIECE, |n, v| {
            let faces = &tree.cell_faces()[n * PIECE..];
            for (out, faces) in v.iter_mut().zip(faces) {
                let u = faces.map(|face| u_face[face as usize]);
                *out = 0.5 * Vec3::new(u[0] + u[1], u[2] + u[3], u[4] + u[5]);
            }
            let Piece { places, stencils } = &centres.pieces[n];
            for (point, &(cell, axis)) in places.iter().enumerate() {
                v[cell as usize][axis] = stencils.read(point, u_face);
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

/// Derivatives along the axes of several velocities at a cell.
fn slopes_of<const N: usize>(tree: &Octree, cell: usize, v: impl Fn(usize) -> [Vec3; N]) -> [[Vec3; 3]; N] {
    std::array::from_fn(|n| {
        let [x, y, z] = slopes(tree, cell, |_| true, |cell| v(cell)[n].to_array()).map(|s| s.as_vec3());
        [Vec3::new(x.x, y.x, z.x), Vec3::new(x.y, y.y, z.y), Vec3::new(x.z, y.z, z.z)]
    })
}
