//! Rigid bodies among solids and the walls of the domain: contacts, friction, joints, mass properties.
//!
//! A [`World`] is made of [`Body`]s, [`Joint`]s, the scene's solids and the closed walls. [`World::advance`] moves
//! the bodies by a step under impulses that the caller gives (weight, water) and returns what contacts and joints
//! added to them. Contacts and joints are rapier's; mass properties, free flight and free rotation are computed here
//! in f64, so that momentum is kept exactly where nothing touches a body. [`World::save`] and [`World::restore`] keep
//! every bit, the memory of contacts included: a restored world goes on as the saved one does.
//!
//! The crate speaks to rapier in this one place, because rapier's interface changes often. Its vectors are those
//! of another version of glam: rapier's determinism asks for a slower build of glam, which must not become ours.

mod colliders;
mod mass;
mod setup;
mod world;

pub use mass::{MassProperties, mass_properties};
pub use setup::{Body, BodyError, Joint, JointKind, Start, Surroundings, Weight};
pub use world::{Impulse, World};
