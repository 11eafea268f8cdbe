//! Tests through the public surface.

mod box_tree;
mod contour;
mod film;
mod fractions;
mod heightfield;
mod mesh;
mod mesh_files;
mod motion;
mod nozzle;
mod placed;
mod rasterize;
mod shape;
mod share;
mod side_changes;
mod sides;
mod skin;
mod tessellate;
