//! Liquid particles: sorting, seeding, FLIP and APIC transfers, narrow band.
//!
//! Particles live in a band under the free surface and carry what the grid would smear: velocity
//! ([`Transfer`]) and thin liquid ([`correct_by_particles`]). Below the band the grid is enough
//! [ferstl-2016].
//!
//! One step of a narrow-band solver, in order:
//! 1. [`advect`] moves the particles through the grid's velocity and sorts them by cell, which makes every
//!    gather local; the old ones stay untouched until the step has succeeded;
//! 2. [`correct_by_particles`] mends the level set that the grid advected; the caller redistances it;
//! 3. [`particles_to_faces`], the caller's forces and pressure, [`faces_to_particles`], with FLIP [`collide`];
//! 4. [`resample`] keeps the band evenly filled, and writes to the old particles' place. Liquid from sources
//!    goes through it before the next correction.
//!
//! Everything gives the same bits with any number of threads: chunks are fixed by the problem and sums
//! follow cell order. Fields are interpolated trilinearly and held constant beyond the outermost samples,
//! as [`UniformGrid::sample_velocity`](fluvial_grids::UniformGrid::sample_velocity) does.

mod advect;
mod collide;
mod correct;
mod deep;
mod near;
mod particles;
mod resample;
mod reserve;
mod sight;
mod sort;
mod surface;
mod surroundings;
mod transfer;
mod velocity;

pub use advect::{AdvectReport, advect};
pub use collide::{Collisions, Members, collide};
pub use correct::correct_by_particles;
pub use deep::find_liquid_from_deep;
pub use near::{mark_below, mark_near};
pub use particles::{Particles, retain};
pub use resample::{Liquid, Occasion, ResampleReport, resample};
pub use reserve::{NO_REGION, Reserve};
pub use sight::flee;
pub use sort::{CellRanges, Scratch};
pub use surface::{Average, Averager, LOWEST_IN_CELLS, particle_radius_m};
pub use surroundings::Surroundings;
pub use transfer::{Deposit, Flight, Transfer, faces_to_particles, particles_to_faces};
