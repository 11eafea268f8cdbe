//! One step, in the order of [octree §3.2]:
//!
//! 0. bodies move,
//! 1. sources and sinks act on the liquid that the step begins with,
//! 2. sizes are evaluated and spread, and the next tree is built for where the surface will be,
//! 3. the surface is carried from tree to tree, `phi = phi_old(x - u dt)`, and made a distance again,
//! 4. velocity is carried from tree to tree, `u = u_old(x - u dt)`,
//! 5. rough walls pull, and forces act, `u += dt g`, and surface tension, `u += dt grad(sigma kappa) / rho`,
//! 6. pressure makes velocity divergence-free and moves the bodies, `u -= dt grad p / rho`,
//! 7. velocity is extended over the whole tree, for the next step's back-traces.
//!
//! Volume goes with the surface: fluxes carry it on the old tree, and the surface of the new one is displaced to
//! what its cells are owed. Particles, where they are used, are seeded before 3, move with the surface and correct
//! it, deposit their velocity on the faces after 4, and receive the change made by forces and pressure after 7.
//! Carrying the surface first and letting forces act on the new one makes gravity waves a symplectic Euler scheme.

use crate::OctreeSolver;
use crate::mass::Settled;
use crate::particles::Swarm;
use crate::state::{Carried, Ground, State, Step};
use fluvial_octree::gradient::Geometry;
use fluvial_solver_interface::{Stages, StepError, StepReport, StepTimes};

pub(crate) fn step(solver: &mut OctreeSolver, dt_s: f64) -> Result<StepReport, StepError> {
    let OctreeSolver { model, state, next, scratch: c, asked_to_stop } = solver;
    model.setup.check_step(dt_s, state.limits.speed_m_s)?;
    let mut stages = Stages::new(asked_to_stop.clone());
    stages.run("bodies", |_| {
        let times = StepTimes { from_s: state.time_s, dt_s, last_dt_s: state.last_dt_s };
        c.bodies.advance(state.bodies.as_ref(), &mut model.setup, times);
    })?;
    let step = Step { model, old: state, dt_s };
    let State { fields, boundaries, particles, volume, drops, .. } = next;
    let (mut new, Carried { tree, u, size, impulse }) = fields.split(drops);
    let mut swarm = Swarm { particles, scratch: &mut c.particles };

    let (fine, changes) = stages.run("solids", |_| step.thin_solids())?;
    stages.run("sources", |_| step.begin_with_sinks(&mut c.start))?;
    stages.run("solids", |_| step.change_sides(&mut c.start, fine.as_deref(), &changes))?;
    let (start, thin) = (&c.start, (fine.as_deref(), &changes[..]));
    let flow = stages.run("transport_velocity", |_| step.transport_velocity(&mut c.transport, start))?;
    let sizes = stages.run("adapt", |_| step.sizes(&mut c.size_cell, start))?;
    (*tree, next.cells_moved) =
        stages.run("adapt", |_| step.next_tree(start, &flow.tracing, sizes, &mut c.spread))?;
    stages.run("particles", |_| swarm.begin(&step, start, sizes, thin))?;
    *boundaries = stages.run("solids", |_| step.boundaries(tree, &fine, &mut c.fractions))?;
    stages.run("solids", |_| {
        step.place_sources(tree, boundaries, &mut c.sources, &mut c.u_boundary);
    })?;
    let ground = Ground { tree, boundaries, sources: &c.sources, u_boundary: &c.u_boundary };
    stages.run("carry_volume", |_| step.carry_volume(&mut c.mass, start, flow, thin, ground))?;
    let path = step.transport(ground, &flow.tracing);
    stages.run("advect_surface", |n| {
        step.carry_surface((new.phi, size), path, start, sizes, &mut c.carry, n)
    })?;
    stages.run("particles", |n| swarm.advect(&step, new.phi, ground, start, n))?;
    stages.run("sources", |_| step.fill_sources(new.phi, tree))?;
    stages.run("settle_volume", |_| c.mass.ready.prepare(tree, new.phi))?;
    stages.run("settle_volume", |n| step.settle_volume(&mut new, &mut c.mass, thin, ground, n))?;
    stages.run("redistance", |n| step.redistance(new.phi, ground, &mut c.distance, n))?;
    stages.run("particles", |_| swarm.release_drops(&step, &mut new, &mut c.mass, ground))?;
    *volume = stages.run("settle_volume", |_| step.close_volume(&mut new, &c.mass, start, ground))?;
    let Settled { phi, fraction, residual, parted, drops } = new;
    let liquid = Geometry { tree, phi_cell: phi, open_area: &c.sources.area_face };
    stages.run("advect_velocity", |n| {
        step.carry_velocity(u, path, start, (ground, phi), &mut c.carry, n);
    })?;
    stages.run("particles", |_| swarm.deposit(&step, u, &liquid, ground))?;
    if step.model.setup.has_friction() {
        stages.run("friction", |_| step.rub(u, phi, parted, ground, &mut c.friction))?;
    }
    stages.run("forces", |_| step.absorb_momentum(u, &c.mass, fraction, tree))?;
    stages.run("forces", |_| step.apply_gravity(u, &liquid))?;
    let mut operator = stages.run("pressure", |n| step.operator(&liquid, &mut c.operator, n))?;
    stages.run("tension", |n| step.add_tension(u, &operator, &mut c.tension, n))?;
    stages.run("bodies", |_| step.couple_bodies(&mut c.bodies, &liquid, ground))?;
    let solved = stages.try_run("pressure", |_| {
        let residual = (&residual[..], &c.tension.u_without_push[..]);
        step.project((u, impulse, parted), &mut operator, ground, residual, (&c.bodies, &mut c.solve))
    })?;
    stages.run("bodies", |_| {
        step.push_bodies(&mut c.bodies, (boundaries, &mut c.u_boundary), impulse, (tree, &c.sources));
    })?;
    let ground = Ground { tree, boundaries, sources: &c.sources, u_boundary: &c.u_boundary };
    next.mean_velocity = stages
        .run("pressure", |_| step.keep_momentum(u, &liquid, (fraction, drops, volume), swarm.is_empty()))?;
    next.junctions = operator.junctions;
    next.liquid_faces = stages.run("extrapolate", |n| {
        step.extend_velocity(u, ground, &operator, (parted, residual), &mut c.extrapolate, n)
    })?;
    stages.run("particles", |_| swarm.update(&step, u, &liquid, ground))?;
    let report = stages.try_run("measure", |_| step.measure(next, (&c.sources, &c.u_boundary), solved))?;
    next.bodies = c.bodies.take();
    Ok(stages.commit("measure", report, |_| {
        std::mem::swap(state, next);
        model.place_bodies(state);
    }))
}
