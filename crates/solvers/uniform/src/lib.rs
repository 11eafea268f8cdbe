//! The uniform reference solver: a MAC grid in a box, a level set or FLIP/APIC particles, second-order
//! boundaries. If another method and this one disagree on a converged scene, the other one is wrong until
//! shown otherwise.

mod params;

pub use params::{Params, PhiScheme, Tracker, VelocityScheme, VolumeCorrection};
