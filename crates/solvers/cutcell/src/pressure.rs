//! Forces, surface tension, pressure, and the velocity that they leave [cutcell §3.3, 3.4, 4].

use crate::CutCellSolver;
use crate::state::Work;
use fluvial_cutcell::air::Faces;
use fluvial_cutcell::flow::Flow;
use fluvial_cutcell::mesh::NONE;
use fluvial_cutcell::poisson::System;
use fluvial_cutcell::tension::{
    accelerate_along_surface, add_to_right_side, differences_at_faces, pressure_of_pieces, spread_to_vertices,
};
use fluvial_cutcell::transfer::Parcels;
use fluvial_cutcell::velocity::{
    Given, StepScales, flux_budget, project_faces, right_side, triangle_velocities,
};
use fluvial_cutcell::vertices::{average_grid_vertices, correct_surface_vertices, keep_off_solids};
use fluvial_foundation::DVec3;
use fluvial_level_set::extrapolate_velocity;
use fluvial_linear::Params as Stopping;
use fluvial_solver_interface::{Clamps, PressureReport, StepError};
use std::f64::consts::PI;

/// Curvature is solved for to this part of its right side.
const CURVATURE_TOLERANCE: f64 = 1e-6;

/// Sets every value of a list, which takes the given length.
fn fill<T: Clone>(list: &mut Vec<T>, len: usize, value: T) {
    list.clear();
    list.resize(len, value);
}

impl CutCellSolver {
    pub(crate) fn scales(&self, dt_s: f64) -> StepScales {
        StepScales { dt_s, density: f64::from(self.setup.liquid.density), dx: f64::from(self.grid.dx) }
    }

    /// Brings the particles' velocities to faces and vertices, and adds gravity.
    pub(crate) fn gather(&mut self, dt_s: f64) {
        let (gravity, layers, grid) = (self.setup.liquid.gravity.as_dvec3(), self.layers(), self.grid);
        let Work {
            mesh,
            fields,
            places,
            x_in_cells,
            gathered,
            before,
            u_face,
            u_vertex,
            vertices,
            level_set,
            ..
        } = &mut self.work;
        let Some(mesh) = mesh.as_ref() else { return };
        let particles = &fields.population.particles;
        let parcels = Parcels {
            x: x_in_cells,
            v: &particles.v,
            affine: [0, 1, 2].map(|a| &particles.affine[a][..]),
            volume: &fields.population.volume_m3,
            dx: f64::from(grid.dx),
        };
        gathered.gather(mesh, places, &parcels);
        average_grid_vertices(&mut gathered.u_vertex, mesh, &gathered.u_face, vertices);
        keep_off_solids(&mut gathered.u_vertex, mesh, |_| DVec3::ZERO, vertices);
        before.build(mesh, &gathered.u_face, &gathered.u_vertex, &gathered.u_piece);
        extrapolate_velocity(&mut before.u_face, &mut before.known_face, &grid, layers, level_set);
        u_face.clone_from(&gathered.u_face);
        u_vertex.clone_from(&gathered.u_vertex);
        for (u, face) in u_face.iter_mut().zip(&mesh.faces).filter(|(_, f)| !f.pieces.contains(&NONE)) {
            *u += dt_s * gravity[face.axis as usize];
        }
        // All of gravity, on walls too: the surface beside a wall must fall as it does elsewhere for one change of a piece to
        // hold it. What a wall takes is accounted for where vertices are corrected.
        u_vertex.iter_mut().for_each(|u| *u += dt_s * gravity);
    }

    /// Layers of faces beyond the liquid that know a velocity: the reach of a step and a bit.
    pub(crate) fn layers(&self) -> usize {
        self.setup.cfl.ceil() as usize + 2
    }

    /// Curvature of the surface by implicit mean-curvature flow [cutcell eq. 11] and its pressure on pieces [cutcell eq. 12].
    ///
    /// Pressure and surface are coupled explicitly: a wave of number k stays stable while `dt^2 sigma k^3 / rho` is below 1,
    /// and the flow damps its curvature by `1 / (1 + tau k^2)`. For the shortest wave of the grid that asks for `tau >= dt^2
    /// sigma k / rho`; so every step is stable, and `largest_dt` keeps the flow short. Shorter waves, which the tracker has, have no
    /// mean on a piece's surface: nothing drives them.
    pub(crate) fn find_tension(&mut self, dt_s: f64, clamps: &mut Clamps) -> Result<(), StepError> {
        let (liquid, dx) = (self.setup.liquid, f64::from(self.grid.dx));
        let Work { mesh, iso, curvature, q_vertex, q_piece, q_face, .. } = &mut self.work;
        let Some(mesh) = mesh.as_ref() else { return Ok(()) };
        fill(q_piece, mesh.pieces.len(), 0.0);
        fill(q_face, mesh.faces.len(), 0.0);
        if liquid.surface_tension == 0.0 {
            return Ok(());
        }
        let sigma = f64::from(liquid.surface_tension);
        let shortest = PI / dx;
        let stable = dt_s * dt_s * sigma * shortest / f64::from(liquid.density) / (dx * dx);
        let tau = self.params.curvature_flow.max(stable);
        let stop =
            Stopping { relative_tolerance: CURVATURE_TOLERANCE, max_iterations: 500, ..Stopping::DEFAULT };
        curvature.flow(mesh, tau, &stop).map_err(|error| StepError::Pressure(error.to_string()))?;
        clamps.add("surface_sliver", curvature.clamped_triangles);
        curvature.curvature_of_mesh(q_vertex, mesh);
        q_vertex.iter_mut().for_each(|k| *k *= sigma / dx);
        pressure_of_pieces(q_piece, mesh, q_vertex);
        differences_at_faces(q_face, mesh, iso, q_piece);
        spread_to_vertices(q_vertex, mesh, q_piece);
        Ok(())
    }

    /// Makes the velocity free of divergence.
    pub(crate) fn project(&mut self, dt_s: f64, clamps: &mut Clamps) -> Result<PressureReport, StepError> {
        let (scales, half_fine_m) = (self.scales(dt_s), 0.5 * self.fine_m());
        let has_tension = self.setup.liquid.surface_tension > 0.0;
        let work = &mut self.work;
        let Some(mesh) = work.mesh.as_ref() else { return Ok(PressureReport::default()) };
        if work.nozzles.is_empty() {
            work.given = Given::NOTHING;
        }
        let pieces = mesh.pieces.len();
        fill(&mut work.u_triangle, mesh.triangles.len(), DVec3::ZERO);
        triangle_velocities(&mut work.u_triangle, mesh, &work.u_vertex, |_, _| DVec3::ZERO);
        fill(&mut work.rhs, pieces, 0.0);
        fill(&mut work.pressure, pieces, 0.0);
        fill(&mut work.change, pieces, 0.0);
        // What a source has filled ends on its shape, which samples of the tracker know to half a cell.
        let of_source = |x: DVec3, is_surface: bool| {
            let within_m = if is_surface { half_fine_m } else { 0.0 };
            Self::prescribed_within(&work.nozzles, mesh.in_world(x).as_vec3(), within_m)
        };
        if !work.nozzles.is_empty() {
            work.given.prescribe((&mut work.u_face, &mut work.u_triangle), mesh, of_source);
        }
        right_side(&mut work.rhs, mesh, (&work.u_face, &work.u_triangle, &work.given), &scales);
        if has_tension {
            add_to_right_side(&mut work.rhs, mesh, &work.iso, &work.q_face, &work.given);
        }
        let system = System::assemble(mesh, &work.iso, &work.given);
        let stop = self.params.pressure.stopping();
        let info = system
            .solve(&mut work.pressure, &work.rhs, &stop, &mut work.cg)
            .map_err(|error| StepError::Pressure(error.to_string()))?;
        let q_face = has_tension.then_some(&work.q_face[..]);
        project_faces(&mut work.u_face, mesh, &work.iso, &work.pressure, q_face, &scales);
        if !work.nozzles.is_empty() {
            work.given.prescribe((&mut work.u_face, &mut work.u_triangle), mesh, of_source);
        }
        let flows = (&work.u_face[..], &work.u_triangle[..], &work.given);
        let budget = flux_budget(&mut work.change, mesh, &work.iso, &work.pressure, flows, &scales);
        clamps.add("flux_budget", budget.clamped);
        Ok(PressureReport { iterations: info.iterations, relative_residual: info.relative_residual })
    }

    /// Velocities of vertices, and the piecewise velocity that carries the liquid.
    pub(crate) fn find_velocity(&mut self, dt_s: f64, clamps: &mut Clamps) -> Result<(), StepError> {
        let (scales, layers, grid) = (self.scales(dt_s), self.layers(), self.grid);
        let has_tension = self.setup.liquid.surface_tension > 0.0;
        let Work {
            mesh,
            fields,
            gathered,
            air,
            after,
            u_face,
            u_vertex,
            q_vertex,
            change,
            vertices,
            level_set,
            ..
        } = &mut self.work;
        let Some(mesh) = mesh.as_ref() else { return Ok(()) };
        if has_tension {
            accelerate_along_surface(u_vertex, mesh, q_vertex, &scales);
        }
        clamps.add("contact_line", correct_surface_vertices(u_vertex, mesh, change, vertices));
        average_grid_vertices(u_vertex, mesh, u_face, vertices);
        keep_off_solids(u_vertex, mesh, |_| DVec3::ZERO, vertices);
        let gravity = dt_s * self.setup.liquid.gravity.as_dvec3();
        let u_piece: Vec<DVec3> = gathered.u_piece.iter().map(|u| *u + gravity).collect();
        after.build(mesh, u_face, u_vertex, &u_piece);
        extrapolate_velocity(&mut after.u_face, &mut after.known_face, &grid, layers, level_set);
        fields.u_face.clone_from(&after.u_face);
        after.u_carry.clone_from(&after.u_face);
        let Flow { u_carry, is_fixed, .. } = after;
        let faces = Faces { is_fixed, open: &self.boundary.open_face };
        air.balance(u_carry, mesh, &faces).map_err(|error| StepError::Pressure(error.to_string()))?;
        self.find_cell_pressures();
        Ok(())
    }

    /// Pressure at the centres of cells with liquid, continued linearly from the iso-distance through the surface.
    fn find_cell_pressures(&mut self) {
        let (nodes, factor) = (self.nodes, self.factor() as f64);
        let dx = f64::from(self.grid.dx);
        let Work { mesh, fields, iso, pressure, .. } = &mut self.work;
        let Some(mesh) = mesh.as_ref() else { return };
        let (phi_node, out) = (&fields.phi_node, &mut fields.pressure_cell);
        out.fill(0.0);
        for (n, piece) in mesh.pieces.iter().enumerate() {
            let center = mesh.corner(piece.cell as usize) + 0.5;
            let phi = nodes.interpolate(phi_node, nodes.stencil_at((factor * center).as_vec3()));
            let scale = match iso.phi_piece[n] {
                0.0 => 1.0,
                iso => (f64::from(phi) / dx / iso).clamp(-4.0, 4.0),
            };
            let own = (scale * pressure[n]) as f32;
            let of_cell = &mut out[piece.cell as usize];
            // The largest piece of a cell has the word.
            let is_largest =
                mesh.pieces_of(piece.cell as usize).all(|p| mesh.pieces[p].volume <= piece.volume);
            if is_largest {
                *of_cell = own;
            }
        }
    }
}
