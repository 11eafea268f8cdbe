//! Where the surface of bulk liquid is: what the ghost values of the pressure are made of.
//!
//! Particles say where the surface is to a few hundredths of a cell, by their density; in still water an error of a
//! hundredth is a flow of a decimetre a second, because nothing calms it. So the distance from the surface is
//! carried with the flow, as a level set is, and the particles only bound its error: it stays within
//! [`PLAY_CELLS`] of what they say. Still water rests where it was filled in, splashes follow the particles.

use crate::SheetsSolver;
use crate::advect::{CRAMPED, FULL_AROUND, UNCUT};
use crate::state::{Density, Solids};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::lattice::Stencil;
use fluvial_grids::{FaceField, Lattice, UniformGrid};
use fluvial_sheets::{Population, Seen, Walls, dilate, distance_of_bell_density, lattice_bell_density};

/// The distance of cells away from the surface, in cells.
pub(crate) const UNKNOWN: f32 = 1e3;

/// The farthest that a fill tells the distance of its surface, in cells.
const FILL_REACH_CELLS: f32 = 3.0;

/// How far the carried distance may be from that of the density, in cells; beside solids from that of the mass,
/// because there the liquid's mirror image bends the level of half density by up to half a cell. In a corner, where the
/// mass says nothing, it may be that far off. Within its play the distance follows the mass as the flow stirs it
/// (`mended_part`): the level of half density goes out by 0.07 cells only where liquid is crowded by a tenth, and a pool
/// that a fall stirs was.
const PLAY_CELLS: f32 = 0.15;
pub(crate) const PLAY_OF_MASS_CELLS: f32 = 0.3;
const BENT_BESIDE_SOLIDS_CELLS: f32 = 0.5;
/// Cells that a moving solid cuts know their distance from those beside them, in its corners from those beside these; so
/// do cramped cells where the mass says nothing.
const ROUNDS_OF_CONTINUATION: usize = 3;
/// The surface is looked for within this many cells.
const NEXT_TO_SURFACE_CELLS: f32 = 2.0;

/// Cells that are liquid by their deficit have at least this much of it: the deficit is no distance, and one
/// that just counts as liquid would have a surface at its very centre and feel an accordingly steep pressure.
const LEAST_DEFICIT: f32 = 0.02;

/// Liquid cells beside the surface are at least this deep, in cells: the least ghost distance of the pressure. It holds
/// each face of a cell back for itself, and where one of three is held the pressure fits no longer to the other two: a
/// surface oblique to all axes stirred at 0.1 m/s.
const LEAST_DISTANCE_CELLS: f32 = 1e-3;

/// Cells whose middle is no farther above the surface of bulk liquid hold some of it.
pub(crate) const SKIN_IN_CELLS: f32 = 0.6;
/// Beside bulk liquid, cells that hold less than this are its skin too, in small particles: what they hold is a part
/// of its outermost particles. Faces there fell freely, and still water under a tilted surface flowed at 0.1 m/s:
/// the particles next to them interpolate their velocity.
pub(crate) const FLYING_MASS: f32 = 0.1;

impl SheetsSolver {
    /// The surface is at first where the fills end.
    pub(crate) fn place_surface(&mut self) {
        let (cells, dx) = (self.grid.cell_centers(), self.grid.dx);
        let (setup, solids) = (&self.setup, self.setup.solids_at(0.0));
        let sides = &self.state.boundaries.solids.fields.sides;
        cells.for_each_mut(&mut self.state.fields.distance_cell, |_, [i, j, k], out| {
            let side = sides.own_place(&cells, [i, j, k]);
            let distance = setup.fill_distance_beside(&solids, cells.position(i, j, k), dx, side) / dx;
            *out = if distance.abs() < FILL_REACH_CELLS { distance } else { UNKNOWN };
        });
    }

    /// The distance from the surface of bulk liquid, in cells, for two layers of liquid cells and one of air. Cells
    /// with d < 0 are liquid; others only by their deficit, and only away from solids (`films.rs`) and from bulk liquid (no
    /// neighbour has d < 0): there it is sheets and drops.
    ///
    /// Tests: `still_water_stays_still_under_a_tilted_surface`, `pressure_at_rest_is_hydrostatic` (validation).
    pub(crate) fn measure_surface_cells(&mut self, dt_s: f64) {
        self.find_films();
        let (size, cells) = (self.grid.cells, self.grid.cell_centers());
        let wet: Vec<bool> = self.work.fields.phi_cell.iter().map(|&p| p < 0.0).collect();
        // Closed cells are no air: in a narrow gap the density is too low to tell. Behind solids that move it must.
        let closed = &self.work.boundaries.solids.closed_cell;
        let moves = self.setup.has_moving_solids();
        let dry: Vec<bool> = wet.iter().map(|wet| !wet).collect();
        let open_air: Vec<bool> = wet.iter().zip(closed).map(|(wet, closed)| !wet && !closed).collect();
        let solids = &self.work.boundaries.solids;
        let near = |air: &[bool]| solids.any(air, &self.grid);
        let held: Vec<bool> =
            wet.iter().zip(&self.work.density.film_cell).map(|(wet, film)| *wet || *film).collect();
        let (near_wet, near_air) = (dilate(&held, size, 1), near(if moves { &dry } else { &open_air }));
        // Bulk is where the 5^3 cells around reach into no cell that is not full: those around open air are not.
        let bulk = near(&near(&open_air)).into_iter().zip(closed).map(|(near, closed)| !near && !closed);
        self.work.density.bulk_cell.iter_mut().zip(bulk).for_each(|(out, bulk)| *out = bulk);
        self.fill_distance(&wet, |cell| near_wet[cell] && near_air[cell], dt_s as f32);
        let closed = &self.work.boundaries.solids.closed_cell;
        let mass_cell = &self.work.population.mass_cell;
        let (phi_cell, distance) = (&mut self.work.fields.phi_cell, &self.work.fields.distance_cell);
        // Below the second layer everything is deep inside.
        let inside =
            |cell: usize| !closed[cell] && (distance[cell] < 0.0 || distance[cell] == UNKNOWN && wet[cell]);
        let Density { skin_cell, film_cell, .. } = &mut self.work.density;
        cells.for_each_mut2(phi_cell, skin_cell, |cell, at, phi, skin| {
            let d = distance[cell];
            *skin = false;
            if d == UNKNOWN || closed[cell] {
                return;
            }
            let any_around = |most_steps: usize| {
                (0..27).any(|n| {
                    let step = [n % 3, n / 3 % 3, n / 9];
                    let [i, j, k] = std::array::from_fn(|a| (at[a] + step[a]).wrapping_sub(1));
                    step.iter().filter(|s| **s != 1).count() <= most_steps
                        && (i < size[0] && j < size[1] && k < size[2])
                        && inside(cells.index(i, j, k))
                })
            };
            let beside_bulk = d >= 0.0 && any_around(1);
            let is_empty = d >= 0.0 && mass_cell[cell] < FLYING_MASS;
            *skin = beside_bulk && d < SKIN_IN_CELLS || is_empty && any_around(3);
            if d < 0.0 || *phi >= 0.0 || beside_bulk || film_cell[cell] {
                *phi = if d < 0.0 { d.min(-LEAST_DISTANCE_CELLS) } else { d };
            } else {
                *phi = phi.min(-LEAST_DEFICIT);
            }
        });
        self.attach_films();
        self.open_sinks();
    }

    /// The pressure finds active sinks empty: their particles are gone before the next step moves them.
    fn open_sinks(&mut self) {
        let (cells, dx) = (self.grid.cell_centers(), self.grid.dx);
        for (_, sink) in self.setup.active_sinks(self.state.time_s) {
            cells.for_each_mut(&mut self.work.fields.phi_cell, |_, [i, j, k], phi| {
                *phi = phi.max(-sink.shape.distance(cells.position(i, j, k)) / dx);
            });
        }
    }

    /// Carries the distance from the surface through the last step's velocity in the cells that are near it, and
    /// holds it to what the particles say. Where nothing is carried, the distance is that of the density.
    fn fill_distance(&mut self, wet: &[bool], is_near: impl Fn(usize) -> bool + Sync + Send, dt_s: f32) {
        let (grid, cells, before) = (self.grid, self.grid.cell_centers(), &self.state.fields);
        let (moves, walls) = (self.setup.has_moving_solids(), &self.work.population.walls);
        cells.for_each_mut(&mut self.work.density.carried_cell, |cell, [i, j, k], out| {
            *out = UNKNOWN;
            if is_near(cell) {
                let seen = walls.seen_from(cells.position(i, j, k));
                *out = carried((&before.distance_cell, seen), &before.u_face, [i, j, k], dt_s, &grid);
            }
        });
        self.compare_with_mass(wet);
        let walls = &self.work.population.walls;
        let part = self.mended_part(dt_s as f64);
        let Population { neighbours, params, mass_cell: mass, .. } = &self.work.population;
        let Solids { fields, closed_cell: closed, .. } = &*self.work.boundaries.solids;
        let Density { crowding_cell: crowding, shift_cell, carried_cell, pass: known_cell, .. } =
            &mut self.work.density;
        let (open, nodes) = (&fields.open_volume, grid.nodes());
        let open_before = &self.state.boundaries.solids.fields.open_volume;
        let (h, full) = (params.reach_m(), lattice_bell_density(params.density_reach));
        let full_mass = self.params.particles_per_cell as f32;
        cells.for_each_mut(&mut self.work.fields.distance_cell, |cell, [i, j, k], out| {
            // Nothing bounds what a closed cell carries: a slope that went on from its own value into the solid doubled
            // it from step to step. Cells beside it go on as the plane that they are themselves.
            *out = if closed[cell] { UNKNOWN } else { carried_cell[cell] };
            if !is_near(cell) || closed[cell] {
                return;
            }
            // What was carried to where a solid moves came from inside it.
            if moves && open[cell].min(open_before[cell]) < UNCUT {
                *out = UNKNOWN;
                return;
            }
            let x = cells.position(i, j, k);
            let (beside_solid, shift) = (walls.solid_is_near(x, h), shift_cell[cell]);
            if !shift.is_nan() {
                let within_play = shift.clamp(-PLAY_OF_MASS_CELLS, PLAY_OF_MASS_CELLS);
                *out += part * within_play;
                if beside_solid {
                    // A cell amid others that is full for itself is no pocket of air that they flow into. An empty one says
                    // nothing: how far above the surface it is, others know.
                    let filled = (mass[cell] / (full_mass * open[cell].max(CRAMPED))).min(1.0);
                    let of_its_own =
                        if filled > 0.0 { 0.5 - filled + PLAY_OF_MASS_CELLS } else { f32::INFINITY };
                    let highest = of_its_own.min(FILL_REACH_CELLS);
                    *out = (*out + shift - within_play).clamp(-FILL_REACH_CELLS, highest);
                    return;
                }
            }
            // Nor is there air amid full cells behind a moving solid.
            if moves && crowding[cell] > FULL_AROUND {
                *out = UNKNOWN;
                return;
            }
            // The centre of a cramped cell lies in a solid, where the density says nothing: the cells beside it must.
            if open[cell] < CRAMPED {
                *out = UNKNOWN;
                return;
            }
            // Beyond the line where the surface meets a solid it lies in the solid, and no density tells where: there it goes on
            // as it is carried.
            if beside_solid && mass[cell] == 0.0 && *out != UNKNOWN {
                let solid = nodes.sample(&fields.phi_node, x) / grid.dx;
                if *out >= solid {
                    *out = out.min(FILL_REACH_CELLS);
                    return;
                }
            }
            let measured =
                distance_of_bell_density(neighbours.bell_density(x, h, walls) / full) * h / grid.dx;
            *out = match *out {
                UNKNOWN => measured,
                carried => {
                    let play = if beside_solid { BENT_BESIDE_SOLIDS_CELLS } else { PLAY_CELLS };
                    carried.clamp(measured - play, measured + play)
                }
            };
        });
        for _ in 0..ROUNDS_OF_CONTINUATION {
            known_cell.clone_from(&self.work.fields.distance_cell);
            let (known_cell, carried_cell) = (&*known_cell, &*carried_cell);
            cells.for_each_mut(&mut self.work.fields.distance_cell, |cell, at, out| {
                if *out != UNKNOWN || !is_near(cell) || closed[cell] {
                    return;
                }
                if moves {
                    let by_mass = distance_of_crowding(crowding[cell]);
                    *out = continued(known_cell, walls, at, &cells)
                        .map_or(UNKNOWN, |distance| distance.min(by_mass + BENT_BESIDE_SOLIDS_CELLS));
                } else if carried_cell[cell] != UNKNOWN {
                    *out = held_beside(known_cell, carried_cell[cell], walls, at, &cells).unwrap_or(UNKNOWN);
                }
            });
        }
    }
}

/// The distance of a flat surface along the axes from a cell around which so much of what fits is held, in cells: the
/// layers of cells below it weigh 1, 3, 6, 8, 9 of 9.
fn distance_of_crowding(crowding: f32) -> f32 {
    const LAYERS: [f32; 5] = [1.0, 2.0, 3.0, 2.0, 1.0];
    let mut left = 9.0 * crowding.clamp(0.0, 1.0);
    let mut filled = 0.0;
    for weight in LAYERS {
        filled += (left / weight).clamp(0.0, 1.0);
        left -= weight;
    }
    2.5 - filled
}

/// The distance that the liquid which is now in the middle of a cell had before a step, second order in time;
/// `UNKNOWN` where more than half of its stencil is.
///
/// Where a corner of the stencil is unknown the distance goes on as the plane that it is around the cell. Left out, it
/// took the slope across the outermost layer with it: a distance there fell when liquid rose and did not rise when it
/// fell again, and still water under a tilted surface grew restless by 0.8 to 1.6 a second. (Linearised, with the distance
/// carried everywhere, no wave grows with `flip_ratio` 0.95.)
/// What is behind a thin solid is not seen. Tests: `still_water_stays_still_under_a_tilted_surface`, `still_water_stays_still_in_bowls_off_the_grid`.
fn carried(
    (distance_cell, seen): (&[f32], Option<Seen>),
    u_face: &FaceField,
    at: [usize; 3],
    dt_s: f32,
    grid: &UniformGrid,
) -> f32 {
    let cells = grid.cell_centers();
    let x = cells.position(at[0], at[1], at[2]);
    let middle = x - 0.5 * dt_s * grid.sample_velocity(u_face, x);
    let from = x - dt_s * grid.sample_velocity(u_face, middle);
    let stencil = cells.stencil(from);
    let mut corners = cells.corner_values(distance_cell, stencil.base);
    if let Some(seen) = seen {
        let low = cells.coordinates(stencil.base);
        for (n, corner) in corners.iter_mut().enumerate() {
            if !seen.sees(std::array::from_fn(|a| low[a] + (n >> a & 1))) {
                *corner = UNKNOWN;
            }
        }
    }
    let low = cells.coordinates(stencil.base);
    let here = distance_cell[cells.index(at[0], at[1], at[2])];
    // The plane that the distances around the cell itself make; farther away it says nothing.
    let is_beside = AXES.iter().all(|&a| low[a] <= at[a] && at[a] <= low[a] + 1);
    if here != UNKNOWN && is_beside && corners.contains(&UNKNOWN) {
        let slope = slopes((distance_cell, seen), at, &cells).map(Option::unwrap_or_default);
        for (n, corner) in corners.iter_mut().enumerate().filter(|(_, corner)| **corner == UNKNOWN) {
            let step = AXES.map(|a| (low[a] + (n >> a & 1)) as f32 - at[a] as f32);
            *corner = here + Vec3::from_array(slope).dot(Vec3::from_array(step));
        }
    }
    let unit = Lattice { size: [2; 3], origin: Vec3::ZERO, spacing: 1.0 };
    let at = |corners: [f32; 8]| unit.interpolate(&corners, Stencil { base: 0, ..stencil });
    if !corners.contains(&UNKNOWN) {
        return at(corners);
    }
    let weight = at(corners.map(|c| if c == UNKNOWN { 0.0 } else { 1.0 }));
    let sum = at(corners.map(|c| if c == UNKNOWN { 0.0 } else { c }));
    if weight > 0.5 { sum / weight } else { UNKNOWN }
}

/// The distance at a cell as it goes on from the cells beside it, along the axes that their slope is known along; none
/// where none is.
///
/// Cells that a moving solid cuts are liquid by the mass around, which is no distance: with the surface at their very
/// centres, water beside the walls of a shaken bowl shot up at 3 m/s.
fn continued(distance_cell: &[f32], walls: &Walls, at: [usize; 3], cells: &Lattice) -> Option<f32> {
    let seen = walls.seen_from(cells.position(at[0], at[1], at[2]));
    let (mut sum, mut count) = (0.0, 0.0);
    for (axis, up) in AXES.into_iter().flat_map(|axis| [(axis, false), (axis, true)]) {
        let mut beside = at;
        beside[axis] = if up { at[axis] + 1 } else { at[axis].wrapping_sub(1) };
        if beside[axis] >= cells.size[axis] || seen.is_some_and(|seen| !seen.sees(beside)) {
            continue;
        }
        let [i, j, k] = beside;
        let seen = walls.seen_from(cells.position(i, j, k));
        if let Some(slope) = slopes((distance_cell, seen), beside, cells)[axis] {
            sum += distance_cell[cells.index(i, j, k)] + if up { -slope } else { slope };
            count += 1.0;
        }
    }
    (count > 0.0).then(|| sum / count)
}

/// The distance carried to a cell as those beside it allow: a distance changes by no more than a cell from one cell to the
/// next. None where no cell beside it knows its own.
///
/// Where liquid flows out of what a solid covers, what is carried comes from a plane through the cell's own value: its
/// slope, and so the value, grew by a factor in every step, to infinity.
///
/// Test: `a_jet_over_a_ball_knows_its_surface_and_its_speed`.
fn held_beside(
    distance_cell: &[f32],
    carried: f32,
    walls: &Walls,
    at: [usize; 3],
    cells: &Lattice,
) -> Option<f32> {
    let seen = walls.seen_from(cells.position(at[0], at[1], at[2]));
    let (mut lowest, mut highest) = (f32::NEG_INFINITY, f32::INFINITY);
    for (axis, up) in AXES.into_iter().flat_map(|axis| [(axis, false), (axis, true)]) {
        let mut beside = at;
        beside[axis] = if up { at[axis] + 1 } else { at[axis].wrapping_sub(1) };
        if beside[axis] >= cells.size[axis] || seen.is_some_and(|seen| !seen.sees(beside)) {
            continue;
        }
        let distance = distance_cell[cells.index(beside[0], beside[1], beside[2])];
        if distance != UNKNOWN {
            (lowest, highest) = (lowest.max(distance - 1.0), highest.min(distance + 1.0));
        }
    }
    match (lowest.is_finite(), lowest <= highest) {
        (false, _) => None,
        (true, true) => Some(carried.clamp(lowest, highest)),
        (true, false) => Some(0.5 * (lowest + highest)),
    }
}

/// The distance's slope at a cell along each axis, a cell; none where it is not known.
pub(crate) fn slopes(
    (distance_cell, seen): (&[f32], Option<Seen>),
    at: [usize; 3],
    cells: &Lattice,
) -> [Option<f32>; 3] {
    let here = distance_cell[cells.index(at[0], at[1], at[2])];
    let known = |axis: usize, up: bool| {
        let mut beside = at;
        beside[axis] = if up { at[axis] + 1 } else { at[axis].wrapping_sub(1) };
        let is_seen = beside[axis] < cells.size[axis] && seen.is_none_or(|seen| seen.sees(beside));
        let distance = is_seen.then(|| distance_cell[cells.index(beside[0], beside[1], beside[2])]);
        distance.filter(|&distance| distance != UNKNOWN)
    };
    let slope = |axis: usize| match [known(axis, false), known(axis, true)] {
        [Some(low), Some(high)] => Some(0.5 * (high - low)),
        [Some(low), None] => Some(here - low),
        [None, Some(high)] => Some(high - here),
        [None, None] => None,
    };
    if here == UNKNOWN { [None; 3] } else { [slope(0), slope(1), slope(2)] }
}

/// The way from the middle of a cell to the surface, metres; none where the distances around do not tell it.
pub(crate) fn to_surface(distance: (&[f32], Option<Seen>), at: [usize; 3], cells: &Lattice) -> Vec3 {
    let here = distance.0[cells.index(at[0], at[1], at[2])];
    if here.abs() > NEXT_TO_SURFACE_CELLS {
        return Vec3::ZERO;
    }
    let slope = Vec3::from_array(slopes(distance, at, cells).map(Option::unwrap_or_default));
    -here * cells.spacing * slope.normalize_or_zero()
}
