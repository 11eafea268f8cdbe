//! Bodies in motion.

use crate::colliders::{Role, collider, ours, placed, vector};
use crate::mass::{inverse_on_free_axes, mass_properties};
use crate::{Body, BodyError, Joint, JointKind, Surroundings, Weight};
use fluvial_foundation::{AXES, Aabb, DMat3, DQuat, DVec3, Quat, Vec3};
use fluvial_solids::{Motion, Pose, Shape, Twist};
use rapier3d::dynamics::{
    CCDSolver, GenericJoint, GenericJointBuilder, ImpulseJointSet, IntegrationParameters, IslandManager,
    JointAxesMask, JointAxis, LockedAxes, MassProperties as RapierMass, MultibodyJointSet, RigidBodyBuilder,
    RigidBodyHandle, RigidBodySet, RopeJointBuilder, SoftBodySet, SpringCoefficients,
};
use rapier3d::geometry::{
    BroadPhaseBvh, ColliderBuilder, ColliderHandle, ColliderSet, NarrowPhase, SharedShape,
};
use rapier3d::math::{Matrix, Vector};
use rapier3d::pipeline::PhysicsPipeline;
use rapier3d::prelude::CoefficientCombineRule;

/// Contacts are looked for at least so often, seconds.
const LONGEST_STEP_S: f64 = 0.01;
/// Contacts are springs of this frequency, damped ten times as much as critically: a stack of ten crates sinks by less
/// than a tenth of a crate. Twice as stiff it trembles.
const CONTACT_FREQUENCY_HZ: f32 = 60.0;
/// Steps of a free rotation's integration turn by at most this angle, rad.
const FREE_TURN_RAD: f64 = 0.05;

/// Momentum that a body is given, about its centre of mass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impulse {
    /// N s.
    pub linear: DVec3,
    /// N m s.
    pub angular: DVec3,
}

/// What a body is and stays.
#[derive(Clone)]
struct Kept {
    name: String,
    handle: RigidBodyHandle,
    collider: ColliderHandle,
    bounds: Aabb,
    mass_kg: f64,
    volume_m3: f64,
    /// In its own frame.
    center: DVec3,
    /// kg m2, about the centre in its own frame.
    inertia: DMat3,
    locked_translation: [bool; 3],
    locked_rotation: [bool; 3],
    has_joint: bool,
}

/// Everything of rapier that a step changes and the next one reads.
#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
struct Moving {
    bodies: RigidBodySet,
    colliders: ColliderSet,
    joints: ImpulseJointSet,
    islands: IslandManager,
    broad_phase: BroadPhaseBvh,
    narrow_phase: NarrowPhase,
    is_gone: Vec<bool>,
}

/// Bodies among solids and walls.
#[derive(Clone)]
pub struct World {
    kept: Vec<Kept>,
    /// Solids that move, and their handles.
    solids: Vec<(RigidBodyHandle, Motion)>,
    params: IntegrationParameters,
    domain: Aabb,
    open_walls: [bool; 6],
    moving: Moving,
}

impl World {
    /// Puts bodies, joints, solids and closed walls together.
    pub fn new(bodies: &[Body], joints: &[Joint], around: &Surroundings) -> Result<World, BodyError> {
        let mut world = World {
            kept: vec![],
            solids: vec![],
            params: IntegrationParameters {
                contact_softness: SpringCoefficients::new(CONTACT_FREQUENCY_HZ, 10.0),
                static_contact_softness: SpringCoefficients::new(2.0 * CONTACT_FREQUENCY_HZ, 10.0),
                ..IntegrationParameters::default()
            },
            domain: around.domain,
            open_walls: around.open_walls,
            moving: Moving::default(),
        };
        world.build_walls();
        for (shape, motion) in &around.solids {
            world.add_solid(shape, motion);
        }
        for body in bodies {
            world.add_body(body)?;
        }
        for joint in joints {
            world.add_joint(joint)?;
        }
        let size = |kept: &Kept| kept.bounds.size().max_element();
        world.params.length_unit = world.kept.iter().map(size).fold(f32::INFINITY, f32::min).min(1e3);
        world.moving.is_gone = vec![false; bodies.len()];
        Ok(world)
    }

    fn build_walls(&mut self) {
        for (axis, up) in AXES.into_iter().flat_map(|axis| [(axis, 0), (axis, 1)]) {
            if self.open_walls[2 * axis + up] {
                continue;
            }
            let inward = if up == 0 { Vec3::AXES[axis] } else { -Vec3::AXES[axis] };
            let at = if up == 0 { self.domain.min } else { self.domain.max };
            let wall = ColliderBuilder::new(SharedShape::halfspace(vector(inward)));
            self.moving.colliders.insert(passive(wall).translation(vector(at)));
        }
    }

    fn add_solid(&mut self, shape: &Shape, motion: &Motion) {
        let Some(collider) = collider(shape, Role::Obstacle, self.domain) else { return };
        let pose = motion.pose(0.0);
        let body = if motion.is_static() {
            RigidBodyBuilder::fixed()
        } else {
            RigidBodyBuilder::kinematic_position_based()
        };
        let moving = &mut self.moving;
        let handle = moving.bodies.insert(body.pose(placed(pose.rotation, pose.translate)));
        let collider = passive(ColliderBuilder::new(collider));
        moving.colliders.insert_with_parent(collider, handle, &mut moving.bodies);
        if !motion.is_static() {
            self.solids.push((handle, motion.clone()));
        }
    }

    fn add_body(&mut self, body: &Body) -> Result<(), BodyError> {
        let (name, start) = (|| body.name.clone(), &body.start);
        let known = mass_properties(&body.shape).ok_or_else(|| BodyError::NoVolume(name()))?;
        let density = match start.weight {
            Weight::Density(density) => density,
            Weight::Mass(mass_kg) => mass_kg / known.volume_m3,
        };
        if !(density > 0.0 && density.is_finite()) {
            return Err(BodyError::NoMass(name()));
        }
        let shape = collider(&body.shape, Role::Body, self.domain).ok_or_else(|| BodyError::Shape(name()))?;
        let (mass_kg, inertia) = (density * known.volume_m3, density * known.inertia);
        let columns = inertia.to_cols_array().map(|v| v as f32);
        let mass = RapierMass::with_inertia_matrix(
            vector(known.center.as_vec3()),
            mass_kg as f32,
            Matrix::from_cols_array(&columns),
        );
        let lock = |locked: [bool; 3], axes: [LockedAxes; 3]| {
            (0..3).filter(|&a| locked[a]).fold(LockedAxes::empty(), |all, a| all | axes[a])
        };
        let shifts = [
            LockedAxes::TRANSLATION_LOCKED_X,
            LockedAxes::TRANSLATION_LOCKED_Y,
            LockedAxes::TRANSLATION_LOCKED_Z,
        ];
        let turns =
            [LockedAxes::ROTATION_LOCKED_X, LockedAxes::ROTATION_LOCKED_Y, LockedAxes::ROTATION_LOCKED_Z];
        let locked = lock(start.locked_translation, shifts) | lock(start.locked_rotation, turns);
        let rigid = RigidBodyBuilder::dynamic()
            .pose(placed(start.pose.rotation.normalize(), start.pose.translate))
            .linvel(vector(start.velocity))
            .angvel(vector(start.angular_velocity))
            .additional_mass_properties(mass)
            .locked_axes(locked)
            .can_sleep(false)
            .ccd_enabled(true);
        let shape =
            ColliderBuilder::new(shape).density(0.0).friction(start.friction).restitution(start.restitution);
        let moving = &mut self.moving;
        let handle = moving.bodies.insert(rigid);
        let collider = moving.colliders.insert_with_parent(shape, handle, &mut moving.bodies);
        moving.bodies[handle].recompute_mass_properties_from_colliders(&moving.colliders);
        self.kept.push(Kept {
            name: body.name.clone(),
            handle,
            collider,
            bounds: body.shape.bounds(),
            mass_kg,
            volume_m3: known.volume_m3,
            center: known.center,
            inertia,
            locked_translation: start.locked_translation,
            locked_rotation: start.locked_rotation,
            has_joint: false,
        });
        Ok(())
    }

    fn add_joint(&mut self, joint: &Joint) -> Result<(), BodyError> {
        let count = self.kept.len();
        let is_there = |n: usize| n < count;
        if !is_there(joint.body) || joint.other.is_some_and(|n| !is_there(n) || n == joint.body) {
            return Err(BodyError::Joint(joint.body));
        }
        let moving = &mut self.moving;
        let other = match joint.other {
            Some(n) => self.kept[n].handle,
            None => moving.bodies.insert(RigidBodyBuilder::fixed()),
        };
        let pair = [self.kept[joint.body].handle, other];
        let local = |n: usize, x: Vec3, axis: Vec3| {
            let frame = placed(Quat::from_rotation_arc(Vec3::X, axis.normalize_or(Vec3::X)), x);
            moving.bodies[pair[n]].position().inv_mul(&frame)
        };
        let along = |axes: JointAxesMask, axis: Vec3, free: JointAxis, limits: Option<[f32; 2]>| {
            let tie = GenericJointBuilder::new(axes)
                .local_frame1(local(0, joint.anchor, axis))
                .local_frame2(local(1, joint.anchor, axis));
            // Positions are those of the second frame in the first one, ours those of the body in the other.
            let tie = match limits {
                Some([least, most]) => tie.limits(free, [-most, -least]),
                None => tie,
            };
            tie.build()
        };
        let mut tie: GenericJoint = match joint.kind {
            JointKind::Hinge { axis, limits } => {
                along(JointAxesMask::LOCKED_REVOLUTE_AXES, axis, JointAxis::AngX, limits)
            }
            JointKind::Slider { axis, limits } => {
                along(JointAxesMask::LOCKED_PRISMATIC_AXES, axis, JointAxis::LinX, limits)
            }
            JointKind::Rope { to, length } => RopeJointBuilder::new(length)
                .local_anchor1(local(0, joint.anchor, Vec3::X).translation)
                .local_anchor2(local(1, to, Vec3::X).translation)
                .build()
                .into(),
        };
        tie.set_contacts_enabled(matches!(joint.kind, JointKind::Rope { .. }));
        self.moving.joints.insert(pair[0], pair[1], tie, true);
        for n in [Some(joint.body), joint.other].into_iter().flatten() {
            self.kept[n].has_joint = true;
        }
        Ok(())
    }

    /// How many bodies there are, those that have left included.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// A body's name.
    pub fn name(&self, n: usize) -> &str {
        &self.kept[n].name
    }

    /// Has a body left through an open wall? It then stays where it is, and nothing acts on it.
    pub fn is_gone(&self, n: usize) -> bool {
        self.moving.is_gone[n]
    }

    /// World from body.
    pub fn pose(&self, n: usize) -> Pose {
        let at = self.moving.bodies[self.kept[n].handle].position();
        Pose { rotation: Quat::from_array(at.rotation.to_array()), translate: ours(at.translation) }
    }

    /// A body's velocity, about its centre of mass.
    pub fn twist(&self, n: usize) -> Twist {
        let body = &self.moving.bodies[self.kept[n].handle];
        Twist {
            linear: ours(body.linvel()),
            angular: ours(body.angvel()),
            center: self.pose(n).world_from_body(self.kept[n].center.as_vec3()),
        }
    }

    /// kg.
    pub fn mass_kg(&self, n: usize) -> f64 {
        self.kept[n].mass_kg
    }

    /// m3.
    pub fn volume_m3(&self, n: usize) -> f64 {
        self.kept[n].volume_m3
    }

    /// Inertia about the centre of mass in the world's frame, kg m2.
    pub fn inertia(&self, n: usize) -> DMat3 {
        turned(self.kept[n].inertia, self.pose(n).rotation.as_dquat())
    }

    /// Inverse mass along the world's axes, 1/kg, and inverse inertia about the centre of mass in the world's frame,
    /// 1/(kg m2); zero where an axis is locked or the body has left.
    pub fn inverse_mass(&self, n: usize) -> (DVec3, DMat3) {
        let kept = &self.kept[n];
        if self.is_gone(n) {
            return (DVec3::ZERO, DMat3::ZERO);
        }
        let along = |a: usize| if kept.locked_translation[a] { 0.0 } else { 1.0 / kept.mass_kg };
        let angular = inverse_on_free_axes(self.inertia(n), kept.locked_rotation);
        (DVec3::new(along(0), along(1), along(2)), angular)
    }

    /// Moves the bodies by `dt_s` from `time_s` on. `given` is the momentum that each receives during the step, as by
    /// a constant force. Returns the momentum that contacts and joints have added, in `reactions`.
    ///
    /// A body that nothing touches moves by `x += dt v`, `v` with what it was given: the symplectic Euler scheme, and
    /// turns freely with the angular momentum that it then has, in f64. All others move as rapier says.
    pub fn advance(&mut self, reactions: &mut Vec<Impulse>, given: &[Impulse], time_s: f64, dt_s: f64) {
        assert_eq!(given.len(), self.len(), "an impulse a body");
        let before: Vec<(Pose, Twist)> = (0..self.len()).map(|n| (self.pose(n), self.twist(n))).collect();
        let steps = (dt_s / LONGEST_STEP_S).ceil().max(1.0) as usize;
        let mut is_touched: Vec<bool> = self.kept.iter().map(|kept| kept.has_joint).collect();
        self.params.dt = (dt_s / steps as f64) as f32;
        self.params.min_ccd_dt = 0.01 * self.params.dt;
        for (kept, given) in self.kept.iter().zip(given) {
            let body = &mut self.moving.bodies[kept.handle];
            body.reset_forces(false);
            body.reset_torques(false);
            body.add_force(vector((given.linear / dt_s).as_vec3()), true);
            body.add_torque(vector((given.angular / dt_s).as_vec3()), true);
        }
        for step in 1..=steps {
            let now_s = time_s + dt_s * step as f64 / steps as f64;
            for (handle, motion) in &self.solids {
                let pose = motion.pose(now_s);
                let body = &mut self.moving.bodies[*handle];
                body.set_next_kinematic_position(placed(pose.rotation, pose.translate));
            }
            self.step_rapier();
            for (kept, touched) in self.kept.iter().zip(&mut is_touched) {
                let mut pairs = self.moving.narrow_phase.contact_pairs_with(kept.collider);
                *touched |= pairs.any(|pair| pair.total_impulse_magnitude() > 0.0);
            }
        }
        reactions.clear();
        for n in 0..self.len() {
            if !is_touched[n] && !self.is_gone(n) {
                self.fly(n, before[n], given[n], dt_s);
            }
            reactions.push(self.reaction(n, before[n], given[n], is_touched[n]));
        }
        self.let_leave();
    }

    fn step_rapier(&mut self) {
        // What rapier keeps beside its sets holds nothing between steps: there are no multibodies and no soft bodies.
        let Moving { bodies, colliders, joints, islands, broad_phase, narrow_phase, .. } = &mut self.moving;
        PhysicsPipeline::new().step(
            Vector::ZERO,
            &self.params,
            islands,
            broad_phase,
            narrow_phase,
            bodies,
            colliders,
            joints,
            &mut MultibodyJointSet::new(),
            &mut SoftBodySet::new(),
            &mut CCDSolver::new(),
            &(),
            &(),
        );
    }

    /// A free body at the end of a step.
    fn fly(&mut self, n: usize, (pose, twist): (Pose, Twist), given: Impulse, dt_s: f64) {
        let kept = &self.kept[n];
        let rotation = pose.rotation.as_dquat().normalize();
        let (mut velocity, center) = (twist.linear.as_dvec3() + given.linear / kept.mass_kg, kept.center);
        for a in AXES.into_iter().filter(|&a| kept.locked_translation[a]) {
            velocity[a] = 0.0;
        }
        let at = pose.translate.as_dvec3() + rotation * center + dt_s * velocity;
        let (turned, spin) = self.turn_freely(n, rotation, twist.angular.as_dvec3(), given.angular, dt_s);
        let translate = (at - turned * center).as_vec3();
        let body = &mut self.moving.bodies[kept.handle];
        body.set_position(placed(turned.as_quat(), translate), true);
        body.set_linvel(vector(velocity.as_vec3()), true);
        body.set_angvel(vector(spin.as_vec3()), true);
    }

    /// Orientation and angular velocity after a free rotation: the angular momentum stays in the world, and
    /// `dq/dt = omega q / 2` with `omega = I^-1 L` is integrated by Runge and Kutta's fourth-order method.
    ///
    /// Test: `a_free_top_keeps_energy_and_momentum`.
    fn turn_freely(&self, n: usize, start: DQuat, spin: DVec3, given: DVec3, dt_s: f64) -> (DQuat, DVec3) {
        let kept = &self.kept[n];
        if kept.locked_rotation.contains(&true) {
            let free = inverse_on_free_axes(turned(kept.inertia, start), kept.locked_rotation);
            let spin = spin + free * given;
            return ((DQuat::from_scaled_axis(dt_s * spin) * start).normalize(), spin);
        }
        let momentum = turned(kept.inertia, start) * spin + given;
        let inverse = kept.inertia.inverse();
        let spin_at = |q: DQuat| q * (inverse * (q.inverse() * momentum));
        let steps = (spin_at(start).length() * dt_s / FREE_TURN_RAD).ceil().max(1.0);
        let h = dt_s / steps;
        let rate = |q: DQuat| {
            let w = spin_at(q.normalize());
            DQuat::from_xyzw(w.x, w.y, w.z, 0.0) * q * 0.5
        };
        let mut q = start;
        for _ in 0..steps as usize {
            let k1 = rate(q);
            let k2 = rate(q + k1 * (0.5 * h));
            let k3 = rate(q + k2 * (0.5 * h));
            let k4 = rate(q + k3 * h);
            q = (q + (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (h / 6.0)).normalize();
        }
        (q, spin_at(q))
    }

    /// What a step has added to a body's momentum beside what it was given.
    fn reaction(&self, n: usize, (pose, twist): (Pose, Twist), given: Impulse, is_touched: bool) -> Impulse {
        if !is_touched || self.is_gone(n) {
            return Impulse::default();
        }
        let (kept, now) = (&self.kept[n], self.twist(n));
        let before = turned(kept.inertia, pose.rotation.as_dquat()) * twist.angular.as_dvec3();
        Impulse {
            linear: kept.mass_kg * (now.linear - twist.linear).as_dvec3() - given.linear,
            angular: self.inertia(n) * now.angular.as_dvec3() - before - given.angular,
        }
    }

    /// Bodies that are wholly beyond an open wall have left.
    fn let_leave(&mut self) {
        for n in 0..self.len() {
            let at = self.pose(n).world_bounds(self.kept[n].bounds);
            let beyond = |wall: usize| match wall % 2 {
                0 => at.max[wall / 2] < self.domain.min[wall / 2],
                _ => at.min[wall / 2] > self.domain.max[wall / 2],
            };
            if !self.is_gone(n) && (0..6).any(|wall| self.open_walls[wall] && beyond(wall)) {
                self.moving.is_gone[n] = true;
                self.moving.bodies[self.kept[n].handle].set_enabled(false);
            }
        }
    }

    /// Everything that the next step reads and the scene does not give.
    pub fn save(&self) -> Result<Vec<u8>, BodyError> {
        postcard::to_stdvec(&self.moving).map_err(|e| BodyError::Saved(e.to_string()))
    }

    /// Takes over what [`Self::save`] wrote for the same scene; after an error the world is what it was.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), BodyError> {
        let (read, rest): (Moving, _) =
            postcard::take_from_bytes(bytes).map_err(|e| BodyError::Saved(e.to_string()))?;
        let is_same = rest.is_empty()
            && read.is_gone.len() == self.kept.len()
            && read.bodies.len() == self.moving.bodies.len()
            && read.colliders.len() == self.moving.colliders.len()
            && read.joints.len() == self.moving.joints.len()
            && self.kept.iter().all(|kept| read.bodies.contains(kept.handle));
        if !is_same {
            return Err(BodyError::Saved("other bodies, solids or joints".into()));
        }
        self.moving = read;
        Ok(())
    }
}

/// A matrix of the body's frame in the world's.
fn turned(matrix: DMat3, rotation: DQuat) -> DMat3 {
    let turn = DMat3::from_quat(rotation.normalize());
    turn * matrix * turn.transpose()
}

/// A wall or solid: the body's own friction and restitution hold against it.
fn passive(collider: ColliderBuilder) -> ColliderBuilder {
    collider
        .friction(1.0)
        .friction_combine_rule(CoefficientCombineRule::Multiply)
        .restitution(1.0)
        .restitution_combine_rule(CoefficientCombineRule::Multiply)
}
