//! Every kernel against exact or manufactured solutions, and against its twin on the GPU.

mod pressure;
mod rest;
mod scenes;
mod transport;
