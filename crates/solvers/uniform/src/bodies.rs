//! Bodies that the liquid moves.
//!
//! A step begins with them: under what weight and water gave them in the last one they move, and contacts and joints
//! act ([`World::advance`]). They then are solids like all others, where they have come to and as fast as they are. In the
//! projection weight acts on them, the water by the pressure's own solve ([`fluvial_mac::couple_bodies`]), and what
//! contacts and joints are expected to do: without that a body that lies on the floor would squeeze the water below it, step
//! by step, by the speed that its weight gives it.

use crate::UniformSolver;
use crate::state::Work;
use fluvial_bodies::{BodyError, Impulse, Surroundings, World};
use fluvial_foundation::{DVec3, Vec3};
use fluvial_linear::{LowRank, RANK};
use fluvial_mac::{CoupledBody, couple_bodies, impulse_on_body, weight_at_surface};
use fluvial_solids::{Motion, Shape, Twist};
use fluvial_solver_interface::{BodyReport, Setup, SetupError};

/// Bodies at one moment.
#[derive(Clone)]
pub(crate) struct Bodies {
    pub world: World,
    /// What weight and water give each of them in the next step's motion.
    pub given: Vec<Impulse>,
    /// The water's part of it.
    pub water: Vec<Impulse>,
    /// Velocities that the water has met in the last projection.
    pub twists: Vec<Twist>,
}

/// What a step computes of bodies.
#[derive(Default)]
pub(crate) struct BodyWork {
    pub bodies: Option<Bodies>,
    /// What contacts and joints are expected to give each in the projection.
    held: Vec<Impulse>,
    /// The bodies' term of the projection.
    pub term: LowRank,
    /// What flows out of each cell, over dx^2, because bodies are not as fast as the boundaries say, m/s.
    pub outflow_cell: Vec<f32>,
    /// Velocities before the pressure acts.
    before: Vec<Twist>,
    /// Weight of the water between the pressure's places and the bodies' surfaces.
    clinging: Vec<Impulse>,
}

impl Bodies {
    /// The bodies of a set-up, or none.
    pub fn new(setup: &Setup) -> Result<Option<Bodies>, SetupError> {
        let free = setup.bodies();
        if free.is_empty() {
            return Ok(None);
        }
        let fixed = setup.solids.iter().filter(|solid| solid.free.is_none());
        let around = Surroundings {
            solids: fixed.map(|solid| (&solid.shape, &solid.motion)).collect(),
            domain: setup.domain.bounds(),
            open_walls: setup.open_walls(),
        };
        let invalid = |error: BodyError| SetupError::Invalid(error.to_string());
        let world = World::new(&free, &setup.joints(), &around).map_err(invalid)?;
        let none = vec![Impulse::default(); world.len()];
        let twists = (0..world.len()).map(|n| world.twist(n)).collect();
        Ok(Some(Bodies { world, given: none.clone(), water: none, twists }))
    }
}

impl UniformSolver {
    /// Moves the bodies, and tells the set-up's solids where they are at both ends of the step.
    pub(crate) fn move_bodies(&mut self, dt_s: f64) {
        let Some(state) = &self.state.bodies else { return };
        let mut moved = state.clone();
        let (mut reactions, time_s) = (vec![], self.state.time_s);
        moved.world.advance(&mut reactions, &state.given, time_s, dt_s);
        let (mut given, mut given_for_s) = (state.given.clone(), self.state.last_dt_s);
        if given_for_s == 0.0 {
            // Nothing was given before the first step: what holds the bodies then is found by letting go of them.
            let gravity_m_s = dt_s * self.setup.liquid.gravity.as_dvec3();
            let weight = |n: usize| state.world.mass_kg(n) * gravity_m_s;
            let only = |linear: DVec3| Impulse { linear, angular: DVec3::ZERO };
            (given, given_for_s) = ((0..given.len()).map(|n| only(weight(n))).collect(), dt_s);
            state.world.clone().advance(&mut reactions, &given, time_s, dt_s);
        }
        let held = reactions.iter().zip(&given).map(|(r, g)| expected(*r, *g, dt_s / given_for_s));
        self.work.bodies.held = held.collect();
        moved.twists = (0..moved.world.len()).map(|n| moved.world.twist(n)).collect();
        let (from_s, numbers) = (self.state.time_s, self.setup.body_numbers());
        for (n, number) in numbers.into_iter().enumerate() {
            self.setup.solids[number].motion = Motion::Free {
                time_s: [from_s, from_s + dt_s],
                poses: [state.world.pose(n), moved.world.pose(n)],
                twist: moved.twists[n],
            };
        }
        self.work.bodies.bodies = Some(moved);
    }

    /// Puts the set-up's solids where the state's bodies are.
    pub(crate) fn place_bodies_of_state(&mut self) {
        let Some(bodies) = &self.state.bodies else { return };
        for (n, number) in self.setup.body_numbers().into_iter().enumerate() {
            let (pose, twist) = (bodies.world.pose(n), bodies.twists[n]);
            let time_s = [self.state.time_s; 2];
            self.setup.solids[number].motion = Motion::Free { time_s, poses: [pose; 2], twist };
        }
    }

    /// The bodies' velocities before the pressure acts, and their term of the projection.
    pub(crate) fn couple_bodies(&mut self, dt_s: f64) {
        let Work { bodies: work, boundaries, cover, unknowns, .. } = &mut self.work;
        work.term.blocks.clear();
        let Some(bodies) = &work.bodies else { return };
        let openings = boundaries.openings(cover, &self.grid);
        let (world, gravity) = (&bodies.world, self.setup.liquid.gravity.as_dvec3());
        let shapes = self.setup.solids.iter().filter(|solid| solid.free.is_some()).map(|solid| &solid.shape);
        let coupled: Vec<CoupledBody> =
            shapes.enumerate().map(|(n, shape)| coupled(world, n, shape)).collect();
        let among_moving = self.setup.bodies_among_moving();
        let fields = &boundaries.solids.fields;
        let body_at = |axis, at| fields.mover(&self.grid, axis, at).and_then(|n| among_moving[n]);
        couple_bodies(&mut work.term, &coupled, &openings, body_at, f64::from(self.setup.liquid.density));
        work.before.clear();
        work.clinging.clear();
        for (n, block) in work.term.blocks.iter().enumerate() {
            let [linear, angular] = weight_at_surface(
                (n, block, world.twist(n).center),
                &openings,
                body_at,
                (&unknowns.unknown_cell, &fields.open_volume),
                dt_s as f32 * self.setup.liquid.gravity,
                f64::from(self.setup.liquid.density),
            );
            let held = work.held[n];
            let weight = dt_s * world.mass_kg(n) * gravity;
            let sum = Impulse { linear: weight + linear + held.linear, angular: angular + held.angular };
            work.clinging.push(Impulse { linear, angular });
            work.before.push(pushed(world, n, world.twist(n), sum));
        }
        work.outflow_cell.clear();
        work.outflow_cell.resize(self.grid.cell_count(), 0.0);
        for (n, block) in work.term.blocks.iter().enumerate() {
            block.scatter(&mut work.outflow_cell, &difference(&work.before[n], &world.twist(n)));
        }
    }

    /// What the pressure has given the bodies, and the velocity that solids have with it.
    pub(crate) fn push_bodies(&mut self, dt_s: f64) {
        let work = &mut self.work;
        let Some(bodies) = &mut work.bodies.bodies else { return };
        let (density, dx) = (f64::from(self.setup.liquid.density), self.grid.dx);
        let gravity = self.setup.liquid.gravity.as_dvec3();
        for (n, block) in work.bodies.term.blocks.iter().enumerate() {
            let [linear, angular] = impulse_on_body(block, &work.fields.impulse_cell, density, dx);
            bodies.twists[n] = pushed(&bodies.world, n, work.bodies.before[n], Impulse { linear, angular });
            let clinging = work.bodies.clinging[n];
            let water = Impulse { linear: linear + clinging.linear, angular: angular + clinging.angular };
            let weight = dt_s * bodies.world.mass_kg(n) * gravity;
            bodies.water[n] = water;
            bodies.given[n] = Impulse { linear: water.linear + weight, angular: water.angular };
        }
        let numbers = self.setup.body_numbers();
        for (n, number) in numbers.into_iter().enumerate() {
            if let Motion::Free { twist, .. } = &mut self.setup.solids[number].motion {
                *twist = bodies.twists[n];
            }
        }
        let time_s = self.state.time_s + dt_s;
        let moving = self.setup.solids.iter().filter(|solid| !solid.motion.is_static());
        let twists: Vec<Twist> = moving.map(|solid| solid.motion.twist(time_s)).collect();
        let solids = std::sync::Arc::make_mut(&mut work.boundaries.solids);
        solids.fields.set_twists(&self.grid, &twists);
    }

    /// Where the bodies are, how they move and what the water does to them.
    pub(crate) fn body_reports(&self) -> Vec<BodyReport> {
        let Some(Bodies { world, water, twists, .. }) = &self.state.bodies else { return vec![] };
        let dt_s = self.state.last_dt_s;
        let force = |impulse: DVec3| if dt_s > 0.0 { impulse / dt_s } else { DVec3::ZERO };
        (0..world.len())
            .map(|n| BodyReport {
                name: world.name(n).to_owned(),
                pose: world.pose(n),
                twist: twists[n],
                force_n: force(water[n].linear),
                torque_n_m: force(water[n].angular),
                is_gone: world.is_gone(n),
            })
            .collect()
    }
}

/// A twist after an impulse.
fn pushed(world: &World, n: usize, twist: Twist, impulse: Impulse) -> Twist {
    let (along, about) = world.inverse_mass(n);
    Twist {
        linear: (twist.linear.as_dvec3() + along * impulse.linear).as_vec3(),
        angular: (twist.angular.as_dvec3() + about * impulse.angular).as_vec3(),
        center: twist.center,
    }
}

/// What contacts and joints are expected to do in the projection: what they did in the motion before it, but no more than
/// what it was there that they had to hold, as long as the step is beside the last one. A blow is not expected again.
fn expected(reaction: Impulse, given: Impulse, step_ratio: f64) -> Impulse {
    let bounded = |reaction: DVec3, given: DVec3| match reaction.length() {
        0.0 => DVec3::ZERO,
        size => step_ratio * (given.length() / size).min(1.0) * reaction,
    };
    Impulse {
        linear: bounded(reaction.linear, given.linear),
        angular: bounded(reaction.angular, given.angular),
    }
}

fn coupled(world: &World, n: usize, shape: &Shape) -> CoupledBody {
    let (inverse_mass, inverse_inertia) = world.inverse_mass(n);
    CoupledBody {
        center: world.twist(n).center,
        bounds: world.pose(n).world_bounds(shape.bounds()),
        inverse_mass,
        inverse_inertia,
    }
}

/// By how much one motion is faster than the other about the same centre.
fn difference(a: &Twist, b: &Twist) -> [f64; RANK] {
    let (linear, angular): (Vec3, Vec3) = (a.linear - b.linear, a.angular - b.angular);
    let [linear, angular] = [linear, angular].map(|v| v.as_dvec3());
    [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]
}
