//! Transport straight from the old tree onto the new one [octree §3.2]: nothing is resampled on the way.

use crate::OctreeSolver;
use crate::params::Advection;
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_grids::octree::Side;
use fluvial_octree::interpolate::Sampler;
use fluvial_solver_interface::Clamps;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Velocity is carried to faces nearer than this to liquid, cells: forces and curvature read those beside the surface.
const VELOCITY_BAND_CELLS: f32 = 1.7;
/// The same with particles: they read faces two cells beyond the outermost liquid cells.
const PARTICLE_BAND_CELLS: f32 = 3.0;
/// A back-and-forth correction of phi beyond this many cells is no interpolation error but a crease or a film.
const LARGEST_PHI_CORRECTION_CELLS: f32 = 0.25;

impl OctreeSolver {
    pub(crate) fn sampler<'a>(&self, tree: &'a Octree) -> Sampler<'a> {
        Sampler::new(tree, self.params.interpolation())
    }

    /// phi^{n+1}(x) = phi^n(x - u dt), and sizes with it.
    pub(crate) fn advect_surface(&mut self, dt_s: f64, clamps: &mut Clamps) {
        let dt = dt_s as f32;
        let mut departure = std::mem::take(&mut self.work.departure);
        let mut phi = std::mem::take(&mut self.work.fields.phi_cell);
        let mut size = std::mem::take(&mut self.work.fields.size_cell);
        let (start, old, new) = (&self.work.start, &self.state.fields.tree, &self.work.fields.tree);
        let (sampler, tracing) = (self.sampler(old), &start.tracing);
        let same = Arc::ptr_eq(old, new);
        let reach_m = self.largest_speed(&start.u_face) * dt;
        // Whether something is near is asked of the cell that is there: half a diagonal of it, and stencils, besides.
        let near = |old_cell: usize, dx: f32| {
            start.phi_cell[old_cell].abs() < reach_m + 3.0 * dx.max(old.cell_dx(old_cell))
        };
        departure.resize(new.cell_count(), Vec3::NAN);
        parallel::for_each_chunk_mut(&mut departure, parallel::CHUNK, |n, departure| {
            for (i, departure) in departure.iter_mut().enumerate() {
                let cell = n * parallel::CHUNK + i;
                let x = new.cell_center(cell);
                let there = if same { cell } else { old.locate(x).cell as usize };
                *departure = if near(there, new.cell_dx(cell)) {
                    tracing.trace(old, x, tracing.v_cell[there], -dt)
                } else {
                    Vec3::NAN
                };
            }
        });
        phi.resize(new.cell_count(), 0.0);
        size.resize(new.cell_count(), 0.0);
        let size_old = &self.work.size_cell;
        parallel::for_each_chunk_mut2(
            (&mut phi, parallel::CHUNK),
            (&mut size, parallel::CHUNK),
            |n, phi, size| {
                for (i, (phi, size)) in phi.iter_mut().zip(size).enumerate() {
                    let cell = n * parallel::CHUNK + i;
                    let from = departure[cell];
                    if from.is_nan() {
                        // Far from the surface the sign is all that counts: redistancing does the rest.
                        let there = if same { cell } else { old.locate(new.cell_center(cell)).cell as usize };
                        (*phi, *size) = (start.phi_cell[there], 0.0);
                    } else {
                        *phi = sampler.cells(&start.phi_cell, from);
                        *size = sampler.cells(size_old, from).max(0.0);
                    }
                }
            },
        );
        if self.params.phi_advection == Advection::MacCormack {
            let mut error = std::mem::take(&mut self.work.error_old);
            clamps.add("phi_correction_ignored", self.phi_error(&mut error, &phi, dt));
            parallel::for_each_chunk_mut(&mut phi, parallel::CHUNK, |n, phi| {
                for (i, phi) in phi.iter_mut().enumerate() {
                    let from = departure[n * parallel::CHUNK + i];
                    if !from.is_nan() {
                        *phi += sampler.cells(&error, from);
                    }
                }
            });
            self.work.error_old = error;
        }
        (self.work.departure, self.work.fields.phi_cell, self.work.fields.size_cell) = (departure, phi, size);
    }

    /// Half of what is missing at the old cells near the surface when the carried phi is carried back. Returns how many were too
    /// large to be an interpolation error.
    fn phi_error(&self, error: &mut Vec<f32>, phi_new: &[f32], dt: f32) -> usize {
        let ignored = AtomicUsize::new(0);
        let (start, old, new) = (&self.work.start, &self.state.fields.tree, &self.work.fields.tree);
        let (to, tracing) = (self.sampler(new), &start.tracing);
        error.resize(old.cell_count(), 0.0);
        parallel::for_each_chunk_mut(error, parallel::CHUNK, |n, error| {
            for (i, error) in error.iter_mut().enumerate() {
                let cell = n * parallel::CHUNK + i;
                let (phi, dx) = (start.phi_cell[cell], old.cell_dx(cell));
                *error = 0.0;
                if phi.abs() < 2.0 * dx {
                    let x = tracing.trace(old, old.cell_center(cell), tracing.v_cell[cell], dt);
                    let half = 0.5 * (phi - to.cells(phi_new, x));
                    if half.abs() < LARGEST_PHI_CORRECTION_CELLS * dx {
                        *error = half;
                    } else {
                        ignored.fetch_add(1, Relaxed);
                    }
                }
            }
        });
        ignored.into_inner()
    }

    /// u*(x) = u^n(x - u dt) on the faces of the new liquid.
    pub(crate) fn advect_velocity(&mut self, dt_s: f64) {
        let dt = dt_s as f32;
        let mut departure = std::mem::take(&mut self.work.departure);
        let mut u_face = std::mem::take(&mut self.work.fields.u_face);
        let (start, old) = (&self.work.start, &self.state.fields.tree);
        let (new, phi_new) = (&self.work.fields.tree, &self.work.fields.phi_cell);
        let (sampler, tracing) = (self.sampler(old), &start.tracing);
        let same = Arc::ptr_eq(old, new);
        let band_cells = if self.has_particles() { PARTICLE_BAND_CELLS } else { VELOCITY_BAND_CELLS };
        departure.resize(new.face_count(), Vec3::NAN);
        u_face.resize(new.face_count(), 0.0);
        parallel::for_each_chunk_mut2(
            (&mut departure, parallel::CHUNK),
            (&mut u_face, parallel::CHUNK),
            |n, departure, u| {
                for (i, (departure, u)) in departure.iter_mut().zip(u).enumerate() {
                    let face = n * parallel::CHUNK + i;
                    let band_m = band_cells * new.face_dx(face);
                    (*departure, *u) = (Vec3::NAN, 0.0);
                    if new.cells_beside(face).any(|cell| phi_new[cell] < band_m) {
                        let axis = new.face_axis(face);
                        let x = new.face_center(face, axis);
                        let here =
                            if same { mean_beside(old, &tracing.v_cell, face) } else { tracing.at(old, x) };
                        *departure = tracing.trace(old, x, here, -dt);
                        *u = sampler.component(&start.u_face, axis, *departure);
                    }
                }
            },
        );
        if self.params.velocity_advection == Advection::MacCormack {
            let mut error = std::mem::take(&mut self.work.error_old);
            self.velocity_error(&mut error, &u_face, dt);
            parallel::for_each_chunk_mut(&mut u_face, parallel::CHUNK, |n, u| {
                for (i, u) in u.iter_mut().enumerate() {
                    let face = n * parallel::CHUNK + i;
                    if !departure[face].is_nan() {
                        let axis = new.face_axis(face);
                        let corrected = *u + sampler.component(&error, axis, departure[face]);
                        // No new extremes.
                        let [least, most] = range_around(old, &start.u_face, axis, departure[face]);
                        *u = corrected.clamp(least.min(*u), most.max(*u));
                    }
                }
            });
            self.work.error_old = error;
        }
        (self.work.departure, self.work.fields.u_face) = (departure, u_face);
    }

    /// Half of what is missing at the old faces inside the liquid when the carried velocity is carried back.
    fn velocity_error(&self, error: &mut Vec<f32>, u_new: &[f32], dt: f32) {
        let (start, old, new) = (&self.work.start, &self.state.fields.tree, &self.work.fields.tree);
        let (to, tracing) = (self.sampler(new), &start.tracing);
        error.resize(old.face_count(), 0.0);
        parallel::for_each_chunk_mut(error, parallel::CHUNK, |n, error| {
            for (i, error) in error.iter_mut().enumerate() {
                let face = n * parallel::CHUNK + i;
                *error = 0.0;
                // Carried velocities end near the surface: what comes back from there is no error.
                let deep_m = -old.face_dx(face);
                if old.cells_beside(face).all(|cell| start.phi_cell[cell] < deep_m) {
                    let axis = old.face_axis(face);
                    let u = mean_beside(old, &tracing.v_cell, face);
                    let x = tracing.trace(old, old.face_center(face, axis), u, dt);
                    *error = 0.5 * (start.u_face[face] - to.component(u_new, axis, x));
                }
            }
        });
    }

    /// A bound of all speeds, m/s.
    fn largest_speed(&self, u_face: &[f32]) -> f32 {
        let tree = &self.state.fields.tree;
        let fastest = |axis: usize| {
            let u = &u_face[tree.faces(axis)];
            parallel::ordered_max(parallel::chunk_count(u.len(), parallel::CHUNK), |n| {
                let range = parallel::chunk_range(n, parallel::CHUNK, u.len());
                u[range].iter().fold(0.0f32, |most, u| most.max(u.abs())) as f64
            })
        };
        let [x, y, z] = [0, 1, 2].map(fastest);
        (x * x + y * y + z * z).sqrt() as f32
    }
}

/// Velocity at a face from the cells beside it: the mean of both sides.
#[inline]
fn mean_beside(tree: &Octree, v_cell: &[Vec3], face: usize) -> Vec3 {
    let mean = |side: Side| match side {
        Side::Outside => None,
        Side::Cell(cell) => Some(v_cell[cell as usize]),
        Side::Quad(cells) => {
            let [a, b, c, d] = cells.map(|cell| v_cell[cell as usize]);
            Some(0.25 * ((a + b) + (c + d)))
        }
    };
    match tree.sides(face).map(mean) {
        [Some(low), Some(high)] => 0.5 * (low + high),
        [one, other] => one.or(other).unwrap_or_default(),
    }
}

/// Least and largest value on the faces of an axis of the cell at a point and of its neighbours.
fn range_around(tree: &Octree, u_face: &[f32], axis: usize, x: Vec3) -> [f32; 2] {
    let bounds = tree.shape().bounds();
    let cell = tree.locate(x.clamp(bounds.min, bounds.max)).cell as usize;
    let mut range = [f32::INFINITY, f32::NEG_INFINITY];
    let mut see = |cell: usize| {
        for side in [2 * axis, 2 * axis + 1] {
            let u = u_face[tree.cell_faces()[cell][side] as usize];
            range = [range[0].min(u), range[1].max(u)];
        }
    };
    see(cell);
    for &face in &tree.cell_faces()[cell] {
        tree.cells_beside(face as usize).for_each(&mut see);
    }
    range
}
