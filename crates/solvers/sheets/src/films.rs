//! Films on solids that are too thin for the pressure: it knows a cell when liquid covers its centre.
//!
//! Across a film of thickness delta with the normal n of its surface the pressure falls from `-rho (g . n) delta` to zero,
//! however thin it is: the solid carries the film's weight, and what moves it is gravity's part along its surface,
//! `g - (g . n) n`, nothing where the surface is level. Where the pressure has no unknown nothing said so: films fell freely
//! while the solid held their particles where they were, gathered the speed of that fall, 1.4 sqrt(g h) above still water,
//! and passed it on.
//!
//! Films that hang together with bulk liquid move with it, as all liquid does whose cells the surface runs through below
//! their middle. By the slope of their own surface alone, which does not answer to their flow, those at the edge of
//! still water stirred by e^1.5 a second.
//!
//! Test: `films_on_solids_rest`.

use crate::SheetsSolver;
use crate::state::{Density, Solids};
use crate::surface::{FLYING_MASS, SKIN_IN_CELLS, UNKNOWN, slopes};
use fluvial_foundation::parallel::{for_each_beside_mut, for_each_indexed_mut};
use fluvial_foundation::{AXES, Vec3};
use fluvial_mac::for_each_face;

/// Distances to solids have this slope at least where these are one plane within a cell: in corners, at edges and beside
/// thin walls it is less, and no direction is theirs.
const SLOPE_OF_A_PLANE: f32 = 0.9;
/// A film lies on a solid whose normal is within 60 degrees of that of its surface (the cosine).
const LIES_ON: f32 = 0.5;
/// From the centre of a cell to its nearest corner along the normal n of a plane that touches it, in cells over
/// `|n_x| + |n_y| + |n_z|`, and a rest for rounding.
const TO_CORNER: f32 = 0.501;

impl SheetsSolver {
    /// Marks the cells that hold liquid and touch a solid.
    pub(crate) fn find_films(&mut self) {
        let (grid, nodes, work) = (self.grid, self.grid.nodes(), &mut self.work);
        let Solids { fields, closed_cell, .. } = &*work.boundaries.solids;
        let (phi_node, cells, mass_cell) =
            (&fields.phi_node, grid.cell_centers(), &work.population.mass_cell);
        let has_solids = !self.setup.solids.is_empty();
        for_each_indexed_mut(&mut work.density.film_cell, |cell, film| {
            *film = has_solids && mass_cell[cell] > 0.0 && !closed_cell[cell] && {
                let [i, j, k] = cells.coordinates(cell);
                let x = cells.position(i, j, k);
                let normal = nodes.gradient(phi_node, x).normalize_or_zero();
                nodes.sample(phi_node, x) <= TO_CORNER * grid.dx * normal.abs().element_sum()
            };
        });
    }

    /// Makes films that hang together with bulk liquid its skin, as far as velocities are extended, and the air around
    /// them: what particles say there is the film's own velocity.
    pub(crate) fn attach_films(&mut self) {
        if self.setup.solids.is_empty() {
            return;
        }
        let (grid, cells, size) = (self.grid, self.grid.cell_centers(), self.grid.cells);
        let open_area = &self.work.boundaries.solids.fields.open_area;
        let Density { skin_cell, skin_before, film_cell, .. } = &mut self.work.density;
        let (distance, mass_cell) = (&self.work.fields.distance_cell, &self.work.population.mass_cell);
        for _ in 0..self.band_cells {
            skin_before.clone_from(skin_cell);
            let is_beside_skin = |cell: usize, at: [usize; 3]| {
                AXES.into_iter().any(|axis| {
                    let (faces, stride) = (grid.faces(axis), cells.stride(axis));
                    let low = faces.index(at[0], at[1], at[2]);
                    let is_open = |face: usize| open_area[axis][face] > 0.0;
                    at[axis] > 0 && is_open(low) && skin_before[cell - stride]
                        || at[axis] + 1 < size[axis]
                            && is_open(low + faces.stride(axis))
                            && skin_before[cell + stride]
                })
            };
            cells.for_each_mut(skin_cell, |cell, at, skin| {
                *skin |= film_cell[cell]
                    && (0.0..SKIN_IN_CELLS).contains(&distance[cell])
                    && is_beside_skin(cell, at);
            });
        }
        skin_before.clone_from(skin_cell);
        let is_around = |at: [usize; 3]| {
            (0..27).any(|n| {
                let step = [n % 3, n / 3 % 3, n / 9];
                let [i, j, k] = std::array::from_fn(|a| (at[a] + step[a]).wrapping_sub(1));
                let is_inside = i < size[0] && j < size[1] && k < size[2];
                let is_attached = |cell: usize| film_cell[cell] && skin_before[cell];
                is_inside && is_attached(cells.index(i, j, k))
            })
        };
        cells.for_each_mut(skin_cell, |cell, at, skin| {
            let is_air = (0.0..UNKNOWN).contains(&distance[cell]) && mass_cell[cell] < FLYING_MASS;
            *skin |= is_air && is_around(at);
        });
    }

    /// Gravity on every face that has a velocity, less what solids take of it where films lie on them.
    pub(crate) fn apply_gravity(&mut self, dt_s: f64) {
        let gravity_m_s = self.setup.liquid.gravity * dt_s as f32;
        let has_solids = !self.setup.solids.is_empty();
        if has_solids {
            self.fill_carried_weight(gravity_m_s);
        }
        let (grid, work) = (self.grid, &mut self.work);
        let (unknown, carried) = (&work.unknowns.unknown_cell, &work.carried_weight_cell);
        for axis in AXES {
            let (push, valid) = (gravity_m_s[axis], &work.velocity.valid_face[axis]);
            let u_face = &mut work.fields.u_face[axis];
            for_each_beside_mut(u_face, valid, |u, &valid| {
                *u += if valid != 0 { push } else { 0.0 };
            });
            if !has_solids {
                continue;
            }
            for_each_face(u_face, &grid, axis, |face, cells, u| {
                if valid[face] == 0 || cells.any(|cell| unknown[cell]) {
                    return;
                }
                let [low, high] = [cells.low, cells.high].map(|cell| cell.map_or(0.0, |c| carried[c][axis]));
                // The film lies in both cells beside the face or in one of them.
                *u += if low != 0.0 && high != 0.0 { 0.5 * (low + high) } else { low + high };
            });
        }
    }

    /// What solids take of the velocity that gravity gives the films on them, m/s: as much as would lead into them, and no
    /// more than the weight. Liquid that leaves a solid keeps its weight.
    fn fill_carried_weight(&mut self, gravity_m_s: Vec3) {
        let (grid, cells, nodes, work) =
            (self.grid, self.grid.cell_centers(), self.grid.nodes(), &mut self.work);
        let (unknown, film_cell) = (&work.unknowns.unknown_cell, &work.density.film_cell);
        let (u_face, distance_cell) = (&work.fields.u_face, &work.fields.distance_cell);
        let (walls, solids) = (&work.population.walls, &work.boundaries.solids.fields);
        cells.for_each_mut(&mut work.carried_weight_cell, |cell, at, carried| {
            *carried = Vec3::ZERO;
            if !film_cell[cell] || unknown[cell] {
                return;
            }
            let x = cells.position(at[0], at[1], at[2]);
            let away = nodes.gradient(&solids.phi_node, x);
            let slope = slopes((distance_cell, walls.seen_from(x)), at, &cells);
            let out = Vec3::from_array(slope.map(Option::unwrap_or_default)).normalize_or_zero();
            let is_plane = away.length() > SLOPE_OF_A_PLANE;
            let normal = match out == Vec3::ZERO {
                // A film that nothing is carried of has the solid's slope.
                true if is_plane => away.normalize(),
                false if out.dot(away.normalize_or_zero()) > LIES_ON => out,
                _ => return,
            };
            let weight_m_s = -normal.dot(gravity_m_s);
            if weight_m_s <= 0.0 {
                return;
            }
            let relative = |axis: usize| {
                let faces = grid.faces(axis);
                let low = faces.index(at[0], at[1], at[2]);
                let of = |face: usize| solids.u_solid[axis][face] - u_face[axis][face];
                0.5 * (of(low) + of(low + faces.stride(axis)))
            };
            let into_m_s = normal.dot(Vec3::from_array(AXES.map(relative)) - gravity_m_s);
            *carried = into_m_s.clamp(0.0, weight_m_s) * normal;
        });
    }
}
