//! The method's own parameters in the scene's `[method]` table.

use fluvial_octree::gradient::FreeSurface;
use fluvial_octree::interpolate;
use fluvial_octree::sizing::SizingParams;
use fluvial_solver_interface::{ParamError, PressureParams, Tracker, VolumeCorrection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How pressure meets the surface where cells of two sizes meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SurfaceForm {
    /// Symmetric: conjugate gradients; exact but for degenerate T-junctions.
    #[default]
    Symmetric,
    /// Strictly second order: BiCGSTAB.
    SecondOrder,
    /// First order, for comparison only: still liquid does not stay still.
    Naive,
}

/// How fields are interpolated where cells of different size meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interpolation {
    /// Moving least squares: jumps a little from region to region.
    #[default]
    Mls,
    /// Continuous everywhere; takes more time.
    Continuous,
}

/// How surface and velocity are carried from the old tree to the new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Advection {
    /// Back-trace and interpolation: robust, damped.
    SemiLagrangian,
    /// Back-and-forth error correction with a limiter: second order.
    #[default]
    MacCormack,
}

/// Parameters of `octree`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub struct Params {
    /// What carries the liquid's shape: a level set, or particles too where much happens.
    pub tracker: Tracker,
    /// Particles are seeded where the surface asks for cells this many times smaller than the finest
    /// (tracker `flip`).
    #[schemars(range(min = 0))]
    pub particle_detail: f32,
    /// Share of FLIP in the FLIP/PIC blend, 0 to 1 (tracker `flip`).
    #[schemars(range(min = 0, max = 1))]
    pub flip_ratio: f32,
    /// Depth of the particle band below the surface, finest cells (tracker `flip`).
    #[schemars(range(min = 1, max = 16))]
    pub narrow_band: f32,
    /// Smallest cell that the liquid itself may ask for, m: the domain's `dx`, which is the default, times a
    /// power of two. `[[refine]]` goes down to `dx`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub min_dx: Option<f32>,
    /// Largest cell, m: the domain's `dx` times a power of two, of which every side is a multiple. By
    /// default the largest that divides all sides, up to 32 times `dx` and an eighth of the shortest
    /// side.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max_dx: Option<f32>,
    /// Strength of adaptivity, alpha: 1 is fully adaptive, 0 has the finest cells all along the surface.
    #[schemars(range(min = 0, max = 1))]
    pub strength: f32,
    /// Weight of the surface's curvature in the sizing function, gamma_phi.
    #[schemars(range(min = 0))]
    pub curvature_weight: f32,
    /// Weight of stretching in the sizing function, gamma_u, s/m; 3 suits speeds of the order of 1 m/s.
    #[schemars(range(min = 0))]
    pub velocity_weight: f32,
    /// Share of a refinement that is left a hundredth of a second after nothing asks for it any more.
    #[schemars(range(min = 0, max = 1))]
    pub decay: f32,
    /// How pressure meets the surface where cells of two sizes meet.
    pub free_surface: SurfaceForm,
    /// How fields are interpolated where cells of different size meet.
    pub interpolation: Interpolation,
    /// How the level set is carried along.
    pub phi_advection: Advection,
    /// How velocity is carried along.
    pub velocity_advection: Advection,
    /// Steps may be so many times as long as explicit surface tension allows, `sqrt(rho dx^3 / (4 pi
    /// sigma))`: waves too fast for a step are slowed down, so that any number is stable. 0 is plain
    /// explicit tension at its limit, for comparison.
    #[schemars(range(min = 0))]
    pub capillary_cfl: f32,
    /// Does the mean velocity of liquid that touches nothing change by gravity alone? Transport does not conserve momentum; what it has
    /// changed the mean by is taken off all of that liquid, and `mean_velocity_kept` counts it. `false` shows what transport does.
    pub keep_momentum: bool,
    /// What is done about volume that transport lost or gained.
    pub volume_correction: VolumeCorrection,
    /// When the pressure solve ends.
    #[serde(flatten)]
    pub pressure: PressureParams,
}

impl Default for Params {
    fn default() -> Self {
        let sizing = SizingParams::default();
        Params {
            tracker: Tracker::default(),
            particle_detail: 1.0,
            flip_ratio: 0.98,
            narrow_band: 3.0,
            min_dx: None,
            max_dx: None,
            strength: sizing.strength,
            curvature_weight: sizing.curvature_weight,
            velocity_weight: sizing.velocity_weight_s_m,
            decay: sizing.decay,
            free_surface: SurfaceForm::default(),
            interpolation: Interpolation::default(),
            phi_advection: Advection::default(),
            velocity_advection: Advection::default(),
            capillary_cfl: 1.0,
            keep_momentum: true,
            volume_correction: VolumeCorrection::default(),
            pressure: PressureParams::default(),
        }
    }
}

impl Params {
    /// The first parameter that is out of range: its name and what it should be.
    pub fn first_error(&self) -> Option<ParamError> {
        let ok = |bad: bool, name, want| bad.then_some((name, want));
        let positive = |dx: Option<f32>| dx.is_none_or(|dx| dx > 0.0 && dx.is_finite());
        ok(!positive(self.min_dx), "min_dx", "a positive length")
            .or(ok(!positive(self.max_dx), "max_dx", "a positive length"))
            .or(ok(!(0.0..=1.0).contains(&self.strength), "strength", "a number from 0 to 1"))
            .or(ok(!(0.0..=1e6).contains(&self.curvature_weight), "curvature_weight", "0 or more"))
            .or(ok(!(0.0..=1e6).contains(&self.velocity_weight), "velocity_weight", "0 or more"))
            .or(ok(!(0.0..=1e6).contains(&self.capillary_cfl), "capillary_cfl", "0 or more"))
            .or(ok(!(0.0..=1e6).contains(&self.particle_detail), "particle_detail", "0 or more"))
            .or(ok(!(0.0..=1.0).contains(&self.flip_ratio), "flip_ratio", "a number from 0 to 1"))
            .or(ok(!(1.0..=16.0).contains(&self.narrow_band), "narrow_band", "1 to 16 cells"))
            .or(ok(!(0.0..=1.0).contains(&self.decay), "decay", "a number from 0 to 1"))
            .or(ok(self.tracker == Tracker::Apic, "tracker", "\"levelset\" or \"flip\""))
            .or(self.pressure.first_error())
    }

    pub(crate) fn sizing(&self, finest_dx: f32) -> SizingParams {
        SizingParams {
            curvature_weight: self.curvature_weight,
            velocity_weight_s_m: self.velocity_weight,
            decay: self.decay,
            strength: self.strength,
            smallest_dx: self.min_dx.unwrap_or(finest_dx),
            ..SizingParams::default()
        }
    }

    pub(crate) fn form(&self) -> FreeSurface {
        match self.free_surface {
            SurfaceForm::Symmetric => FreeSurface::Symmetric,
            SurfaceForm::SecondOrder => FreeSurface::SecondOrder,
            SurfaceForm::Naive => FreeSurface::Naive,
        }
    }

    pub(crate) fn interpolation(&self) -> interpolate::Interpolation {
        match self.interpolation {
            Interpolation::Mls => interpolate::Interpolation::Mls,
            Interpolation::Continuous => interpolate::Interpolation::Continuous,
        }
    }
}
