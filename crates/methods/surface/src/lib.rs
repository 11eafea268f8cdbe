//! Closed, oriented, manifold surface meshes from level sets.
