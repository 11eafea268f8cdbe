//! The method's own parameters in the scene's `[method]` table.

use fluvial_solver_interface::{ParamError, PressureParams, Tracker, VolumeCorrection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Parameters of `uniform`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
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
    /// When the pressure solve ends.
    #[serde(flatten)]
    pub pressure: PressureParams,
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
            pressure: PressureParams::default(),
        }
    }
}

impl Params {
    /// The first parameter that is out of range: its name and what it should be.
    pub fn first_error(&self) -> Option<ParamError> {
        let ok = |bad: bool, name, want| bad.then_some((name, want));
        ok(!(0.0..=1.0).contains(&self.flip_ratio), "flip_ratio", "a number from 0 to 1")
            .or(ok(!(2.0..=1e6).contains(&self.narrow_band), "narrow_band", "at least 2 cells"))
            .or(self.pressure.first_error())
    }

    /// Does the level set have its volume carried beside it? Otherwise controllers correct it, or nothing does.
    pub fn conserves_volume(&self) -> bool {
        !self.has_particles() && self.volume_correction != VolumeCorrection::Off
    }

    /// Does the tracker use particles?
    pub fn has_particles(&self) -> bool {
        self.tracker != Tracker::Levelset
    }
}
