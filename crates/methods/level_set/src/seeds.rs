//! Cells next to the interface and their closest points of it.

use crate::closest_point::{Foot, Search, closest_point, dot, scaled};
use crate::cubic::CubicField;
use crate::redistance::TRUST;
use fluvial_grids::patch::{Patch, Reach};
use fluvial_grids::{Lattice, Sides};

/// Closest points next to thin solids are looked for among cells no farther than this.
const PATCH_CELLS: usize = 3;
/// No cell next to the interface is farther from it than this, in cells: phi was a distance a step ago.
const FARTHEST_SEED: f32 = 1.5;
/// How far beyond the outermost cell centres phi is trusted in cells next to the interface, in cells.
const SEED_OVERHANG: f32 = 1.5;
/// Error of cubic interpolation per fourth difference: 3/128 in the middle of an edge, two axes at once.
const INTERPOLATION_ERROR: f32 = 6.0 / 128.0;
/// What is continued behind solids says nothing of an interface that differs by less from what was known, in cells.
const CONTINUED_ERROR: f32 = 0.5;
/// Second differences of phi beyond this (in cells) are kinks of sheets, drops and edges.
const SHARP: f32 = 0.5;

/// A cell next to the interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed {
    pub cell: u32,
    pub foot: Foot,
    /// Was the closest point found on the tricubic interface?
    pub resolved: bool,
}

/// Closest point of the interface for a cell near a thin solid. Only the cell's own side of the solid counts;
/// beyond it phi is continued as it is into solids.
pub(crate) fn seed_on_side(
    phi: &[f32],
    lattice: &Lattice,
    sides: &Sides,
    per_cell: f32,
    c: [usize; 3],
) -> Option<Seed> {
    let cell = lattice.index(c[0], c[1], c[2]);
    if phi[cell].abs() * per_cell > FARTHEST_SEED {
        return None;
    }
    // What is continued behind the wall may change its sign; an interface is what seen cells show. Below a slanting wall
    // liquid sees it only round corners. Air that does so is at a rim, and takes its distance from its neighbours.
    let shows = |patch: &Patch| {
        let differs = |n: usize| (patch.values()[n] < 0.0) != (phi[cell] < 0.0);
        (0..patch.values().len()).any(|n| patch.is_seen(n) && differs(n))
    };
    let around = |round_corners: bool| {
        let reach = Reach { radius: PATCH_CELLS, round_corners, beyond_walls: true };
        Patch::reaching(|cell| phi[cell], lattice, sides, c, reach)
    };
    let mut patch = around(false);
    if !shows(&patch) {
        if phi[cell] >= 0.0 {
            return None;
        }
        patch = around(true);
        if !shows(&patch) {
            return None;
        }
    }
    let (values, around, at) = (patch.values(), &patch.lattice, patch.center);
    let center = around.index(at[0], at[1], at[2]);
    let differs = |other: usize| (values[other] < 0.0) != (phi[cell] < 0.0);
    // Beyond the domain's walls there is no interface.
    let is_beside = |is_wanted: &dyn Fn(usize) -> bool| {
        (0..3).any(|axis| {
            let stride = around.stride(axis);
            c[axis] > 0 && is_wanted(center - stride)
                || c[axis] + 1 < lattice.size[axis] && is_wanted(center + stride)
        })
    };
    is_beside(&differs).then(|| {
        let mut found = seed(&CubicField::new(values, around), values, around, per_cell, at);
        if !is_beside(&|other| patch.is_seen(other) && differs(other)) {
            found.foot.point = with_old_length(found.foot.point, phi[cell].abs() * per_cell);
        }
        Seed { cell: cell as u32, ..found }
    })
}

/// A closest point that was found by what has been continued from the cell itself: as far as the distance was before, or an error in that
/// would grow with the slope that it makes, from time to time.
fn with_old_length(point: [f32; 3], old: f32) -> [f32; 3] {
    let new = dot(point, point).sqrt();
    let wanted = old_or_new(old, new, CONTINUED_ERROR);
    if new > 0.0 { scaled(point, wanted / new) } else { point }
}

/// Closest point of a cell next to the interface.
pub(crate) fn seed(field: &CubicField, phi: &[f32], lattice: &Lattice, per_cell: f32, c: [usize; 3]) -> Seed {
    let index = lattice.index(c[0], c[1], c[2]);
    let seed = |foot, resolved| Seed { cell: index as u32, foot, resolved };
    if phi[index] == 0.0 {
        return seed(Foot::bare([0.0; 3]), true);
    }
    let old = phi[index].abs() * per_cell;
    let Crossings { inverse, nearest, bound } = crossings(phi, lattice, c);
    let inverse2 = dot(inverse, inverse);
    let plane = scaled(inverse, 1.0 / inverse2);
    let plane_distance = 1.0 / inverse2.sqrt();
    // At a kink the cubic rounds off what the grid lines say. It must not do so in the liquid's favour: a
    // sheet would grow a little every time.
    let sharp = second_difference(phi, lattice, index) > SHARP * lattice.spacing;
    let limited = |distance: f32| match (sharp, phi[index] < 0.0) {
        (true, true) => distance.min(nearest),
        (true, false) => distance.max(plane_distance.min(nearest)),
        _ => distance,
    };
    let closest = 0.5 / bound.sqrt(); // half: the interface may bulge between the crossings
    let search = Search { per_cell, overhang: SEED_OVERHANG, trust: TRUST };
    if let Some(mut foot) = closest_point(field, search, c, Foot::bare(plane)) {
        let distance = dot(foot.point, foot.point).sqrt();
        if distance > closest && distance < nearest + 0.1 {
            let uncertain = INTERPOLATION_ERROR * fourth_difference(phi, lattice, c) * per_cell;
            let wanted = limited(old_or_new(old, distance, uncertain));
            if wanted != distance {
                foot.point = scaled(foot.point, wanted / distance);
            }
            return seed(foot, true);
        }
    }
    // Not resolved: keep the distance as far as the crossings allow, so that repeating changes nothing.
    let distance = limited(old.max(closest).min(nearest));
    seed(Foot::bare(scaled(plane, distance * inverse2.sqrt())), false)
}

/// The old distance where the new one differs by no more than it is uncertain, the new one elsewhere;
/// gradually over the last tenth, where a jump would leave it to rounding.
fn old_or_new(old: f32, new: f32, uncertain: f32) -> f32 {
    let off = (new - old).abs();
    if off <= 0.9 * uncertain {
        old
    } else if off < uncertain {
        new + 10.0 * (1.0 - off / uncertain) * (old - new)
    } else {
        new
    }
}

/// Largest second difference of phi along the axes: 1/R on a surface of radius R, more at kinks.
fn second_difference(phi: &[f32], lattice: &Lattice, cell: usize) -> f32 {
    let c = lattice.coordinates(cell);
    (0..3).filter(|&axis| c[axis] > 0 && c[axis] + 1 < lattice.size[axis]).fold(0.0, |largest, axis| {
        let s = lattice.stride(axis);
        f32::max(largest, (phi[cell - s] + phi[cell + s] - 2.0 * phi[cell]).abs())
    })
}

/// Where the interface crosses the grid lines through a cell centre.
struct Crossings {
    /// Inverse signed distance to the crossing per axis, in cells: normal to the plane through the
    /// crossings.
    inverse: [f32; 3],
    /// Distance to the nearest crossing.
    nearest: f32,
    /// As `|inverse|^2`, for the nearest plane that is possible.
    bound: f32,
}

/// Nearest crossing per axis (linear). Along an axis without one the slope says where it would be, beyond the
/// neighbour.
fn crossings(phi: &[f32], lattice: &Lattice, c: [usize; 3]) -> Crossings {
    let index = lattice.index(c[0], c[1], c[2]);
    let here = phi[index];
    let mut r = Crossings { inverse: [0.0; 3], nearest: f32::INFINITY, bound: 0.0 };
    for axis in 0..3 {
        let stride = lattice.stride(axis);
        let (at_low, at_high) = (c[axis] == 0, c[axis] + 1 == lattice.size[axis]);
        let low = if at_low { here } else { phi[index - stride] };
        let high = if at_high { here } else { phi[index + stride] };
        let toward =
            |neighbour: f32| if (neighbour < 0.0) != (here < 0.0) { (here - neighbour) / here } else { 0.0 };
        let (to_low, to_high) = (toward(low), toward(high));
        let inverse = if to_low.max(to_high) > 0.0 {
            r.nearest = r.nearest.min(1.0 / to_low.max(to_high));
            if to_high >= to_low { to_high } else { -to_low }
        } else if at_low || at_high {
            (low - high) / here // towards a wall it may be nearer: there is no neighbour to say otherwise
        } else {
            ((low - high) / (2.0 * here)).clamp(-1.0, 1.0)
        };
        r.inverse[axis] = inverse;
        r.bound += (inverse * inverse).max(1.0);
    }
    r
}

/// Largest fourth difference of phi along the axes: what a cubic cannot follow.
fn fourth_difference(phi: &[f32], lattice: &Lattice, c: [usize; 3]) -> f32 {
    let index = lattice.index(c[0], c[1], c[2]);
    let mut largest = 0.0f32;
    for axis in 0..3 {
        let s = lattice.stride(axis);
        if c[axis] >= 2 && c[axis] + 2 < lattice.size[axis] {
            let (near, far) = (phi[index - s] + phi[index + s], phi[index - 2 * s] + phi[index + 2 * s]);
            largest = largest.max((far - 4.0 * near + 6.0 * phi[index]).abs());
        }
    }
    largest
}
