//! What the writers of frames are given.

use fluvial_foundation::Vec3;
use fluvial_grids::{FaceField, UniformGrid};

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
    /// What each one is: 0 as seeded, 1 merged of several, 2 inserted to keep a sheet whole, 3 flying. None where they are all alike.
    pub kind: Option<&'a [u8]>,
    /// Their radii, metres. Empty where they are all alike.
    pub radii: &'a [f32],
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
}

impl PointCloud {
    /// The arrays as the writers want them.
    pub fn as_points(&self) -> Points<'_> {
        let PointCloud { x, v, id, age_s, radius, kind, radii } = self;
        Points { x, v, id, age_s, radius: *radius, kind: kind.as_deref(), radii }
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
