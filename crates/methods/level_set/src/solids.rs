//! phi continued into closed cells, so that the interface meets solids as if they were not there.

use crate::Scratch;
use fluvial_foundation::{DMat3, DVec3, Vec3, parallel};
use fluvial_grids::patch::Patch;
use fluvial_grids::{Lattice, Sides};

/// No open cell has been found yet from which the cell is continued.
const UNKNOWN: u32 = u32::MAX;
/// What a closed cell beside a thin solid is continued from is no farther than this, in cells.
const PATCH_CELLS: usize = 3;
/// Part of the trace that is added to the matrix of a fit: neighbours in a plane or on a line leave it singular.
const REGULARISATION: f64 = 1e-9;

/// Continues phi linearly from open cells into closed ones, `layers` layers deep.
///
/// A closed cell takes the mean of what the open cells nearest to it continue to, by value and slope, with slopes
/// fitted to open cells alone. Values that were themselves continued are never read, so errors grow with the distance
/// from the solid's surface and not from layer to layer: a false surface inside a solid would draw air into the liquid
/// as soon as the solid moves on. Cells where phi saturates count only where there are no others. A plane
/// stays the same plane (tests/extrapolation.rs `a_plane_continues_into_solids`, `noise_does_not_grow_in_solids`).
/// `away_from_solid` is the gradient of the solids' distance at a cell, or zero: a cell inside a wall is continued from
/// the side that it is nearer to, or liquid on one side would appear on the other when the wall moves on
/// (`both_sides_of_a_wall_continue_to_its_middle`).
pub fn extend_into_solids(
    phi: &mut [f32],
    closed_cell: &[bool],
    lattice: &Lattice,
    layers: usize,
    away_from_solid: impl Fn(usize) -> Vec3 + Sync + Send,
    scratch: &mut Scratch,
) {
    assert!(phi.len() == lattice.len() && closed_cell.len() == lattice.len());
    let slab = lattice.slab();
    let slabs = lattice.size[2];
    // Where phi saturates it is no distance.
    let saturated = parallel::ordered_max(slabs, |k| {
        let (phi, closed) = (&phi[k * slab..(k + 1) * slab], &closed_cell[k * slab..(k + 1) * slab]);
        phi.iter().zip(closed).fold(0.0f32, |m, (v, &c)| if c { m } else { m.max(v.abs()) }) as f64
    }) as f32;
    if scratch.continued.len() < slabs {
        scratch.continued.resize(slabs, Vec::new());
    }
    let source = &mut scratch.source;
    crate::fit(source, phi.len());
    parallel::for_each_indexed_mut(source, |cell, from| {
        *from = if closed_cell[cell] { UNKNOWN } else { cell as u32 };
    });
    for _ in 0..layers {
        let open = OpenCells { phi, closed_cell, lattice, saturated };
        let source_now = &*source;
        parallel::for_each_chunk_mut(&mut scratch.continued[..slabs], 1, |k, found| {
            found[0].clear();
            for cell in (k * slab..(k + 1) * slab).filter(|&cell| source_now[cell] == UNKNOWN) {
                let known = known_beside(source_now, lattice, cell);
                if known.iter().any(Option::is_some) {
                    let known = on_one_side(known, away_from_solid(cell));
                    let (value, from) = open.continued(cell, known);
                    found[0].push((cell as u32, value, from));
                }
            }
        });
        let found = &scratch.continued;
        parallel::for_each_chunk_mut2((phi, slab), (source, slab), |k, phi, source| {
            for &(cell, value, from) in &found[k] {
                let at = cell as usize - k * slab;
                (phi[at], source[at]) = (value, from);
            }
        });
    }
}

/// Continues phi into the closed cells beside thin solids that have a side, from the open cells that they see. The slopes
/// of [`extend_into_solids`] know no sides: where a solid leaves less of all faces of a cell than counts, the cell is closed, but those
/// around it see it, and a surface that is level on its side of the wall was none to them once phi behind the wall had come in.
/// Test: `a_closed_cell_goes_on_from_its_own_side`.
pub fn extend_on_sides(
    phi: &mut [f32],
    closed_cell: &[bool],
    lattice: &Lattice,
    sides: &Sides,
    scratch: &mut Scratch,
) {
    if sides.is_empty() {
        return;
    }
    let (slab, slabs) = (lattice.slab(), lattice.size[2]);
    if scratch.layer.len() < slabs {
        scratch.layer.resize(slabs, Vec::new());
    }
    let (changes, known) = (&mut scratch.layer[..slabs], &*phi);
    parallel::for_each_chunk_mut(changes, 1, |k, found| {
        found[0].clear();
        for cell in (k * slab..(k + 1) * slab).filter(|&cell| closed_cell[cell] && sides.is_near(cell)) {
            if sides.own_corners[cell] != 0 {
                let value = |cell: usize| (!closed_cell[cell]).then(|| known[cell]);
                let patch = Patch::of_known(value, lattice, sides, lattice.coordinates(cell), PATCH_CELLS);
                found[0].extend(patch.center_value().map(|value| (cell as u32, value)));
            }
        }
    });
    for &(cell, value) in changes.iter().flatten() {
        phi[cell as usize] = value;
    }
}

/// The sources of a cell's neighbours: x low, x high, y low, y high, z low, z high.
fn known_beside(source: &[u32], lattice: &Lattice, cell: usize) -> [Option<u32>; 6] {
    let at = lattice.coordinates(cell);
    std::array::from_fn(|side| {
        let (axis, stride) = (side / 2, lattice.stride(side / 2));
        let beside = match side % 2 {
            0 => (at[axis] > 0).then(|| source[cell - stride]),
            _ => (at[axis] + 1 < lattice.size[axis]).then(|| source[cell + stride]),
        };
        beside.filter(|&from| from != UNKNOWN)
    })
}

/// Only the sources in a direction, where there are any.
fn on_one_side(known: [Option<u32>; 6], toward: Vec3) -> [Option<u32>; 6] {
    let lies_toward = |side: usize| toward[side / 2] * [-1.0, 1.0][side % 2] > 0.0;
    let some: [Option<u32>; 6] = std::array::from_fn(|side| known[side].filter(|_| lies_toward(side)));
    if some.iter().any(Option::is_some) { some } else { known }
}

/// phi where it means something.
struct OpenCells<'a> {
    phi: &'a [f32],
    closed_cell: &'a [bool],
    lattice: &'a Lattice,
    saturated: f32,
}

impl OpenCells<'_> {
    /// The mean of what sources continue to at a cell, and the nearest of them.
    fn continued(&self, cell: usize, sources: [Option<u32>; 6]) -> (f32, u32) {
        let (mut sum, mut count) = (0.0, 0.0);
        let mut nearest = (f64::INFINITY, UNKNOWN);
        let is_distance = |from: &u32| self.phi[*from as usize].abs() < self.saturated;
        let any = sources.iter().flatten().any(is_distance);
        for from in sources.into_iter().flatten().filter(|from| !any || is_distance(from)) {
            let offset = self.place(cell) - self.place(from as usize);
            sum += f64::from(self.phi[from as usize]) + self.slope(from as usize).dot(offset);
            count += 1.0;
            if offset.length_squared() < nearest.0 {
                nearest = (offset.length_squared(), from);
            }
        }
        ((sum / count) as f32, nearest.1)
    }

    /// Slope of phi per cell at an open cell: least squares over the open cells around it.
    fn slope(&self, cell: usize) -> DVec3 {
        let own = self.phi[cell];
        if own.abs() >= self.saturated {
            return DVec3::ZERO;
        }
        let at = self.lattice.coordinates(cell);
        let (mut m, mut b) = ([[0.0f64; 3]; 3], DVec3::ZERO);
        for n in (0..27).filter(|&n| n != 13) {
            let d = [n % 3, n / 3 % 3, n / 9];
            let to: [usize; 3] = std::array::from_fn(|a| (at[a] + d[a]).wrapping_sub(1));
            if (0..3).any(|a| to[a] >= self.lattice.size[a]) {
                continue;
            }
            let other = self.lattice.index(to[0], to[1], to[2]);
            if self.closed_cell[other] || self.phi[other].abs() >= self.saturated {
                continue;
            }
            let d = DVec3::from_array(d.map(|d| d as f64 - 1.0));
            let weighted = d / d.length_squared();
            for i in 0..3 {
                for j in 0..3 {
                    m[i][j] += weighted[i] * d[j];
                }
            }
            b += f64::from(self.phi[other] - own) * weighted;
        }
        let trace = m[0][0] + m[1][1] + m[2][2];
        if trace == 0.0 {
            return DVec3::ZERO;
        }
        (0..3).for_each(|i| m[i][i] += REGULARISATION * trace);
        DMat3::from_cols_array_2d(&m).inverse() * b
    }

    /// A cell's place, in cells.
    fn place(&self, cell: usize) -> DVec3 {
        DVec3::from_array(self.lattice.coordinates(cell).map(|at| at as f64))
    }
}
