//! What the writers of frames are given.

use fluvial_foundation::{Axis, Vec3};
use fluvial_grids::{FaceField, TriangleMesh, UniformGrid};

/// Which moment a file holds: frame n is the state at n / fps seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameTime {
    /// Counts from 0, the initial state.
    pub frame: u32,
    /// Frames per simulated second.
    pub fps: f64,
}

impl FrameTime {
    /// Simulated time, seconds.
    pub fn time_s(&self) -> f64 {
        f64::from(self.frame) / self.fps
    }
}

/// What a set of particles is of: names their files and what their kinds mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PointsOf {
    /// The liquid itself: 0 as seeded, 1 merged of several, 2 inserted to keep a sheet whole, 3 flying.
    #[default]
    Particles,
    /// Spray, foam, bubbles and mist: 0, 1, 2, 3.
    Whitewater,
}

impl PointsOf {
    /// Of files and of objects in them.
    pub fn name(self) -> &'static str {
        match self {
            PointsOf::Particles => "particles",
            PointsOf::Whitewater => "whitewater",
        }
    }

    /// The kinds by their numbers.
    pub fn kinds(self) -> &'static [&'static str] {
        match self {
            PointsOf::Particles => &["small", "merged", "inserted", "flying"],
            PointsOf::Whitewater => &["spray", "foam", "bubble", "mist"],
        }
    }
}

/// Particles of a frame; all slices have one length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Points<'a> {
    /// Positions, metres.
    pub x: &'a [Vec3],
    /// Velocities, m/s.
    pub v: &'a [Vec3],
    /// The same particle has the same number in every frame.
    pub id: &'a [u64],
    /// Seconds since seeding.
    pub age_s: &'a [f32],
    /// Radius of every particle, metres (`pscale`); of the smallest where they differ.
    pub radius: f32,
    /// What each one is, a number among [`PointsOf::kinds`]. None where they are all alike.
    pub kind: Option<&'a [u8]>,
    /// Their radii, metres. Empty where they are all alike.
    pub radii: &'a [f32],
    /// What they are of.
    pub of: PointsOf,
}

impl Points<'_> {
    /// Do they differ in kind and size?
    pub fn have_kinds(&self) -> bool {
        self.kind.is_some()
    }

    /// Radius of a particle, metres.
    pub fn radius_of(&self, n: usize) -> f32 {
        self.radii.get(n).copied().unwrap_or(self.radius)
    }
}

/// A body's name and its surface in its own frame.
#[derive(Clone, Debug)]
pub struct BodyMesh {
    /// In the scene.
    pub name: String,
    /// Its surface.
    pub mesh: TriangleMesh,
}

/// Particles that own their arrays, as readers return them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointCloud {
    /// Positions, metres.
    pub x: Vec<Vec3>,
    /// Velocities, m/s.
    pub v: Vec<Vec3>,
    /// Unique through the run.
    pub id: Vec<u64>,
    /// Seconds since seeding.
    pub age_s: Vec<f32>,
    /// Radius of every particle, metres; of the smallest where they differ.
    pub radius: f32,
    /// As in [`Points::kind`].
    pub kind: Option<Vec<u8>>,
    /// As in [`Points::radii`].
    pub radii: Vec<f32>,
    /// As in [`Points::of`].
    pub of: PointsOf,
}

impl PointCloud {
    /// The arrays as the writers want them.
    pub fn as_points(&self) -> Points<'_> {
        let PointCloud { x, v, id, age_s, radius, kind, radii, of } = self;
        Points { x, v, id, age_s, radius: *radius, kind: kind.as_deref(), radii, of: *of }
    }
}

/// Liquid on a uniform grid, asked for cell by cell: what volumes are written from. Cells that differ in size
/// are interpolated to the smallest, and only near the surface.
pub trait VolumeSource: Sync {
    /// Where the samples lie.
    fn grid(&self) -> UniformGrid;
    /// Signed distance at the centre of a cell, negative inside the liquid, metres. It must be the true
    /// distance up to [`crate::HALF_WIDTH_CELLS`] cells from the surface at least.
    fn phi(&self, cell: [usize; 3]) -> f32;
    /// Velocity on the low side of a cell along an axis, m/s, valid as far as `phi` is a distance. The cell
    /// may lie one beyond the last along that axis.
    fn velocity(&self, axis: Axis, at: [usize; 3]) -> f32;
    /// Depth of a cell's centre inside the solids, negative outside, metres, exact to
    /// [`crate::HALF_WIDTH_CELLS`] cells.
    fn depth_in_solids(&self, cell: [usize; 3]) -> f32;
    /// Is every cell from `low` to `high` (exclusive) farther outside the solids than
    /// [`crate::HALF_WIDTH_CELLS`] cells?
    fn is_free_of_solids(&self, low: [usize; 3], high: [usize; 3]) -> bool;
    /// Is a box of cells liquid? Answered only for boxes that are certainly farther than
    /// [`crate::HALF_WIDTH_CELLS`] cells from the surface.
    fn far_from_surface(&self, _low: [usize; 3], _high: [usize; 3]) -> Option<bool> {
        None
    }
    /// Is little of the grid near the surface? Then [`Self::far_from_surface`] is asked for ever smaller
    /// boxes, and velocity is written near the closed surface only, not in the depth of the liquid.
    fn is_sparse(&self) -> bool {
        false
    }
}

/// The liquid on its grid.
#[derive(Clone, Copy, Debug)]
pub struct VolumeView<'a> {
    /// Where the samples lie.
    pub grid: UniformGrid,
    /// Signed distance at cell centres, negative inside the liquid, metres. Must be a distance to
    /// [`crate::HALF_WIDTH_CELLS`] cells from the surface at least.
    pub phi_cell: &'a [f32],
    /// Face velocities, m/s, valid in the liquid and three cells around it.
    pub u_face: &'a FaceField,
    /// Distance to solids at the nodes, negative inside, exact to three cells, metres.
    pub phi_solid_node: Option<&'a [f32]>,
}

impl VolumeSource for VolumeView<'_> {
    fn grid(&self) -> UniformGrid {
        self.grid
    }

    #[inline]
    fn phi(&self, [i, j, k]: [usize; 3]) -> f32 {
        let [nx, ny, _] = self.grid.cells;
        self.phi_cell[i + nx * (j + ny * k)]
    }

    #[inline]
    fn velocity(&self, axis: Axis, [i, j, k]: [usize; 3]) -> f32 {
        self.u_face[axis][self.grid.faces(axis).index(i, j, k)]
    }

    /// Nodal distances end at three cells; what lies deeper is outside the liquid's band whatever its depth.
    fn depth_in_solids(&self, [i, j, k]: [usize; 3]) -> f32 {
        let Some(phi_solid) = self.phi_solid_node else { return f32::NEG_INFINITY };
        let nodes = self.grid.nodes();
        let corners = nodes.corner_values(phi_solid, nodes.index(i, j, k));
        let deepest = -(crate::HALF_WIDTH_CELLS - 1e-3) * self.grid.dx;
        if corners.iter().any(|&c| c <= deepest) {
            return f32::INFINITY;
        }
        -corners.iter().sum::<f32>() / 8.0
    }

    fn is_free_of_solids(&self, _low: [usize; 3], _high: [usize; 3]) -> bool {
        self.phi_solid_node.is_none()
    }
}
