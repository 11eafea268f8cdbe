//! Liquid particles: sorting, seeding, FLIP and APIC transfers, narrow band.
//!
//! Particles live in a band under the free surface and carry what the grid would smear: velocity
//! ([`Transfer`]) and thin liquid ([`level_set_from_particles`]). Below the band the grid is enough
//! [Ferstl, Ando, Wojtan, Westermann, Thuerey 2016, "Narrow Band FLIP for Liquid Simulations"].
//!
//! One step of a narrow-band solver, in order:
//! 1. [`advect`] moves the particles through the grid's velocity;
//! 2. [`Particles::sort_by_cell`] makes every gather local;
//! 3. [`correct_by_particles`] mends the level set that the grid advected; the caller redistances it;
//! 4. [`resample`] keeps the band evenly filled (and leaves the particles sorted); liquid from sources goes
//!    through [`resample_with_new_liquid`] before the next correction;
//! 5. [`particles_to_faces`], the caller's forces and pressure, [`faces_to_particles`].
//!
//! Everything gives the same bits with any number of threads: chunks are fixed by the problem and sums
//! follow cell order. Fields are interpolated trilinearly and held constant beyond the outermost samples,
//! as [`UniformGrid::sample_velocity`](fluvial_grids::UniformGrid::sample_velocity) does.

mod advect;
mod correct;
mod particles;
mod resample;
mod sort;
mod surface;
mod transfer;
mod velocity;

pub use advect::{AdvectReport, advect};
pub use correct::shift_to_particles;
pub use particles::{Particles, retain};
pub use resample::{ResampleReport, resample, resample_with_new_liquid};
pub use sort::{CellRanges, Scratch};
pub use surface::{combine_narrow_band, correct_by_particles, level_set_from_particles, particle_radius_m};
pub use transfer::{Transfer, faces_to_particles, particles_to_faces};
