//! The momentum of liquid on the faces, and what its pressure gives to what bounds it.

use crate::{FaceCells, Impulse, Openings};
use fluvial_foundation::{AXES, Axis, DVec3};

/// Momentum of the liquid that the pressure sees, in cell masses times m/s: of the open and wet parts of faces.
///
/// Test: `momentum_changes_by_what_acts_from_outside` of `uniform`.
pub fn liquid_momentum(u: impl Fn(Axis, usize) -> f32, seen: &Impulse, openings: &Openings) -> DVec3 {
    let mut sum = DVec3::ZERO;
    for axis in AXES {
        for (face, &area) in openings.area_face[axis].iter().enumerate().filter(|(_, area)| **area > 0.0) {
            if let Some(wet) = seen.wet_part(FaceCells::beside(openings.grid, axis, face)) {
                sum[axis] += f64::from(area) * f64::from(wet) * f64::from(u(axis, face));
            }
        }
    }
    sum
}

/// What the pressure gives the closed parts of faces, but for those that `is_body(axis, at)` closes; in cell masses times m/s.
pub fn push_on_boundaries(
    impulse: &Impulse,
    openings: &Openings,
    is_body: impl Fn(Axis, [usize; 3]) -> bool,
) -> DVec3 {
    let mut sum = DVec3::ZERO;
    let q = |cell: Option<usize>| {
        cell.filter(|&c| impulse.unknown_cell[c]).map_or(0.0, |c| f64::from(impulse.q_cell[c]))
    };
    for axis in AXES {
        let faces = openings.grid.faces(axis);
        for (face, &area) in openings.area_face[axis].iter().enumerate().filter(|(_, area)| **area < 1.0) {
            let FaceCells { low, high } = FaceCells::beside(openings.grid, axis, face);
            let is_wall = low.is_none() || high.is_none();
            if is_wall || !is_body(axis, faces.coordinates(face)) {
                sum[axis] += (1.0 - f64::from(area)) * (q(low) - q(high));
            }
        }
    }
    sum
}
