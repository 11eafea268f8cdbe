//! The method's own parameters in the scene's `[method]` table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What carries the liquid's shape from step to step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tracker {
    /// A level set on the grid: smooth surfaces, thin features are lost.
    #[default]
    Levelset,
    /// Narrow-band FLIP particles: lively splashes, little numerical friction.
    Flip,
    /// Narrow-band APIC particles: as FLIP, calmer, conserves angular momentum.
    Apic,
}

/// How the level set is carried along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhiScheme {
    /// Back-trace and trilinear interpolation: robust, loses volume fastest.
    SemiLagrangian,
    /// Back-and-forth error correction: second order.
    MacCormack,
    /// Back-trace and limited tricubic interpolation: keeps small waves best.
    #[default]
    Cubic,
}

/// How velocity is carried along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VelocityScheme {
    /// First order, strongly damped.
    SemiLagrangian,
    /// Second order with a limiter.
    #[default]
    MacCormack,
}

/// What is done about volume that transport lost or gained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VolumeCorrection {
    /// Nothing: drift shows as it is.
    Off,
    /// One controller for all liquid.
    Global,
    /// A controller for every connected body of liquid.
    #[default]
    Regional,
}

/// Parameters of `uniform`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// What carries the liquid's shape: a level set, or narrow-band particles.
    pub tracker: Tracker,
    /// How the level set is carried along.
    pub phi_advection: PhiScheme,
    /// How velocity is carried along on the grid.
    pub velocity_advection: VelocityScheme,
    /// Share of FLIP in the FLIP/PIC blend, 0 to 1 (tracker `flip`).
    pub flip_ratio: f32,
    /// Depth of the particle band below the surface, cells (trackers `flip` and `apic`).
    pub narrow_band: f32,
    /// What is done about volume that transport lost or gained.
    pub volume_correction: VolumeCorrection,
    /// The pressure solve ends when its residual has fallen by this factor.
    pub pressure_tolerance: f64,
    /// The pressure solve has failed after this many iterations.
    pub pressure_max_iterations: usize,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            tracker: Tracker::default(),
            phi_advection: PhiScheme::default(),
            velocity_advection: VelocityScheme::default(),
            flip_ratio: 0.98,
            narrow_band: 4.0,
            volume_correction: VolumeCorrection::default(),
            pressure_tolerance: 1e-5,
            pressure_max_iterations: 200,
        }
    }
}

impl Params {
    /// The first parameter that is out of range: its name and what it should be.
    pub fn first_error(&self) -> Option<(&'static str, &'static str)> {
        let ok = |bad: bool, name, want| bad.then_some((name, want));
        ok(!(0.0..=1.0).contains(&self.flip_ratio), "flip_ratio", "a number from 0 to 1")
            .or(ok(!(2.0..=1e6).contains(&self.narrow_band), "narrow_band", "at least 2 cells"))
            .or(ok(
                !(1e-9..=1e-1).contains(&self.pressure_tolerance),
                "pressure_tolerance",
                "between 1e-9 and 0.1",
            ))
            .or(ok(self.pressure_max_iterations == 0, "pressure_max_iterations", "at least 1"))
    }

    /// Does the tracker use particles?
    pub fn has_particles(&self) -> bool {
        self.tracker != Tracker::Levelset
    }
}
