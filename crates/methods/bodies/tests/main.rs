//! Bodies against exact solutions.

mod contacts;
mod free;
mod joints;
mod mass;
mod saved;

use fluvial_bodies::{Body, Impulse, Joint, Start, Surroundings, World};
use fluvial_foundation::{Aabb, DVec3, Vec3};
use fluvial_solids::{Motion, Pose, Shape};

const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);

fn cube(edge: f32) -> Shape {
    Shape::Box { min: Vec3::splat(-0.5 * edge), max: Vec3::splat(0.5 * edge) }
}

fn body(shape: Shape, at: Vec3) -> Body {
    let pose = Pose { translate: at, ..Pose::IDENTITY };
    Body { name: "body".into(), shape, start: Start { restitution: 0.0, pose, ..Start::default() } }
}

/// A box of 20 m with its floor at y = 0 and the given solids.
fn world_among(bodies: &[Body], joints: &[Joint], solids: Vec<(&Shape, &Motion)>) -> World {
    let domain = Aabb { min: Vec3::new(-10.0, 0.0, -10.0), max: Vec3::new(10.0, 20.0, 10.0) };
    World::new(bodies, joints, &Surroundings { solids, domain, open_walls: [false; 6] }).unwrap()
}

fn world(bodies: &[Body], joints: &[Joint]) -> World {
    world_among(bodies, joints, vec![])
}

/// Steps under gravity; returns what contacts and joints gave.
fn run(world: &mut World, gravity: DVec3, from_s: f64, for_s: f64, dt_s: f64) -> Vec<Impulse> {
    let (steps, mut reactions) = ((for_s / dt_s).round() as usize, vec![]);
    let mut sum = vec![Impulse::default(); world.len()];
    for step in 0..steps {
        let weight = |n: usize| dt_s * world.mass_kg(n) * gravity;
        let given: Vec<Impulse> =
            (0..world.len()).map(|n| Impulse { linear: weight(n), angular: DVec3::ZERO }).collect();
        world.advance(&mut reactions, &given, from_s + step as f64 * dt_s, dt_s);
        for (sum, reaction) in sum.iter_mut().zip(&reactions) {
            *sum = Impulse { linear: sum.linear + reaction.linear, angular: sum.angular + reaction.angular };
        }
    }
    sum
}
