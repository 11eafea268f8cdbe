//! Bodies in the step of a solver.
//!
//! A step begins with them: under what weight and water gave them in the last one they move, and contacts and joints
//! act ([`World::advance`]). They then are solids like all others, where they have come to and as fast as they are. In the
//! projection weight acts on them, the water by the pressure's own solve (a [`LowRank`] term of its operator), and what
//! contacts and joints are expected to do: without that a body that lies on the floor would squeeze the water below it, step
//! by step, by the speed that its weight gives it.

use crate::{BodyReport, RestoreError, Setup, SetupError, StateReader, StateWriter};
use fluvial_bodies::{BodyError, Impulse, Surroundings, World};
use fluvial_foundation::{DVec3, Vec3};
use fluvial_linear::krylov::Real;
use fluvial_linear::{Block, LowRank, RANK};
use fluvial_solids::{CoupledBody, Films, Motion, Shape, Twist};
use std::io;

/// Bodies at one moment.
#[derive(Clone)]
pub struct Bodies {
    world: World,
    /// Numbers of the bodies among the set-up's solids.
    numbers: Vec<usize>,
    /// What weight and water give each of them in the next step's motion.
    given: Vec<Impulse>,
    /// The water's part of it.
    water: Vec<Impulse>,
    /// Velocities that the water has met in the last projection.
    twists: Vec<Twist>,
}

impl Setup {
    /// Puts its solids where the bodies of a state are.
    pub fn place_bodies(&mut self, bodies: Option<&Bodies>, time_s: f64) {
        let Some(Bodies { world, numbers, twists, .. }) = bodies else { return };
        for (n, &number) in numbers.iter().enumerate() {
            let (poses, twist) = ([world.pose(n); 2], twists[n]);
            self.solids[number].motion = Motion::Free { time_s: [time_s; 2], poses, twist };
        }
    }
}

/// When a step happens, seconds.
#[derive(Clone, Copy, Debug)]
pub struct StepTimes {
    /// Its begin.
    pub from_s: f64,
    /// Its length.
    pub dt_s: f64,
    /// Length of the step before; zero where there was none.
    pub last_dt_s: f64,
}

/// What a step computes of bodies; everything is empty where a scene has none.
#[derive(Default)]
pub struct BodyStep {
    /// At the end of the step.
    moved: Option<Bodies>,
    /// What contacts and joints did in the motion, and what they are expected to do in the projection.
    reactions: Vec<Impulse>,
    held: Vec<Impulse>,
    /// Velocities before the pressure acts.
    before: Vec<Twist>,
    /// The bodies as the pressure sees them.
    pub coupled: Vec<CoupledBody>,
    /// For each solid that moves, in their order, its number among the bodies where it is one.
    pub among_moving: Vec<Option<usize>>,
    /// Their term of the projection.
    pub term: LowRank,
    /// What the films between bodies and what they touch have of it.
    pub film: LowRank,
    /// These films.
    pub films: Films,
    /// Momentum and angular momentum by the weight of water that the pressure's places leave out, N s and N m s.
    pub clinging: Vec<[DVec3; 2]>,
    /// What flows out of each cell because bodies are not as fast as the boundaries say.
    pub outflow_cell: Vec<f32>,
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
        Ok(Some(Bodies { world, numbers: setup.body_numbers(), given: none.clone(), water: none, twists }))
    }

    /// Where the bodies of a state are, how they move and what the water did to them in its last step.
    pub fn reports_of(bodies: Option<&Bodies>, last_dt_s: f64) -> Vec<BodyReport> {
        bodies.map_or_else(Vec::new, |bodies| bodies.reports(last_dt_s))
    }

    fn reports(&self, last_dt_s: f64) -> Vec<BodyReport> {
        let force = |impulse: DVec3| if last_dt_s > 0.0 { impulse / last_dt_s } else { DVec3::ZERO };
        let report = |n: usize| BodyReport {
            name: self.world.name(n).to_owned(),
            pose: self.world.pose(n),
            twist: self.twists[n],
            force_n: force(self.water[n].linear),
            torque_n_m: force(self.water[n].angular),
            is_gone: self.world.is_gone(n),
        };
        (0..self.world.len()).map(report).collect()
    }

    /// What the water has given all of them in the last step, N s.
    pub fn given_by_water(&self) -> DVec3 {
        self.water.iter().map(|impulse| impulse.linear).sum()
    }

    /// Gives a body momentum in the next step's motion; `false` where there is no such body.
    pub fn push(&mut self, n: usize, impulse: Impulse) -> bool {
        let Some(given) = self.given.get_mut(n) else { return false };
        given.linear += impulse.linear;
        given.angular += impulse.angular;
        true
    }

    /// Their state as bytes.
    pub fn save(&self, out: &mut StateWriter) -> io::Result<()> {
        // The numbers follow from the set-up.
        let Bodies { world, numbers: _, given, water, twists } = self;
        let numbers = |impulses: &[Impulse]| -> Vec<f64> {
            impulses.iter().flat_map(|i| [i.linear, i.angular]).flat_map(|v| v.to_array()).collect()
        };
        out.list("bodies.world", &world.save().map_err(io::Error::other)?)?;
        out.list("bodies.given", &numbers(given))?;
        out.list("bodies.water", &numbers(water))?;
        let parts = |twist: &Twist| [twist.linear, twist.angular, twist.center];
        out.list("bodies.twists", &twists.iter().flat_map(parts).collect::<Vec<Vec3>>())
    }

    /// The same bodies with the state that [`Self::save`] wrote.
    pub fn restored(mut self, from: &mut StateReader) -> Result<Bodies, RestoreError> {
        let mismatch = |what: String| RestoreError::Mismatch(what);
        let bytes: Vec<u8> = from.list("bodies.world")?;
        self.world.restore(&bytes).map_err(|error| mismatch(error.to_string()))?;
        for (name, impulses) in [("bodies.given", &mut self.given), ("bodies.water", &mut self.water)] {
            let numbers: Vec<f64> = from.list(name)?;
            if numbers.len() != 6 * impulses.len() {
                return Err(mismatch(format!("`{name}` has another number of bodies")));
            }
            for (impulse, n) in impulses.iter_mut().zip(numbers.chunks(6)) {
                let [linear, angular] = [&n[..3], &n[3..]].map(DVec3::from_slice);
                *impulse = Impulse { linear, angular };
            }
        }
        let parts: Vec<Vec3> = from.list("bodies.twists")?;
        if parts.len() != 3 * self.twists.len() {
            return Err(mismatch("`bodies.twists` has another number of bodies".into()));
        }
        for (twist, part) in self.twists.iter_mut().zip(parts.chunks(3)) {
            *twist = Twist { linear: part[0], angular: part[1], center: part[2] };
        }
        Ok(self)
    }
}

impl BodyStep {
    /// Moves the bodies of a state, and tells the set-up's solids where they are at both ends of the step.
    pub fn advance(&mut self, state: Option<&Bodies>, setup: &mut Setup, times: StepTimes) {
        let Some(state) = state else { return };
        let StepTimes { from_s, dt_s, last_dt_s } = times;
        if self.among_moving.is_empty() {
            self.among_moving = setup.bodies_among_moving();
        }
        let mut moved = state.clone();
        moved.world.advance(&mut self.reactions, &state.given, from_s, dt_s);
        self.held.clear();
        if last_dt_s == 0.0 {
            // Nothing was given before the first step: what holds the bodies then is found by letting go of them.
            let gravity_m_s = dt_s * setup.liquid.gravity.as_dvec3();
            let weight = |n: usize| state.world.mass_kg(n) * gravity_m_s;
            let only = |linear: DVec3| Impulse { linear, angular: DVec3::ZERO };
            let given: Vec<Impulse> = (0..state.given.len()).map(|n| only(weight(n))).collect();
            state.world.clone().advance(&mut self.reactions, &given, from_s, dt_s);
            self.held.extend(self.reactions.iter().zip(&given).map(|(r, g)| expected(*r, *g, 1.0)));
        } else {
            let given = self.reactions.iter().zip(&state.given);
            self.held.extend(given.map(|(r, g)| expected(*r, *g, dt_s / last_dt_s)));
        }
        for (n, &number) in moved.numbers.iter().enumerate() {
            moved.twists[n] = moved.world.twist(n);
            setup.solids[number].motion = Motion::Free {
                time_s: [from_s, from_s + dt_s],
                poses: [state.world.pose(n), moved.world.pose(n)],
                twist: moved.twists[n],
            };
        }
        self.moved = Some(moved);
    }

    /// Are there no bodies?
    pub fn is_empty(&self) -> bool {
        self.moved.is_none()
    }

    /// Fills [`Self::coupled`]; the solver fills [`Self::term`] and [`Self::clinging`] from it, then calls
    /// [`Self::release`].
    pub fn look(&mut self, setup: &Setup) {
        self.coupled.clear();
        self.term.blocks.iter_mut().chain(&mut self.film.blocks).for_each(|block| block.clear());
        let Some(Bodies { world, numbers, .. }) = &self.moved else { return };
        let shapes = numbers.iter().map(|&number| &setup.solids[number].shape).enumerate();
        self.coupled.extend(shapes.map(|(n, shape)| coupled(world, n, shape)));
    }

    /// The bodies' velocities before the pressure acts: what gravity, contacts and clinging water make of them.
    pub fn release(&mut self, gravity: Vec3, dt_s: f64) {
        let Some(Bodies { world, .. }) = &self.moved else { return };
        self.before.clear();
        for (n, [linear, angular]) in self.clinging.iter().enumerate() {
            let (held, weight) = (self.held[n], dt_s * world.mass_kg(n) * gravity.as_dvec3());
            let sum = Impulse { linear: weight + *linear + held.linear, angular: *angular + held.angular };
            self.before.push(pushed(world, n, world.twist(n), sum));
        }
    }

    /// By how much body `n` is faster before the pressure acts than the boundaries say.
    pub fn lead(&self, n: usize) -> [f64; RANK] {
        let Some(Bodies { world, .. }) = &self.moved else { return [0.0; RANK] };
        let (before, boundary) = (&self.before[n], world.twist(n));
        let (linear, angular) = (before.linear - boundary.linear, before.angular - boundary.angular);
        let [linear, angular] = [linear, angular].map(|v| v.as_dvec3());
        [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]
    }

    /// Fills [`Self::outflow_cell`], whose cells are the rows of the term: what leaves them because bodies are faster than boundaries say,
    /// and what films take up by the velocity that boundaries have.
    pub fn fill_outflow(&mut self, cells: usize) {
        let mut outflow = std::mem::take(&mut self.outflow_cell);
        outflow.clear();
        outflow.resize(cells, 0.0);
        for (n, block) in self.term.blocks.iter().enumerate() {
            block.scatter(&mut outflow, &self.lead(n));
        }
        for (block, twist) in self.film.blocks.iter().zip(self.boundary_twists()) {
            let [linear, angular] = [twist.linear, twist.angular].map(|v| v.as_dvec3());
            let velocity = [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z];
            block.scatter(&mut outflow, &velocity);
        }
        self.outflow_cell = outflow;
    }

    fn boundary_twists(&self) -> impl Iterator<Item = Twist> + '_ {
        self.moved.iter().flat_map(|bodies| (0..bodies.world.len()).map(|n| bodies.world.twist(n)))
    }

    /// What the pressure in films has given the bodies, in units of it. What they lie on has received the opposite.
    pub fn given_by_films<T: Real>(&self, q: &[T]) -> DVec3 {
        self.film.blocks.iter().map(|block| DVec3::from_slice(&block.gather(q)[..3])).sum()
    }

    /// What the pressure's impulse `q` of the term's rows has given the bodies, `kg` being the momentum of a unit of
    /// it.
    pub fn push<T: Real>(&mut self, q: &[T], kg: f64, gravity: Vec3, dt_s: f64) {
        let given = |block: &Block| {
            let sum = block.gather(q).map(|v| kg * v);
            let [linear, angular] = [&sum[..3], &sum[3..]].map(DVec3::from_slice);
            Impulse { linear, angular }
        };
        let impulses: Vec<Impulse> = self.term.blocks.iter().map(given).collect();
        self.give(&impulses, gravity, dt_s);
    }

    /// Gives each body what the pressure does to it in the step.
    pub fn give(&mut self, impulses: &[Impulse], gravity: Vec3, dt_s: f64) {
        let Some(bodies) = &mut self.moved else { return };
        for (n, &Impulse { linear, angular }) in impulses.iter().enumerate() {
            bodies.twists[n] = pushed(&bodies.world, n, self.before[n], Impulse { linear, angular });
            let water =
                Impulse { linear: linear + self.clinging[n][0], angular: angular + self.clinging[n][1] };
            let weight = dt_s * bodies.world.mass_kg(n) * gravity.as_dvec3();
            bodies.water[n] = water;
            bodies.given[n] = Impulse { linear: water.linear + weight, angular: water.angular };
        }
    }

    /// Velocities at the begin of the step, and before the pressure acts; after [`Self::release`].
    pub fn twists_before(&self) -> Vec<[Twist; 2]> {
        let Some(Bodies { world, .. }) = &self.moved else { return vec![] };
        (0..world.len()).map(|n| [world.twist(n), self.before[n]]).collect()
    }

    /// Tells the set-up's solids the velocities that the pressure has left them.
    pub fn tell(&self, setup: &mut Setup) {
        for (number, now) in self.moved.iter().flat_map(|bodies| bodies.numbers.iter().zip(&bodies.twists)) {
            if let Motion::Free { twist, .. } = &mut setup.solids[*number].motion {
                *twist = *now;
            }
        }
    }

    /// The bodies' velocities as they are now.
    pub fn twists(&self) -> &[Twist] {
        self.moved.as_ref().map_or(&[], |bodies| &bodies.twists)
    }

    /// Part of a cell's weight of water that must pull before liquid lets go of a body: where the surface lies in a cell beside
    /// one is known to half a cell. What pulls less is the grid, not the body.
    pub fn hold(&self, cell: usize) -> f64 {
        let is_at_body = |block: &Block| block.rows.binary_search(&(cell as u32)).is_ok();
        if self.term.blocks.iter().any(is_at_body) { 0.5 } else { 0.0 }
    }

    /// The weight of water that the pressure's places leave out and the bodies carry, N s.
    pub fn clinging_weight(&self) -> DVec3 {
        self.clinging.iter().map(|[linear, _]| *linear).sum()
    }

    /// The bodies at the end of the step.
    pub fn take(&mut self) -> Option<Bodies> {
        self.moved.take()
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
        volume_m3: world.volume_m3(n),
        inverse_mass,
        inverse_inertia,
    }
}
