//! Between particles and grid: transport, velocities there and back [sheets Alg. 1], lines 1, 2 and 4.

use crate::SheetsSolver;
use crate::adapt::{Place, surroundings};
use crate::state::{Carriers, GridVelocity, Solids};
use fluvial_foundation::parallel::{self, for_each_chunk_mut2};
use fluvial_foundation::{AXES, Vec3};
use fluvial_grids::{FaceField, UniformGrid};
use fluvial_mac::{drift_with_solids, mark_unknowns, without_slivers};
use fluvial_particles::{self as carriers, Flight, Members, Transfer};
use fluvial_sheets::{Points, Population, deposit, dilate, spread_velocity};
use fluvial_solids::SolidFields;
use fluvial_solver_interface::{Clamps, StepError};

/// A face farther than this from every particle, in cells, gets no velocity from them.
const NEAREST_IN_CELLS: f32 = 1.0;

/// A cell that solids leave less of than this has room for a few particles, and often for none: it is liquid where the
/// 5^3 cells around hold this share of what fits, which they do where a flat surface is half a cell above its centre: the
/// layers from below weigh 1, 2, 3, 2 and 1. As air at the bottom of a pool it had no pressure, and water flew into it at
/// sqrt(2 g h).
pub(crate) const CRAMPED: f32 = 0.5;
pub(crate) const AMID_LIQUID: f32 = 6.0 / 9.0;
/// So is a cell of which solids that move cover more than a rest, or did a step before: the particles that follow a
/// solid are often not there yet. Nor are they a little later: among moving solids a cell without particles is no air
/// where the cells around are as full as one and a half cells below a flat surface. As air in deep water it had no pressure, and the
/// wake of a ball shot into it at three times the ball's speed.
pub(crate) const UNCUT: f32 = 0.99;
pub(crate) const FULL_AROUND: f32 = 8.0 / 9.0;

/// Particles do not see what flows through faces that solids leave less of (see [`without_slivers`]). The pressure makes
/// the fluxes fit each other, and so the velocities of narrow openings several times those of the liquid beside them; particles
/// took these up, gave them to the faces around, and currents along the line where still water ends on a slope grew by 1.3 a
/// second. With a tenth they still grow, with a quarter or more they do not.
const SLIVER_AREA: f32 = 0.25;

/// The flow moves along with solids up to this distance from them, in cells: as far as their velocity is known.
const DRIFT_IN_CELLS: f32 = 3.0;

impl SheetsSolver {
    /// Moves the particles along the velocity of the last step, as all particles of the program move; those
    /// that cross an open wall leave, and those of sources come in.
    pub(crate) fn advect_particles(&mut self, dt_s: f64, clamps: &mut Clamps) -> Result<(), StepError> {
        let work = &mut self.work;
        let solids = &work.boundaries.solids.fields;
        let Carriers { before, after, ranges, scratch, drift_face, carrying_face, .. } = &mut work.carriers;
        let mut around = surroundings(&self.setup, solids, &self.grid);
        if self.setup.has_moving_solids() {
            let SolidFields { phi_node, u_solid, .. } = &self.state.boundaries.solids.fields;
            let reach_m = DRIFT_IN_CELLS * self.grid.dx;
            drift_with_solids(drift_face, phi_node, u_solid, reach_m, &self.grid);
            around.drift_face = Some(drift_face);
        }
        let (particles, u_face) = (&mut work.population.particles, &self.state.fields.u_face);
        before.x.clone_from(&particles.x);
        before.v.clone_from(&particles.v);
        before.age_s.clone_from(&particles.age_s);
        before.id = (0..particles.len() as u64).collect();
        let u_face = carrying(carrying_face, u_face, &self.state.boundaries.solids, &self.grid);
        let report = carriers::advect(after, ranges, before, (u_face, &[]), &around, dt_s as f32, scratch);
        clamps.add("particles_pushed_out_of_solids", report.pushed_out_of_solids);
        clamps.add("particles_trapped_in_solids", report.trapped_in_solids);
        if after.x.iter().any(|x| !x.is_finite()) {
            return Err(StepError::NotFinite { field: "positions", stage: "advect" });
        }
        let trapped = scratch.trapped();
        if after.len() + trapped.len() < particles.len() {
            let mut leaves = vec![true; particles.len()];
            after.id.iter().for_each(|&i| leaves[i as usize] = false);
            trapped.iter().for_each(|&i| leaves[i as usize] = false);
            let gone = particles.mass.iter().zip(&leaves).filter(|(_, l)| **l).map(|(m, _)| *m as u64).sum();
            work.population.families.leave(&mut work.population.particles, &leaves);
            let out_m3 = self.volume_of(gone);
            self.work.account.book_sources_and_sinks(0.0, out_m3);
        }
        self.keep_trapped();
        let work = &mut self.work;
        let (population, after) = (&mut work.population, &work.carriers.after);
        let order: Vec<u32> = after.id.iter().map(|&i| i as u32).collect();
        population.particles.rearrange(&order);
        population.particles.x.clone_from(&after.x);
        population.families.follow(&population.particles);
        self.carry_through_sources(dt_s as f32);
        self.work.population.grow_older(dt_s as f32);
        self.emit(dt_s);
        Ok(())
    }

    /// Particles that no way leads out of a solid for keep their mass: they wait where they were, or at the nearest
    /// open place when a solid has come there.
    ///
    /// Test: `nothing_is_lost_between_solids`.
    fn keep_trapped(&mut self) {
        let Carriers { before, after, scratch, .. } = &mut self.work.carriers;
        let place = Place::new(&self.setup, &self.work.boundaries.solids.fields, &self.grid);
        for &i in scratch.trapped() {
            let i = i as usize;
            after.x.push(place.nearest_open(before.x[i]));
            after.v.push(before.v[i]);
            after.id.push(i as u64);
            after.age_s.push(before.age_s[i]);
        }
    }

    /// Measures particles and cells where the particles are now, and marks the cells whose pressure is
    /// unknown.
    pub(crate) fn measure_liquid(&mut self, dt_s: f64) {
        self.measure_particles(dt_s);
        let work = &mut self.work;
        let openings = work.boundaries.openings(&work.cover, &self.grid);
        mark_unknowns(&mut work.unknowns, &work.fields.phi_cell, &openings);
    }

    /// Sorts and measures the particles where they are now; gives every cell its density deficit.
    pub(crate) fn measure_particles(&mut self, dt_s: f64) {
        self.work.population.sort();
        self.work.population.measure();
        self.fill_crowding();
        self.fill_deficit();
        self.measure_surface_cells(dt_s);
    }

    /// `phi_L = alpha_L - sum rho(p_i) / (rho_0 N_0)` over the particles of a cell [sheets eq. 5], in cells,
    /// each counted with its mass, so that inserted and merged particles change nothing; N_0 shrinks with
    /// the part of the cell that solids leave open.
    ///
    /// The deficit tells drops and sheets from air, but is no distance: a full cell under a free face has its
    /// surface at 0.8 cells instead of a half, and pressure is wrong by as much. So where bulk liquid
    /// ends, cells get the distance from the level of half density instead (see
    /// [`Self::measure_surface_cells`]).
    fn fill_deficit(&mut self) {
        let full = self.params.particles_per_cell as f32;
        let Population { particles, neighbours, shapes, walls, params, .. } = &self.work.population;
        let held = |i: usize| particles.weight(i) * shapes.density[i];
        let phi_cell = &mut self.work.fields.phi_cell;
        deposit(phi_cell, particles, neighbours, walls, params.d0, held);
        let Solids { fields, closed_cell, .. } = &*self.work.boundaries.solids;
        let (open, share) = (&fields.open_volume, self.params.liquid_share);
        let crowding = &self.work.density.crowding_cell;
        let before = &self.state.boundaries.solids.fields.open_volume;
        let moves = self.setup.has_moving_solids();
        parallel::for_each_indexed_mut(phi_cell, |cell, phi| {
            let room = if closed_cell[cell] { 1.0 } else { open[cell].max(0.1) };
            *phi = share * room - *phi / full;
            let is_cramped = open[cell] < CRAMPED || moves && open[cell].min(before[cell]) < UNCUT;
            let is_full_around = moves && crowding[cell] > FULL_AROUND;
            if !closed_cell[cell] && (is_cramped && crowding[cell] > AMID_LIQUID || is_full_around) {
                *phi = phi.min(-share * room);
            }
        });
    }

    /// Velocities of the particles on the faces by the sharp kernel; where it reaches no particle, the
    /// nearest particle's [sheets eq. 1].
    pub(crate) fn particles_to_grid(&mut self) {
        let (grid, d0, reach) = (self.grid, self.params.radius_m(self.grid.dx), self.params.velocity_reach);
        let largest = self.work.population.largest_radius();
        let work = &mut self.work;
        let (particles, neighbours) = (&work.population.particles, &work.population.neighbours);
        let cells = grid.cell_centers();
        let u_face = &mut work.fields.u_face;
        let GridVelocity { weight_face, u_before, known_face, valid_face, .. } = &mut work.velocity;
        // Cells with particles, and their neighbours: only their faces can get a velocity from particles.
        let mass_cell = &work.population.mass_cell;
        let near = dilate(&mass_cell.iter().map(|&m| m > 0.0).collect::<Vec<_>>(), grid.cells, 1);
        for axis in AXES {
            let lattice = grid.faces(axis);
            let points = Points { origin: lattice.origin, size: lattice.size };
            let kernel = (d0, largest, reach);
            let sums = (&mut u_face[axis][..], &mut weight_face[axis][..]);
            spread_velocity(sums, &points, axis, particles, neighbours, kernel);
            let (weights, slab) = (&weight_face[axis], lattice.slab());
            let (u, valid) = ((&mut u_face[axis][..], slab), (&mut valid_face[axis][..], slab));
            let nearest = |x: Vec3| neighbours.nearest(x, NEAREST_IN_CELLS * grid.dx);
            for_each_chunk_mut2(u, valid, |k, u, valid| {
                let rows = u.chunks_mut(lattice.size[0]).zip(valid.chunks_mut(lattice.size[0]));
                for (j, (u, valid)) in rows.enumerate() {
                    let weights = &weights[lattice.index(0, j, k)..];
                    let near = &near[cells.index_clamped(0, j as isize, k as isize)..][..grid.cells[0]];
                    for (i, (u, valid)) in u.iter_mut().zip(valid).enumerate() {
                        *valid = u8::from(weights[i] > 1e-6);
                        *u = if *valid == 1 { *u / weights[i] } else { 0.0 };
                        if *valid == 0
                            && near[i.min(grid.cells[0] - 1)]
                            && let Some((p, _)) = nearest(lattice.position(i, j, k))
                        {
                            (*u, *valid) = (particles.v[p][axis], 1);
                        }
                    }
                }
            });
        }
        u_before.copy_from(u_face);
        known_face.clone_from(valid_face);
    }

    /// `u <- alpha (u + I(g_{t+1} - g*)) + (1 - alpha) I(g_{t+1})` [sheets eq. 6]; beyond the paper, particles that cross
    /// each other collide.
    pub(crate) fn grid_to_particles(&mut self, dt_s: f64) {
        let work = &mut self.work;
        let (carrier, u_before) = (&mut work.carriers.before, &mut work.velocity.u_before);
        let particles = &mut work.population.particles;
        carrier.x.clone_from(&particles.x);
        std::mem::swap(&mut carrier.v, &mut particles.v);
        let transfer = Transfer::Flip { ratio: self.params.flip_ratio };
        let (solids, carrying_face) = (&work.boundaries.solids, &mut work.carriers.carrying_face);
        let (grid, sides) = (&self.grid, &solids.fields.sides);
        let u_face = carrying(carrying_face, &work.fields.u_face, solids, &self.grid);
        carriers::faces_to_particles(carrier, u_face, u_before, grid, sides, &transfer, &Flight::NONE);
        let neighbours = &work.population.neighbours;
        let members = Members {
            of_cell: |cell| neighbours.of_cell(cell),
            weight: |p| particles.mass[p] as f32,
            near_cell: &[],
        };
        let collisions = &mut work.carriers.collisions;
        carriers::collide(carrier, u_face, (grid, sides), &members, dt_s as f32, collisions);
        std::mem::swap(&mut carrier.v, &mut particles.v);
        self.prescribe_in_sources();
    }
}

/// The velocity that the particles move with and take up.
fn carrying<'a>(
    carrying_face: &'a mut FaceField,
    u_face: &'a FaceField,
    solids: &Solids,
    grid: &UniformGrid,
) -> &'a FaceField {
    if solids.mirror.is_none() {
        return u_face;
    }
    without_slivers(carrying_face, u_face, &solids.fields.open_area, SLIVER_AREA, grid);
    carrying_face
}
