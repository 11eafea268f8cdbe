//! Parameters that several methods share, under one name each in the scene's `[method]` table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the first parameter that is out of range, and what it should be.
pub type ParamError = (&'static str, &'static str);

/// What carries the liquid's shape from step to step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tracker {
    /// A level set alone: smooth surfaces; features thinner than a cell are lost.
    #[default]
    Levelset,
    /// FLIP particles in a narrow band below the surface: lively splashes, little numerical friction.
    Flip,
    /// APIC particles in a narrow band (`uniform` only): calmer than FLIP, and angular momentum is conserved.
    Apic,
}

/// Is the volume of liquid kept by construction?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VolumeCorrection {
    /// No: the surface is only carried, and its drift shows as it is.
    Off,
    /// Yes: fluxes carry what each cell holds, and the surface follows; what it cannot hold flies as drops. Particles
    /// carry their volume for life. (`"global"` and `"regional"` of older scenes mean the same.)
    #[default]
    #[serde(alias = "global", alias = "regional")]
    On,
}

/// When the pressure solve ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PressureParams {
    /// The pressure solve ends when its residual has fallen by this factor.
    pub pressure_tolerance: f64,
    /// The pressure solve has failed after this many iterations.
    pub pressure_max_iterations: usize,
}

impl Default for PressureParams {
    fn default() -> Self {
        PressureParams { pressure_tolerance: 1e-5, pressure_max_iterations: 200 }
    }
}

impl PressureParams {
    /// The first parameter that is out of range.
    pub fn first_error(&self) -> Option<ParamError> {
        if !(1e-9..=1e-1).contains(&self.pressure_tolerance) {
            return Some(("pressure_tolerance", "between 1e-9 and 0.1"));
        }
        (self.pressure_max_iterations == 0).then_some(("pressure_max_iterations", "at least 1"))
    }

    /// As the linear solvers take them.
    pub fn stopping(&self) -> fluvial_linear::Params {
        fluvial_linear::Params {
            relative_tolerance: self.pressure_tolerance,
            absolute_tolerance: 0.0,
            max_iterations: self.pressure_max_iterations,
            ..fluvial_linear::Params::DEFAULT
        }
    }
}
