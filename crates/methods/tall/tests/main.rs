//! Every kernel against exact or manufactured solutions, and against its twin on the GPU.

mod bodies;
#[cfg(feature = "gpu")]
mod parity;
mod pressure;
mod rest;
mod scenes;
mod spray;
#[cfg(feature = "gpu")]
mod step;
mod transport;
mod volume;
