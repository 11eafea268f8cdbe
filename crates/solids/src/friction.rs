//! Friction of walls and solids: the pieces of rough boundary, and what they do to the liquid.
//!
//! A wall takes the momentum `tau = 1/2 rho C_f |u_t| u_t` by area and time from liquid that moves along it with the
//! relative velocity u_t: the law of hydraulics (Darcy, Chézy), in which C_f stands for roughness and turbulence together.
//! Turbulence also hands the pull on to all the depth of a stream. The equations here have no viscosity that would, and
//! taken from the lowest cells alone they would stop and the rest would slide over them, sooner on finer grids. So a piece
//! of wall pulls on all liquid above it as far as it reaches, the depth L along an axis:
//!
//! `du/dt = - C_f / (2 L) |u_t| u_t`,
//!
//! the law of a stream with its hydraulic radius where several walls pull. An oblique piece pulls along every axis
//! by the square of its normal's component: with the depths h / n_a of a layer h thick this sums to 1 / h.
//!
//! In a step the rates `r_i = C_f dt |u_t| / (2 L)` of the pieces above which a cell lies give
//! `u -= sum_i r_i u_t,i / (1 + sum_i r_i)`: exact for one wall, never backwards, and no energy is gained from
//! walls at rest.

use fluvial_foundation::{AXES, Vec3};

/// Wall areas below this part of a cell's side are rounding.
const LEAST_AREA: f32 = 1e-3;

/// A piece of rough boundary in a cell, as it pulls along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoughPatch {
    /// The cell.
    pub cell: u32,
    /// The cell's side, `2 axis + (up)`, towards which the liquid above the piece lies.
    pub toward: u8,
    /// Half its friction coefficient times its share of the area, over the area of the cell's side.
    pub strength: f32,
    /// Points into the liquid.
    pub normal: Vec3,
    /// m/s.
    pub velocity: Vec3,
}

/// Appends the rough pieces in a cell. `open` are the parts of its sides outside solids, `wall_friction` the
/// coefficients of walls of the domain at its sides, `solid` coefficient and velocity of the solid in it.
///
/// Between two solids in one cell there is none: they close opposite sides, and the areas cancel.
///
/// Test: `an_oblique_floor_pulls_on_a_layer_as_a_level_one_does` of `fluvial_mac`.
pub fn add_rough_patches(
    out: &mut Vec<RoughPatch>,
    cell: usize,
    open: [f32; 6],
    wall_friction: [f32; 6],
    solid: impl FnOnce() -> (f32, Vec3),
) {
    let mut add = |toward: usize, area: f32, friction: f32, normal: Vec3, velocity: Vec3| {
        if area > LEAST_AREA && friction > 0.0 {
            let (cell, toward, strength) = (cell as u32, toward as u8, 0.5 * friction * area);
            out.push(RoughPatch { cell, toward, strength, normal, velocity });
        }
    };
    for side in 0..6 {
        let inward = Vec3::AXES[side / 2] * if side % 2 == 0 { 1.0 } else { -1.0 };
        add(side ^ 1, open[side], wall_friction[side], inward, Vec3::ZERO);
    }
    // The open parts of the sides and the wall close up around the liquid.
    let area = Vec3::from_array(AXES.map(|axis| open[2 * axis + 1] - open[2 * axis]));
    let size = area.length();
    if size > LEAST_AREA {
        let (friction, velocity) = solid();
        let normal = area / size;
        for axis in AXES {
            let share = size * normal[axis] * normal[axis];
            add(2 * axis + (normal[axis] > 0.0) as usize, share, friction, normal, velocity);
        }
    }
}

/// What all pieces together do to the liquid in a cell in a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drag {
    rate: f32,
    pull: Vec3,
}

impl Drag {
    /// Adds a piece that pulls on a depth; `per_speed` is its strength times dt over the depth, s/m.
    #[inline]
    pub fn add(&mut self, u: Vec3, patch: &RoughPatch, per_speed: f32) {
        let relative = u - patch.velocity;
        let along = relative - patch.normal * patch.normal.dot(relative);
        let rate = per_speed * along.length();
        self.rate += rate;
        self.pull += rate * along;
    }

    /// The change of velocity, m/s.
    #[inline]
    pub fn change(&self) -> Vec3 {
        -self.pull / (1.0 + self.rate)
    }
}
