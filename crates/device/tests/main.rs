//! Shaders of the whole tree, and the device itself where there is one.

#[cfg(feature = "gpu")]
mod device;
mod shader;
mod shaders;
