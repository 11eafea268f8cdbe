//! The values of the cells around one, as seen from it: values behind a thin solid are replaced by a continuation
//! from this side.

use crate::{Lattice, Sides};
use fluvial_foundation::{DMat3, DVec3, Vec3};

/// Largest radius of a patch, in cells.
const LARGEST_RADIUS: usize = 3;
const LARGEST: usize = (2 * LARGEST_RADIUS + 1).pow(3);
/// The slope that values go on with is that of the nearest cells: a cell at `d` cells from the centre counts by `(1 + d^2)` to minus
/// this. With half of it a level surface under a slanting wall sinks by a hundredth of a cell in twenty redistancings.
const NEAREST: i32 = 6;
/// Part of the trace that is added to the matrix of a fit: cells in a plane or on a line leave it singular.
const REGULARISATION: f64 = 1e-9;

/// How far a patch goes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reach {
    /// No farther than so many cells along each axis.
    pub radius: usize,
    /// A cell is seen when one way without a detour leads there, and none from a cell that is seen as well ends at a wall before it. Below
    /// a slanting wall the surface is seen only so; beside a rim one sees what lies beyond it.
    pub round_corners: bool,
    /// Beyond the domain's walls as well, as behind solids: slopes at a wall are those of both sides. With one-sided ones an error of a cell
    /// beside it that has its distance from the plane at the wall was twice as large when it had it again.
    pub beyond_walls: bool,
}

/// A box of cells around one.
pub struct Patch {
    values: [f32; LARGEST],
    unknown: [u8; LARGEST],
    unseen: [u8; LARGEST],
    /// The patch as a lattice of its own.
    pub lattice: Lattice,
    /// The cell's place in it.
    pub center: [usize; 3],
}

impl Patch {
    /// Copies the value of the cells that `at` sees, no farther than `radius` cells along each axis, and continues it
    /// into the others as into solids. A cell is seen when all ways without a detour lead there through open faces: no wall stands in the box
    /// between the two. Were one way enough, cells beside a rim would look over it and down behind the wall. That a
    /// face is not barred is not enough: faces inside a solid are not where its sides meet nearby, at a rim, and what
    /// closed cells hold may come from either side.
    pub fn new(
        value: impl Fn(usize) -> f32,
        cells: &Lattice,
        sides: &Sides,
        at: [usize; 3],
        radius: usize,
    ) -> Self {
        Self::of_known(|cell| Some(value(cell)), cells, sides, at, radius)
    }

    /// The same, as far as `reach` says.
    pub fn reaching(
        value: impl Fn(usize) -> f32,
        cells: &Lattice,
        sides: &Sides,
        at: [usize; 3],
        reach: Reach,
    ) -> Self {
        Self::with_sight(|cell| Some(value(cell)), cells, sides, at, reach)
    }

    /// The same where not every cell that is seen has a value of its own; what lies behind one that has none is not seen, and it
    /// is continued into, as the cells that are not seen. The centre may be one of them.
    pub fn of_known(
        value: impl Fn(usize) -> Option<f32>,
        cells: &Lattice,
        sides: &Sides,
        at: [usize; 3],
        radius: usize,
    ) -> Self {
        Self::with_sight(value, cells, sides, at, Reach { radius, ..Reach::default() })
    }

    fn with_sight(
        value: impl Fn(usize) -> Option<f32>,
        cells: &Lattice,
        sides: &Sides,
        at: [usize; 3],
        reach: Reach,
    ) -> Self {
        let radius = reach.radius;
        debug_assert!(radius <= LARGEST_RADIUS);
        let below = at.map(|v| if reach.beyond_walls { radius } else { radius.min(v) });
        let above =
            |a: usize| if reach.beyond_walls { radius } else { radius.min(cells.size[a] - 1 - at[a]) };
        let size = std::array::from_fn(|a| below[a] + 1 + above(a));
        let lattice = Lattice { size, origin: Vec3::ZERO, spacing: cells.spacing };
        let mut patch = Patch {
            values: [0.0; LARGEST],
            unknown: [1; LARGEST],
            unseen: [1; LARGEST],
            lattice,
            center: below,
        };
        // The cell at a place of the patch; none beyond the domain's walls.
        let cell_at = |c: [usize; 3]| {
            let [i, j, k]: [usize; 3] = std::array::from_fn(|a| (at[a] + c[a]).wrapping_sub(below[a]));
            (i < cells.size[0] && j < cells.size[1] && k < cells.size[2]).then(|| cells.index(i, j, k))
        };
        patch.see(value, cell_at, (cells, sides), reach.round_corners);
        patch.unseen = patch.unknown;
        patch.continue_unseen(2 * radius);
        patch
    }

    /// The values on the patch.
    pub fn values(&self) -> &[f32] {
        &self.values[..self.lattice.len()]
    }

    /// The value at the centre, which may be a continued one; `None` where nothing was known.
    pub fn center_value(&self) -> Option<f32> {
        let [i, j, k] = self.center;
        let center = self.lattice.index(i, j, k);
        (self.unknown[center] == 0).then(|| self.values[center])
    }

    /// Is the value one that the centre sees?
    pub fn is_seen(&self, index: usize) -> bool {
        self.unseen[index] == 0
    }

    /// Copies the values that the centre sees: its own, and outwards from it those of cells to which all of their neighbours towards
    /// the centre are joined; `round_corners`: all that are seen themselves.
    fn see(
        &mut self,
        value: impl Fn(usize) -> Option<f32>,
        cell_at: impl Fn([usize; 3]) -> Option<usize>,
        (cells, sides): (&Lattice, &Sides),
        round_corners: bool,
    ) {
        let (lattice, center) = (self.lattice, self.center);
        let middle = lattice.index(center[0], center[1], center[2]);
        // Outwards along an axis: the centre's place, those below it, those above it.
        let outwards = |axis: usize| (0..=center[axis]).rev().chain(center[axis] + 1..lattice.size[axis]);
        for (k, j) in outwards(2).flat_map(|k| outwards(1).map(move |j| (k, j))) {
            for i in outwards(0) {
                let (c, here) = ([i, j, k], lattice.index(i, j, k));
                let Some(cell) = cell_at(c) else { continue };
                // None where the neighbour towards the centre is not seen itself and need not be.
                let is_joined = |axis: usize| {
                    let up = c[axis] < center[axis];
                    let [back, other] = [&lattice, cells].map(|l| l.stride(axis));
                    let (before, to) =
                        if up { (here + back, cell + other) } else { (here - back, cell - other) };
                    // The centre is seen whether it has a value or not.
                    let is_seen = self.unknown[before] == 0 || before == middle;
                    (is_seen || !round_corners).then(|| is_seen && sides.are_joined(cell, to, axis, up))
                };
                let ways = (0..3).filter(|&axis| c[axis] != center[axis]).filter_map(is_joined);
                let (joined, barred) =
                    ways.fold(
                        (0, 0),
                        |(joined, barred), is_joined| {
                            if is_joined { (joined + 1, barred) } else { (joined, barred + 1) }
                        },
                    );
                if (here == middle || joined > 0 && barred == 0)
                    && let Some(value) = value(cell)
                {
                    (self.values[here], self.unknown[here]) = (value, 0);
                }
            }
        }
    }

    /// Continues values into the cells that are not seen, layer by layer, with one slope: that of the seen ones, nearest to the
    /// centre most. What is continued is read for its value alone, or errors would grow from layer to layer: with `2 v_1 - v_2` along
    /// lines a ripple of a thousandth of a cell on the open side of a wall became one of a twentieth behind it.
    /// Test: `what_is_continued_errs_no_more_than_what_is_seen`.
    fn continue_unseen(&mut self, layers: usize) {
        let (lattice, slope) = (self.lattice, self.slope());
        let mut found = [(0u16, 0.0f32); LARGEST];
        for _ in 0..layers {
            let mut count = 0;
            for index in (0..lattice.len()).filter(|&index| self.unknown[index] != 0) {
                let c = lattice.coordinates(index);
                let (mut sum, mut known) = (0.0, 0.0);
                for axis in 0..3 {
                    let stride = lattice.stride(axis);
                    if c[axis] > 0 && self.unknown[index - stride] == 0 {
                        (sum, known) = (sum + self.values[index - stride] + slope[axis], known + 1.0);
                    }
                    if c[axis] + 1 < lattice.size[axis] && self.unknown[index + stride] == 0 {
                        (sum, known) = (sum + self.values[index + stride] - slope[axis], known + 1.0);
                    }
                }
                if known > 0.0 {
                    found[count] = (index as u16, sum / known);
                    count += 1;
                }
            }
            if count == 0 {
                return;
            }
            for &(index, value) in &found[..count] {
                (self.values[index as usize], self.unknown[index as usize]) = (value, 0);
            }
        }
    }

    /// The slope of the seen values per cell: least squares about their mean, the less weight on a cell the farther it is from the centre
    /// and from the surface, where a level set may saturate; none along directions in which nothing is seen.
    fn slope(&self) -> Vec3 {
        let seen = |n: &usize| self.unknown[*n] == 0;
        let place = |n: usize| {
            let c = self.lattice.coordinates(n);
            DVec3::from_array(std::array::from_fn(|a| c[a] as f64 - self.center[a] as f64))
        };
        let (mut weights, mut mean_place, mut mean) = (0.0, DVec3::ZERO, 0.0);
        let weight = |n: usize| {
            let cells = f64::from(self.values[n] / self.lattice.spacing);
            (1.0 + place(n).length_squared()).powi(-NEAREST) / (1.0 + cells * cells)
        };
        for n in (0..self.lattice.len()).filter(seen) {
            let (w, d) = (weight(n), place(n));
            weights += w;
            mean_place += w * d;
            mean += w * f64::from(self.values[n]);
        }
        if weights == 0.0 {
            return Vec3::ZERO;
        }
        (mean_place, mean) = (mean_place / weights, mean / weights);
        let (mut m, mut b) = ([DVec3::ZERO; 3], DVec3::ZERO);
        for n in (0..self.lattice.len()).filter(seen) {
            let (w, d) = (weight(n), place(n) - mean_place);
            (0..3).for_each(|row| m[row] += w * d[row] * d);
            b += w * (f64::from(self.values[n]) - mean) * d;
        }
        let trace = m[0].x + m[1].y + m[2].z;
        if trace == 0.0 {
            return Vec3::ZERO;
        }
        (0..3).for_each(|row| m[row][row] += REGULARISATION * trace);
        (DMat3::from_cols(m[0], m[1], m[2]).inverse() * b).as_vec3()
    }
}
