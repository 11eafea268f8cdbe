//! Transport of surface and velocity [octree §3.2]: which fields are carried, how far, and with which
//! correction.

use crate::adapt::Adapted;
use crate::mass::Settled;
use crate::params::Advection;
use crate::state::{DistanceScratch, Ground, Start, Step, TransportScratch};
use fluvial_octree::advect::{self, AdvectScratch, Transport};
use fluvial_octree::air::balance_surface_air;
use fluvial_octree::constrain::{LookedUp, exchange, find_sliver_velocities, hold_to_open_cells};
use fluvial_octree::extend::extend_cells;
use fluvial_octree::gradient::Geometry;
use fluvial_octree::interpolate::Tracing;
use fluvial_octree::point::point_velocities;
use fluvial_octree::redistance::redistance_on_sides;
use fluvial_solver_interface::Clamps;
use std::sync::Arc;

/// Velocity is carried to faces nearer than this to liquid, cells: the correction of those at the surface and particles
/// read faces two cells beyond the outermost liquid cells.
const VELOCITY_BAND_CELLS: f32 = 3.0;

impl Step<'_> {
    /// The velocity that carries surface and velocity: the start's, divergence-free in the air beside the
    /// surface. The surface itself moves by its values at points. Slivers of faces keep their flux in `u_face`; for what is
    /// traced and carried they move as the faces around them.
    pub fn transport_velocity<'b>(
        &self,
        scratch: &'b mut TransportScratch,
        start: &mut Start,
    ) -> &'b TransportScratch {
        let (tree, boundaries) = (&*self.old.fields.tree, &*self.old.boundaries);
        let TransportScratch { u_face, u_point, tracing, tracing_points, centres, centres_on, air, slivers } =
            scratch;
        u_face.clone_from(&start.u_face);
        let geometry = Geometry { tree, phi_cell: &start.phi_cell, open_area: &boundaries.open_area };
        balance_surface_air(u_face, &geometry, &boundaries.closed_cell, air);
        if self.model.has_solids() {
            find_sliver_velocities(slivers, &start.u_face, tree, &boundaries.open_area);
            exchange(&mut start.u_face, slivers);
            find_sliver_velocities(slivers, u_face, tree, &boundaries.open_area);
            exchange(u_face, slivers);
        }
        point_velocities(u_point, tree, u_face, &boundaries.open_area);
        let same = &self.old.fields.tree;
        if !centres_on.as_ref().is_some_and(|known| Arc::ptr_eq(known, same)) {
            centres.prepare(tree);
            *centres_on = Some(same.clone());
        }
        Tracing::fill_all([tracing, tracing_points], [u_face, u_point], (tree, centres));
        exchange(u_face, slivers);
        scratch
    }

    /// From the old tree to the new one.
    fn transport<'b>(&'b self, ground: Ground<'b>, tracing: &'b Tracing) -> Transport<'b> {
        Transport {
            old: &self.old.fields.tree,
            new: ground.tree,
            tracing,
            interpolation: self.model.params.interpolation(),
            sides: ground.boundaries.sides(),
            with_surface: self.model.moves_with_surface(),
            dt_s: self.dt_s as f32,
        }
    }

    /// `phi = phi_old(x - u dt)`, and sizes with it.
    pub fn carry_surface(
        &self,
        Settled { phi, size, .. }: &mut Settled,
        start: &Start,
        ahead: &Adapted,
        (ground, tracing): (Ground, &Tracing),
        scratch: &mut AdvectScratch,
        clamps: &mut Clamps,
    ) {
        let path = self.transport(ground, tracing);
        let reach_m = advect::largest_speed(path.old, &start.u_face) * path.dt_s;
        advect::advect_surface((phi, size), &path, (&start.phi_cell, ahead.size_cell), reach_m, scratch);
        if self.model.params.phi_advection == Advection::MacCormack {
            let ignored = advect::correct_surface(phi, &path, &start.phi_cell, scratch);
            clamps.add("phi_correction_ignored", ignored);
        }
        if self.model.has_solids() {
            let (solids, before) = (ground.boundaries, &self.old.boundaries);
            let from = LookedUp {
                tree: path.old,
                phi_cell: &start.phi_cell,
                closed_cell: &before.closed_cell,
                v_cell: &path.tracing.v_cell,
                dt_s: path.dt_s,
            };
            let around = (&solids.closed_cell[..], &solids.phi_solid_cell[..]);
            clamps.add("read_through_walls", hold_to_open_cells(phi, path.new, around, &from));
        }
    }

    /// Makes phi a distance to the same surface again, and continues it into solids.
    pub fn redistance(
        &self,
        phi: &mut [f32],
        ground: Ground,
        scratch: &mut DistanceScratch,
        clamps: &mut Clamps,
    ) {
        let closed = &ground.boundaries.closed_cell;
        let kept = (ground.boundaries.sides(), self.model.keeps());
        let info = redistance_on_sides(phi, ground.tree, closed, kept, &mut scratch.redistance);
        clamps.add("flat_distances", info.flat);
        if self.model.has_solids() {
            extend_cells(phi, ground.tree, closed, &ground.boundaries.phi_solid_cell, &mut scratch.extend);
        }
    }

    /// `u = u_old(x - u dt)` on the faces of the new liquid; sources give theirs.
    pub fn carry_velocity(
        &self,
        u: &mut Vec<f32>,
        (start, phi): (&Start, &[f32]),
        (ground, tracing): (Ground, &Tracing),
        scratch: &mut AdvectScratch,
        clamps: &mut Clamps,
    ) {
        let path = self.transport(ground, tracing);
        advect::advect_velocity(u, &path, &start.u_face, (phi, VELOCITY_BAND_CELLS), scratch);
        if self.model.params.velocity_advection == Advection::MacCormack {
            let held = advect::correct_velocity(u, &path, &start.u_face, (&start.phi_cell, phi), scratch);
            clamps.add("velocity_held_in_range", held);
        }
        ground.sources.inner_faces().for_each(|(face, u_source)| u[face] = u_source);
    }
}
