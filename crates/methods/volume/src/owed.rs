//! What cells are owed beside what the surface stands for: how much of it waits, and how fast the rest comes out.

/// Part of what a deep cell is owed that goes to the surface while liquid crosses the cell.
const EXPANSION: f32 = 0.3;
/// The most of a cell's volume that does.
const LARGEST_EXPANSION: f32 = 0.1;

/// What a cell is owed beyond the part of it that solids have swept.
///
/// The fluxes of a step are those of the solids' places at its begin: while a solid passes, a cell has up to the volume
/// swept in a step too little or too much, and the next step makes up for it. What it is owed beyond that does not wait,
/// or liquid would collect beside a wall that is never at rest, and come out behind it.
#[inline]
pub fn beyond_swept(owed: f32, swept: f32) -> f32 {
    owed - owed.clamp(-swept, swept)
}

/// How fast what deep cells are owed goes to the surface.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expansion {
    /// Part of it per second.
    rate_1_s: f32,
}

impl Expansion {
    /// In cells of edge `dx`: not faster than liquid at `speed_m_s`, or a wave of the cell's length, crosses one, or short
    /// steps would make it a blast.
    pub fn new(dx: f32, speed_m_s: f32, gravity_m_s2: f32, dt_s: f32) -> Self {
        let wave_m_s = (gravity_m_s2 * dx).sqrt();
        let crossing_s = dx / (speed_m_s + wave_m_s).max(f32::MIN_POSITIVE);
        Expansion { rate_1_s: EXPANSION / crossing_s.max(dt_s) }
    }

    /// Divergence that a cell is to have, by what it is owed in its volume, 1/s.
    pub fn divergence_1_s(self, owed: f32) -> f32 {
        let most = LARGEST_EXPANSION / EXPANSION;
        self.rate_1_s * owed.clamp(-most, most)
    }
}
