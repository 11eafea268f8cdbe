//! The method's own parameters in the scene's `[method]` table.

use fluvial_solver_interface::{ParamError, PressureParams, VolumeCorrection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `power`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub struct Params {
    /// How many times finer than the smallest leaf the level set is: 2, 4 or 8.
    pub band_factor: u32,
    /// Half the width of the band of voxels around the surface, smallest leaves.
    #[schemars(range(min = 2, max = 16))]
    pub band_width: f32,
    /// Leaves as small as the surface's reach this many leaves to both sides of it.
    #[schemars(range(min = 1, max = 64))]
    pub surface_depth: f32,
    /// Size of leaves at the surface, m: the domain's `dx`, which is the default, times a power of two. `[[refine]]` goes
    /// down to `dx`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub surface_dx: Option<f32>,
    /// Number of sizes of leaves, each twice the one before; by default as many as the sides allow, up to 6 and an eighth of
    /// the shortest side.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 12))]
    pub levels: Option<u32>,
    /// What is done about volume that transport lost or gained.
    pub volume_correction: VolumeCorrection,
    /// When the pressure solve ends.
    #[serde(flatten)]
    pub pressure: PressureParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            band_factor: 4,
            band_width: 3.0,
            surface_depth: 3.0,
            surface_dx: None,
            levels: None,
            volume_correction: VolumeCorrection::default(),
            pressure: PressureParams::default(),
        }
    }
}

impl Params {
    /// The first parameter that is out of range: its name and what it should be.
    pub fn first_error(&self) -> Option<ParamError> {
        let positive = |dx: Option<f32>| dx.is_none_or(|dx| dx > 0.0 && dx.is_finite());
        let checks = [
            ([2, 4, 8].contains(&self.band_factor), "band_factor", "2, 4 or 8"),
            ((2.0..=16.0).contains(&self.band_width), "band_width", "2 to 16 leaves"),
            ((1.0..=64.0).contains(&self.surface_depth), "surface_depth", "1 to 64 leaves"),
            (positive(self.surface_dx), "surface_dx", "a positive length"),
            (self.levels.is_none_or(|n| (1..=12).contains(&n)), "levels", "1 to 12"),
        ];
        let first = checks.into_iter().find(|(holds, ..)| !holds).map(|(_, name, wanted)| (name, wanted));
        first.or(self.pressure.first_error())
    }
}
