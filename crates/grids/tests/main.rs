//! One program for all tests of this crate: every program more is linked anew.

mod cut;
mod ghost_distance;
mod lattice;
mod octree;
mod octree_bits;
mod octree_blocks;
mod paged;
mod paged_layout;
mod pyramid;
mod pyramid_sets;
mod sides;
mod tall;
mod triangles;
mod uniform;
