//! Walls of the domain that liquid lets go of. Twin in `walls.wgsl`.
//!
//! A wall can push liquid, it cannot pull it: in cells that touch one, `p >= 0`, `div u >= 0`, `p div u = 0` instead of
//! `div u = 0` [batty-2007 §5]. The sweeps of the finest level keep to it, and what they leave open no coarser level
//! answers. Where the pressure is at its bound the liquid has let go: nothing comes out of the wall, which is the liquid's surface there for transport.
//! Were it not, liquid under a ceiling would fall and be there still, a waterfall without a source: a column of one cell's width
//! reached 16 m/s in a closed tank, with twice the energy that there was (test `liquid_lets_go_of_ceilings`).

use crate::field::{Sample, at};
use crate::redistance::REACH_CELLS;
use fluvial_grids::TallGrid;

/// Which walls liquid lets go of, and how easily.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walls {
    /// Walls x-, x+, z-, z+ and the ceiling.
    pub lets_go: [bool; 5],
    /// Height of the ceiling, cells.
    pub height: i32,
    /// How much pressure below the air's a wall bears, Pa: what cycles leave of the pressure's residual must not open gaps.
    pub bears_pa: f32,
}

/// Before walls, where none is near.
const FAR_CELLS: f32 = -1e6;
/// Part of the pressure of one cell's depth that walls bear.
const BEARS: f32 = 1e-2;

impl Walls {
    /// Walls that hold on to liquid.
    pub const HOLDING: Walls = Walls { lets_go: [false; 5], height: i32::MAX, bears_pa: 0.0 };

    /// Walls that let go under an acceleration by gravity.
    pub fn new(lets_go: [bool; 5], height: i32, dx_m: f32, density_kg_m3: f32, gravity_m_s2: f32) -> Walls {
        Walls { lets_go, height, bears_pa: BEARS * density_kg_m3 * gravity_m_s2 * dx_m }
    }

    /// As shaders read them.
    pub fn as_numbers(&self) -> [i32; 8] {
        let [x_low, x_high, z_low, z_high, ceiling] = self.lets_go.map(i32::from);
        [x_low, x_high, z_low, z_high, ceiling, self.height, self.bears_pa.to_bits() as i32, 0]
    }

    /// How far below the air's the pressure of a sample may be, Pa; 0 where it touches no wall that lets go, and nothing bounds it.
    pub fn bears(&self, grid: &TallGrid, s: Sample) -> f32 {
        let touched = [s.i == 0, s.i + 1 == grid.nx, s.k == 0, s.k + 1 == grid.nz, s.y + 1 == self.height];
        match touched.iter().zip(self.lets_go).any(|(touched, lets_go)| *touched && lets_go) {
            true => self.bears_pa,
            false => 0.0,
        }
    }

    /// How far a point lies beyond the walls near it that liquid has let go of, by the pressure, in cells (negative: before
    /// them); the farthest beyond. Walls that still hold a part of the liquid are farther by that part of what phi reaches.
    pub fn beyond(&self, grid: &TallGrid, pressure: &[f32], [x, y, z]: [f32; 3]) -> f32 {
        let last = [(grid.nx - 1) as f32, (grid.nz - 1) as f32];
        let top = (self.height - 1) as f32;
        let walls = [
            (-0.5 - x, [0.0, y, z]),
            (x - last[0] - 0.5, [last[0], y, z]),
            (-0.5 - z, [x, y, 0.0]),
            (z - last[1] - 0.5, [x, y, last[1]]),
            (y - top - 0.5, [x, top, z]),
        ];
        let mut farthest = FAR_CELLS;
        for (n, (beyond, [x, y, z])) in walls.into_iter().enumerate() {
            if !self.lets_go[n] || beyond < -REACH_CELLS || beyond <= farthest {
                continue;
            }
            let column = [x.round_ties_even().clamp(0.0, last[0]), z.round_ties_even().clamp(0.0, last[1])];
            let [i, k] = column.map(|c| c as usize);
            let beside = at(pressure, grid.locate(i, k, y.round_ties_even()));
            if beside < 0.0 {
                let held = 1.0 - (-beside / self.bears_pa).min(1.0);
                farthest = farthest.max(beyond - held * REACH_CELLS);
            }
        }
        farthest
    }
}
