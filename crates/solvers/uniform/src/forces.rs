//! Forces: gravity, and the pressure that acts on the surface itself.
//!
//! Two things press on the surface: tension, and a drag on waves that the grid cannot carry. With s the
//! pressure over density, the ghost value of a face between liquid and air becomes s instead of 0, which is
//! the same as `u -= n dt s / (dx theta)` before the projection, n from liquid to air [octree §4.6, eq. 32].
//!
//! The drag is `fluvial_mac`'s, which says why (`short_waves.rs`).

use crate::UniformSolver;
use crate::state::{Boundaries, Fields, State, Work};
use fluvial_foundation::AXES;
use fluvial_foundation::parallel::for_each_chunk_mut;
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_level_set::{self as level_set, WallContact};
use fluvial_mac::{
    NetForce, RoughLiquid, SurfaceCells, SurfacePush, Unknowns, drag_m_s, drag_short_waves, push_at_surface,
    roughness, rub, short_wave_speed_m_s,
};
use fluvial_solver_interface::{Centring, Clamps, Liquid};

/// Curvature is measured this near to the surface, in cells.
const CURVED_CELLS: f32 = 1.1;

/// What presses on the surface, and what it is computed from.
#[derive(Default)]
pub(crate) struct SurfaceForces {
    /// The cells that crossed faces touch.
    cells: SurfaceCells,
    /// Pressure of tension and wave drag over density, m2/s2; set in those cells.
    pressure_cell: Vec<f32>,
    /// L applied once, of velocity or of curvature.
    rough_cell: Vec<f32>,
    /// Curvature, 1/m; empty without surface tension.
    kappa_cell: Vec<f32>,
    /// What tension would move free bodies by.
    net_force: NetForce,
}

impl UniformSolver {
    /// How long forces act in a step.
    pub(crate) fn centring(&self, dt_s: f64, clamps: &mut Clamps) -> Centring {
        let State { bodies, steps, lead_s, .. } = &self.state;
        match bodies {
            Some(_) => Centring::with_bodies(dt_s),
            None => Centring::of_step(dt_s, (*steps > 0).then_some(*lead_s), clamps),
        }
    }

    /// Finds the pressure of wave drag and tension on the new surface, from the velocity before gravity.
    pub(crate) fn find_surface_pressure(&mut self, clamps: &mut Clamps) {
        self.mark_unknowns();
        let (grid, liquid, dt) = (&self.grid, self.setup.liquid, self.work.centring.push_s as f32);
        let short_wave_speed = wave_speed_m_s(grid, &liquid);
        if short_wave_speed == 0.0 {
            return;
        }
        let Fields { phi_cell, u_face, .. } = &self.work.fields;
        let SurfaceForces { cells, pressure_cell, rough_cell, kappa_cell, .. } = &mut self.work.surface;
        cells.find(phi_cell, grid.dx, grid, &self.work.boundaries.solids.fields.sides);
        pressure_cell.clear();
        pressure_cell.resize(phi_cell.len(), 0.0);
        rough_cell.resize(phi_cell.len(), 0.0);
        let (drag, is_bounded) = drag_m_s(short_wave_speed, grid.dx, dt);
        clamps.add("wave_drag_bounded", is_bounded as usize);
        drag_short_waves(pressure_cell, rough_cell, cells, u_face, grid, drag);
        if liquid.surface_tension > 0.0 {
            kappa_cell.resize(phi_cell.len(), 0.0);
            let contact = self.setup.wall_contact_cosines();
            let sigma = liquid.surface_tension / liquid.density;
            let limited = add_tension(
                pressure_cell,
                [kappa_cell, rough_cell],
                cells,
                (phi_cell, &contact),
                grid,
                sigma,
            );
            clamps.add("curvature_limited", limited);
            self.find_net_force();
        }
    }

    /// Finds what the pressure on the surface would move free bodies of liquid by.
    fn find_net_force(&mut self) {
        let mut net_force = std::mem::take(&mut self.work.surface.net_force);
        let Work { fields, boundaries, cover, unknowns, surface, .. } = &self.work;
        let (phi, openings) = (&fields.phi_cell, boundaries.openings(cover, &self.grid));
        let area = AXES.map(|axis| openings.area_face[axis].as_slice());
        let bodies = level_set::label_regions(&mut net_force.label_cell, phi, area, &self.grid);
        let SurfaceForces { cells, pressure_cell, .. } = surface;
        let push = self.surface_push(phi, boundaries, unknowns);
        let value = |inside, outside| level_set::value_at_crossing(pressure_cell, phi, inside, outside);
        net_force.find(bodies, cells, &push, &openings, value);
        self.work.surface.net_force = net_force;
    }

    fn surface_push<'a>(
        &self,
        phi_cell: &'a [f32],
        boundaries: &'a Boundaries,
        unknowns: &'a Unknowns,
    ) -> SurfacePush<'a> {
        SurfacePush {
            phi_cell,
            unit: self.grid.dx,
            closed_cell: &boundaries.solids.closed_cell,
            unknown_cell: &unknowns.unknown_cell,
            strength: self.work.centring.push_s as f32 / self.grid.dx,
        }
    }

    /// Rough walls and solids pull on the liquid, before forces that pressure may balance act on it.
    pub(crate) fn rub(&mut self, dt_s: f64) {
        let Work { fields, boundaries, friction, .. } = &mut self.work;
        let Fields { phi_cell, u_face, gap_cell, .. } = fields;
        let liquid = RoughLiquid::new(phi_cell, gap_cell, &self.grid, &boundaries.solids.fields);
        rub(u_face, &liquid, &boundaries.solids.rough, dt_s as f32, friction);
    }

    /// Gravity on every wet face; the surface's pressure on those that the surface crosses.
    pub(crate) fn apply_forces(&mut self) {
        let (grid, liquid, dt) = (&self.grid, self.setup.liquid, self.work.centring.push_s as f32);
        let Fields { phi_cell, u_face, .. } = &mut self.work.fields;
        for axis in AXES {
            push_wet_faces(&mut u_face[axis], phi_cell, grid, axis, liquid.gravity[axis] * dt);
        }
        self.work.u_without_push.clone_from(u_face);
        let (mut u_face, Work { unknowns, boundaries, fields, .. }) =
            (std::mem::take(&mut self.work.fields.u_face), &self.work);
        self.push_on_surface(&mut u_face, &fields.phi_cell, boundaries, unknowns);
        self.work.fields.u_face = u_face;
    }

    /// What presses on the surface, on the faces that it crosses.
    pub(crate) fn push_on_surface(
        &self,
        u_face: &mut FaceField,
        phi_cell: &[f32],
        boundaries: &Boundaries,
        unknowns: &Unknowns,
    ) {
        let grid = &self.grid;
        if wave_speed_m_s(grid, &self.setup.liquid) == 0.0 {
            return;
        }
        let SurfaceForces { cells, pressure_cell, net_force, .. } = &self.work.surface;
        let push = self.surface_push(phi_cell, boundaries, unknowns);
        let value = |inside, outside| level_set::value_at_crossing(pressure_cell, phi_cell, inside, outside);
        for axis in AXES {
            let (faces, stride) = (grid.faces(axis), grid.cell_centers().stride(axis));
            cells.for_each(&mut u_face[axis], &faces, |at_surface, face, u| {
                let high = at_surface.cell as usize;
                if at_surface.at[axis] > 0 {
                    push_at_surface(&mut u[face], [high - stride, high], &push, value);
                }
            });
        }
        if self.setup.liquid.surface_tension > 0.0 {
            net_force.subtract(u_face, &boundaries.openings(&self.work.cover, grid));
        }
    }
}

/// `u += push` on the faces of one axis that touch a liquid cell.
fn push_wet_faces(u_face: &mut [f32], phi: &[f32], grid: &UniformGrid, axis: usize, push: f32) {
    if push == 0.0 {
        return;
    }
    let faces = grid.faces(axis);
    let [nx, ny, nz] = grid.cells;
    for_each_chunk_mut(u_face, faces.slab(), |k, slab| {
        for (j, u) in slab.chunks_mut(faces.size[0]).enumerate() {
            let row = |j: usize, k: usize| {
                let start = nx * (j.min(ny - 1) + ny * k.min(nz - 1));
                &phi[start..start + nx]
            };
            let high = row(j, k);
            let push_if = |wet: bool| if wet { push } else { 0.0 };
            match axis {
                0 => {
                    u[0] += push_if(high[0] < 0.0);
                    for (u, pair) in u[1..].iter_mut().zip(high.windows(2)) {
                        *u += push_if(pair[0].min(pair[1]) < 0.0);
                    }
                    u[nx] += push_if(high[nx - 1] < 0.0);
                }
                _ => {
                    let low =
                        if axis == 1 { row(j.saturating_sub(1), k) } else { row(j, k.saturating_sub(1)) };
                    for ((u, low), high) in u.iter_mut().zip(low).zip(high) {
                        *u += push_if(low.min(*high) < 0.0);
                    }
                }
            }
        }
    });
}

/// `s += sigma/rho (kappa - L^2 kappa)`: curvature without the waves of two or three cells' length, which the
/// grid cannot carry and explicit tension would feed. Longer waves change by (k dx)^4 only. Returns how many
/// curvatures were limited.
fn add_tension(
    s_cell: &mut [f32],
    [kappa, once]: [&mut [f32]; 2],
    surface: &SurfaceCells,
    (phi, contact): (&[f32], &WallContact),
    grid: &UniformGrid,
    sigma_over_density: f32,
) -> usize {
    let cells = grid.cell_centers();
    let limited = level_set::curvature(kappa, phi, &cells, CURVED_CELLS * grid.dx, contact);
    let kappa = &*kappa;
    surface.for_each(once, &cells, |cell, n, once| once[n] = roughness(cell, &cells, |other| kappa[other]));
    let once = &*once;
    surface.for_each(s_cell, &cells, |cell, n, s| {
        let rough = roughness(cell, &cells, |other| once[other]);
        s[n] += sigma_over_density * (kappa[cell.cell as usize] - rough);
    });
    limited
}

fn wave_speed_m_s(grid: &UniformGrid, liquid: &Liquid) -> f32 {
    short_wave_speed_m_s(grid.dx, liquid.gravity.length(), liquid.surface_tension / liquid.density)
}
