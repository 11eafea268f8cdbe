//! The values of the cells around one, as seen from it: values behind a thin solid are replaced by a continuation
//! from this side.

use crate::{Lattice, Sides};
use fluvial_foundation::Vec3;

/// Largest radius of a patch, in cells.
const LARGEST_RADIUS: usize = 3;
const LARGEST: usize = (2 * LARGEST_RADIUS + 1).pow(3);
/// Cells on each side of a patch that are never known: as far as a line reaches; and the edge with them.
const RIM: usize = 2;
const PADDED: usize = 2 * LARGEST_RADIUS + 1 + 2 * RIM;

/// A box of cells around one, cut to the domain.
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
    /// into the others as into solids. A cell is seen when a way through open faces leads there without a detour: every
    /// step leads away from `at`. A way over the rim of a thin wall and down behind it sees what is no neighbour. That a
    /// face is not barred is not enough: faces inside a solid are not where its sides meet nearby, at a rim, and what
    /// closed cells hold may come from either side.
    pub fn new(
        value: impl Fn(usize) -> f32,
        cells: &Lattice,
        sides: &Sides,
        at: [usize; 3],
        radius: usize,
    ) -> Self {
        debug_assert!(radius <= LARGEST_RADIUS);
        let low = at.map(|v| v.saturating_sub(radius));
        let size = std::array::from_fn(|a| (at[a] + radius + 1).min(cells.size[a]) - low[a]);
        let lattice = Lattice { size, origin: Vec3::ZERO, spacing: cells.spacing };
        let center = std::array::from_fn(|a| at[a] - low[a]);
        let mut patch =
            Patch { values: [0.0; LARGEST], unknown: [1; LARGEST], unseen: [1; LARGEST], lattice, center };
        patch.see(value, cells, sides, low);
        patch.unseen = patch.unknown;
        patch.continue_unseen(2 * radius);
        patch
    }

    /// The values on the patch.
    pub fn values(&self) -> &[f32] {
        &self.values[..self.lattice.len()]
    }

    /// Is the value one that the centre sees?
    pub fn is_seen(&self, index: usize) -> bool {
        self.unseen[index] == 0
    }

    /// Copies what a flood from the centre reaches.
    fn see(&mut self, value: impl Fn(usize) -> f32, cells: &Lattice, sides: &Sides, low: [usize; 3]) {
        let lattice = self.lattice;
        let mut stack = [0u16; LARGEST];
        let mut height = 1;
        let [i, j, k] = self.center;
        stack[0] = lattice.index(i, j, k) as u16;
        self.unknown[stack[0] as usize] = 0;
        while height > 0 {
            height -= 1;
            let here = stack[height] as usize;
            let c = lattice.coordinates(here);
            let cell = cells.index(low[0] + c[0], low[1] + c[1], low[2] + c[2]);
            self.values[here] = value(cell);
            for axis in 0..3 {
                for up in [false, true] {
                    let inside = if up { c[axis] + 1 < lattice.size[axis] } else { c[axis] > 0 };
                    let leads_away =
                        if up { c[axis] >= self.center[axis] } else { c[axis] <= self.center[axis] };
                    if !inside || !leads_away {
                        continue;
                    }
                    let stride = lattice.stride(axis);
                    let next = if up { here + stride } else { here - stride };
                    let to = if up { cell + cells.stride(axis) } else { cell - cells.stride(axis) };
                    if self.unknown[next] != 0 && sides.are_joined(cell, to, axis, up) {
                        self.unknown[next] = 0;
                        stack[height] = next as u16;
                        height += 1;
                    }
                }
            }
        }
    }

    /// Continues values into the cells that are not seen, layer by layer.
    fn continue_unseen(&mut self, layers: usize) {
        let (lattice, len) = (self.lattice, self.lattice.len());
        let (mut waiting, mut found) = ([(0u16, 0u16); LARGEST], [(0u16, 0.0f32); LARGEST]);
        let mut padded = Padded { values: [0.0; PADDED.pow(3)], known: [false; PADDED.pow(3)] };
        let (mut left, mut saturated, mut index) = (0, 0.0f32, 0);
        for k in 0..lattice.size[2] {
            for j in 0..lattice.size[1] {
                let row = RIM + PADDED * (j + RIM + PADDED * (k + RIM));
                for place in row..row + lattice.size[0] {
                    if self.unknown[index] == 0 {
                        (padded.values[place], padded.known[place]) = (self.values[index], true);
                        saturated = saturated.max(self.values[index].abs());
                    } else {
                        waiting[left] = (index as u16, place as u16);
                        left += 1;
                    }
                    index += 1;
                }
            }
        }
        debug_assert_eq!(index, len);
        for _ in 0..layers {
            let (mut count, mut kept) = (0, 0);
            for n in 0..left {
                let (index, place) = waiting[n];
                if let Some(value) = padded.continued(place as usize, saturated) {
                    self.values[index as usize] = value;
                    self.unknown[index as usize] = 0;
                    found[count] = (place, value);
                    count += 1;
                } else {
                    waiting[kept] = (index, place);
                    kept += 1;
                }
            }
            if count == 0 {
                return;
            }
            for &(place, value) in &found[..count] {
                (padded.values[place as usize], padded.known[place as usize]) = (value, true);
            }
            left = kept;
        }
    }
}

/// The patch amid cells that are not known, so that no line from a cell of it leads out.
struct Padded {
    values: [f32; PADDED.pow(3)],
    known: [bool; PADDED.pow(3)],
}

impl Padded {
    #[inline]
    fn continued(&self, place: usize, saturated: f32) -> Option<f32> {
        let at = |d: [isize; 3], n: isize| {
            let offset = n * (d[0] + PADDED as isize * (d[1] + PADDED as isize * d[2]));
            let at = place.wrapping_add_signed(offset);
            self.known[at].then(|| self.values[at])
        };
        continued_along(at, |_| true, saturated)
    }
}

/// Linear continuation into a cell from its known surroundings; None if none of its six neighbours is known. It is the
/// mean of `2 v_1 - v_2` over all directions, axes and diagonals, in which the next two cells are known. Lines whose
/// values reach `saturated` count only where there are no others. Where `toward` is not zero, only neighbours in its
/// direction count, as long as there are any.
pub fn continued(
    phi: &[f32],
    unknown: &[u8],
    lattice: &Lattice,
    saturated: f32,
    toward: Vec3,
    index: usize,
) -> Option<f32> {
    let from = |toward| continued_from(phi, unknown, lattice, saturated, toward, index);
    match toward == Vec3::ZERO {
        true => from(toward),
        false => from(toward).or_else(|| from(Vec3::ZERO)),
    }
}

fn continued_from(
    phi: &[f32],
    unknown: &[u8],
    lattice: &Lattice,
    saturated: f32,
    toward: Vec3,
    index: usize,
) -> Option<f32> {
    let c = lattice.coordinates(index);
    let strides = [0, 1, 2].map(|axis| lattice.stride(axis) as isize);
    // Cells that there are below and above.
    let room: [[isize; 2]; 3] =
        std::array::from_fn(|a| [c[a], lattice.size[a] - 1 - c[a]].map(|n| n as isize));
    let at = |d: [isize; 3], n: isize| {
        let is_inside = (0..3).all(|a| d[a] == 0 || room[a][usize::from(d[a] > 0)] >= n);
        let offset = n * (d[0] * strides[0] + d[1] * strides[1] + d[2] * strides[2]);
        let at = index.wrapping_add_signed(offset);
        (is_inside && unknown[at] == 0).then(|| phi[at])
    };
    let counts =
        |d: [isize; 3]| toward == Vec3::ZERO || (0..3).map(|a| d[a] as f32 * toward[a]).sum::<f32>() > 0.0;
    continued_along(at, counts, saturated)
}

/// [`continued`] where `at` gives the n-th value in a direction if that is known, and `counts` tells the directions.
#[inline(always)]
fn continued_along(
    at: impl Fn([isize; 3], isize) -> Option<f32>,
    counts: impl Fn([isize; 3]) -> bool,
    saturated: f32,
) -> Option<f32> {
    const AXES: [[isize; 3]; 6] = [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]];
    let mut neighbours = Mean::default();
    let mut means = [Mean::default(), Mean::default()]; // of lines where phi is a distance, and of others
    let line = |[lines, flat]: &mut [Mean; 2], d: [isize; 3], first: f32| {
        if let Some(second) = at(d, 2) {
            let mean = if second.abs() < saturated { lines } else { flat };
            mean.add(2.0 * first - second);
        }
    };
    for d in AXES {
        if counts(d)
            && let Some(first) = at(d, 1)
        {
            neighbours.add(first);
            line(&mut means, d, first);
        }
    }
    neighbours.value()?;
    if means[0].value().is_none() {
        for n in (0..27).filter(|&n| n != 13) {
            let d = [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1];
            if counts(d)
                && let Some(first) = at(d, 1)
            {
                line(&mut means, d, first);
            }
        }
    }
    means[0].value().or(means[1].value()).or(neighbours.value())
}

#[derive(Default)]
struct Mean {
    sum: f32,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: f32) {
        self.sum += value;
        self.count += 1;
    }

    fn value(&self) -> Option<f32> {
        (self.count > 0).then(|| self.sum / self.count as f32)
    }
}
