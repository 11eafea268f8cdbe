//! The GPU as kernels need it, and the sources of their shaders.
//!
//! Without the feature `gpu` the crate holds [`ShaderSource`] alone, so that methods can carry their WGSL and
//! a test can compile every shader of the tree on a machine without a GPU. With it come the adapter, typed
//! buffers from a pool, compute pipelines, and recordings: many dispatches in one compute pass, timed where
//! the adapter can.
//!
//! What a run needs of a device is decided here and nowhere else: a missing adapter, a shader that does not
//! compile, a lost device and a time-out are all [`DeviceError`]s, never a hang and never a panic.

mod shader;
pub use shader::{ShaderPart, ShaderSource};

#[cfg(feature = "gpu")]
mod gpu;
#[cfg(feature = "gpu")]
pub use gpu::{
    adapter::{AdapterChoice, AdapterRecord, Device, Limits, adapters},
    buffer::{Binding, Buffer},
    compute::{Bound, Clock, Pipeline, Recording, StageTime},
};

/// What a device, or the wish for one, can answer instead of a result.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// No adapter fits the choice.
    #[error(
        "no GPU adapter: looked for {looked_for} through Vulkan, Metal and Direct3D 12, found {found}. \
         Without a GPU, install software Vulkan: `apt-get install mesa-vulkan-drivers libvulkan1` on Debian and \
         Ubuntu, `dnf install mesa-vulkan-drivers` on Fedora; `vulkaninfo --summary` lists what is there"
    )]
    NoAdapter {
        /// What was asked for, in words.
        looked_for: String,
        /// The adapters that are there, in words.
        found: String,
    },
    /// The adapter is there and refuses to give a device.
    #[error("the adapter {adapter} gives no device: {reason}")]
    Refused {
        /// The adapter's name.
        adapter: String,
        /// The driver's reason.
        reason: String,
    },
    /// A shader does not compile.
    #[error("shader {shader} does not compile: {message}")]
    Shader {
        /// The shader's name.
        shader: String,
        /// `file:line: what is wrong`, one line a fault.
        message: String,
    },
    /// A buffer is larger than the device can bind.
    #[error("buffer {label} needs {bytes} bytes, the device binds at most {limit}")]
    TooLarge {
        /// The buffer's label.
        label: String,
        /// Size asked for.
        bytes: u64,
        /// Largest size that can be bound.
        limit: u64,
    },
    /// A call that the device's rules forbid: a fault of the program.
    #[error("the device refuses the call: {0}")]
    Invalid(String),
    /// The device is gone: driver reset, unplugged, given up.
    #[error("the device is lost: {0}")]
    Lost(String),
    /// The device did not finish in time.
    #[error("the device did not finish within {seconds} s")]
    TimedOut {
        /// How long was waited.
        seconds: f64,
    },
}
