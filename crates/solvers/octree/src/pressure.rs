//! Forces and the projection [octree §4]: gravity, tension on the surface, pressure; then velocity beyond the liquid.

use crate::OctreeSolver;
use crate::params::SurfaceForm;
use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_grids::octree::Side;

use fluvial_linear::amg::{Amg, AmgParams};
use fluvial_linear::krylov::{bicgstab, conjugate_gradients};
use fluvial_linear::sparse::{Csr, FluxMatrix};
use fluvial_octree::assemble::System;
use fluvial_octree::divergence::inflow;
use fluvial_octree::extrapolate::extrapolate;
use fluvial_octree::gradient::{FreeSurface, Geometry, GradientParams};
use fluvial_octree::slope::slopes;
use fluvial_solver_interface::{Clamps, PressureReport, StepError};

/// Cells deeper in a solid, in their own size, move with it.
const DEEP_CELLS: f32 = 4.0;

impl OctreeSolver {
    /// Gravity on every face that touches liquid.
    pub(crate) fn apply_gravity(&mut self, dt_s: f64) {
        let push = dt_s as f32 * self.setup.liquid.gravity;
        let (tree, phi) = (&self.work.fields.tree, &self.work.fields.phi_cell);
        parallel::for_each_chunk_mut(&mut self.work.fields.u_face, parallel::CHUNK, |n, u| {
            for (i, u) in u.iter_mut().enumerate() {
                let face = n * parallel::CHUNK + i;
                if tree.cells_beside(face).any(|cell| phi[cell] < 0.0) {
                    *u += push[tree.face_axis(face)];
                }
            }
        });
    }

    /// Solves for the pressure impulse and subtracts its gradient.
    pub(crate) fn project(&mut self, dt_s: f64, clamps: &mut Clamps) -> Result<PressureReport, StepError> {
        self.let_lone_cells_fly();
        let work = &mut self.work;
        let tree = work.fields.tree.clone();
        let geometry =
            Geometry { tree: &tree, phi_cell: &work.phi_pressure, open_area: &work.sources.area_face };
        let form = self.params.form();
        let params = GradientParams { form, ..GradientParams::default() };
        // BiCGSTAB is preconditioned by the symmetric form.
        let symmetric = if form == FreeSurface::SecondOrder {
            work.gradient.prepare(&geometry, &GradientParams::default());
            work.system.assemble(&geometry, &work.gradient);
            Some(matrix(&mut work.system))
        } else {
            None
        };
        let info = work.gradient.prepare(&geometry, &params);
        clamps.add("ghost_theta_floor", info.theta_floors);
        clamps.add("degenerate_junctions", info.degenerate_junctions);
        self.junctions = [info.surface_junctions, info.degenerate_junctions];
        work.system.assemble(&geometry, &work.gradient);

        if self.setup.liquid.surface_tension > 0.0 {
            self.add_tension(dt_s, clamps);
        }
        let work = &mut self.work;
        let geometry =
            Geometry { tree: &tree, phi_cell: &work.phi_pressure, open_area: &work.sources.area_face };

        // Minus the flux out of every cell, and the divergence that volume control asks for.
        let mut rhs_cell = std::mem::take(&mut work.rhs_cell);
        rhs_cell.resize(tree.cell_count(), 0.0);
        inflow(&mut rhs_cell, &geometry, &work.fields.u_face, Some(&work.sources.u_boundary));
        let (volume, open_volume) = (&work.volume, &work.boundaries.open_volume);
        parallel::for_each_chunk_mut(&mut rhs_cell, parallel::CHUNK, |n, rhs| {
            for (i, rhs) in rhs.iter_mut().enumerate() {
                let cell = n * parallel::CHUNK + i;
                let cell_m3 = (tree.cell_dx(cell) as f64).powi(3) * open_volume[cell] as f64;
                *rhs += volume.divergence_1_s(cell) as f64 * cell_m3;
            }
        });
        let rhs = work.system.gather(&rhs_cell);
        self.fill_guess(dt_s);
        let work = &mut self.work;
        let mut p = work.system.gather(&work.fields.impulse_cell);
        let operator = matrix(&mut work.system);
        let stop = self.params.pressure.stopping();
        let preconditioned = symmetric.as_ref().unwrap_or(&operator);
        let mut amg = Amg::new(preconditioned, AmgParams::default());
        let mut cycle = amg.on(preconditioned);
        let solved = if self.params.free_surface == SurfaceForm::SecondOrder {
            bicgstab(&mut p, &operator, &mut cycle, &rhs, &stop, &mut work.bicgstab)
        } else {
            conjugate_gradients(&mut p, &operator, &mut cycle, &rhs, &stop, &mut work.cg)
        };
        let solved = solved.map_err(|error| StepError::Pressure(error.to_string()))?;
        work.system.scatter(&mut work.fields.impulse_cell, &p);
        let geometry =
            Geometry { tree: &tree, phi_cell: &work.phi_pressure, open_area: &work.sources.area_face };
        work.gradient.subtract(&mut work.fields.u_face, &geometry, &work.fields.impulse_cell);
        work.rhs_cell = rhs_cell;
        Ok(PressureReport { iterations: solved.iterations, relative_residual: solved.relative_residual })
    }

    /// A drop of one cell is smaller than the tree can turn or squeeze: its faces' ghost distances are noise, and one of
    /// them would take all the flux. No pressure acts on it.
    fn let_lone_cells_fly(&mut self) {
        let work = &mut self.work;
        let (tree, phi, area) = (&work.fields.tree, &work.fields.phi_cell, &work.sources.area_face);
        work.phi_pressure.resize(phi.len(), 0.0);
        parallel::for_each_chunk_mut(&mut work.phi_pressure, parallel::CHUNK, |n, out| {
            for (i, out) in out.iter_mut().enumerate() {
                let cell = n * parallel::CHUNK + i;
                let dry = |other: usize| other == cell || phi[other] >= 0.0;
                let alone = phi[cell] < 0.0
                    && tree.cell_faces()[cell].iter().all(|&face| {
                        let face = face as usize;
                        area[face] == 1.0 && tree.cells_beside(face).all(dry)
                    });
                *out = if alone { -phi[cell] } else { phi[cell] };
            }
        });
    }

    /// The impulse of the last step, scaled to this step's length, is the first guess.
    fn fill_guess(&mut self, dt_s: f64) {
        let scale = if self.state.last_dt_s > 0.0 { dt_s / self.state.last_dt_s } else { 0.0 };
        let (old, new) = (&self.state.fields, &mut self.work.fields);
        let same = std::sync::Arc::ptr_eq(&old.tree, &new.tree);
        let (tree, phi) = (new.tree.clone(), &new.phi_cell);
        new.impulse_cell.resize(tree.cell_count(), 0.0);
        parallel::for_each_chunk_mut(&mut new.impulse_cell, parallel::CHUNK, |n, p| {
            for (i, p) in p.iter_mut().enumerate() {
                let cell = n * parallel::CHUNK + i;
                *p = 0.0;
                if phi[cell] < 0.0 && scale > 0.0 {
                    let there =
                        if same { cell } else { old.tree.locate(tree.cell_center(cell)).cell as usize };
                    *p = scale * old.impulse_cell[there];
                }
            }
        });
    }

    /// Extends velocity over the whole tree and into solids, then lets nothing flow through walls.
    pub(crate) fn extrapolate_velocity(&mut self) {
        let work = &mut self.work;
        let tree = work.fields.tree.clone();
        let (phi, p_phi, area) = (&work.fields.phi_cell, &work.phi_pressure, &work.sources.area_face);
        let (gradient, tags) = (&work.gradient, &work.sources.cell);
        let is_source = |face: usize| !tags.is_empty() && tree.cells_beside(face).any(|c| tags[c] != 0);
        let flies = |face: usize| tree.cells_beside(face).any(|c| phi[c] < 0.0 && p_phi[c] >= 0.0);
        work.known_face.clear();
        work.known_face.extend(parallel::map_indices(tree.face_count(), |face| {
            gradient.acts_on(face) || (area[face] > 0.0 && flies(face)) || is_source(face)
        }));
        if !tags.is_empty() {
            for face in (0..tree.face_count()).filter(|&face| is_source(face)) {
                work.fields.u_face[face] = work.sources.u_boundary[face];
            }
        }
        let known = &work.known_face;
        extrapolate(&mut work.fields.u_face, &tree, |face| known[face], &mut work.extrapolate);
        if !self.setup.solids.is_empty() {
            self.constrain_to_solids();
        }
        let open = self.open_walls;
        for axis in 0..3 {
            for face in tree.faces(axis) {
                let sides = tree.sides(face);
                let closed = |n: usize| sides[n] == Side::Outside && !open[2 * axis + n];
                if closed(0) || closed(1) {
                    self.work.fields.u_face[face] = 0.0;
                }
            }
        }
    }

    /// Closed faces inside solids keep the liquid's tangential motion but move with the solid along its normal.
    fn constrain_to_solids(&mut self) {
        let mut u_face = std::mem::take(&mut self.work.fields.u_face);
        let mut through = std::mem::take(&mut self.work.through_cell);
        let (tree, boundaries) = (&self.work.fields.tree, &self.work.boundaries);
        let (u_solid, phi_solid) = (&boundaries.u_solid, &boundaries.phi_solid_cell);
        let is_deep = |cell: usize| phi_solid[cell] < -DEEP_CELLS * tree.cell_dx(cell);
        // What flows through walls, at the cells beside them.
        through.resize(tree.cell_count(), Vec3::ZERO);
        parallel::for_each_chunk_mut(&mut through, parallel::CHUNK, |n, through| {
            for (i, through) in through.iter_mut().enumerate() {
                let cell = n * parallel::CHUNK + i;
                *through = Vec3::ZERO;
                if phi_solid[cell] < tree.cell_dx(cell) && !is_deep(cell) {
                    let faces = tree.cell_faces()[cell].map(|face| face as usize);
                    let [slope] = slopes(tree, cell, |_| true, |cell| [phi_solid[cell]]);
                    let normal = slope.as_vec3().normalize_or_zero();
                    let relative = |face: usize| u_face[face] - u_solid[face];
                    let relative = Vec3::from_array(
                        AXES.map(|a| 0.5 * (relative(faces[2 * a]) + relative(faces[2 * a + 1]))),
                    );
                    *through = normal.dot(relative) * normal;
                }
            }
        });
        let tags = &self.work.sources.cell;
        parallel::for_each_chunk_mut(&mut u_face, parallel::CHUNK, |n, u| {
            for (i, u) in u.iter_mut().enumerate() {
                let face = n * parallel::CHUNK + i;
                let is_source = || !tags.is_empty() && tree.cells_beside(face).any(|c| tags[c] != 0);
                if boundaries.open_area[face] > 0.0 || is_source() {
                    continue;
                }
                if tree.cells_beside(face).any(is_deep) {
                    *u = u_solid[face];
                    continue;
                }
                let axis = tree.face_axis(face);
                let (sum, count) = tree
                    .cells_beside(face)
                    .fold((0.0, 0.0), |(s, n), cell| (s + through[cell][axis], n + 1.0));
                *u -= sum / count;
            }
        });
        (self.work.through_cell, self.work.fields.u_face) = (through, u_face);
    }
}

/// The system as a matrix; takes its entries.
fn matrix(system: &mut System) -> FluxMatrix<f32> {
    let value = system.value.iter().map(|&v| v as f32).collect();
    let (start, column) = (std::mem::take(&mut system.start), std::mem::take(&mut system.column));
    let off = Csr::new(system.cells.len(), start, column, value);
    FluxMatrix::new(off, std::mem::take(&mut system.row_sum))
}
