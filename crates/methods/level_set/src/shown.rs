//! Where open parts of cells show the interface, and where solids hide it.

use fluvial_foundation::parallel;
use fluvial_grids::{Lattice, Sides};

/// Open parts of the cell hold liquid, or air.
const LIQUID: u8 = 1;
const AIR: u8 = 2;
/// No solid is near enough to hide an interface in the cell or beside it.
const FREE: u8 = 4;
/// Nothing is known of solids but which cells they close: the cell holds what its own sign says.
const WHOLE: u8 = 8;
/// How far from an interface its liquid and its air are looked for, in cells.
const BESIDE_CELLS: f32 = 0.25;
/// Solids farther than this from all corners of a cell leave it and the cells around it whole, in cells.
const FREE_CELLS: f32 = 1.8;

/// Solids as a level set meets them.
#[derive(Clone, Copy, Debug)]
pub struct SolidsAround<'a> {
    /// Cells that solids leave nothing of; empty where there are no solids.
    pub closed_cell: &'a [bool],
    /// Distance to the solids at the corners of the cells, negative inside; empty where it is not known, and all cells that are not
    /// closed count as whole.
    pub phi_solid_node: &'a [f32],
    /// Sides of thin solids.
    pub sides: &'a Sides,
}

impl<'a> SolidsAround<'a> {
    /// No solids.
    pub const NONE: SolidsAround<'static> =
        SolidsAround { closed_cell: &[], phi_solid_node: &[], sides: Sides::NONE };

    /// Solids that leave cells whole or close them.
    pub fn of_cells(closed_cell: &'a [bool], sides: &'a Sides) -> Self {
        SolidsAround { closed_cell, phi_solid_node: &[], sides }
    }
}

/// Marks what open parts of cells hold; of cells that a solid cuts, what the open parts of their edges say. (The sign at the centre may be
/// one that was continued: of a cell whose centre lies in a slope and which is open above, it may be liquid's although all liquid ends
/// before.)
pub(crate) fn find_shown(shown: &mut Vec<u8>, phi: &[f32], lattice: &Lattice, solids: &SolidsAround) {
    let SolidsAround { closed_cell, phi_solid_node, .. } = *solids;
    shown.clear();
    if closed_cell.is_empty() {
        return;
    }
    shown.resize(lattice.len(), 0);
    let [nx, ny, _] = lattice.size;
    let free_m = FREE_CELLS * lattice.spacing;
    parallel::for_each_chunk_mut(shown, lattice.slab(), |k, shown| {
        for (n, shown) in shown.iter_mut().enumerate() {
            let (i, j, cell) = (n % nx, n / nx, k * lattice.slab() + n);
            if closed_cell[cell] {
                continue;
            }
            *shown = if phi[cell] < 0.0 { LIQUID } else { AIR };
            if phi_solid_node.is_empty() {
                *shown |= WHOLE;
                continue;
            }
            let corners: [[usize; 3]; 8] =
                std::array::from_fn(|n| [i + (n & 1), j + (n >> 1 & 1), k + (n >> 2)]);
            let solid = corners.map(|[i, j, k]| phi_solid_node[i + (nx + 1) * (j + (ny + 1) * k)]);
            let nearest = solid.into_iter().fold(f32::MAX, f32::min);
            *shown = match nearest > free_m {
                true => *shown | FREE,
                false => shown_on_edges(solid, corners.map(|corner| mean_around(phi, lattice, corner))),
            };
        }
    });
}

/// What the open parts of a cell's edges lie in, by the distances to the solid and to the interface at its corners.
fn shown_on_edges(solid: [f32; 8], phi: [f32; 8]) -> u8 {
    let edges = (0..12).map(|n| {
        let axis = n / 4;
        let low = [2 * (n % 4), n % 2 + 4 * (n % 4 / 2), n % 4][axis];
        (low, low | 1 << axis)
    });
    edges.fold(0, |found, (a, b)| {
        if solid[a] <= 0.0 && solid[b] <= 0.0 {
            return found;
        }
        // phi is linear along the edge: at the ends of the open part it is largest and smallest.
        let end = |n: usize, other: usize| match solid[n] > 0.0 {
            true => phi[n],
            false => phi[n] + (phi[other] - phi[n]) * solid[n] / (solid[n] - solid[other]),
        };
        let (low, high) = (end(a, b), end(b, a));
        found | if low.min(high) < 0.0 { LIQUID } else { 0 } | if low.max(high) > 0.0 { AIR } else { 0 }
    })
}

/// The mean of phi over the cells around a node.
fn mean_around(phi: &[f32], lattice: &Lattice, node: [usize; 3]) -> f32 {
    let at = |n: usize| {
        let [i, j, k] =
            std::array::from_fn(|a| (node[a] + (n >> a & 1)).saturating_sub(1).min(lattice.size[a] - 1));
        phi[lattice.index(i, j, k)]
    };
    (0..8).map(at).sum::<f32>() / 8.0
}

/// Do open parts of a cell and the cells around it show liquid and air? The interface ends at a solid and does not begin inside.
#[inline]
pub(crate) fn is_shown_around(shown: &[u8], lattice: &Lattice, at: [usize; 3]) -> bool {
    if shown.is_empty() || shown[lattice.index(at[0], at[1], at[2])] & FREE != 0 {
        return true;
    }
    let range = |axis: usize| at[axis].saturating_sub(1)..(at[axis] + 2).min(lattice.size[axis]);
    let mut found = 0;
    for (k, j) in range(2).flat_map(|k| range(1).map(move |j| (k, j))) {
        found = range(0).fold(found, |found, i| found | shown[lattice.index(i, j, k)]);
    }
    found & (LIQUID | AIR) == LIQUID | AIR
}

/// Do open parts of cells show liquid on one side of an interface and air on the other, at a place relative to a cell? `out` is the way
/// from liquid to air. Only there is what the interpolant says of the interface not what has been continued.
#[inline]
pub(crate) fn is_shown_beside(
    shown: &[u8],
    lattice: &Lattice,
    c: [usize; 3],
    x: [f32; 3],
    out: [f32; 3],
) -> bool {
    if shown.is_empty() {
        return true;
    }
    // Of whole cells the next one along the way is the first that can hold the other.
    let is_whole = shown[lattice.index(c[0], c[1], c[2])] & WHOLE != 0;
    let steepest = out.iter().fold(f32::MIN_POSITIVE, |most, o| most.max(o.abs()));
    let beside = if is_whole { 0.5 / steepest } else { BESIDE_CELLS };
    let at = |side: f32| {
        let most = |a: usize| lattice.size[a] as f32 - 1.0;
        let place = |a: usize| (c[a] as f32 + x[a] + side * out[a]).round().clamp(0.0, most(a));
        shown[lattice.index(place(0) as usize, place(1) as usize, place(2) as usize)]
    };
    let [below, here, above] = [-beside, 0.0, beside].map(at);
    here & FREE != 0 || (below | here) & LIQUID != 0 && (above | here) & AIR != 0
}
