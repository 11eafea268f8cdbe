//! Numerics on graded octrees ([`fluvial_grids::octree`]) after Ando and Batty, "A Practical Octree Liquid Simulator with
//! Adaptive Surface Resolution", 2020, cited as [octree §, eq.].
//!
//! [`gradient`]: the staggered gradient with T-junctions and the three treatments of the free surface.
//! [`divergence`]: its transpose. [`assemble`]: the pressure system in compressed rows, ready for any sparse
//! solver. [`interpolate`]: values at any point, by moving least squares where sizes change. [`extrapolate`]: velocity
//! beyond the liquid. [`redistance`]: phi as a distance everywhere. [`sizing`]: where cells should be small, and trees built from that. [`contour`]: closed,
//! manifold meshes of the surface. [`fractions`]: what solids leave open of faces and cells. [`volume`]: what is liquid of
//! them. [`particles`]: velocity carried by particles among the finest cells. [`regions`]: bodies of liquid. [`curvature`]: of the surface where it crosses faces.
//!
//! The README maps the paper's sections and equations to functions.

pub mod assemble;
pub mod capillary;
pub mod contour;
pub mod curvature;
pub mod divergence;
pub mod extend;
pub mod extrapolate;
pub mod fractions;
pub mod gradient;
pub mod interpolate;
pub mod particles;
mod quadric;
pub mod redistance;
pub mod regions;
pub mod sizing;
pub mod slope;
pub mod volume;
