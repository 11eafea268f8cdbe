//! The account of a liquid's volume, on any grid: what there was, what came and went, and what there is.
//!
//! Methods carry volume by construction, so that the difference is rounding; where one is told not to, it is what
//! transport has lost or gained. Nothing is ever corrected here.

mod owed;

pub use owed::{Expansion, beyond_swept, taken_up_under_tension};

use fluvial_foundation::DVec3;

/// The account of all liquid.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// Volume at the start.
    pub start_m3: f64,
    /// Volume that sources have added.
    pub inflow_m3: f64,
    /// Volume that sinks and open walls have taken.
    pub outflow_m3: f64,
    /// Volume at the moment of the last measurement.
    pub volume_m3: f64,
    /// Largest volume that there should have been so far.
    pub largest_expected_m3: f64,
}

impl Account {
    /// Opens the account with what is there.
    pub fn open(&mut self, volume_m3: f64) {
        (self.start_m3, self.volume_m3, self.largest_expected_m3) = (volume_m3, volume_m3, volume_m3);
    }

    /// Takes over a measured volume.
    pub fn measure(&mut self, volume_m3: f64) {
        self.volume_m3 = volume_m3;
        self.largest_expected_m3 = self.largest_expected_m3.max(self.expected_m3());
    }

    /// What sources, sinks and open walls added and took.
    pub fn book_sources_and_sinks(&mut self, in_m3: f64, out_m3: f64) {
        self.inflow_m3 += in_m3;
        self.outflow_m3 += out_m3;
    }

    /// What there should be.
    fn expected_m3(&self) -> f64 {
        self.start_m3 + self.inflow_m3 - self.outflow_m3
    }

    /// Error relative to the largest volume that there should have been.
    pub fn error(&self) -> f64 {
        let wrong_m3 = self.volume_m3 - self.expected_m3();
        if self.largest_expected_m3 > 0.0 { wrong_m3 / self.largest_expected_m3 } else { 0.0 }
    }

    /// The account as numbers, for saving.
    pub fn to_numbers(&self) -> [f64; 5] {
        let Account { start_m3, inflow_m3, outflow_m3, volume_m3, largest_expected_m3 } = *self;
        [start_m3, inflow_m3, outflow_m3, volume_m3, largest_expected_m3]
    }

    /// From what [`Self::to_numbers`] gave.
    pub fn from_numbers(numbers: [f64; 5]) -> Account {
        let [start_m3, inflow_m3, outflow_m3, volume_m3, largest_expected_m3] = numbers;
        Account { start_m3, inflow_m3, outflow_m3, volume_m3, largest_expected_m3 }
    }
}

/// Where the centre of a cell's liquid is, from the cell's centre and in cells. Solids leave `open` of the cell, on the
/// side that `away` points to; `fraction` of the cell is liquid, on the side that `out` points from. Both are unit
/// vectors or zero.
///
/// Test: `the_centre_of_what_a_wall_and_a_surface_leave`.
#[inline]
pub fn liquid_center(fraction: f64, open: f64, out: DVec3, away: DVec3) -> DVec3 {
    // What a cell beside a thin wall holds for its neighbours makes it no larger.
    let open = open.clamp(f64::MIN_POSITIVE, 1.0);
    // The open part is as long along `out` as the solid leaves it.
    let length = 1.0 - (1.0 - open) * away.dot(out).abs();
    0.5 * (1.0 - open) * away - 0.5 * (1.0 - (fraction / open).min(1.0)) * length * out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_and_goes_is_no_error() {
        let mut account = Account::default();
        account.open(2.0);
        account.book_sources_and_sinks(1.0, 0.0);
        account.measure(3.0);
        assert_eq!(account.error(), 0.0);
        account.book_sources_and_sinks(0.0, 2.5);
        account.measure(0.2);
        // A tenth of the most that there was, not of what is left.
        assert!((account.error() + 0.1).abs() < 1e-12, "{}", account.error());
        assert_eq!(Account::from_numbers(account.to_numbers()), account);
        assert_eq!(Account::default().error(), 0.0);
    }

    #[test]
    fn the_centre_of_what_a_wall_and_a_surface_leave() {
        let (up, right) = (DVec3::Y, DVec3::X);
        assert_eq!(liquid_center(1.0, 1.0, up, DVec3::ZERO), DVec3::ZERO);
        assert_eq!(liquid_center(0.5, 1.0, up, DVec3::ZERO), -0.25 * up);
        // A floor in the middle: full above it, and half full above it.
        assert_eq!(liquid_center(0.5, 0.5, up, up), 0.25 * up);
        assert_eq!(liquid_center(0.25, 0.5, up, up), 0.125 * up);
        // A wall in the middle, and a surface across it.
        assert_eq!(liquid_center(0.25, 0.5, up, right), 0.25 * right - 0.25 * up);
        assert!(liquid_center(0.0, 0.0, up, up).is_finite());
    }
}
