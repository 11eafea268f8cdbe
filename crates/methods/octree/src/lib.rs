//! Numerics on graded octrees ([`fluvial_grids::octree`]) after Ando and Batty, "A Practical Octree Liquid
//! Simulator with Adaptive Surface Resolution", 2020, cited as `[octree §4.2, eq. 24]`.
//!
//! Tree: [`sizing`], where cells should be small, and trees built from that. [`interpolate`], values at any
//! point, by moving least squares where sizes change. [`slope`], slopes at cells.
//!
//! Surface: [`advect`], transport of phi, sizes and velocity from tree to tree. [`redistance`], phi as a
//! distance everywhere. [`extend`], fields continued into solids. [`contour`], closed, manifold meshes.
//! [`volume`], the liquid part of cells. [`regions`], bodies of liquid.
//! [`curvature`] where the surface crosses faces, [`capillary`], its filter for long steps.
//!
//! Pressure: [`gradient`], with T-junctions and the three treatments of the free surface. [`divergence`], its
//! transpose. [`assemble`], the system in compressed rows, ready for any sparse solver. [`lone`], cells that
//! it leaves out.
//!
//! Velocity: [`momentum`], uniform velocities of the liquid. [`net_force`], what tension must not do to free
//! bodies. [`extrapolate`], velocity beyond the liquid. [`air`], the same without divergence beside the
//! surface. [`constrain`], velocity in solids and at walls. [`friction`] of both. [`flux`] through sources and open walls.
//!
//! Solids and particles: [`fractions`], the open part of faces and cells. [`particles`] among the finest
//! cells.
//!
//! The README maps the paper's sections and equations to functions.

pub mod advect;
pub mod air;
pub mod assemble;
pub mod bodies;
pub mod capillary;
pub mod constrain;
pub mod contour;
pub mod curvature;
pub mod degenerate;
pub mod divergence;
pub mod extend;
pub mod extrapolate;
pub mod flux;
pub mod fractions;
pub mod friction;
pub mod gradient;
pub mod interpolate;
pub mod lone;
pub mod momentum;
pub mod net_force;
pub mod outlet;
pub mod owed;
pub mod particles;
pub mod parting;
pub mod point;
mod quadric;
pub mod redistance;
pub mod regions;
mod select;
pub mod settle;
pub mod short_waves;
pub mod sides;
pub mod sizing;
pub mod slope;
mod surface_links;
pub mod thrown;
pub mod volume;
