//! What can be seen of a liquid between two steps.
//!
//! A solver lends what it has in main memory and hands over what it had to make or fetch, as from a GPU; the
//! caller sees no difference. It asks only for what it needs.

use fluvial_foundation::{Axis, Vec3};
use fluvial_grids::{FaceField, UniformGrid};
use std::borrow::Cow;

/// What a caller wants to see.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wanted {
    /// The level set with velocities.
    pub level_set: bool,
    /// The particles.
    pub particles: bool,
    /// The cells that the plane at this z cuts, metres.
    pub cut_at_z: Option<f32>,
}

impl Wanted {
    /// The level set alone.
    pub const LEVEL_SET: Wanted = Wanted { level_set: true, particles: false, cut_at_z: None };
    /// The particles alone.
    pub const PARTICLES: Wanted = Wanted { level_set: false, particles: true, cut_at_z: None };
}

/// The liquid at one moment: what was wanted and the method has.
#[derive(Default)]
pub struct Snapshot<'a> {
    /// Its level set.
    pub level_set: Option<LevelSet<'a>>,
    /// Its particles.
    pub particles: Option<ParticleSet<'a>>,
    /// The cells that a plane cuts, where they differ in size.
    pub cut_cells: Option<Vec<CutCell>>,
}

/// A level set with velocities.
pub enum LevelSet<'a> {
    /// On cells of one size.
    Uniform(UniformLevelSet<'a>),
    /// On cells that differ in size, interpolated to the grid of the smallest.
    Sparse(Box<dyn SparseLevelSet + 'a>),
}

impl<'a> LevelSet<'a> {
    /// The level set, if all cells have one size.
    pub fn uniform(self) -> Option<UniformLevelSet<'a>> {
        match self {
            LevelSet::Uniform(level_set) => Some(level_set),
            LevelSet::Sparse(_) => None,
        }
    }

    /// The level set, if cells differ in size.
    pub fn sparse(self) -> Option<Box<dyn SparseLevelSet + 'a>> {
        match self {
            LevelSet::Uniform(_) => None,
            LevelSet::Sparse(level_set) => Some(level_set),
        }
    }
}

/// Liquid as a level set with face velocities on a uniform grid.
pub struct UniformLevelSet<'a> {
    /// Where the samples lie.
    pub grid: UniformGrid,
    /// Signed distance at cell centres, negative inside the liquid, metres.
    pub phi_cell: Cow<'a, [f32]>,
    /// Face velocities, m/s, valid in the liquid and a band around it.
    pub u_face: Cow<'a, FaceField>,
    /// Distance to solids at the nodes, negative inside, exact to three cells, metres; `None` without
    /// solids.
    pub phi_solid_node: Option<Cow<'a, [f32]>>,
}

/// Liquid of cells that differ in size, interpolated to the grid of the smallest, cell by cell: for volume
/// files. Everything farther than [`SPARSE_BAND_CELLS`] from surface and solids need only be known to be so.
pub trait SparseLevelSet: Sync {
    /// The grid of the smallest cells.
    fn grid(&self) -> UniformGrid;
    /// Signed distance at the centre of a cell, negative inside the liquid, metres.
    fn phi(&self, cell: [usize; 3]) -> f32;
    /// Velocity on the low side of a cell along an axis, m/s; the cell may lie one beyond the last along that
    /// axis.
    fn velocity(&self, axis: Axis, at: [usize; 3]) -> f32;
    /// Distance from the centre of a cell to the solids, negative inside, metres.
    fn phi_solid(&self, cell: [usize; 3]) -> f32;
    /// For a box of cells from `low` to `high` (exclusive) that is for sure far from the surface: is it
    /// liquid?
    fn far_from_surface(&self, low: [usize; 3], high: [usize; 3]) -> Option<bool>;
    /// Is a box of cells far outside all solids?
    fn is_free_of_solids(&self, low: [usize; 3], high: [usize; 3]) -> bool;
}

/// What a [`SparseLevelSet`] calls far, cells of its grid.
pub const SPARSE_BAND_CELLS: f32 = 3.0;

/// Liquid as particles; all lists have one length.
pub struct ParticleSet<'a> {
    /// Positions, metres.
    pub x: Cow<'a, [Vec3]>,
    /// Velocities, m/s.
    pub v: Cow<'a, [Vec3]>,
    /// Unique through the run.
    pub id: Cow<'a, [u64]>,
    /// Seconds since seeding.
    pub age_s: Cow<'a, [f32]>,
    /// Radius of a particle as seeded, metres.
    pub radius: f32,
    /// What each of them is, where the method tells them apart.
    pub kinds: Option<ParticleKinds>,
}

/// What each particle of a [`ParticleSet`] is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParticleKinds {
    /// An index into [`PARTICLE_KINDS`] each.
    pub kind: Vec<u8>,
    /// Radii, metres.
    pub radius: Vec<f32>,
}

/// Names of the kinds: as seeded, several in one, put in between to keep a sheet whole, a drop in the air.
pub const PARTICLE_KINDS: [&str; 4] = ["small", "merged", "inserted", "flying"];

/// Spray, foam and mist that a method makes itself, with every step; all lists have one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnWhitewater {
    /// Positions, metres.
    pub x: Vec<Vec3>,
    /// Velocities, m/s.
    pub v: Vec<Vec3>,
    /// Unique through the run.
    pub id: Vec<u64>,
    /// Seconds since they are what they are seen as.
    pub age_s: Vec<f32>,
    /// Radii, metres.
    pub radius_m: Vec<f32>,
    /// 0 spray, 1 foam, 3 mist; 2 are bubbles, as in the shared whitewater.
    pub kind: Vec<u8>,
    /// Drops thrown off, those of them that fell into the liquid, foam made of them, and particles that found no room, since the start.
    pub totals: [u64; 4],
    /// What lies on the surface and on the ground.
    pub map: SurfaceMap,
}

/// What is seen on surface and ground, on columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SurfaceMap {
    /// Middle of the first column, x and z, metres.
    pub first: [f32; 2],
    /// From column to column, metres.
    pub spacing_m: f32,
    /// Columns along x and z.
    pub size: [usize; 2],
    /// Foam on the liquid, in areas of a column.
    pub foam: Vec<f32>,
    /// How wet the ground is, 0 to 1.
    pub wet: Vec<f32>,
    /// Height of the surface, metres; where it is dry, of the last one.
    pub height_m: Vec<f32>,
    /// How far liquid has come since its texture was laid, along x and z, for two layers of it, metres.
    pub come: Vec<[f32; 4]>,
    /// How much of each layer is seen.
    pub layers: [f32; 2],
}

/// A cell that a plane of constant z cuts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutCell {
    /// Lower corner, x and y, metres.
    pub min: [f32; 2],
    /// Edge, metres.
    pub dx: f32,
    /// The liquid's level set at the cell's centre, metres.
    pub phi: f32,
}
