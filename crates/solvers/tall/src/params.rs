//! The method's own parameters in the scene's `[method]` table. Where the paper gives a number or a range, the
//! default is of it.

use fluvial_solver_interface::{ParamError, VolumeCorrection};
use fluvial_tall::pressure::multigrid::Cycles;
use fluvial_tall::remesh::RemeshParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// A GPU where the program is built with the feature `gpu` and finds one that is not software, else the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// A GPU through Vulkan, Metal or Direct3D 12, software ones included; an error where there is none.
    Gpu,
}

/// Where the divergence of a tall cell is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TallDivergence {
    /// In its end cells alone, as the paper does: what flows into its middle is not seen.
    Ends,
    /// At its ends, by the line that fits what flows through the sides of all its sub-cells.
    #[default]
    Sides,
}

/// How the level set is carried along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhiScheme {
    /// Back-trace and trilinear interpolation, as the paper does: smooth, loses volume fastest.
    SemiLagrangian,
    /// Back-and-forth error correction: second order.
    #[default]
    MacCormack,
}

/// Parameters of `tall`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub struct Params {
    /// What computes: `auto`, `cpu` or `gpu`.
    pub device: Device,
    /// Cubic cells of every column, above its tall cell (B_y); at least as many as reach from the floor to the highest source and to fills that hang in the air, and
    /// no more than the domain is high.
    pub cubic_cells: u32,
    /// Cubic cells wanted below the lowest surface of a column (G_L).
    pub cells_below: f32,
    /// Cubic cells wanted above the highest surface of a column (G_A).
    pub cells_above: f32,
    /// Largest difference between the tops of neighbouring tall cells, cells (D).
    pub height_difference: f32,
    /// Passes that smooth the tops of tall cells.
    pub smoothing_passes: u32,
    /// Passes that bound their differences.
    pub limiting_passes: u32,
    /// How the level set is carried along.
    pub phi_advection: PhiScheme,
    /// Steps from one redistancing to the next.
    pub redistance_every: u32,
    /// Full multigrid cycles of a step's pressure solve; the first step has five times as many.
    pub full_cycles: u32,
    /// V-cycles after them.
    pub v_cycles: u32,
    /// Sweeps before and after coarser levels.
    pub sweeps: u32,
    /// Where the divergence of a tall cell is measured.
    pub tall_divergence: TallDivergence,
    /// Is volume kept, column by column? `off`: the surface is only carried, as in the paper.
    pub volume_correction: VolumeCorrection,
    /// Spray, mist and foam that the solver makes itself, with maps of foam and of what is wet: 0 for none, 1 for as many as scale with the
    /// scene's size.
    pub spray: f32,
    /// Particles of spray, mist and foam at one time.
    pub spray_particles: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            device: Device::default(),
            cubic_cells: 64,
            cells_below: 8.0,
            cells_above: 8.0,
            height_difference: 4.0,
            smoothing_passes: 2,
            limiting_passes: 2,
            phi_advection: PhiScheme::default(),
            redistance_every: 10,
            full_cycles: 1,
            v_cycles: 2,
            sweeps: 2,
            tall_divergence: TallDivergence::default(),
            volume_correction: VolumeCorrection::default(),
            spray: 0.0,
            spray_particles: 131_072,
        }
    }
}

const WITHOUT_GPU: &str = "`auto` and `cpu` as it is built here; with a GPU it is built by `cargo build --release -p fluvial-cli --features gpu`";

/// The first step has no pressure to start from: a coarse first solution would set water at rest in motion.
const FIRST_STEP_CYCLES: usize = 5;

impl Params {
    /// The first parameter that is out of range: its name and what it should be.
    pub fn first_error(&self) -> Option<ParamError> {
        let cells = |v: f32| (1.0..=1e4).contains(&v);
        let checks = [
            (cfg!(feature = "gpu") || self.device != Device::Gpu, "device", WITHOUT_GPU),
            ((4..=4096).contains(&self.cubic_cells), "cubic_cells", "between 4 and 4096"),
            (cells(self.cells_below), "cells_below", "at least 1 cell"),
            (cells(self.cells_above), "cells_above", "at least 1 cell"),
            (cells(self.height_difference), "height_difference", "at least 1 cell"),
            (self.smoothing_passes <= 100, "smoothing_passes", "at most 100"),
            (self.limiting_passes <= 100, "limiting_passes", "at most 100"),
            ((1..=1000).contains(&self.redistance_every), "redistance_every", "between 1 and 1000"),
            (self.full_cycles <= 100, "full_cycles", "at most 100"),
            (self.v_cycles <= 100, "v_cycles", "at most 100"),
            (self.full_cycles + self.v_cycles > 0, "v_cycles", "at least 1 where `full_cycles` is 0"),
            ((1..=20).contains(&self.sweeps), "sweeps", "between 1 and 20"),
            ((0.0..=1e4).contains(&self.spray), "spray", "between 0 and 1e4"),
            ((1024..=1 << 21).contains(&self.spray_particles), "spray_particles", "between 1024 and 2097152"),
        ];
        checks.into_iter().find(|(good, ..)| !good).map(|(_, name, want)| (name, want))
    }

    /// Is volume carried by fluxes between columns?
    pub fn conserves_volume(&self) -> bool {
        self.volume_correction != VolumeCorrection::Off
    }

    pub(crate) fn remesh(&self) -> RemeshParams {
        RemeshParams {
            cells_below: self.cells_below,
            cells_above: self.cells_above,
            difference: self.height_difference,
            smoothing: self.smoothing_passes as usize,
            limiting: self.limiting_passes as usize,
        }
    }

    /// The cycles of a step; `is_first` where no step was before.
    pub(crate) fn cycles(&self, is_first: bool) -> Cycles {
        let full = self.full_cycles as usize;
        Cycles {
            full: if is_first { full.max(1) * FIRST_STEP_CYCLES } else { full },
            v: self.v_cycles as usize,
            before: self.sweeps as usize,
            after: self.sweeps as usize,
            ..Cycles::default()
        }
    }
}
