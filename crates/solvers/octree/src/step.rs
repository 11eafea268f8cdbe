//! One step, in the order of [octree §3.2]:
//!
//! 1. sources and sinks act on the liquid that the step begins with,
//! 2. sizes are evaluated and spread, and the next tree is built for where the surface will be,
//! 3. the surface is carried from tree to tree, `phi = phi_old(x - u dt)`, and made a distance again,
//! 4. velocity is carried from tree to tree, `u = u_old(x - u dt)`,
//! 5. forces act, `u += dt g`, and surface tension, `u += dt grad(sigma kappa) / rho`,
//! 6. pressure makes velocity divergence-free, `u -= dt grad p / rho`,
//! 7. velocity is extended over the whole tree, for the next step's back-traces.
//!
//! Particles, where they are used, are seeded before 3, move with the surface and correct it, deposit their
//! velocity on the faces after 4, and receive the change made by forces and pressure after 7. Carrying the
//! surface first and letting forces act on the new one makes gravity waves a symplectic Euler scheme.

use crate::OctreeSolver;
use crate::particles::Swarm;
use crate::state::{Fields, State, Step};
use fluvial_solver_interface::{Stages, StepError, StepReport};

pub(crate) fn step(solver: &mut OctreeSolver, dt_s: f64) -> Result<StepReport, StepError> {
    let OctreeSolver { model, state, next, scratch: c, asked_to_stop } = solver;
    model.setup.check_step(dt_s, state.limits.speed_m_s)?;
    let (step, mut stages) = (Step { model, old: state, dt_s }, Stages::new(asked_to_stop.clone()));
    let State { fields, boundaries, particles, volume, .. } = next;
    let Fields { tree, phi_cell: phi, u_face: u, size_cell: size, impulse_cell: impulse } = fields;
    let mut swarm = Swarm { particles, scratch: &mut c.particles };

    let (fine, changes) = stages.run("solids", |_| step.thin_solids())?;
    stages.run("sources", |_| step.begin_with_sinks(&mut c.start, &mut c.fraction_cell))?;
    stages.run("solids", |_| step.change_sides(&mut c.start, fine.as_deref(), &changes))?;
    let start = &c.start;
    let flow = stages.run("transport_velocity", |_| step.transport_velocity(&mut c.transport, start))?;
    let sizes = stages.run("adapt", |_| step.sizes(&mut c.size_cell, start))?;
    (*tree, next.cells_moved) = stages.run("adapt", |_| step.next_tree(start, flow, sizes, &mut c.spread))?;
    stages.run("particles", |_| swarm.begin(&step, start, sizes, (fine.as_deref(), &changes)))?;
    *boundaries = stages.run("solids", |_| step.boundaries(tree, &fine, &mut c.fractions))?;
    let ground = stages.run("solids", |_| step.ground(tree, boundaries, &mut c.sources))?;
    let path = step.transport(ground, flow);
    stages.run("advect_surface", |n| step.carry_surface((phi, size), path, start, sizes, &mut c.carry, n))?;
    stages.run("particles", |n| swarm.advect(&step, phi, ground, start, n))?;
    stages.run("sources", |_| step.fill_sources(phi, tree))?;
    stages.run("redistance", |n| step.redistance(phi, ground, &mut c.distance, n))?;
    stages.run("particles", |_| swarm.sort_flights(&step, phi, ground))?;
    let bodies = stages.run("volume_control", |_| step.bodies(&mut c.fraction_cell, start, ground, phi))?;
    *volume = stages
        .run("volume_control", |n| step.book_volume(bodies, start, (ground, path), swarm.flights(), n))?;
    let liquid = ground.liquid(phi);
    stages.run("advect_velocity", |_| step.carry_velocity(u, path, start, (ground, phi), &mut c.carry))?;
    stages.run("particles", |_| swarm.deposit(&step, u, &liquid, ground))?;
    stages.run("forces", |_| step.apply_gravity(u, &liquid))?;
    let mut operator = stages.run("pressure", |n| step.operator(&liquid, &mut c.operator, n))?;
    stages.run("tension", |n| step.add_tension(u, &operator, &mut c.tension, n))?;
    let solved = stages
        .try_run("pressure", |_| step.project(u, impulse, &mut operator, ground, volume, &mut c.solve))?;
    next.mean_velocity =
        stages.run("pressure", |_| step.keep_momentum(u, &liquid, &c.fraction_cell, swarm.is_empty()))?;
    next.junctions = operator.junctions;
    next.liquid_faces =
        stages.run("extrapolate", |_| step.extend_velocity(u, ground, &operator, &mut c.extrapolate))?;
    stages.run("particles", |_| swarm.update(&step, u, &liquid, ground))?;
    let report = stages.try_run("measure", |_| step.measure(next, &c.sources, &c.fraction_cell, solved))?;
    Ok(stages.commit("measure", report, |_| std::mem::swap(state, next)))
}
