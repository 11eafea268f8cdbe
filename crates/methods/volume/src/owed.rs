//! What cells are owed beside what the surface stands for: how much of it waits, and how fast the rest comes out.

/// Part of what a deep cell is owed that goes to the surface while liquid crosses the cell.
const EXPANSION: f32 = 0.3;
/// The most of a cell's volume that does.
const LARGEST_EXPANSION: f32 = 0.1;

/// Under tension what a cell is owed up to this, in cells, waits in part.
const SMALL: f32 = 0.02;

/// What a cell is owed beyond the part of it that solids have swept.
///
/// The fluxes of a step are those of the solids' places at its begin: while a solid passes, a cell has up to the volume
/// swept in a step too little or too much, and the next step makes up for it. What it is owed beyond that does not wait,
/// or liquid would collect beside a wall that is never at rest, and come out behind it.
#[inline]
pub fn beyond_swept(owed: f32, swept: f32) -> f32 {
    owed - owed.clamp(-swept, swept)
}

/// What the surface takes up of what a cell is owed, in cells, in a round under surface tension: `part` of what is small.
///
/// Fluxes and the carried surface differ in each cell by what an interpolation cannot know. Settled at once, that difference d moves the
/// surface as the fluxes do, and of waves of a few cells the wave operator is symmetric for neither: with the fluxes' motion they grow by 4 a second
/// on a tube of liquid of 26 cells' diameter, without it they decay. With a part r of it taken up in a step, the surface's velocity is
///
/// `v + r / (r + i omega dt) (v_flux - v)`:
///
/// drops swing as the fluxes say (omega dt of a mode below 0.05), short waves (omega dt up to 1.5, at the limit of explicit
/// tension) more as the surface is carried. More than [`SMALL`] is liquid that is missing where it is, and is taken up at once.
/// Test: `small_debts_wait_and_large_ones_do_not`.
#[inline]
pub fn taken_up_under_tension(owed: f32, part: f32) -> f32 {
    let small = owed.clamp(-SMALL, SMALL);
    (owed - small) + part * small
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Short waves of a drop feed on small debts that are settled at once; what has gone missing must not wait.
    #[test]
    fn small_debts_wait_and_large_ones_do_not() {
        for sign in [-1.0, 1.0] {
            assert_eq!(taken_up_under_tension(sign * 0.01, 0.5), sign * 0.005);
            let left = sign * 0.5 - taken_up_under_tension(sign * 0.5, 0.5);
            assert!((left - sign * 0.01).abs() < 1e-6, "{left}");
        }
    }
}
