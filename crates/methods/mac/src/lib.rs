//! The projection on a uniform MAC grid, without its linear solve.
//!
//! With the impulse q = p dt / (rho dx) the projection reads, per unknown cell,
//!
//! `sum_f A_f (q_i - q_j) = c dx V_i - sum_f n_f (A_f u_f + (1 - A_f) u_boundary,f)`
//!
//! with the part A_f of a face that is open to liquid [ng-2009], the open volume V_i and the wanted
//! divergence c. Towards air the neighbour's value is the ghost `q_j = q_i (1 - 1 / theta)`, `theta = phi_i /
//! (phi_i - phi_j)` [octree eq. 26], see [`fluvial_grids::ghost_theta`]. [`project`] goes through
//!
//! 1. the operator from phi and the open areas ([`mark_unknowns`] says which cells it has, the linear solver
//!    takes the rest),
//! 2. the right side from the velocity ([`right_side`]),
//! 3. the linear solve, which the solver brings along, from [`first_guess`],
//! 4. [`subtract_gradient`],
//!
//! and again while boundaries pull on the liquid ([`Parting`]).
//!
//! Bodies that float in the liquid add a term of low rank to the operator ([`couple_bodies`]).
//!
//! Before it, [`Sources`] and [`Openings`] say what lies on the faces; after it, [`constrain_to_solids`]
//! bounds the extended velocity.

mod bodies;
mod faces;
mod friction;
mod momentum;
mod openings;
mod parting;
mod probe;
mod project;
mod short_waves;
mod solids;
mod sources;
mod surface;
mod thrown;
mod unknowns;

pub use bodies::{AroundBodies, BodyTerms, couple_bodies};
pub use faces::{FaceCells, for_each_face};
pub use friction::{FrictionScratch, RoughLiquid, find_rough_patches, rub};
pub use momentum::{liquid_momentum, push_on_boundaries};
pub use openings::{Openings, fastest_boundary_m_s, find_closed_cells};
pub use parting::{AtBoundaries, NO_GAP, Parting, find_parting_cells, keep_gaps, let_go, open_gaps, project};
pub use probe::{Probe, impulse_at};
pub use project::{Impulse, first_guess, follow_solids, right_side, subtract_gradient};
pub use short_waves::{
    SurfaceCell, SurfaceCells, drag_m_s, drag_short_waves, roughness, short_wave_speed_m_s,
};
pub use solids::{SolidFaces, close_walls, constrain_to_solids, drift_with_solids, without_slivers};
pub use sources::{Cover, Outlet, SourceFace, Sources};
pub use surface::{SurfacePush, push_at_surface};
pub use unknowns::{Unknowns, mark_unknowns};
