//! A simulation to watch and to touch.
//!
//! [`Session`] is the simulation: frames, single steps, pushes and pours, and what is seen of it ([`Drawn`]). `Renderer` draws that on the GPU: water that
//! refracts and mirrors, shadows, spray and foam. The window and its headless twin are built from the two; both need the feature `gpu`,
//! the window `window` too.

mod drawn;
#[cfg(feature = "gpu")]
mod headless;
#[cfg(feature = "gpu")]
mod meshes;
mod orbit;
#[cfg(feature = "gpu")]
mod renderer;
mod session;
#[cfg(feature = "gpu")]
mod targets;
#[cfg(feature = "gpu")]
mod view;
#[cfg(feature = "gpu")]
mod waves;
#[cfg(feature = "window")]
mod window;

pub use drawn::Drawn;
#[cfg(feature = "gpu")]
pub use headless::screenshot;
pub use orbit::Orbit;
#[cfg(feature = "gpu")]
pub use renderer::Renderer;
pub use session::Session;
#[cfg(feature = "window")]
pub use window::open;

use fluvial_simulation::RunError;

/// Why there is nothing to see.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// No driver, or none that draws.
    #[error(
        "there is no GPU to draw with: {0}. Where none is, Mesa's software Vulkan (mesa-vulkan-drivers) will do"
    )]
    NoGpu(String),
    /// No display to open a window on.
    #[error("no window could be opened: {0}. `--frames N --screenshot FILE` draws without a display")]
    NoDisplay(String),
    /// The simulation cannot go on.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A picture could not be written.
    #[error(transparent)]
    Output(#[from] fluvial_output::OutputError),
}
