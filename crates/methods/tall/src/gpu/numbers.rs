//! The numbers of a step, read back as a few sums a row of columns (`report.wgsl`).

/// Sums and largest values of a column.
const SUMS: usize = 9;
const LARGEST: usize = 4;
pub(super) const SLOTS: usize = SUMS + LARGEST;
/// Numbers of a row of columns: sums have two each.
pub(super) const ROW: usize = 2 * SUMS + LARGEST;

/// What a step says of its liquid; lengths are in cells, speeds in m/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepNumbers {
    /// Sum over liquid cells of the squared speed.
    pub kinetic: f64,
    /// Sum over liquid cells of the height of their centre.
    pub heights: f64,
    /// Unknowns of the pressure.
    pub unknowns: f64,
    /// Volume that phi stands for, and what columns hold beside it.
    pub held: f64,
    /// See `held`.
    pub residual: f64,
    /// Volume that has left through sinks and open walls.
    pub left: f64,
    /// Columns whose surface was displaced by as much as it may be.
    pub displaced: f64,
    /// Unknowns whose distance to the surface is floored.
    pub floored: f64,
    /// Samples that are not finite.
    pub not_finite: f64,
    /// Largest speed in liquid, squared.
    pub speed2: f64,
    /// Largest divergence, 1/s.
    pub divergence: f64,
    /// Largest residual of the pressure's equations.
    pub left_over: f64,
    /// Largest right side of them.
    pub right_side: f64,
}

impl StepNumbers {
    /// Adds up rows, in their order.
    pub(super) fn of_rows(rows: &[f32]) -> StepNumbers {
        let (mut sums, mut largest) = ([0.0f64; SUMS], [0.0f64; LARGEST]);
        for row in rows.chunks_exact(ROW) {
            for (n, sum) in sums.iter_mut().enumerate() {
                *sum += f64::from(row[2 * n]) + f64::from(row[2 * n + 1]);
            }
            for (n, most) in largest.iter_mut().enumerate() {
                *most = most.max(f64::from(row[2 * SUMS + n]));
            }
        }
        let [kinetic, heights, unknowns, held, residual, left, displaced, floored, not_finite] = sums;
        let [speed2, divergence, left_over, right_side] = largest;
        StepNumbers {
            kinetic,
            heights,
            unknowns,
            held,
            residual,
            left,
            displaced,
            floored,
            not_finite,
            speed2,
            divergence,
            left_over,
            right_side,
        }
    }
}
