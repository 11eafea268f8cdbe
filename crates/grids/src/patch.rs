//! The values of the cells around one, as seen from it: values behind a thin solid are replaced by a continuation
//! from this side.

use crate::{Lattice, Sides};
use fluvial_foundation::Vec3;

/// Largest radius of a patch, in cells.
const LARGEST_RADIUS: usize = 3;
const LARGEST: usize = (2 * LARGEST_RADIUS + 1).pow(3);

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
        let seen = self.values[..len].iter().zip(&self.unknown).filter(|(_, u)| **u == 0);
        let saturated = seen.fold(0.0f32, |m, (v, _)| m.max(v.abs()));
        for _ in 0..layers {
            let mut found = [(0u16, 0.0f32); LARGEST];
            let mut count = 0;
            for index in 0..len {
                if self.unknown[index] != 0
                    && let Some(value) =
                        continued(&self.values, &self.unknown, &lattice, saturated, Vec3::ZERO, index)
                {
                    found[count] = (index as u16, value);
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
    let at = |d: [isize; 3], n: isize| -> Option<usize> {
        let along: f32 = (0..3).map(|a| d[a] as f32 * toward[a]).sum();
        if toward != Vec3::ZERO && along <= 0.0 {
            return None;
        }
        let mut p = [0; 3];
        for a in 0..3 {
            p[a] = c[a].checked_add_signed(n * d[a]).filter(|&v| v < lattice.size[a])?;
        }
        Some(lattice.index(p[0], p[1], p[2])).filter(|&i| unknown[i] == 0)
    };
    let mut neighbours = Mean::default();
    let mut means = [Mean::default(), Mean::default()]; // of lines where phi is a distance, and of others
    let line = |[lines, flat]: &mut [Mean; 2], d: [isize; 3]| {
        let (Some(first), Some(second)) = (at(d, 1), at(d, 2)) else { return };
        let mean = if phi[second].abs() < saturated { lines } else { flat };
        mean.add(2.0 * phi[first] - phi[second]);
    };
    for n in 0..6 {
        let mut d = [0isize; 3];
        d[n / 2] = if n % 2 == 0 { -1 } else { 1 };
        line(&mut means, d);
        if let Some(first) = at(d, 1) {
            neighbours.add(phi[first]);
        }
    }
    neighbours.value()?;
    if means[0].value().is_none() {
        (0..27).filter(|&n| n != 13).for_each(|n| line(&mut means, [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1]));
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
