//! Water between a body and what it touches.
//!
//! Where a body lies on a floor, leans on a wall or meets another solid, no cell is left between the two: pressure would push it from all
//! sides but that one, and water above would hold it down for ever. In reality there is a film of water. In the limit of a thin
//! film its own weight and inertia are nothing, and where it is at rest its pressure continues that of the water at its rim: the film
//! at x has `p(x) = sum_i W_i(x) (p_i + rho g . (x - x_i))`, `sum W = 1`, with the cells i of the rim that are nearest along the film.
//!
//! On a grid the film lies in contact cells, those without any open face whose closed parts do not cancel for the body: their row of
//! the coupling `G_c = sum_f n_f (1 - A_f) (e_f, r_f x e_f)` is what the body's surface lacks. Pressure there would give the body
//! `G_c^T p_c`, so with the film it gives `sum_i (W^T G)_i^T p_i` and a weight that is known: the cells of the rim receive the
//! rows of the film, and the operator stays symmetric and positive definite. Read the other way, what the film takes up when the body lifts comes
//! out of the cells at its rim. With the film a pressure that is the same everywhere pushes no body.
//!
//! Films thinner than [`FILM_PART`] of a cell that lead nowhere are closed, so that this holds for them too. The water in them moves as fast as
//! the gap is long against its width; no grid carries that velocity on from step to step, and starting anew in each it would hold a
//! body down as if it were glue.
//!
//! A film whose rim is air has the air's pressure, and one without any rim none.

use fluvial_foundation::Vec3;

/// What flows out of a cell by the three velocities and three angular velocities of a body.
pub type Row = [f32; 6];

/// What a cell is to a film.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// It has no open face.
    Closed,
    /// Air.
    Dry,
    /// Water.
    Wet,
}

/// Water between a body and something else that leaves all faces of a cell less than this part is a film.
pub const FILM_PART: f32 = 0.1;

/// Is what is open of a cell a film? For its faces, low and high along each axis, the open part and what the body closes: between a body
/// alone and the water beside it the two differ by the same from low to high.
///
/// Test: `films_of_bodies_are_closed`.
pub fn is_film(open: [f32; 6], closed_by_body: [f32; 6]) -> bool {
    let pushed = |axis: usize| (closed_by_body[2 * axis + 1] - closed_by_body[2 * axis]).abs();
    open.iter().all(|part| *part <= FILM_PART) && (0..3).any(|axis| pushed(axis) > 2.0 * FILM_PART)
}

/// Keeps those of some film cells, ascending, whose film is a dead end: the water at its rim is connected without it. What is no dead end
/// lets water past a body that fills a pipe, and must stay open. `neighbours` of a cell across its open faces; there are `cells` in all.
///
/// Test: `films_that_let_water_past_a_body_stay_open`.
pub fn keep_dead_ends(
    films: &mut Vec<usize>,
    cells: usize,
    neighbours: impl Fn(usize, &mut dyn FnMut(usize)),
) {
    if films.is_empty() {
        return;
    }
    let all = std::mem::take(films);
    let mut is_known = vec![false; all.len()];
    // The film that last saw a cell.
    let mut seen = vec![0u32; cells];
    let (mut film, mut rim, mut queue) = (vec![], vec![], vec![]);
    for first in 0..all.len() {
        if std::mem::replace(&mut is_known[first], true) {
            continue;
        }
        let stamp = first as u32 + 1;
        film.clear();
        rim.clear();
        film.push(all[first]);
        let mut next = 0;
        while next < film.len() {
            neighbours(film[next], &mut |cell| match all.binary_search(&cell) {
                Ok(n) if !std::mem::replace(&mut is_known[n], true) => film.push(cell),
                Ok(_) => {}
                Err(_) => rim.push(cell),
            });
            next += 1;
        }
        rim.sort_unstable();
        rim.dedup();
        let (mut missing, mut next) = (rim.len(), 0);
        queue.clear();
        let reach = |cell: usize, seen: &mut [u32], queue: &mut Vec<usize>| {
            let is_new = std::mem::replace(&mut seen[cell], stamp) != stamp;
            if is_new {
                queue.push(cell);
            }
            usize::from(is_new && rim.binary_search(&cell).is_ok())
        };
        missing -= rim.first().map_or(0, |cell| reach(*cell, &mut seen, &mut queue));
        while next < queue.len() && missing > 0 {
            neighbours(queue[next], &mut |cell| {
                if all.binary_search(&cell).is_err() {
                    missing -= reach(cell, &mut seen, &mut queue);
                }
            });
            next += 1;
        }
        if missing == 0 {
            films.extend(&film);
        }
    }
    films.sort_unstable();
}

/// The films of a step's bodies; owned by the caller and reused from step to step.
#[derive(Clone, Debug, Default)]
pub struct Films {
    /// The bodies as the grid sees them.
    pub bodies: Vec<SeenBody>,
    /// The cells of all films, ascending.
    cells: Vec<FilmCell>,
    /// From cell to cell, nearest to the rim first.
    order: Vec<u32>,
    /// What the cells' pressures are the means of.
    feeders: Vec<Feeder>,
    rows: Vec<[f64; 6]>,
}

/// What a grid makes of a body. Volumes are in any one unit.
#[derive(Clone, Debug, Default)]
pub struct SeenBody {
    /// What is closed of all its cells.
    pub closed: f64,
    /// The same of those at its surface.
    pub at_surface: f64,
    /// The same of those at its surface that have a wet pressure of their own.
    pub wet: f64,
    /// Its contact cells, ascending.
    pub contacts: Vec<Contact>,
}

/// A cell where a body touches something.
#[derive(Clone, Copy, Debug)]
pub struct Contact {
    /// Which.
    pub cell: u32,
    /// The body's row there.
    pub row: Row,
    /// Volume of what is closed of it.
    pub closed: f64,
}

#[derive(Clone, Copy, Debug)]
struct FilmCell {
    cell: u32,
    /// The body's side of the film.
    toward: Vec3,
    /// Way to the rim along the film, in [`FACE_WAY`]s and [`EDGE_WAY`]s.
    way: u32,
    /// First of its feeders, and their number.
    feeders: (u32, u32),
    mean: FilmMean,
}

#[derive(Clone, Copy, Debug)]
enum Feeder {
    /// A cell of a film, by its place in the list.
    Film(u32),
    /// A cell at the rim.
    Rim(u32),
}

/// Of what a film cell's pressure is the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FilmMean {
    /// The part of its rim that is water.
    pub wet: f32,
    /// By how much the film cell lies beside the water at its rim, metres; air counts as nothing.
    pub beside_m: Vec3,
}

/// Ways to neighbours across faces and edges, as 1 to the root of 2.
const FACE_WAY: u32 = 5;
const EDGE_WAY: u32 = 7;
const NO_WAY: u32 = u32::MAX;
/// Cosines of the angle between the body's side of a film and the ways to water at its rim. That is to the sides of it, and where the surface
/// of contact lies in a plane of faces, so that its cells are the other solid's, past the body's edge; never through what the body lies on.
const ALONG: std::ops::RangeInclusive<f32> = -0.5..=0.9;

impl Films {
    /// Drops all contacts and makes room for those of so many bodies.
    pub fn clear(&mut self, bodies: usize) {
        self.bodies.resize_with(bodies, SeenBody::default);
        for seen in &mut self.bodies {
            seen.contacts.clear();
            *seen = SeenBody { contacts: std::mem::take(&mut seen.contacts), ..SeenBody::default() };
        }
    }

    /// Finds what the pressure in every contact cell is made of. `center` of a cell, and its neighbour at an offset in cells, which
    /// lies inside the domain.
    pub fn find(
        &mut self,
        center: impl Fn(u32) -> Vec3,
        neighbour: impl Fn(u32, [i32; 3]) -> Option<(u32, Beside)>,
    ) {
        let Films { bodies, cells, order, feeders, .. } = self;
        cells.clear();
        feeders.clear();
        for Contact { cell, row, .. } in bodies.iter().flat_map(|body| &body.contacts) {
            let toward = Vec3::new(row[0], row[1], row[2]).normalize_or_zero();
            let (way, feeders, mean) = (NO_WAY, (0, 0), FilmMean::default());
            cells.push(FilmCell { cell: *cell, toward, way, feeders, mean });
        }
        // Between two bodies both have the same film: the first one's.
        cells.sort_by_key(|film| film.cell);
        cells.dedup_by_key(|film| film.cell);
        let ways = |film: &FilmCell| {
            let FilmCell { cell, toward, .. } = *film;
            let neighbour = &neighbour;
            offsets().filter_map(move |offset| {
                let (other, beside) = neighbour(cell, offset)?;
                let along = Vec3::from_array(offset.map(|o| o as f32)).normalize().dot(toward);
                let way = if offset.iter().filter(|o| **o != 0).count() == 1 { FACE_WAY } else { EDGE_WAY };
                (beside == Beside::Closed || ALONG.contains(&along)).then_some((other, beside, way))
            })
        };
        let place = |cells: &[FilmCell], cell: u32| cells.binary_search_by_key(&cell, |film| film.cell).ok();
        // Ways shrink until they are the shortest; a film is a few cells wide.
        let mut is_settled = false;
        while !is_settled {
            is_settled = true;
            for n in 0..cells.len() {
                let far = |(cell, beside, way): (u32, Beside, u32)| match beside {
                    Beside::Closed => place(cells, cell).map(|m| cells[m].way.saturating_add(way)),
                    Beside::Dry | Beside::Wet => Some(way),
                };
                let shortest = ways(&cells[n]).filter_map(far).min().unwrap_or(NO_WAY);
                is_settled &= shortest >= cells[n].way;
                cells[n].way = cells[n].way.min(shortest);
            }
        }
        order.clear();
        order.extend((0..cells.len() as u32).filter(|n| cells[*n as usize].way < NO_WAY));
        order.sort_by_key(|n| cells[*n as usize].way);
        for n in order.iter().map(|n| *n as usize) {
            let (own, x, mut mean) = (cells[n], center(cells[n].cell), FilmMean::default());
            let first = feeders.len() as u32;
            for (cell, beside, way) in ways(&own) {
                match (beside, place(cells, cell)) {
                    (Beside::Closed, Some(m)) if cells[m].way.saturating_add(way) == own.way => {
                        let FilmMean { wet, beside_m } = cells[m].mean;
                        mean.wet += wet;
                        mean.beside_m += beside_m + wet * (x - center(cell));
                        feeders.push(Feeder::Film(m as u32));
                    }
                    (Beside::Dry | Beside::Wet, _) if way == own.way => {
                        let wet = if beside == Beside::Wet { 1.0 } else { 0.0 };
                        mean.wet += wet;
                        mean.beside_m += wet * (x - center(cell));
                        feeders.push(Feeder::Rim(cell));
                    }
                    _ => {}
                }
            }
            let count = feeders.len() as u32 - first;
            let part = 1.0 / count as f32;
            cells[n].mean = FilmMean { wet: part * mean.wet, beside_m: part * mean.beside_m };
            cells[n].feeders = (first, count);
        }
    }

    /// A body's contact cells, and what the pressure in each is the mean of.
    pub fn means(&self, body: usize) -> impl Iterator<Item = (&Contact, FilmMean)> + '_ {
        self.bodies[body].contacts.iter().map(|contact| (contact, self.cells[self.place(contact.cell)].mean))
    }

    /// The part of what a body closes at its surface that is under water.
    pub fn wet_part(&self, body: usize) -> f64 {
        let SeenBody { at_surface, wet, .. } = self.bodies[body];
        let of_films: f64 =
            self.means(body).map(|(contact, mean)| contact.closed * f64::from(mean.wet)).sum();
        if at_surface > 0.0 { (wet + of_films) / at_surface } else { 0.0 }
    }

    fn place(&self, cell: u32) -> usize {
        self.cells.binary_search_by_key(&cell, |film| film.cell).expect("a contact cell")
    }

    /// The cells at the rim that receive rows for a body, ascending, and what they receive.
    pub fn hand_over(&mut self, body: usize, rim_cells: &mut Vec<u32>, rim_rows: &mut Vec<Row>) {
        rim_cells.clear();
        rim_rows.clear();
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        rows.resize(self.cells.len(), [0.0; 6]);
        for contact in &self.bodies[body].contacts {
            rows[self.place(contact.cell)] = contact.row.map(f64::from);
        }
        for n in self.order.iter().rev().map(|n| *n as usize) {
            if rows[n] == [0.0; 6] {
                continue;
            }
            let (first, count) = self.cells[n].feeders;
            let share = rows[n].map(|v| v / f64::from(count));
            for feeder in &self.feeders[first as usize..(first + count) as usize] {
                match *feeder {
                    Feeder::Film(m) => (0..6).for_each(|c| rows[m as usize][c] += share[c]),
                    Feeder::Rim(cell) => {
                        let at = rim_cells.partition_point(|other| *other < cell);
                        if rim_cells.get(at) != Some(&cell) {
                            rim_cells.insert(at, cell);
                            rim_rows.insert(at, [0.0; 6]);
                        }
                        (0..6).for_each(|c| rim_rows[at][c] += share[c] as f32);
                    }
                }
            }
        }
        self.rows = rows;
    }
}

/// To the neighbours across faces and edges.
fn offsets() -> impl Iterator<Item = [i32; 3]> {
    let all = (0..27).map(|n| [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1]);
    all.filter(|offset| matches!(offset.iter().filter(|o| **o != 0).count(), 1 | 2))
}
