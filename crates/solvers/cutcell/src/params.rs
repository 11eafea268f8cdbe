//! The method's own parameters in the scene's `[method]` table.

use fluvial_solver_interface::{ParamError, PressureParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How velocities travel between particles and cut cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transfer {
    /// Particles take the change of the grid's velocity; beside solids the velocity itself (PIC).
    #[default]
    Flip,
    /// Particles take the velocity and its gradient: calmer, and angular momentum is kept.
    Apic,
}

/// Parameters of `cutcell`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub struct Params {
    /// Cells of the surface's grid along the edge of a cell.
    pub tracker_factor: u32,
    /// Particles per cell, a cube number.
    pub particles_per_cell: u32,
    /// How velocities travel between particles and cut cells.
    pub transfer: Transfer,
    /// Share of FLIP in the particles' new velocity, the rest is PIC; of no interest with `apic`.
    pub flip: f32,
    /// Least time of the curvature flow, in square cells: curvature of wave number k, per cell, is damped by 1 / (1 + time
    /// k^2). Longer where the step asks for it.
    pub curvature_flow: f64,
    /// When the pressure solve ends.
    #[serde(flatten)]
    pub pressure: PressureParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            tracker_factor: 4,
            particles_per_cell: 8,
            transfer: Transfer::default(),
            flip: 0.97,
            curvature_flow: 0.05,
            pressure: PressureParams::default(),
        }
    }
}

impl Params {
    /// Particles along the edge of a cell.
    pub fn particles_per_axis(&self) -> usize {
        (self.particles_per_cell as f64).cbrt().round() as usize
    }

    /// The first parameter that is out of range: its name and what it should be.
    pub fn first_error(&self) -> Option<ParamError> {
        let per_axis = self.particles_per_axis() as u32;
        let is_cube = per_axis.pow(3) == self.particles_per_cell;
        let checks = [
            ((2..=8).contains(&self.tracker_factor), "tracker_factor", "between 2 and 8"),
            (is_cube && (1..=5).contains(&per_axis), "particles_per_cell", "1, 8, 27, 64 or 125"),
            ((0.0..=1.0).contains(&self.flip), "flip", "between 0 and 1"),
            ((1e-3..=100.0).contains(&self.curvature_flow), "curvature_flow", "between 0.001 and 100"),
        ];
        let own = checks.into_iter().find(|(good, ..)| !good).map(|(_, name, want)| (name, want));
        own.or_else(|| self.pressure.first_error())
    }
}
