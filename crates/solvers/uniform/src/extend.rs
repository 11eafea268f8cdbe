//! Velocity beyond the liquid: past the surface and into solids, for the next step's back-traces.

use crate::UniformSolver;
use crate::state::{FaceCells, SourceFace, Work, for_each_face};
use fluvial_foundation::parallel::{for_each_chunk_mut, map_indices};
use fluvial_foundation::{AXES, Axis};
use fluvial_level_set as level_set;

/// A cell of air at the surface and what flows out of it beyond what flows in, over dx^2, m/s.
struct SurfaceAir {
    cell: usize,
    excess: f32,
}

impl UniformSolver {
    /// Extends velocity past the surface and into solids, then lets nothing flow through a wall.
    pub(crate) fn extrapolate_velocity(&mut self) {
        let layers = self.band_cells() + 1;
        let (grid, work) = (self.grid, &mut self.work);
        // Source faces are known; so their velocity spreads with the rest.
        for &SourceFace { axis, face, .. } in &work.source_faces {
            work.valid_face[axis][face] = 1;
            work.u_face[axis][face] = work.u_boundary[axis][face];
        }
        level_set::extrapolate_velocity(
            &mut work.u_face,
            &mut work.valid_face,
            &grid,
            layers,
            &mut work.level_set,
        );
        self.constrain_to_solids();
        let Work { u_transport, u_face, .. } = &mut self.work;
        u_transport.copy_from(u_face);
        self.balance_surface_air();
    }

    /// Closed faces inside solids keep the liquid's tangential motion but move with the solid along its
    /// normal; solid walls of the domain pass nothing.
    fn constrain_to_solids(&mut self) {
        let grid = self.grid;
        let nodes = grid.nodes();
        if self.setup.solids.is_empty() {
            self.close_walls();
            return;
        }
        let open = &self.solids.open_area;
        let Work { u_free, u_face, .. } = &mut self.work;
        u_free.copy_from(u_face);
        for axis in AXES {
            let lattice = grid.faces(axis);
            let (u_solid, phi_node, open_walls) =
                (&self.solids.u_solid, &self.solids.phi_node, self.open_walls);
            let work = &mut self.work;
            let (tags, u_free, reached) = (&work.source_cell, &work.u_free, &work.valid_face[axis]);
            for_each_face(&mut work.u_face[axis], &grid, axis, |face, cells, u| {
                let wall = match cells {
                    FaceCells { low: None, .. } => !open_walls[2 * axis],
                    FaceCells { high: None, .. } => !open_walls[2 * axis + 1],
                    _ => false,
                };
                if wall {
                    *u = 0.0;
                } else if reached[face] != 0
                    && open[axis][face] == 0.0
                    && ![cells.low, cells.high].iter().flatten().any(|&c| tags[c] != 0)
                {
                    let [i, j, k] = lattice.coordinates(face);
                    let x = lattice.position(i, j, k);
                    let normal = nodes.gradient(phi_node, x).normalize_or_zero();
                    let relative = grid.sample_velocity(u_free, x) - grid.sample_velocity(u_solid, x);
                    *u -= normal[axis] * normal.dot(relative);
                }
            });
        }
    }

    /// Nothing flows through the solid walls of the domain.
    fn close_walls(&mut self) {
        let grid = self.grid;
        for (wall, _) in self.open_walls.iter().enumerate().filter(|(_, open)| !**open) {
            let (axis, high) = (wall / 2, wall % 2 == 1);
            let faces = grid.faces(axis);
            let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
            let first = if high { faces.stride(axis) * grid.cells[axis] } else { 0 };
            let u = &mut self.work.u_face[axis];
            for n in 0..grid.cells[b] {
                for m in 0..grid.cells[a] {
                    u[first + m * faces.stride(a) + n * faces.stride(b)] = 0.0;
                }
            }
        }
    }

    /// Makes the transporting velocity divergence-free in the air cells at the surface.
    ///
    /// The surface runs through those cells, so what flows out of them is volume made or lost: averages of
    /// neighbours diverge there wherever the flow does, e.g. all along a spreading front. The excess goes to the
    /// faces that lead away from the surface; their values carry nothing else.
    fn balance_surface_air(&mut self) {
        let grid = self.grid;
        let cells = grid.cell_centers();
        let air = self.surface_air();
        for SurfaceAir { cell, excess } in air {
            let at = cells.coordinates(cell);
            let outward = |axis: Axis, up: bool| -> Option<(usize, f32)> {
                let lattice = grid.faces(axis);
                let face = lattice.index(at[0], at[1], at[2]) + if up { lattice.stride(axis) } else { 0 };
                let edge = if up { at[axis] + 1 == cells.size[axis] } else { at[axis] == 0 };
                if edge {
                    return None;
                }
                let other = if up { cell + cells.stride(axis) } else { cell - cells.stride(axis) };
                let leads_away = !self.work.unknown_cell[other] && !self.work.surface_air_cell[other];
                let area = self.work.area_face[axis][face];
                (leads_away && area > 0.0).then_some((face, area))
            };
            let faces: [[Option<(usize, f32)>; 2]; 3] =
                AXES.map(|axis| [outward(axis, false), outward(axis, true)]);
            let open: f32 = faces.iter().flatten().flatten().map(|(_, area)| area).sum();
            if open == 0.0 {
                continue;
            }
            for axis in AXES {
                for (up, found) in faces[axis].iter().enumerate() {
                    if let Some((face, _)) = found {
                        let change = excess / open;
                        self.work.u_transport[axis][*face] -= if up == 1 { change } else { -change };
                    }
                }
            }
        }
    }

    /// Marks and lists the air cells that touch an unknown.
    fn surface_air(&mut self) -> Vec<SurfaceAir> {
        let (grid, work) = (self.grid, &mut self.work);
        let cells = grid.cell_centers();
        let (phi, unknown, closed) = (&work.phi_cell, &work.unknown_cell, &work.closed_cell);
        for_each_chunk_mut(&mut work.surface_air_cell, cells.slab(), |k, marks| {
            for (n, mark) in marks.iter_mut().enumerate() {
                let cell = k * cells.slab() + n;
                *mark = phi[cell] >= 0.0 && phi[cell] < 1.1 * grid.dx && !closed[cell] && {
                    let at = [n % cells.size[0], n / cells.size[0], k];
                    AXES.iter().any(|&axis| {
                        let stride = cells.stride(axis);
                        at[axis] > 0 && unknown[cell - stride]
                            || at[axis] + 1 < cells.size[axis] && unknown[cell + stride]
                    })
                };
            }
        });
        let slabs = map_indices(cells.size[2], |k| {
            let marks = &self.work.surface_air_cell[k * cells.slab()..(k + 1) * cells.slab()];
            let marked = marks.iter().enumerate().filter(|(_, marked)| **marked);
            marked
                .map(|(n, _)| SurfaceAir {
                    cell: k * cells.slab() + n,
                    excess: self.outflow(&self.work.u_face, n % cells.size[0], n / cells.size[0], k),
                })
                .collect::<Vec<_>>()
        });
        slabs.into_iter().flatten().collect()
    }
}
