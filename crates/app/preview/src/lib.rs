//! CPU renderer and animated preview.
