//! One step, in the order of [octree §3.2]:
//!
//! 1. bodies and thin solids move, and sinks take liquid,
//! 2. sizes are evaluated and spread, and the next tree is built for where the surface will be,
//! 3. the surface is carried from tree to tree, `phi = phi_old(x - u dt)`, displaced to the volume that fluxes carry, and
//!    made a distance again,
//! 4. velocity is carried from tree to tree, `u = u_old(x - u dt)`,
//! 5. rough walls pull, forces act, `u += dt g`, and surface tension, `u += dt grad(sigma kappa) / rho`,
//! 6. pressure makes velocity divergence-free and moves the bodies, `u -= dt grad p / rho`,
//! 7. velocity is extended over the whole tree, for the next step's back-traces.
//!
//! Forces that act on the surface after it was carried make gravity waves a leapfrog scheme (`Centring`). In the list, `on` is
//! the next tree with walls, solids and sources on it, `c` the memory that stages work in, and `n` counts clamps.

use crate::OctreeSolver;
use crate::particles::Swarm;
use crate::state::Step;
use fluvial_solver_interface::{Stages, StepError, StepReport};

pub(crate) fn step(solver: &mut OctreeSolver, dt_s: f64) -> Result<StepReport, StepError> {
    let OctreeSolver { model, state, next, scratch: c, asked_to_stop } = solver;
    model.setup.check_step(dt_s, state.limits.speed_m_s)?;
    let mut stages = Stages::new(asked_to_stop.clone());
    stages.run("bodies", |_| c.bodies.advance(state.bodies.as_ref(), &mut model.setup, state.times(dt_s)))?;
    let (step, rubs) =
        (stages.run("forces", |n| Step::new(model, state, dt_s, n))?, model.setup.has_friction());
    let (new, u, p) = &mut next.fields.split(&mut next.drops);
    let mut swarm = Swarm { particles: &mut next.particles, scratch: &mut c.particles };
    let thin = &stages.run("solids", |_| step.begin(&mut c.start))?;
    let flow =
        stages.run("transport_velocity", |_| step.transport_velocity(&mut c.transport, &mut c.start))?;
    let (start, by, to) = (&c.start, &flow.tracing, &flow.tracing_points);
    let ahead = stages.run("adapt", |_| step.adapt(start, by, &mut c.sizes))?;
    stages.run("particles", |_| swarm.begin(&step, start, ahead.size_cell, thin))?;
    let on = stages.run("solids", |_| step.ground(&ahead.tree, thin, &mut c.ground))?;
    stages.run("carry_volume", |_| step.carry_volume(&mut c.mass, start, flow, thin, on))?;
    stages.run("advect_surface", |n| step.carry_surface(new, start, &ahead, (on, to), &mut c.carry, n))?;
    stages.run("particles", |n| swarm.advect(&step, new.phi, on, start, n))?;
    stages.run("sources", |_| step.fill_sources(new.phi, on.tree))?;
    stages.run("settle_volume", |n| step.settle_volume(new, &mut c.mass, (thin, &swarm), on, n))?;
    stages.run("redistance", |n| step.redistance(new.phi, on, &mut c.distance, n))?;
    stages.run("particles", |_| swarm.release_drops(&step, new, &mut c.mass, on))?;
    next.volume = stages.run("settle_volume", |_| step.close_volume(new, &c.mass, start, on))?;
    stages.run("advect_velocity", |n| step.carry_velocity(u, (start, new.phi), (on, by), &mut c.carry, n))?;
    stages.run("particles", |_| swarm.deposit(&step, u, new.phi, on))?;
    stages.run_if(rubs, "friction", |_| step.rub(u, new, on, &mut c.friction))?;
    stages.run("forces", |_| step.apply_forces(u, new, &c.mass, on.tree))?;
    stages.run("pressure", |n| step.prepare_gradient(on.liquid(new.phi), &mut c.pressure.operator, n))?;
    stages.run("tension", |n| step.add_tension(u, on, &c.pressure.operator, &mut c.tension, n))?;
    stages.run("bodies", |_| step.couple_bodies(&mut c.bodies, new.phi, on))?;
    let (pushes, scratch) = ((&c.bodies, &c.tension.u_without_push[..]), &mut c.pressure);
    let solved = stages.try_run("pressure", |_| step.project((u, p), new.parting(), on, pushes, scratch))?;
    next.mean_velocity =
        stages.run("pressure", |n| step.keep_momentum(u, new, &next.volume, (on, &swarm), n))?;
    let on = stages.run("bodies", |_| step.push_bodies(&mut c.bodies, p, &ahead.tree, &mut c.ground))?;
    next.liquid_faces =
        stages.run("extrapolate", |n| step.extend_velocity(u, new.shape(), on, scratch, n))?;
    stages.run("particles", |_| swarm.update(&step, u, new.phi, on))?;
    let report = stages.try_run("measure", |_| step.measure(next, on, solved))?;
    let (tree, cells_moved) = (ahead.tree, ahead.cells_moved);
    Ok(stages.commit("measure", report, |_| solver.commit(tree, cells_moved)))
}
