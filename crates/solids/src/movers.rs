//! Which of the solids that move a face belongs to, and how fast it is.

use crate::film::{FILM_PART, is_film, keep_dead_ends};
use crate::rasterize::{NodeRange, is_inside_or_open};
use crate::{BAND_CELLS, SolidFields, Twist, sides};
use fluvial_foundation::{AXES, Axis, parallel};
use fluvial_grids::{Lattice, UniformGrid};

impl SolidFields {
    /// Which of the solids that move lies nearest to a face, and less than [`BAND_CELLS`] from it; numbered among those
    /// that move. None at closed walls of the domain, which no solid carries along.
    pub fn mover(&self, grid: &UniformGrid, axis: Axis, at: [usize; 3]) -> Option<usize> {
        let (_, walls, _) = self.key?;
        is_inside_or_open(grid, walls, axis, at)
            .then(|| self.nearest_mover(&grid.nodes(), axis, at))
            .flatten()
    }

    fn nearest_mover(&self, nodes: &Lattice, axis: Axis, [i, j, k]: [usize; 3]) -> Option<usize> {
        let node = nodes.index(i, j, k);
        let (s, t) = (nodes.stride((axis + 1) % 3), nodes.stride((axis + 2) % 3));
        let corner = [node, node + s, node + t, node + s + t];
        let phi = corner.map(|n| self.phi_node[n]);
        let nearest = (0..4).fold(0, |best, c| if phi[c] < phi[best] { c } else { best });
        let owner = self.owner_node[corner[nearest]] as usize;
        (owner > 0 && phi[nearest] < BAND_CELLS * nodes.spacing).then(|| owner - 1)
    }

    /// Closes the faces of cells that hold no more than a film of water between a body and something else, see [`crate::Films`]; `is_body` of
    /// each of the solids that move.
    pub(crate) fn close_films(&mut self, grid: &UniformGrid, is_body: impl Fn(usize) -> bool) {
        let (Some(region), cells) = (self.moving_region, grid.cell_centers()) else { return };
        let NodeRange { lo, hi } = region.touching(cells.size, [true; 3]);
        let faces_of = |at: [usize; 3]| {
            [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)].map(|(axis, up)| {
                let mut on = at;
                on[axis] += up;
                (axis, on, grid.faces(axis).index(on[0], on[1], on[2]))
            })
        };
        let mut films = vec![];
        for (k, j) in (lo[2]..hi[2]).flat_map(|k| (lo[1]..hi[1]).map(move |j| (k, j))) {
            for at in (lo[0]..hi[0]).map(|i| [i, j, k]) {
                // A film fills no more of its cell than of its faces; what is closed without one needs no closing.
                let volume = self.open_volume[cells.index(at[0], at[1], at[2])];
                if volume == 0.0 || volume > FILM_PART {
                    continue;
                }
                let faces = faces_of(at);
                let open = faces.map(|(axis, _, face)| self.open_area[axis][face]);
                if open == [0.0; 6] {
                    continue;
                }
                let owners = faces.map(|(axis, on, _)| self.mover(grid, axis, on).filter(|n| is_body(*n)));
                let closed_by = |body: usize| {
                    std::array::from_fn(|n| if owners[n] == Some(body) { 1.0 - open[n] } else { 0.0 })
                };
                if owners.into_iter().flatten().any(|body| is_film(open, closed_by(body))) {
                    films.push(cells.index(at[0], at[1], at[2]));
                }
            }
        }
        films.sort_unstable();
        let open_area = &self.open_area;
        keep_dead_ends(&mut films, cells.len(), |cell, visit| {
            let at = cells.coordinates(cell);
            for (n, (axis, _, face)) in faces_of(at).into_iter().enumerate() {
                if open_area[axis][face] > 0.0 {
                    sides::neighbour(&cells, at, cell, axis, n % 2 == 1).into_iter().for_each(&mut *visit);
                }
            }
        });
        for (axis, _, face) in films.into_iter().flat_map(|cell| faces_of(cells.coordinates(cell))) {
            self.snapped_faces += usize::from(self.open_area[axis][face] > 0.0);
            self.open_area[axis][face] = 0.0;
        }
    }

    /// Gives the moving solids other velocities, in the order of those that move, at the places where they are.
    pub fn set_twists(&mut self, grid: &UniformGrid, twists: &[Twist]) {
        for (state, twist) in self.moving_state.iter_mut().zip(twists) {
            state.1 = *twist;
        }
        let Some(region) = self.moving_region else { return };
        let mut u_solid = std::mem::take(&mut self.u_solid);
        for axis in AXES {
            let faces = grid.faces(axis);
            let range = region.touching(faces.size, std::array::from_fn(|a| a != axis));
            parallel::for_each_chunk_mut(&mut u_solid[axis], faces.slab(), |k, slab| {
                let rows =
                    if (range.lo[2]..range.hi[2]).contains(&k) { range.lo[1]..range.hi[1] } else { 0..0 };
                for (j, i) in rows.flat_map(|j| (range.lo[0]..range.hi[0]).map(move |i| (j, i))) {
                    if let Some(n) = self.mover(grid, axis, [i, j, k]) {
                        slab[i + faces.size[0] * j] = twists[n].at(faces.position(i, j, k))[axis];
                    }
                }
            });
        }
        self.u_solid = u_solid;
    }
}
