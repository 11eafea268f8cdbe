//! Fluvial as a library: a liquid that your program steps, looks at, saves and stops.
//!
//! ```
//! let scene = r#"
//!     fluvial = 1
//!     [domain]
//!     max = [1, 1, 1]
//!     resolution = 16
//!     [[fill]]
//!     shape = { box = { min = [0, 0, 0], max = [0.4, 0.5, 1] } }
//! "#;
//! let mut water = fluvial::Simulation::from_toml(scene)?;
//! water.advance_to(0.05, |_| fluvial::Go::On)?;
//! let mesh = water.surface(0);
//! assert!(mesh.volume() > 0.19);
//! # Ok::<(), fluvial::Error>(())
//! ```
//!
//! A [`Simulation`] comes from a scene, which is a text or a file ([`Scene`]), or from a [`Setup`] that is
//! built in Rust. It takes whole steps; [`Simulation::advance_to`] ends exactly at the time that was asked
//! for. Between two calls it can be asked for its surface, its [`Snapshot`] (level set, particles, cells),
//! pressures, heights and velocities, and it can be saved and restored to the bit. A [`StopHandle`] ends a
//! step in progress from another thread. A program with a method of its own registers it with [`register`];
//! scenes then name it like any other. What such a method implements and answers with is in [`interface`].

mod simulation;

pub use fluvial_foundation::{Aabb, Vec3};
pub use fluvial_grids::{TriangleMesh, UniformGrid};
pub use fluvial_scene::{Scene, SceneError};
pub use fluvial_simulation::StepRecord;
pub use fluvial_solids::{MeshDistance, Motion, Shape};
/// Everything that a method of one's own implements: `Listed`, `Solver` and the types they speak of.
pub use fluvial_solver_interface as interface;
pub use fluvial_solver_interface::{
    Domain, Entry, Fill, Flow, LevelSet, Liquid, Listed, Method, ParticleSet, Refine, Setup, SetupError,
    Sink, Snapshot, Solid, Solver, Source, StepReport, Wall, Wanted,
};
pub use fluvial_solver_registry::{ChosenMethod, names as method_names, register};
pub use simulation::{Error, Go, Reached, Simulation, StopHandle};
