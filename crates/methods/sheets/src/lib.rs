//! Particles that keep thin sheets whole, after Ando, Thürey and Tsuruno 2012 (cited as `[sheets §4.2]`),
//! free of any grid type.
//!
//! The order of a step, as [`Particles`] see it:
//! 1. [`Neighbours::sort`] sorts them by cell, so that every sum over neighbours runs over a few straight
//!    ranges;
//! 2. [`Shapes::measure`] gives each its density (eq. 2) and, at the surface, the stretch of its
//!    neighbourhood (eq. 8-10), and says which are thin (eq. 11), junctions of sheets included;
//! 3. [`find_candidates`] and [`insert`] put new particles where sheets are about to tear (eq. 12-14),
//!    [`collapse`] takes them back (eq. 15), through the whole ancestry that [`Families`] keeps;
//! 4. [`merge`] and [`split`] adapt the sampling to the depth (eq. 16-17, Alg. 3);
//! 5. [`correct_positions`] evens out the spacing (eq. 18-22, Alg. 4);
//! 6. [`SheetSurface`] is the surface that is drawn (eq. 23).
//!
//! [`Population`] holds all of it together. Masses are whole numbers of a small quantum ([`UNIT_MASS`] is a
//! small particle), so that no history of these operations changes their sum by a single one. Lengths are in
//! metres; `d0` is the radius of a small particle, which is also the spacing that it is seeded with. Nothing
//! depends on the number of threads.

mod around;
mod candidates;
mod cells;
mod collapse;
mod correct;
mod deposit;
mod families;
mod insert;
mod kernels;
mod lanes;
mod neighbours;
mod params;
mod particles;
mod population;
mod resample;
mod shapes;
mod sight;
mod spread;
mod surface;
mod topology;

pub use around::cells_below_surface;
pub use candidates::{Candidate, find_candidates};
pub use cells::{box_sums, dilate, tent_sums};
pub use collapse::{Collapsed, collapse};
pub use correct::{Correction, Stiffness, cells_near_merged, correct_positions};
pub use deposit::deposit;

pub use families::Families;
pub use insert::{Inserted, insert, order_candidates};
pub use kernels::{
    density_and_mean, distance_of_bell_density, distance_of_density, lattice_bell_density, lattice_density,
    velocity_at, w_sharp, w_smooth,
};
pub use neighbours::{Bins, Neighbours, SolidSamples, Walls};
pub use params::SheetParams;
pub use particles::{Kind, NO_FAMILY, Particles, UNIT_MASS};
pub use population::{Population, Preserved};
pub use resample::{Depth, Merged, merge, split};
pub use shapes::{Shapes, covariance};
pub use sight::{Seen, ThinSides};
pub use spread::{Points, spread_velocity};
pub use surface::{SheetSurface, SurfaceField, SurfaceShape};
pub use topology::Topology;
