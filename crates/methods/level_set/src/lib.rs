//! Level sets on uniform grids: advection, redistancing, extrapolation, curvature, volume.
//!
//! phi is negative in the liquid, in metres, at cell centres; it is a signed distance inside a band of
//! `band_m` around the interface and saturates at `+-band_m` beyond. All kernels work in grid units inside
//! (lengths divided by `dx`) and keep positions relative to the cell they start from, so that accuracy does
//! not depend on how large the domain is.
//!
//! Walls: phi is continued linearly beyond the outermost cell centres (a plane stays a plane up to the wall
//! and past it), velocity is constant beyond the outermost faces.

mod advect_phi;
mod advect_velocity;
mod cell_set;
mod closest_point;
mod cubic;
mod curvature;
mod cut_volume;
mod extrapolate;
mod face_blocks;
mod flux;
mod line;
mod redistance;
mod regions;
mod seeds;
mod settle;
mod shown;
mod solids;
mod trace;
mod volume;

pub use advect_phi::{PhiAdvection, advect_phi, advect_phi_on_sides};
pub use advect_velocity::{AdvectionScheme, KnownFaces, VelocityTransport, advect_velocity};
pub use curvature::{WallContact, curvature, level_curvature, value_at_crossing};
pub use extrapolate::extrapolate_velocity;
pub use flux::{OpenFaces, liquid_flux, outflow};
pub use redistance::{RedistanceReport, redistance, redistance_among_solids, redistance_before_solids};
pub use regions::{label_regions, spread_labels};
pub use settle::{Carried, Owed, Settlement};
pub use shown::SolidsAround;
pub use solids::{extend_into_solids, extend_on_sides};
pub use volume::{liquid_fraction, liquid_fractions, liquid_volume, liquid_volume_on_sides};

use fluvial_grids::UniformGrid;

/// Work arrays of this crate's kernels, owned by the caller and reused from step to step.
/// Grown to the size that a kernel needs when it is first called; contents are never read across calls.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// First estimate of MacCormack advection of phi.
    pub(crate) phi_forward: Vec<f32>,
    /// That estimate carried back.
    pub(crate) phi_returned: Vec<f32>,
    /// First estimate of MacCormack advection of one component of velocity.
    pub(crate) u_forward: Vec<f32>,
    /// Low corners of the stencils that the first estimate was made of.
    pub(crate) stencil: Vec<i32>,
    /// What blocks of faces need, and a second array of the kind.
    pub(crate) block_needs: [Vec<u8>; 2],
    /// Closest points of the redistancing band.
    pub(crate) band: redistance::Band,
    /// New values of one layer, slab by slab.
    pub(crate) layer: Vec<Vec<(u32, f32)>>,
    /// Faces that have a value, those of the last layer, and those of the next one slab by slab.
    pub(crate) reached: cell_set::CellSet,
    pub(crate) front: cell_set::CellSet,
    pub(crate) added: Vec<Vec<u32>>,
    /// The open cell that each cell is continued from by [`extend_into_solids`].
    pub(crate) source: Vec<u32>,
    /// Cells of one of its layers with value and source, slab by slab.
    pub(crate) continued: Vec<Vec<(u32, f32, u32)>>,
    /// What the last [`redistance`] had to do.
    pub redistance_report: RedistanceReport,
}

impl Scratch {
    /// Work arrays for a grid: what redistancing needs at once, the rest on first use.
    pub fn new(grid: &UniformGrid) -> Self {
        let mut scratch = Scratch::default();
        scratch.band.fit(grid.cell_count());
        scratch
    }
}

/// `values.len() == len`, keeping the allocation.
pub(crate) fn fit<T: Clone + Default>(values: &mut Vec<T>, len: usize) {
    if values.len() != len {
        values.clear();
        values.resize(len, T::default());
    }
}
