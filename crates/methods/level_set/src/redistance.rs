//! Signed distance again, without moving the interface.

use crate::Scratch;
use crate::cell_set::CellSet;
use crate::closest_point::{Foot, Search, closest_point, dot};
use crate::cubic::CubicField;
use crate::line::{Walls, cell_at};
use crate::seeds::{Seed, seed, seed_on_side};
use crate::shown::{SolidsAround, find_shown, is_shown_around};
use fluvial_foundation::parallel;
use fluvial_grids::{Lattice, Sides};

/// Cells of one parallel piece of a layer.
const PIECE: usize = 512;
/// How far beyond the outermost cell centres phi is trusted, in cells: as far as stencils there do not reach where
/// phi saturates.
const OVERHANG: f32 = 0.25;
/// How far a Taylor polynomial of phi is trusted, in cells: up to three cells from the interface, where
/// curvature is measured and the next step's surface may pass, and farther out.
pub(crate) const TRUST: f32 = 0.07;
const FAR_TRUST: f32 = 0.15;
/// Where far begins, in cells.
const FAR: f32 = 3.2;
/// Distances of two neighbours differ by no more than this, in cells: 1, and what they may err.
const LARGEST_SLOPE: f32 = 1.1;
/// No entry of the band.
const NONE: u32 = u32::MAX;

/// Closest points of all cells in the band, in order of distance from the interface in cell steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Band {
    /// Flat cell index per entry.
    cells: Vec<u32>,
    /// Closest points per entry.
    feet: Vec<Foot>,
    /// Entry of each cell.
    entry_of_cell: Vec<u32>,
    /// Cells next to the interface, slab by slab.
    seeds: Vec<Vec<Seed>>,
    /// Cells of the band, those of the last layer, and those of the next one slab by slab.
    reached: CellSet,
    front: CellSet,
    added: Vec<Vec<u32>>,
    /// First entry of every layer, and the end of the last.
    layers: Vec<usize>,
    /// Entries that relaxing looks at again.
    suspects: Vec<u32>,
    /// What open parts of cells show of liquid and air; empty without solids.
    shown: Vec<u8>,
}

impl Band {
    /// Makes room for a lattice of `len` cells.
    pub(crate) fn fit(&mut self, len: usize) {
        crate::fit(&mut self.entry_of_cell, len);
    }
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
/// ([chopp-2001]; Newton with second derivatives), not the solution of an eikonal difference scheme: fourth
/// order where phi is smooth, exact for planes (also where walls cut them), and the result does not depend
/// on how far phi was from a distance. The search starts from the nearest closest point of a neighbour,
/// cell layer by cell layer.
///
/// Values that are distances already do not change: a cell whose value is right to rounding keeps its bits,
/// and one next to the interface keeps its value within the interpolation's own uncertainty (the fourth
/// difference of phi: O(dx^4) where phi is smooth, a tenth of a cell at an edge). So a plane at rest stays at
/// rest and edges do not wear off, however often this is called. Where Newton fails (interface not resolved)
/// the old value is kept, limited to what the crossings on the grid lines allow.
///
/// phi must have been smooth to about 3.5 cells from the interface: `band_m >= 4 dx`.
/// Tests: tests/redistance.rs (planes, waves, order, drift, symmetry).
pub fn redistance(phi: &mut [f32], lattice: &Lattice, band_m: f32, scratch: &mut Scratch) {
    redistance_among_solids(phi, lattice, band_m, SolidsAround::NONE, scratch);
}

/// As [`redistance`], among solids. A change of sign that no open parts of cells show is no interface, or liquid on one side
/// of a solid would have a surface because there is air on the other. Beyond the line where the interface meets a solid it goes on as
/// the plane that it is there, and distances are those from the plane: read off what has been continued into the solid, from distances
/// that were found before, they feed on themselves. A thin solid is no interface
/// either, whatever lies on its two sides: a cell next to it sees only what is on its own side, and distances spread
/// through no barred face. Tests: tests/sides.rs, `air_behind_a_solid_is_no_surface_before_it`,
/// `a_level_that_ends_at_a_solid_goes_on_as_a_plane`.
pub fn redistance_among_solids(
    phi: &mut [f32],
    lattice: &Lattice,
    band_m: f32,
    solids: SolidsAround,
    scratch: &mut Scratch,
) {
    spread_distances(phi, lattice, band_m, solids, &[], scratch);
}

/// As [`redistance_among_solids`], and open cells get their distances through open cells alone. In a wall between liquid
/// and air phi changes its sign where what is continued from both sides meets; through the wall's cells those beside it
/// take that place for a surface, and liquid appears behind walls three cells thick.
/// Test: `liquid_before_a_wall_is_no_surface_behind_it`.
pub fn redistance_before_solids(
    phi: &mut [f32],
    lattice: &Lattice,
    band_m: f32,
    solids: SolidsAround,
    scratch: &mut Scratch,
) {
    spread_distances(phi, lattice, band_m, solids, solids.closed_cell, scratch);
}

/// Distances, through no cell of `opaque_cell`, which may be empty.
fn spread_distances(
    phi: &mut [f32],
    lattice: &Lattice,
    band_m: f32,
    solids: SolidsAround,
    opaque_cell: &[bool],
    scratch: &mut Scratch,
) {
    assert_eq!(phi.len(), lattice.len());
    assert!(lattice.len() < NONE as usize);
    let band = &mut scratch.band;
    let field = CubicField::new(phi, lattice);
    let per_cell = 1.0 / lattice.spacing;
    let reach = band_m * per_cell;
    band.fit(phi.len());
    parallel::for_each_indexed_mut(&mut band.entry_of_cell, |_, entry| *entry = NONE);

    let (mut shown, sides) = (std::mem::take(&mut band.shown), solids.sides);
    find_shown(&mut shown, phi, lattice, &solids);
    let walls = Walls { opaque_cell, phi, phi_solid_node: solids.phi_solid_node, shown: &shown };
    let unresolved_cells = find_seeds(band, &field, phi, lattice, (walls, sides));
    let interface_cells = band.cells.len();
    let search = Search { per_cell, overhang: OVERHANG, trust: FAR_TRUST };
    let mut layer = 0..interface_cells;
    band.layers.clear();
    while !layer.is_empty() {
        let next = layer.end;
        band.layers.push(next);
        grow(band, layer, (lattice, sides, walls), reach);
        reach_layer(band, next, &field, (lattice, sides, walls), search);
        layer = next..band.cells.len();
    }
    relax(band, &field, (lattice, sides, walls), search);
    scratch.redistance_report =
        RedistanceReport { interface_cells, unresolved_cells, band_cells: band.cells.len() };
    write_back(phi, solids.closed_cell, band, lattice, band_m);
    band.shown = shown;
}

/// Finds cells with a 6-neighbour of the other sign and their closest points; returns how many are
/// unresolved.
fn find_seeds(
    band: &mut Band,
    field: &CubicField,
    phi: &[f32],
    lattice: &Lattice,
    (walls, sides): (Walls, &Sides),
) -> usize {
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
            if sides.is_empty() && !crossed.iter().fold(false, |any, &c| any | c) {
                continue;
            }
            for i in 0..nx {
                let cell = nx * (j + ny * k) + i;
                if sides.is_near(cell) {
                    seeds.extend(seed_on_side(phi, lattice, sides, per_cell, [i, j, k]));
                } else if crossed[i] && is_shown_around(walls.shown, lattice, [i, j, k]) {
                    let seed = seed(field, phi, lattice, per_cell, [i, j, k]);
                    seeds.extend(walls.show(lattice, [i, j, k], seed.foot).then_some(seed));
                }
            }
        }
    });
    band.cells.clear();
    band.feet.clear();
    band.reached.clear(lattice);
    let mut unresolved = 0;
    for seed in band.seeds.iter().flatten() {
        band.reached.insert(seed.cell);
        band.entry_of_cell[seed.cell as usize] = band.cells.len() as u32;
        band.cells.push(seed.cell);
        band.feet.push(seed.foot);
        unresolved += !seed.resolved as usize;
    }
    unresolved
}

/// Appends the unknown 6-neighbours of the layer's cells whose distance is below `reach` cells.
fn grow(
    band: &mut Band,
    layer: std::ops::Range<usize>,
    (lattice, sides, walls): (&Lattice, &Sides, Walls),
    reach: f32,
) {
    let Band { cells, feet, entry_of_cell, reached, front, added, .. } = band;
    front.clear(lattice);
    for (&cell, foot) in cells[layer.clone()].iter().zip(&feet[layer]) {
        if dot(foot.point, foot.point) < reach * reach {
            front.insert(cell);
        }
    }
    reached.grow(added, front);
    if !sides.is_empty() || !walls.opaque_cell.is_empty() {
        // What lies behind a solid is reached round it or not at all.
        let known = Known { feet: feet.as_slice(), entry_of_cell, lattice, sides, walls };
        for added in added.iter_mut() {
            added.retain(|&cell| {
                let mut seen = false;
                let c = lattice.coordinates(cell as usize);
                known.for_each_neighbour(cell as usize, c, |entry, _, _| seen |= entry < feet.len());
                if !seen {
                    reached.remove(cell);
                }
                seen
            });
        }
    }
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

/// What is known where closest points are looked for.
#[derive(Clone, Copy)]
struct Known<'a> {
    feet: &'a [Foot],
    entry_of_cell: &'a [u32],
    lattice: &'a Lattice,
    sides: &'a Sides,
    walls: Walls<'a>,
}

/// A neighbour's closest point.
struct Guess {
    distance2: f32,
    /// Of which entry, across which axis, to which side.
    entry: usize,
    axis: usize,
    side: f32,
}

impl Known<'_> {
    /// Runs `body(entry, axis, side)` over the 6-neighbours of a cell that it sees. Opaque cells are seen by opaque ones
    /// alone.
    #[inline(always)]
    fn for_each_neighbour(&self, cell: usize, c: [usize; 3], mut body: impl FnMut(usize, usize, f32)) {
        let opaque = self.walls.opaque_cell;
        let sees = |other: usize| opaque.is_empty() || opaque[cell] || !opaque[other];
        for axis in 0..3 {
            let stride = self.lattice.stride(axis);
            if c[axis] > 0 && sees(cell - stride) && !self.sides.is_barred(cell, axis, false) {
                body(self.entry_of_cell[cell - stride] as usize, axis, -1.0);
            }
            if c[axis] + 1 < self.lattice.size[axis]
                && sees(cell + stride)
                && !self.sides.is_barred(cell, axis, true)
            {
                body(self.entry_of_cell[cell + stride] as usize, axis, 1.0);
            }
        }
    }

    /// The closest point of the neighbours with entries from `first` on that is nearest to the cell;
    /// infinitely far if there is none.
    #[inline(always)]
    fn best_of_neighbours(&self, cell: usize, c: [usize; 3], first: usize) -> Guess {
        let mut best = Guess { distance2: f32::INFINITY, entry: 0, axis: 0, side: 0.0 };
        self.for_each_neighbour(cell, c, |entry, axis, side| {
            if entry >= first
                && let Some(foot) = self.feet.get(entry)
            {
                let mut q = foot.point;
                q[axis] += side;
                let distance2 = dot(q, q);
                if distance2 < best.distance2 {
                    best = Guess { distance2, entry, axis, side };
                }
            }
        });
        best
    }

    /// Newton from a neighbour's closest point; kept only when it is nearer.
    #[inline]
    fn refine(&self, field: &CubicField, search: Search, c: [usize; 3], guess: Guess) -> Foot {
        let neighbour = self.feet[guess.entry];
        let seen = neighbour.seen_from(guess.axis, guess.side);
        // Distances of neighbours differ by a cell at most: nearer points belong to no interface.
        let least = (dot(neighbour.point, neighbour.point).sqrt() - LARGEST_SLOPE).max(0.0);
        if self.sides.is_near(self.lattice.index(c[0], c[1], c[2])) {
            return self.on_plane_beside(c, guess, least);
        }
        let is_far = guess.distance2 > FAR * FAR;
        let search = Search { trust: if is_far { FAR_TRUST } else { TRUST }, ..search };
        match closest_point(field, search, c, seen) {
            Some(foot) => {
                let distance2 = dot(foot.point, foot.point);
                // What lies beyond the hull is no point of the interface that could be nearer.
                let is_nearer = distance2 <= guess.distance2 * (1.0 + 1e-5)
                    || field.beyond_hull(c, seen.point) > search.overhang;
                if self.is_near(c, foot.base) {
                    self.on_plane_beside(c, guess, least)
                } else if !self.walls.show(self.lattice, c, foot) {
                    self.walls.before_line(self.lattice, c, seen).on_plane_beyond_line(guess.distance2, least)
                } else if is_nearer && distance2 >= least * least {
                    foot
                } else {
                    seen
                }
            }
            None => seen,
        }
    }

    /// Is a place, relative to a cell, near a thin solid? The interpolant knows nothing of sides there.
    fn is_near(&self, c: [usize; 3], x: [f32; 3]) -> bool {
        let [i, j, k] = cell_at(self.lattice, c, x);
        !self.sides.is_empty() && self.sides.is_near(self.lattice.index(i, j, k))
    }

    /// A neighbour's closest point where the interpolant is of no use: that of its tangent plane, as long as the way
    /// from there leads away from where it touches and through open faces. Over the rim of a wall and down behind it, or
    /// through the wall, nothing of the surface goes on.
    fn on_plane_beside(&self, c: [usize; 3], guess: Guess, least: f32) -> Foot {
        let Guess { axis, side, .. } = guess;
        let seen = self.feet[guess.entry].seen_from(axis, side);
        let cell = self.lattice.index(c[0], c[1], c[2]);
        let (stride, up) = (self.lattice.stride(axis), side > 0.0);
        let beside = if up { cell + stride } else { cell - stride };
        if !self.sides.are_joined(cell, beside, axis, up) {
            return Foot::bare(seen.point);
        }
        let leads_away = seen.base[axis] * side > 0.5;
        match leads_away {
            true => seen.on_tangent_plane(guess.distance2, least),
            false => seen.behind_rim(self.feet[guess.entry]),
        }
    }
}

/// Closest points of the new entries from `start` on, from those before.
fn reach_layer(
    band: &mut Band,
    start: usize,
    field: &CubicField,
    (lattice, sides, walls): (&Lattice, &Sides, Walls),
    search: Search,
) {
    band.feet.resize(band.cells.len(), Foot::default());
    let (feet, new) = band.feet.split_at_mut(start);
    let known = Known { feet, entry_of_cell: &band.entry_of_cell, lattice, sides, walls };
    let cells = &band.cells[start..];
    parallel::for_each_chunk_mut(new, PIECE, |piece, new| {
        for (cell, foot) in cells[piece * PIECE..].iter().zip(new) {
            let cell = *cell as usize;
            let c = lattice.coordinates(cell);
            *foot = known.refine(field, search, c, known.best_of_neighbours(cell, c, 0));
        }
    });
}

/// Cell steps are not distance: a neighbour that was reached in the same layer or later may know a nearer
/// point of the interface. Twice: all cells are asked once, then the neighbours of those that changed.
fn relax(
    band: &mut Band,
    field: &CubicField,
    (lattice, sides, walls): (&Lattice, &Sides, Walls),
    search: Search,
) {
    let Band { cells, feet, entry_of_cell, layers, suspects, .. } = band;
    let improved = |known: Known, entry: usize, first: usize| -> Option<(u32, Foot)> {
        let cell = cells[entry] as usize;
        let c = lattice.coordinates(cell);
        let best = known.best_of_neighbours(cell, c, first);
        let own = feet_distance2(known.feet, entry);
        (best.distance2 < own * (1.0 - 1e-4)).then(|| (entry as u32, known.refine(field, search, c, best)))
    };
    let known = Known { feet, entry_of_cell, lattice, sides, walls };
    let mut changes = Vec::new();
    for (&first, &end) in layers.iter().zip(layers.iter().skip(1).chain([&cells.len()])) {
        changes.extend(parallel::map_indices(parallel::chunk_count(end - first, PIECE), |piece| {
            let range = parallel::chunk_range(piece, PIECE, end - first);
            range.filter_map(|n| improved(known, first + n, first)).collect::<Vec<_>>()
        }));
    }
    let interface_cells = layers.first().copied().unwrap_or(0);
    suspects.clear();
    for &(entry, foot) in changes.iter().flatten() {
        feet[entry as usize] = foot;
        let known = Known { feet, entry_of_cell, lattice, sides, walls };
        let cell = cells[entry as usize] as usize;
        known.for_each_neighbour(cell, lattice.coordinates(cell), |neighbour, _, _| {
            if neighbour >= interface_cells && neighbour < cells.len() {
                suspects.push(neighbour as u32);
            }
        });
    }
    suspects.sort_unstable();
    suspects.dedup();
    let known = Known { feet, entry_of_cell, lattice, sides, walls };
    let changes = parallel::map_indices(parallel::chunk_count(suspects.len(), PIECE), |piece| {
        let entries = &suspects[parallel::chunk_range(piece, PIECE, suspects.len())];
        entries.iter().filter_map(|&entry| improved(known, entry as usize, 0)).collect::<Vec<_>>()
    });
    for &(entry, foot) in changes.iter().flatten() {
        feet[entry as usize] = foot;
    }
}

#[inline]
fn feet_distance2(feet: &[Foot], entry: usize) -> f32 {
    dot(feet[entry].point, feet[entry].point)
}

/// phi = sign(phi) min(distance, band); bits stay where the distance is the same to rounding.
fn write_back(phi: &mut [f32], closed_cell: &[bool], band: &Band, lattice: &Lattice, band_m: f32) {
    let dx = lattice.spacing;
    let same = 1e-6 * dx;
    parallel::for_each_indexed_mut(phi, |cell, value| {
        let distance = match band.feet.get(band.entry_of_cell[cell] as usize) {
            Some(foot) => dx * dot(foot.point, foot.point).sqrt(),
            // A closed cell keeps what was continued into it: stencils of open cells read it.
            None if !closed_cell.is_empty() && closed_cell[cell] => value.abs(),
            None => band_m,
        };
        let target = if *value < 0.0 { -distance.min(band_m) } else { distance.min(band_m) };
        // A NaN stays a NaN, so that the check for finite values finds it.
        if (target - *value).abs() > same * (distance * distance / (dx * dx)).max(1.0) {
            *value = target;
        }
    });
}
