//! Signed distance again, without moving the interface.

use crate::Scratch;
use crate::cell_set::CellSet;
use crate::closest_point::{closest_point, dot, scaled};
use crate::cubic::CubicField;
use fluvial_foundation::parallel;
use fluvial_grids::Lattice;

/// Cells of one parallel piece of a layer.
const PIECE: usize = 512;
/// How far beyond the outermost cell centres phi is trusted, in cells, in cells next to the interface and in
/// others: as far as stencils there do not reach where phi saturates.
const SEED_OVERHANG: f32 = 1.5;
const OVERHANG: f32 = 0.25;
/// Error of cubic interpolation per fourth difference: 3/128 in the middle of an edge, two axes at once.
const INTERPOLATION_ERROR: f32 = 6.0 / 128.0;
/// Second differences of phi beyond this (in cells) are kinks of sheets, drops and edges.
const SHARP: f32 = 0.5;
/// No entry of the band.
const NONE: u32 = u32::MAX;

/// Closest points of all cells in the band, in order of distance from the interface in cell steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Band {
    /// Flat cell index per entry.
    cells: Vec<u32>,
    /// Closest point minus cell centre per entry, in cells.
    points: Vec<[f32; 3]>,
    /// Entry of each cell.
    entry_of_cell: Vec<u32>,
    /// Cells next to the interface, slab by slab.
    seeds: Vec<Vec<Seed>>,
    /// Cells of the band, those of the last layer, and those of the next one slab by slab.
    reached: CellSet,
    front: CellSet,
    added: Vec<Vec<u32>>,
    /// Second buffer of `points`.
    relaxed: Vec<[f32; 3]>,
}

impl Band {
    /// Makes room for a lattice of `len` cells.
    pub(crate) fn fit(&mut self, len: usize) {
        crate::fit(&mut self.entry_of_cell, len);
    }
}

/// A cell next to the interface.
#[derive(Clone, Copy, Debug)]
struct Seed {
    cell: u32,
    /// Closest point minus cell centre, in cells.
    point: [f32; 3],
    /// Was the closest point found on the tricubic interface?
    resolved: bool,
}

/// What redistancing had to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedistanceReport {
    /// Cells next to the interface.
    pub interface_cells: usize,
    /// Of these, cells where the interface is not resolved (sheets and drops thinner than two cells, sharp
    /// edges) and the distance comes from the crossings on the grid lines.
    pub unresolved_cells: usize,
    /// Cells whose distance was computed.
    pub band_cells: usize,
}

/// Makes phi the signed distance to its own zero set, to a distance of `band_m`, `+-band_m` beyond.
/// No sign changes.
///
/// Every cell of the band gets its distance to the closest point of the tricubic interpolant's zero set
/// ([Chopp 2001]; Newton with second derivatives), not the solution of an eikonal difference scheme: fourth
/// order where phi is smooth, exact for planes (also where walls cut them), and the result does not depend
/// on how far phi was from a distance. The search starts from the nearest closest point of a neighbour,
/// cell layer by cell layer.
///
/// What is a distance already stays: a cell whose value is right to rounding keeps its bits, and one next to
/// the interface keeps it to the interpolation's own uncertainty (the fourth difference of phi: O(dx^4) where
/// phi is smooth, a tenth of a cell at an edge). So a plane at rest stays at rest and edges do not wear off,
/// however often this is called. Where Newton fails (interface not resolved) the old value is kept, limited to
/// what the crossings on the grid lines allow.
///
/// phi must have been smooth to about 3.5 cells from the interface: `band_m >= 4 dx`.
/// Tests: tests/level_set/redistance.rs (planes, waves, order, drift, symmetry).
pub fn redistance(phi: &mut [f32], lattice: &Lattice, band_m: f32, scratch: &mut Scratch) {
    assert_eq!(phi.len(), lattice.len());
    assert!(lattice.len() < NONE as usize);
    let band = &mut scratch.band;
    let field = CubicField::new(phi, lattice);
    let per_cell = 1.0 / lattice.spacing;
    let reach = band_m * per_cell;
    band.fit(phi.len());
    parallel::for_each_chunk_mut(&mut band.entry_of_cell, parallel::CHUNK, |_, part| part.fill(NONE));

    let unresolved_cells = find_seeds(band, &field, phi, lattice);
    let interface_cells = band.cells.len();
    let mut layer = 0..interface_cells;
    while !layer.is_empty() {
        let next = layer.end;
        grow(band, layer, lattice, reach);
        reach_layer(band, next, &field, lattice, per_cell);
        layer = next..band.cells.len();
    }
    for _ in 0..2 {
        relax(band, interface_cells, &field, lattice, per_cell);
    }
    scratch.redistance_report =
        RedistanceReport { interface_cells, unresolved_cells, band_cells: band.cells.len() };
    write_back(phi, band, lattice, band_m);
}

/// Finds cells with a 6-neighbour of the other sign and their closest points; returns how many are unresolved.
fn find_seeds(band: &mut Band, field: &CubicField, phi: &[f32], lattice: &Lattice) -> usize {
    let [nx, ny, nz] = lattice.size;
    let per_cell = 1.0 / lattice.spacing;
    band.seeds.resize(nz, Vec::new());
    parallel::for_each_chunk_mut(&mut band.seeds, 1, |k, seeds| {
        let seeds = &mut seeds[0];
        seeds.clear();
        let mut crossed = vec![false; nx];
        for j in 0..ny {
            let row = |j: usize, k: usize| &phi[nx * (j + ny * k)..nx * (j + ny * k) + nx];
            let center = row(j, k);
            crossed.fill(false);
            for other in [
                row(j.saturating_sub(1), k),
                row((j + 1).min(ny - 1), k),
                row(j, k.saturating_sub(1)),
                row(j, (k + 1).min(nz - 1)),
            ] {
                for i in 0..nx {
                    crossed[i] |= (center[i] < 0.0) != (other[i] < 0.0);
                }
            }
            for i in 1..nx {
                crossed[i] |= (center[i] < 0.0) != (center[i - 1] < 0.0);
            }
            for i in 1..nx {
                crossed[i - 1] |= (center[i] < 0.0) != (center[i - 1] < 0.0);
            }
            if !crossed.iter().fold(false, |any, &c| any | c) {
                continue;
            }
            for i in 0..nx {
                if crossed[i] {
                    seeds.push(seed(field, phi, lattice, per_cell, [i, j, k]));
                }
            }
        }
    });
    band.cells.clear();
    band.points.clear();
    band.reached.clear(lattice);
    let mut unresolved = 0;
    for seed in band.seeds.iter().flatten() {
        band.reached.insert(seed.cell);
        band.entry_of_cell[seed.cell as usize] = band.cells.len() as u32;
        band.cells.push(seed.cell);
        band.points.push(seed.point);
        unresolved += !seed.resolved as usize;
    }
    unresolved
}

/// Closest point of a cell next to the interface.
fn seed(field: &CubicField, phi: &[f32], lattice: &Lattice, per_cell: f32, c: [usize; 3]) -> Seed {
    let index = lattice.index(c[0], c[1], c[2]);
    let seed = |point, resolved| Seed { cell: index as u32, point, resolved };
    if phi[index] == 0.0 {
        return seed([0.0; 3], true);
    }
    let old = phi[index].abs() * per_cell;
    let Crossings { inverse, nearest, bound } = crossings(phi, lattice, c);
    let inverse2 = dot(inverse, inverse);
    let plane = scaled(inverse, 1.0 / inverse2);
    let plane_distance = 1.0 / inverse2.sqrt();
    // At a kink the cubic rounds off what the grid lines say. It must not do so in the liquid's favour: a sheet
    // would grow a little every time.
    let sharp = second_difference(phi, lattice, index) > SHARP * lattice.spacing;
    let limited = |distance: f32| match (sharp, phi[index] < 0.0) {
        (true, true) => distance.min(nearest),
        (true, false) => distance.max(plane_distance.min(nearest)),
        _ => distance,
    };
    let closest = 0.5 / bound.sqrt(); // half: the interface may bulge between the crossings
    if let Some(point) = closest_point(field, per_cell, c, plane, plane, SEED_OVERHANG) {
        let distance = dot(point, point).sqrt();
        if distance > closest && distance < nearest + 0.1 {
            let uncertain = INTERPOLATION_ERROR * fourth_difference(phi, lattice, c) * per_cell;
            let wanted = limited(if (distance - old).abs() < uncertain { old } else { distance });
            return seed(if wanted == distance { point } else { scaled(point, wanted / distance) }, true);
        }
    }
    // Not resolved: keep the distance as far as the crossings allow, so that repeating changes nothing.
    seed(scaled(plane, limited(old.max(closest).min(nearest)) * inverse2.sqrt()), false)
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
    /// Inverse signed distance to the crossing per axis, in cells: normal to the plane through the crossings.
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

/// Appends the unknown 6-neighbours of the layer's cells whose distance is below `reach` cells.
fn grow(band: &mut Band, layer: std::ops::Range<usize>, lattice: &Lattice, reach: f32) {
    let Band { cells, points, entry_of_cell, reached, front, added, .. } = band;
    front.clear(lattice);
    for (&cell, &point) in cells[layer.clone()].iter().zip(&points[layer]) {
        if dot(point, point) < reach * reach {
            front.insert(cell);
        }
    }
    reached.grow(added, front);
    let first_entries: Vec<u32> = (added.iter())
        .map(|added| {
            let first = cells.len() as u32;
            cells.extend(added);
            first
        })
        .collect();
    let slab = lattice.slab();
    parallel::for_each_chunk_mut(entry_of_cell, slab, |k, entries| {
        for (&cell, entry) in added[k].iter().zip(first_entries[k]..) {
            entries[cell as usize - k * slab] = entry;
        }
    });
}

/// A neighbour's closest point.
struct Guess {
    distance2: f32,
    /// Relative to the cell.
    point: [f32; 3],
    /// Relative to the neighbour: along the normal of the interface.
    normal: [f32; 3],
}

/// The closest point of the 6-neighbours known in `points` that is nearest to the cell, relative to it.
#[inline]
fn best_of_neighbours(
    points: &[[f32; 3]],
    entry_of_cell: &[u32],
    lattice: &Lattice,
    cell: usize,
    c: [usize; 3],
) -> Guess {
    let mut best = Guess { distance2: f32::INFINITY, point: [0.0; 3], normal: [0.0; 3] };
    for axis in 0..3 {
        let stride = lattice.stride(axis);
        let mut consider = |neighbour: usize, side: f32| {
            if let Some(&known) = points.get(entry_of_cell[neighbour] as usize) {
                let mut q = known;
                q[axis] += side;
                let distance2 = dot(q, q);
                if distance2 < best.distance2 {
                    best = Guess { distance2, point: q, normal: known };
                }
            }
        };
        if c[axis] > 0 {
            consider(cell - stride, -1.0);
        }
        if c[axis] + 1 < lattice.size[axis] {
            consider(cell + stride, 1.0);
        }
    }
    best
}

/// Newton from a neighbour's closest point; kept only when it is nearer.
#[inline]
fn refine(field: &CubicField, per_cell: f32, c: [usize; 3], guess: Guess) -> [f32; 3] {
    match closest_point(field, per_cell, c, guess.point, guess.normal, OVERHANG) {
        Some(q) if dot(q, q) <= guess.distance2 * (1.0 + 1e-5) => q,
        _ => guess.point,
    }
}

/// Closest points of the new entries from `start` on, from those before.
fn reach_layer(band: &mut Band, start: usize, field: &CubicField, lattice: &Lattice, per_cell: f32) {
    band.points.resize(band.cells.len(), [0.0; 3]);
    let (known, new) = band.points.split_at_mut(start);
    let (cells, entry_of_cell) = (&band.cells[start..], &band.entry_of_cell);
    parallel::for_each_chunk_mut(new, PIECE, |piece, points| {
        for (cell, point) in cells[piece * PIECE..].iter().zip(points) {
            let cell = *cell as usize;
            let c = lattice.coordinates(cell);
            *point = refine(field, per_cell, c, best_of_neighbours(known, entry_of_cell, lattice, cell, c));
        }
    });
}

/// Cell steps are not distance: a neighbour that was reached later may know a nearer point of the interface.
fn relax(band: &mut Band, start: usize, field: &CubicField, lattice: &Lattice, per_cell: f32) {
    crate::fit(&mut band.relaxed, band.points.len());
    let Band { cells, points, entry_of_cell, relaxed, .. } = band;
    parallel::for_each_chunk_mut(relaxed, PIECE, |piece, out| {
        for (offset, out) in out.iter_mut().enumerate() {
            let entry = piece * PIECE + offset;
            *out = points[entry];
            if entry < start {
                continue;
            }
            let cell = cells[entry] as usize;
            let c = lattice.coordinates(cell);
            let best = best_of_neighbours(points, entry_of_cell, lattice, cell, c);
            if best.distance2 < dot(*out, *out) * (1.0 - 1e-4) {
                *out = refine(field, per_cell, c, best);
            }
        }
    });
    std::mem::swap(points, relaxed);
}

/// phi = sign(phi) min(distance, band); bits stay where the distance is the same to rounding.
fn write_back(phi: &mut [f32], band: &Band, lattice: &Lattice, band_m: f32) {
    let slab = lattice.slab();
    let dx = lattice.spacing;
    let same = 1e-6 * dx;
    parallel::for_each_chunk_mut(phi, slab, |k, phi| {
        let entries = &band.entry_of_cell[k * slab..(k + 1) * slab];
        for (value, &entry) in phi.iter_mut().zip(entries) {
            let distance = match band.points.get(entry as usize) {
                Some(&q) => dx * dot(q, q).sqrt(),
                None => band_m,
            };
            let target = if *value < 0.0 { -distance.min(band_m) } else { distance.min(band_m) };
            // A NaN differs from everything and stays, so that it is found where it is looked for.
            if (target - *value).abs() > same * (distance * distance / (dx * dx)).max(1.0) {
                *value = target;
            }
        }
    });
}
