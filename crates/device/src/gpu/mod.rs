//! Everything that needs wgpu.

pub mod adapter;
pub mod buffer;
pub mod compute;
