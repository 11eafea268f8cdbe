//! The method's own parameters in the scene's `[method]` table. The first thirteen are those of the paper's
//! Fig. 15, with its values as defaults.

use fluvial_sheets::SheetParams;
use fluvial_solver_interface::{ParamError, PressureParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How particles are kept evenly spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PositionCorrection {
    /// Not at all: particles clump as in plain FLIP.
    Off,
    /// Alike in all directions: thickens sheets; kept for comparison.
    Isotropic,
    /// Along the shape of the neighbourhood: sheets stay thin.
    #[default]
    Anisotropic,
}

/// Parameters of `sheets`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub struct Params {
    /// Reach of the kernel that carries velocity to the grid, in particle radii (alpha_u).
    pub velocity_reach: f32,
    /// Reach of the kernel that measures density and shape, in particle radii (alpha_rho).
    pub density_reach: f32,
    /// A cell is liquid above this share of its full density (alpha_L).
    pub liquid_share: f32,
    /// Share of FLIP in the FLIP/PIC blend, 0 to 1 (alpha_nu).
    pub flip_ratio: f32,
    /// Particles below this share of the full density are at the surface (alpha_dOmega).
    pub surface_density: f32,
    /// A neighbourhood is thin when its smallest stretch is below this share of its largest (beta_thin).
    pub thin_ratio: f32,
    /// Least distance of a new particle from all others, in particle radii (beta_min).
    pub insert_min: f32,
    /// Widest gap that a new particle bridges, in particle radii (beta_max).
    pub insert_max: f32,
    /// Inserted particles that are no longer in a sheet are removed above this share of the full density
    /// (beta_maxrho).
    pub collapse_density: f32,
    /// Inserted particles are removed when another is nearer than this, in particle radii (beta_dist).
    pub collapse_distance: f32,
    /// Stiffness of the position correction, 1/s, for steps of `nominal_dt` (gamma_s).
    pub stiffness: f32,
    /// The step, s, that `stiffness` is meant for (Delta t): a step moves particles by their product,
    /// whatever its own length.
    pub nominal_dt: f32,
    /// Particles seeded in a cell: 8 or 27 (N_0).
    pub particles_per_cell: u32,
    /// Insert particles where sheets are about to tear.
    pub preserve_sheets: bool,
    /// Merge particles in deep liquid.
    pub adaptive_sampling: bool,
    /// How particles are kept evenly spaced.
    pub position_correction: PositionCorrection,
    /// Rounds in which thin labels spread to the joints of sheets.
    pub junction_rounds: u32,
    /// Sheets below this share of the full density are no longer kept whole.
    pub thinnest_density: f32,
    /// Particles lighter than this share of a small one are not split any more.
    pub lightest_mass: f32,
    /// Samples of the surface per cell and axis, 1 to 8.
    pub surface_refinement: u32,
    /// Reach of a particle of a sheet along the sheet when the surface is made, in particle radii.
    pub sheet_reach: f32,
    /// When the pressure solve ends.
    #[serde(flatten)]
    pub pressure: PressureParams,
}

impl Default for Params {
    fn default() -> Self {
        let sheets = SheetParams::new(1.0);
        Params {
            velocity_reach: 1.0,
            density_reach: sheets.density_reach,
            liquid_share: 0.2,
            flip_ratio: 0.95,
            surface_density: sheets.surface_density,
            thin_ratio: sheets.thin_ratio,
            insert_min: sheets.insert_min,
            insert_max: sheets.insert_max,
            collapse_density: sheets.collapse_density,
            collapse_distance: sheets.collapse_distance,
            stiffness: 50.0,
            nominal_dt: 0.006,
            particles_per_cell: 8,
            preserve_sheets: true,
            adaptive_sampling: true,
            position_correction: PositionCorrection::default(),
            junction_rounds: sheets.junction_rounds,
            thinnest_density: sheets.thinnest_density,
            lightest_mass: sheets.lightest_mass,
            surface_refinement: 2,
            sheet_reach: 1.5,
            pressure: PressureParams::default(),
        }
    }
}

impl Params {
    /// The first parameter that is out of range: its name and what it should be.
    pub fn first_error(&self) -> Option<ParamError> {
        let share = |v: f32| (0.0..=1.0).contains(&v);
        let checks: [(bool, &'static str, &'static str); 18] = [
            ((0.25..=4.0).contains(&self.velocity_reach), "velocity_reach", "between 0.25 and 4 radii"),
            ((1.0..=8.0).contains(&self.density_reach), "density_reach", "between 1 and 8 radii"),
            (self.liquid_share > 0.0 && self.liquid_share < 1.0, "liquid_share", "between 0 and 1"),
            (share(self.flip_ratio), "flip_ratio", "a number from 0 to 1"),
            (share(self.surface_density), "surface_density", "a number from 0 to 1"),
            (share(self.thin_ratio), "thin_ratio", "a number from 0 to 1"),
            ((0.1..=4.0).contains(&self.insert_min), "insert_min", "between 0.1 and 4 radii"),
            (
                self.insert_max >= 2.0 * self.insert_min && self.insert_max <= 8.0,
                "insert_max",
                "at least twice `insert_min` and at most 8 radii",
            ),
            (share(self.collapse_density), "collapse_density", "a number from 0 to 1"),
            (share(self.collapse_distance), "collapse_distance", "a number from 0 to 1"),
            ((0.0..=1e6).contains(&self.stiffness), "stiffness", "at least 0"),
            (
                (0.0..=1.0).contains(&(self.stiffness * self.nominal_dt)) && self.nominal_dt >= 0.0,
                "nominal_dt",
                "at least 0, and times `stiffness` at most 1",
            ),
            ([8, 27].contains(&self.particles_per_cell), "particles_per_cell", "8 or 27"),
            (self.junction_rounds <= 8, "junction_rounds", "at most 8"),
            (share(self.thinnest_density), "thinnest_density", "a number from 0 to 1"),
            (share(self.lightest_mass), "lightest_mass", "a number from 0 to 1"),
            ((1..=8).contains(&self.surface_refinement), "surface_refinement", "between 1 and 8"),
            ((0.5..=4.0).contains(&self.sheet_reach), "sheet_reach", "between 0.5 and 4 radii"),
        ];
        let wrong = checks.into_iter().find(|(good, ..)| !good).map(|(_, name, want)| (name, want));
        wrong.or(self.pressure.first_error())
    }

    /// Radius of a small particle for cells of `dx`: the spacing that it is seeded with.
    pub fn radius_m(&self, dx: f32) -> f32 {
        dx / (self.particles_per_cell as f32).cbrt()
    }

    /// The kernels' numbers for cells of `dx`.
    pub(crate) fn sheets(&self, dx: f32) -> SheetParams {
        SheetParams {
            density_reach: self.density_reach,
            surface_density: self.surface_density,
            thin_ratio: self.thin_ratio,
            insert_min: self.insert_min,
            insert_max: self.insert_max,
            collapse_density: self.collapse_density,
            collapse_distance: self.collapse_distance,
            thinnest_density: self.thinnest_density,
            lightest_mass: self.lightest_mass,
            junction_rounds: self.junction_rounds,
            ..SheetParams::new(self.radius_m(dx))
        }
    }
}
