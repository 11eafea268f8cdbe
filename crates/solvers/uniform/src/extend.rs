//! Velocity beyond the liquid: past the surface and into solids, for the next step's back-traces.

use crate::UniformSolver;
use crate::state::Fields;
use fluvial_foundation::parallel::map_indices;
use fluvial_foundation::{AXES, Axis};
use fluvial_level_set as level_set;
use fluvial_mac::{close_walls, constrain_to_solids, let_go};

/// A cell of air at the surface and what flows out of it beyond what flows in, over dx^2, m/s.
struct SurfaceAir {
    cell: usize,
    excess: f32,
}

/// Less of faces that lead away does not take up all of a cell's excess, in faces: out of the corner that a solid leaves it would be a jet, and
/// the back-traces of the surface read it. Beside a slanted plate a ripple grew twelvefold a step through a face of which 0.002 was open.
/// Test: `a_level_that_slanted_plates_pierce_begins_at_rest`.
const LEAST_OPEN: f32 = 0.2;

impl UniformSolver {
    /// Extends velocity past the surface and into solids, then lets nothing flow through a wall.
    pub(crate) fn extrapolate_velocity(&mut self) {
        let layers = self.band_cells() + 1;
        let (grid, open_walls, work) = (&self.grid, self.setup.open_walls(), &mut self.work);
        let Fields { u_face, u_transport, .. } = &mut work.fields;
        let (sources, openings) = (&work.boundaries.sources, work.boundaries.openings(&work.cover, grid));
        sources.prescribe(u_face, &mut work.valid_face, openings.area_face);
        level_set::extrapolate_velocity(u_face, &mut work.valid_face, grid, layers, &mut work.level_set);
        if self.setup.solids.is_empty() {
            close_walls(u_face, open_walls, grid);
        } else {
            let solids = work.boundaries.solid_faces();
            let (u_free, reached) = (&mut work.u_free, &work.valid_face);
            constrain_to_solids(u_face, u_free, reached, &solids, open_walls, grid);
        }
        let (may_part, unknown) = (&work.boundaries.solids.may_part_cell, &work.unknowns.unknown_cell);
        let_go(u_face, &work.parting.parted_cell, may_part, unknown, &openings);
        u_transport.copy_from(u_face);
        self.balance_surface_air();
    }

    /// Makes the transporting velocity divergence-free in the air cells at the surface.
    ///
    /// The surface runs through those cells, so what flows out of them is volume made or lost: averages of
    /// neighbours diverge there wherever the flow does, for example all along a spreading front. The excess
    /// goes to the faces that lead away from the surface, whose values carry nothing else.
    fn balance_surface_air(&mut self) {
        let air = self.surface_air();
        let (grid, work) = (&self.grid, &mut self.work);
        let cells = grid.cell_centers();
        let area_face = work.boundaries.openings(&work.cover, grid).area_face;
        let (unknown, surface_air) = (&work.unknowns.unknown_cell, &work.surface_air_cell);
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
                let leads_away = !unknown[other] && !surface_air[other];
                let area = area_face[axis][face];
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
                        let change = excess / open.max(LEAST_OPEN);
                        work.fields.u_transport[axis][*face] -= if up == 1 { change } else { -change };
                    }
                }
            }
        }
    }

    /// Marks and lists the air cells that touch an unknown.
    fn surface_air(&mut self) -> Vec<SurfaceAir> {
        let (grid, work) = (&self.grid, &mut self.work);
        let cells = grid.cell_centers();
        let (phi, unknown) = (&work.fields.phi_cell, &work.unknowns.unknown_cell);
        let closed = &work.boundaries.solids.closed_cell;
        cells.for_each_mut(&mut work.surface_air_cell, |cell, at, mark| {
            *mark = phi[cell] >= 0.0 && phi[cell] < 1.1 * grid.dx && !closed[cell] && {
                AXES.iter().any(|&axis| {
                    let stride = cells.stride(axis);
                    at[axis] > 0 && unknown[cell - stride]
                        || at[axis] + 1 < cells.size[axis] && unknown[cell + stride]
                })
            };
        });
        let (openings, u_face) = (work.boundaries.openings(&work.cover, grid), &work.fields.u_face);
        let slabs = map_indices(cells.size[2], |k| {
            let marks = &work.surface_air_cell[k * cells.slab()..(k + 1) * cells.slab()];
            let marked = marks.iter().enumerate().filter(|(_, marked)| **marked);
            marked
                .map(|(n, _)| SurfaceAir {
                    cell: k * cells.slab() + n,
                    excess: openings.outflow(u_face, [n % cells.size[0], n / cells.size[0], k]),
                })
                .collect::<Vec<_>>()
        });
        slabs.into_iter().flatten().collect()
    }
}
