//! Gravity and the projection [octree §4], then velocity beyond the liquid.

use crate::mass::{MassScratch, Settled};
use crate::params::SurfaceForm;
use crate::particles::Swarm;
use crate::state::{
    Boundaries, Fields, Ground, OperatorScratch, PressureScratch, SolveScratch, Step, VelocityScratch,
};
use fluvial_foundation::{Vec3, parallel};
use fluvial_grids::Octree;
use fluvial_linear::amg::{Amg, AmgParams};
use fluvial_linear::krylov::{bicgstab, conjugate_gradients};
use fluvial_linear::sparse::{Csr, FluxMatrix};
use fluvial_linear::{Coupled, Params as Stopping};
use fluvial_octree::assemble::System;
use fluvial_octree::constrain::{SolidsOnTree, constrain_to_solids, stop_at_walls};
use fluvial_octree::degenerate::follow_neighbours;
use fluvial_octree::divergence::inflow;
use fluvial_octree::extrapolate::extrapolate;
use fluvial_octree::friction::{FrictionScratch, rub};
use fluvial_octree::gradient::{FreeSurface, Geometry, GradientInfo, GradientParams, PressureGradient};
use fluvial_octree::lone::hide_lone_cells;
use fluvial_octree::momentum::{add_to_liquid, mean_velocity};
use fluvial_octree::parting::{AtBoundaries, let_go};
use fluvial_octree::slope::slopes;
use fluvial_octree::thrown::Projected;
use fluvial_solver_interface::{BodyStep, Clamps, PressureReport, StepError};
use fluvial_volume::Account;

/// Rounds of the search for cells that let go of walls and solids; it goes on in the next step. Also rounds of a step
/// with degenerate junctions or bonds and no last pressure for them: each takes 99 % of what is missing.
const MOST_ROUNDS: usize = 3;

/// A first guess is refined by an iteration though it meets the tolerance, unless it meets this part of it. In still water the last
/// pressure is such a guess from step to step. Taken as it is, what it lacks pushes the same way in every step until the tolerance is
/// passed, and is never paid back: 1e-5 of gravity, on and off, made waves that grew five times in ten seconds
/// where the tree moved.
/// Test: `water_rests_below_a_tree_that_moves`.
const GOOD_GUESS: f64 = 0.01;

/// The pressure's operator for one shape of the liquid.
struct Operator<'a> {
    /// The liquid as it is.
    liquid: Geometry<'a>,
    scratch: &'a mut OperatorScratch,
    form: FreeSurface,
    /// What BiCGSTAB is preconditioned by.
    symmetric: Option<FluxMatrix<f32>>,
}

impl Operator<'_> {
    /// The liquid as the pressure sees it.
    fn geometry(&self) -> Geometry<'_> {
        Geometry { phi_cell: &self.scratch.phi_cell, ..self.liquid }
    }

    /// The pressure's gradient.
    fn gradient(&self) -> &PressureGradient {
        &self.scratch.gradient
    }

    /// The gradient, from how the pressure sees the liquid.
    fn prepare(&mut self) -> GradientInfo {
        let params = GradientParams { form: self.form, ..GradientParams::default() };
        let geometry = Geometry { phi_cell: &self.scratch.phi_cell, ..self.liquid };
        self.scratch.gradient.prepare(&geometry, &params)
    }

    /// The system, from the gradient.
    fn assemble(&mut self) {
        let OperatorScratch { phi_cell, gradient, symmetric, system, .. } = &mut *self.scratch;
        let geometry = Geometry { phi_cell, ..self.liquid };
        // BiCGSTAB is preconditioned by the symmetric form.
        self.symmetric = (self.form == FreeSurface::SecondOrder).then(|| {
            symmetric.prepare(&geometry, &GradientParams::default());
            system.assemble(&geometry, symmetric);
            matrix(system)
        });
        system.assemble(&geometry, gradient);
    }

    /// The same with air in the cells that have let go, and columns as long as they have grown in those that are thrown.
    fn part(&mut self, at: &AtBoundaries, parted_cell: &[bool]) {
        hide_lone_cells(&mut self.scratch.phi_cell, &self.liquid);
        self.scratch.thrown.show(&mut self.scratch.phi_cell);
        at.show(&mut self.scratch.phi_cell, parted_cell);
        self.prepare();
    }

    /// Finds the cells that a projection has thrown farther than their columns are long; returns how many there are.
    fn find_thrown(&mut self, projected: &Projected, dt_s: f64) -> usize {
        let OperatorScratch { phi_cell, gradient, thrown, .. } = &mut *self.scratch;
        thrown.find(&Geometry { phi_cell, ..self.liquid }, gradient, projected, dt_s)
    }

    /// Pushes of a pressure on the surface as they are with grown columns.
    fn scale_pushes(&self, u: &mut [f32], u_without_push: &[f32]) {
        self.scratch.thrown.scale_pushes(u, u_without_push, &self.geometry(), self.gradient());
    }
}

impl Step<'_> {
    /// Rough walls and solids pull on the liquid, before forces that pressure may balance act on it.
    pub fn rub(&self, u: &mut [f32], of: &Settled, ground: Ground, scratch: &mut FrictionScratch) {
        let Boundaries { open_area, open_volume, rough, .. } = ground.boundaries;
        let liquid = Geometry { tree: ground.tree, phi_cell: of.phi, open_area };
        rub(u, &liquid, (open_volume, of.parted), rough, self.dt_s as f32, scratch);
    }

    /// Drops that have arrived bring their momentum, and gravity acts on every face that touches liquid.
    pub fn apply_forces(&self, u: &mut [f32], liquid: &Settled, mass: &MassScratch, tree: &Octree) {
        self.absorb_momentum(u, mass, liquid.fraction, tree);
        add_to_liquid(u, tree, liquid.phi, self.forces.push_s as f32 * self.model.setup.liquid.gravity);
    }

    fn operator<'b>(&self, liquid: Geometry<'b>, scratch: &'b mut OperatorScratch) -> Operator<'b> {
        Operator { liquid, scratch, form: self.model.params.form(), symmetric: None }
    }

    /// Gradient of the pressure, from the liquid's shape and what is open.
    pub fn prepare_gradient(&self, liquid: Geometry, scratch: &mut OperatorScratch, clamps: &mut Clamps) {
        hide_lone_cells(&mut scratch.phi_cell, &liquid);
        let pairs = scratch.phi_cell.iter().zip(liquid.phi_cell);
        let floored = pairs.filter(|(seen, phi)| **seen < 0.0 && seen != phi).count();
        let info = self.operator(liquid, scratch).prepare();
        clamps.add("ghost_theta_floor", info.theta_floors + floored);
        clamps.add("degenerate_junctions", info.degenerate_junctions);
        scratch.junctions = [info.surface_junctions, info.degenerate_junctions];
    }

    /// Makes velocity free of divergence, but for what deep residuals ask for, and lets liquid part from boundaries
    /// that would pull on it: the problem is solved anew with those cells as air. In a step of no length they have no time
    /// to.
    pub fn project(
        &self,
        (u, impulse_cell): (&mut [f32], &mut Vec<f64>),
        (phi_cell, residual_cell, parted_cell): (&[f32], &[f32], &mut [bool]),
        ground: Ground,
        (bodies, u_without_push): (&BodyStep, &[f32]),
        scratch: &mut PressureScratch,
    ) -> Result<PressureReport, StepError> {
        let PressureScratch { operator, solve: scratch, .. } = scratch;
        let operator = &mut self.operator(ground.liquid(phi_cell), operator);
        let of_tension = self.adhesion(ground.tree);
        let fall_m_s = self.forces.push_s * f64::from(self.model.setup.liquid.gravity.length());
        let adhesion = |cell: usize| {
            let hold = if bodies.is_empty() { 0.0 } else { bodies.hold(cell) };
            of_tension(cell) + hold * fall_m_s * f64::from(ground.tree.cell_dx(cell))
        };
        let at = self.at_boundaries(operator.liquid, ground, residual_cell, &adhesion);
        scratch.u_face.clear();
        scratch.u_face.extend_from_slice(u);
        self.fill_guess(impulse_cell, &operator.liquid);
        operator.scratch.thrown.clear();
        if parted_cell.contains(&true) {
            operator.part(&at, parted_cell);
        }
        operator.assemble();
        let uses_last = operator.scratch.junctions[1] > 0 || !operator.scratch.system.bonds.is_empty();
        let has_last = self.old.pushed_s > 0.0;
        let forces_m_s = self.forces.push_s as f32 * self.model.setup.liquid.gravity;
        let (mut round, mut iterations) = (1, 0);
        loop {
            operator.gradient().hold_back_at_openings(u, ground.tree, forces_m_s);
            follow_neighbours(u, &operator.geometry(), operator.gradient(), impulse_cell);
            let mut solved =
                self.solve(u, impulse_cell, operator, ground, residual_cell, (bodies, scratch))?;
            at.take_pushes_back(u, parted_cell, operator.gradient(), u_without_push);
            iterations += solved.iterations;
            solved.iterations = iterations;
            let parts = self.model.conserves_volume() && self.dt_s > 0.0;
            let changes =
                if parts { at.revise(parted_cell, &operator.scratch.phi_cell, impulse_cell, u) } else { 0 };
            let before = if u_without_push.is_empty() { &scratch.u_face[..] } else { u_without_push };
            let projected = Projected { before, gravity_m_s: forces_m_s, after: u, impulse_cell };
            let is_last = round == MOST_ROUNDS || !parts;
            let thrown = if is_last { 0 } else { operator.find_thrown(&projected, self.dt_s) };
            if (changes + thrown == 0 && (has_last || !uses_last)) || round == MOST_ROUNDS {
                impulse_cell
                    .iter_mut()
                    .zip(&*parted_cell)
                    .filter(|(_, parted)| **parted)
                    .for_each(|(p, _)| *p = 0.0);
                return Ok(solved);
            }
            round += 1;
            operator.part(&at, parted_cell);
            operator.scale_pushes(&mut scratch.u_face, u_without_push);
            u.copy_from_slice(&scratch.u_face);
            operator.assemble();
        }
    }

    fn at_boundaries<'b>(
        &self,
        liquid: Geometry<'b>,
        ground: Ground<'b>,
        residual_cell: &'b [f32],
        adhesion: &'b (dyn Fn(usize) -> f64 + Sync),
    ) -> AtBoundaries<'b> {
        AtBoundaries {
            liquid,
            u_boundary: ground.u_boundary,
            may_part_cell: &ground.sources.may_part_cell,
            residual_cell,
            fall_m_s: self.forces.push_s * f64::from(self.model.setup.liquid.gravity.length()),
            adhesion,
        }
    }

    /// The impulse over density with which surface tension holds a cell's liquid at a boundary, m2/s.
    fn adhesion(&self, tree: &Octree) -> impl Fn(usize) -> f64 + Sync {
        let (setup, placed) = (&self.model.setup, self.model.setup.solids_at(self.old.time_s + self.dt_s));
        let per_pa = self.forces.push_s / f64::from(setup.liquid.density);
        move |cell| per_pa * f64::from(setup.adhesion_pa(&placed, tree.cell_center(cell), tree.cell_dx(cell)))
    }

    /// Solves for the pressure impulse and subtracts its gradient.
    fn solve(
        &self,
        u: &mut [f32],
        impulse_cell: &mut [f64],
        operator: &mut Operator,
        ground: Ground,
        residual_cell: &[f32],
        (bodies, scratch): (&BodyStep, &mut SolveScratch),
    ) -> Result<PressureReport, StepError> {
        let SolveScratch { rhs_cell, term, cg, bicgstab: bi, .. } = scratch;
        self.right_side(rhs_cell, &operator.geometry(), ground, u, residual_cell);
        if !bodies.is_empty() {
            rhs_cell.iter_mut().zip(&bodies.outflow_cell).for_each(|(rhs, out)| *rhs -= f64::from(*out));
        }
        let system = &mut operator.scratch.system;
        system.add_bonds(rhs_cell, ground.tree, impulse_cell);
        let rhs = system.gather(rhs_cell);
        let mut p = system.gather(impulse_cell);
        let flux_matrix = matrix(system);
        let stop = self.model.params.pressure.stopping();
        let preconditioned = operator.symmetric.as_ref().unwrap_or(&flux_matrix);
        let mut amg = Amg::new(preconditioned, AmgParams::default());
        let mut cycle = amg.on(preconditioned);
        system.place(term, if bodies.is_empty() { &[] } else { &bodies.term.blocks });
        flux_matrix.take_constants_from(term);
        let coupled = Coupled { operator: &flux_matrix, term };
        let is_symmetric = self.model.params.free_surface != SurfaceForm::SecondOrder;
        let mut solve_until = |stop: &Stopping| {
            let solved = match is_symmetric {
                true => conjugate_gradients(&mut p, &coupled, &mut cycle, &rhs, stop, cg),
                false => bicgstab(&mut p, &coupled, &mut cycle, &rhs, stop, bi),
            };
            solved.map_err(|error| StepError::Pressure(error.to_string()))
        };
        let mut solved = solve_until(&stop)?;
        if solved.iterations == 0 && solved.relative_residual > GOOD_GUESS * stop.relative_tolerance {
            solved = solve_until(&Stopping { relative_tolerance: 0.5 * solved.relative_residual, ..stop })?;
        }
        // Walls do not pull on what no air can get into.
        flux_matrix.raise_sealed(&mut p);
        system.scatter(impulse_cell, &p);
        operator.gradient().subtract(u, &operator.geometry(), impulse_cell);
        Ok(PressureReport { iterations: solved.iterations, relative_residual: solved.relative_residual })
    }

    /// Minus the flux out of every cell, and what deep residuals ask for.
    fn right_side(
        &self,
        rhs_cell: &mut Vec<f64>,
        geometry: &Geometry,
        ground: Ground,
        u: &[f32],
        residual_cell: &[f32],
    ) {
        rhs_cell.resize(ground.tree.cell_count(), 0.0);
        inflow(rhs_cell, geometry, u, Some(ground.u_boundary));
        ground.sources.flow_into_cell.iter().for_each(|(cell, flow)| rhs_cell[*cell] += flow);
        parallel::for_each_indexed_mut(rhs_cell, |cell, rhs| {
            *rhs += self.wanted_m3_s(residual_cell, geometry, &ground.boundaries.swept_part_cell, cell);
        });
    }

    /// The impulse of the last step, scaled to how long forces act in this step, is the first guess; on another tree, and in cells that were air, it
    /// is continued from the cells of the last one with its slope in the liquid, so that what is hydrostatic stays so.
    /// Test: `water_rests_below_a_tree_that_moves`.
    fn fill_guess(&self, impulse_cell: &mut Vec<f64>, liquid: &Geometry) {
        let scale = if self.old.pushed_s > 0.0 { self.forces.push_s / self.old.pushed_s } else { 0.0 };
        let (old, tree, phi) = (&self.old.fields, liquid.tree, liquid.phi_cell);
        let same = std::ptr::eq(&*old.tree, tree);
        impulse_cell.resize(tree.cell_count(), 0.0);
        parallel::for_each_indexed_mut(impulse_cell, |cell, p| {
            *p = 0.0;
            if phi[cell] < 0.0 && scale > 0.0 {
                let was_liquid = same && old.phi_cell[cell] < 0.0;
                let last =
                    if was_liquid { old.impulse_cell[cell] } else { impulse_at(old, tree.cell_center(cell)) };
                *p = scale * last;
            }
        });
    }

    /// Liquid that touches nothing keeps its momentum: while none of it touches a wall, a solid or a source,
    /// gravity alone changes its mean velocity, which is returned. Drops that fly are part of it.
    ///
    /// Neither transport by back-traces nor pressures clamped at degenerate junctions conserve it to the last
    /// digit, and a body in free fall would slowly start to move. The difference is taken off all of the
    /// liquid on the tree, a uniform velocity, which changes no shape and no divergence.
    /// `keep_momentum = false` leaves it in. Verified by `a_lopsided_drop_stays_where_it_is`.
    pub fn keep_momentum(
        &self,
        u: &mut [f32],
        of: &Settled,
        volume: &Account,
        (ground, swarm): (Ground, &Swarm),
        clamps: &mut Clamps,
    ) -> [f64; 3] {
        let (liquid, drops) = (&ground.liquid(of.phi), &*of.drops);
        let (on_tree, is_free) = mean_velocity(liquid, of.fraction, u);
        let flying_m3 = drops.total_m3();
        let on_tree_m3 = volume.volume_m3 - flying_m3;
        let part = on_tree_m3 / volume.volume_m3.max(f64::MIN_POSITIVE);
        let flying =
            |a: usize| drops.v.iter().zip(&drops.volume_m3).map(|(v, m3)| f64::from(v[a]) * m3).sum::<f64>();
        let mean = [0, 1, 2]
            .map(|a| (on_tree[a] * on_tree_m3 + flying(a)) / volume.volume_m3.max(f64::MIN_POSITIVE));
        let touches = |x: &Vec3| {
            let faces = liquid.tree.cell_faces()[liquid.tree.locate(*x).cell as usize];
            faces.iter().any(|&face| liquid.open_area[face as usize] < 1.0)
        };
        let (before, push_s) = (&self.old.volume, self.forces.push_s);
        let came_or_went = [before.inflow_m3, before.outflow_m3] != [volume.inflow_m3, volume.outflow_m3];
        let is_kept = self.model.params.keep_momentum && is_free && swarm.is_empty();
        if !is_kept || came_or_went || part < 0.5 || drops.x.iter().any(touches) {
            return mean;
        }
        let gravity = self.model.setup.liquid.gravity;
        let wanted = [0, 1, 2].map(|a| self.old.mean_velocity[a] + push_s * gravity[a] as f64);
        let missing = [0, 1, 2].map(|a| ((wanted[a] - mean[a]) / part) as f32);
        add_to_liquid(u, liquid.tree, liquid.phi_cell, Vec3::from_array(missing));
        clamps.add("mean_velocity_kept", 1);
        wanted
    }

    /// Extends velocity over the whole tree and into solids, then lets nothing flow through walls. Returns
    /// how many faces had the liquid's or a source's velocity.
    pub fn extend_velocity(
        &self,
        u: &mut [f32],
        (phi, residual_cell, parted_cell): (&[f32], &[f32], &[bool]),
        ground: Ground,
        scratch: &mut PressureScratch,
        clamps: &mut Clamps,
    ) -> usize {
        let Ground { tree, boundaries, sources, .. } = ground;
        clamps.add("closed_slivers", boundaries.snapped_faces);
        let PressureScratch { operator, velocity, .. } = scratch;
        clamps.add("thrown_columns", operator.thrown.len());
        let VelocityScratch { known_face, extrapolate: rings, through_cell } = velocity;
        let seen = &operator.phi_cell;
        let flies = |face: usize| tree.cells_beside(face).any(|c| phi[c] < 0.0 && seen[c] >= 0.0);
        known_face.clear();
        known_face.extend(parallel::map_indices(tree.face_count(), |face| {
            operator.gradient.acts_on(face) || (sources.area_face[face] > 0.0 && flies(face))
        }));
        for (face, u_source) in sources.closed_faces() {
            (known_face[face], u[face]) = (true, u_source);
        }
        extrapolate(u, tree, |face| known_face[face], rings);
        if self.model.has_solids() {
            let solids = SolidsOnTree {
                phi_solid_cell: &boundaries.phi_solid_cell,
                u_solid: &boundaries.u_solid,
                open_area: &boundaries.open_area,
                sides: boundaries.sides(),
            };
            constrain_to_solids(u, tree, &solids, through_cell);
        }
        stop_at_walls(u, tree, self.model.setup.open_walls());
        if self.model.conserves_volume() {
            let adhesion = self.adhesion(tree);
            let at = self.at_boundaries(ground.liquid(phi), ground, residual_cell, &adhesion);
            let_go(u, parted_cell, seen, &at);
        }
        known_face.iter().filter(|&&known| known).count()
    }
}

/// Impulse at a point, linear in every liquid cell; in an air cell as in the nearest liquid one beside it. (A rebuilt tree has other cells at
/// the surface, some of them liquid where there was an air cell.)
fn impulse_at(old: &Fields, x: Vec3) -> f64 {
    let (tree, home) = (&*old.tree, old.tree.locate(x).cell as usize);
    let is_wet = |cell: usize| old.phi_cell[cell] < 0.0;
    let mut nearest = is_wet(home).then_some((0.0, home));
    if nearest.is_none() {
        tree.for_neighbours(home, |other| {
            let distance2 = tree.cell_center(other).distance_squared(x);
            if is_wet(other) && nearest.is_none_or(|(least, _)| distance2 < least) {
                nearest = Some((distance2, other));
            }
        });
    }
    let Some((_, cell)) = nearest else { return 0.0 };
    let [slope] = slopes(tree, cell, is_wet, |cell| [old.impulse_cell[cell] as f32]);
    old.impulse_cell[cell] + slope.dot((x - tree.cell_center(cell)).as_dvec3())
}

/// The system as a matrix; takes its entries.
fn matrix(system: &mut System) -> FluxMatrix<f32> {
    let value = system.value.iter().map(|&v| v as f32).collect();
    let (start, column) = (std::mem::take(&mut system.start), std::mem::take(&mut system.column));
    let off = Csr::new(system.cells.len(), start, column, value);
    FluxMatrix::new(off, std::mem::take(&mut system.row_sum))
}
