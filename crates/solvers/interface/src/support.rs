//! What a set-up asks for, held against what a method has and against what makes sense with any method.

use crate::{Capabilities, Liquid, NEUTRAL_ANGLE_DEG, Setup, SetupError};

/// Something that a set-up may ask for and not every method has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Forced cell sizes.
    Refine,
    /// A flow that is given instead of computed.
    GivenFlow,
    /// Surfaces that meet walls at other angles than 90 degrees.
    ContactAngles,
    /// Rough walls or solids.
    Friction,
    /// Surface tension.
    SurfaceTension,
    /// Gravity that does not point along -y.
    TiltedGravity,
    /// Bodies that the liquid moves.
    Bodies,
    /// Solids that move.
    MovingSolids,
}

impl Feature {
    /// All of them.
    pub const ALL: [Feature; 8] = [
        Feature::Refine,
        Feature::GivenFlow,
        Feature::ContactAngles,
        Feature::Friction,
        Feature::SurfaceTension,
        Feature::TiltedGravity,
        Feature::Bodies,
        Feature::MovingSolids,
    ];

    /// In words, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Feature::Refine => "[[refine]]",
            Feature::GivenFlow => "[flow]",
            Feature::ContactAngles => "contact angles",
            Feature::Friction => "friction",
            Feature::SurfaceTension => "surface tension",
            Feature::TiltedGravity => "gravity in another direction than -y",
            Feature::Bodies => "[[body]]",
            Feature::MovingSolids => "moving solids",
        }
    }

    /// The key of a scene file that asks for it.
    pub fn key(self) -> &'static str {
        match self {
            Feature::Refine => "refine.0",
            Feature::GivenFlow => "flow",
            Feature::ContactAngles => "domain.contact_angles",
            Feature::Friction => "domain.friction",
            Feature::SurfaceTension => "liquid.surface_tension",
            Feature::TiltedGravity => "liquid.gravity",
            Feature::Bodies => "body.0",
            Feature::MovingSolids => "solid",
        }
    }

    /// Does a method with these capabilities have it?
    pub fn is_in(self, has: &Capabilities) -> bool {
        match self {
            Feature::Refine => has.adaptive,
            Feature::GivenFlow => has.given_flow,
            Feature::ContactAngles => has.contact_angles,
            Feature::Friction => has.friction,
            Feature::SurfaceTension => has.surface_tension,
            Feature::TiltedGravity => has.any_gravity,
            Feature::Bodies => has.bodies,
            Feature::MovingSolids => has.moving_solids,
        }
    }

    /// The error of a method that lacks it.
    pub fn lacked_by(self, method: &'static str) -> SetupError {
        SetupError::Unsupported { method, feature: self.name().to_owned(), key: self.key() }
    }

    /// Does a set-up ask for it?
    pub fn is_asked_by(self, setup: &Setup) -> bool {
        let gravity = setup.liquid.gravity;
        match self {
            Feature::Refine => !setup.refine.is_empty(),
            Feature::GivenFlow => setup.flow.is_some(),
            Feature::ContactAngles => setup.domain.contact_angles_deg != [NEUTRAL_ANGLE_DEG; 6],
            Feature::Friction => setup.has_friction(),
            Feature::SurfaceTension => setup.liquid.surface_tension > 0.0,
            Feature::TiltedGravity => gravity.x != 0.0 || gravity.z != 0.0 || gravity.y > 0.0,
            Feature::Bodies => !setup.body_numbers().is_empty(),
            Feature::MovingSolids => setup.has_moving_solids(),
        }
    }
}

/// Refuses a set-up that makes no sense with any method, and by name the first thing that it asks for and this one lacks.
/// Test: `what_a_method_lacks_is_refused_by_name`.
pub(crate) fn check(method: &'static str, has: &Capabilities, setup: &Setup) -> Result<(), SetupError> {
    check_numbers(setup)?;
    let lacks = |feature: &Feature| feature.is_asked_by(setup) && !feature.is_in(has);
    Feature::ALL.into_iter().find(lacks).map_or(Ok(()), |feature| Err(feature.lacked_by(method)))
}

/// Refuses by name the first of a method's own exceptions that applies: is it asked for, what is it, and which key of a
/// scene file asks.
pub fn refuse(method: &'static str, exceptions: &[(bool, &str, &'static str)]) -> Result<(), SetupError> {
    match exceptions.iter().find(|(is_asked, ..)| *is_asked) {
        Some((_, feature, key)) => {
            Err(SetupError::Unsupported { method, feature: (*feature).to_owned(), key })
        }
        None => Ok(()),
    }
}

/// Refuses numbers that no liquid has: scene files cannot hold them, programs can.
fn check_numbers(setup: &Setup) -> Result<(), SetupError> {
    let (grid, Liquid { density, surface_tension, gravity }) = (&setup.domain.grid, setup.liquid);
    let is_finite = |good: bool, value: f32| good && value.is_finite();
    let of_walls = |good: fn(f32) -> bool, values: [f32; 6]| values.into_iter().all(good);
    let checks = [
        (!grid.cells.contains(&0), "the domain has at least one cell along every axis"),
        (
            is_finite(grid.dx > 0.0, grid.dx) && grid.min.is_finite(),
            "cells have a place and a size in metres",
        ),
        (is_finite(setup.cfl > 0.0, setup.cfl), "`cfl` is a number of cells above 0"),
        (is_finite(density > 0.0, density), "the liquid's density is above 0 kg/m3"),
        (is_finite(surface_tension >= 0.0, surface_tension), "surface tension is not negative"),
        (gravity.is_finite(), "gravity is a finite vector"),
        (of_walls(|f| f >= 0.0 && f.is_finite(), setup.domain.friction), "friction of walls is not negative"),
        (
            of_walls(|angle| (0.0..=180.0).contains(&angle), setup.domain.contact_angles_deg),
            "contact angles lie between 0 and 180 degrees",
        ),
        (
            setup.solids.iter().all(|s| is_finite(s.friction >= 0.0, s.friction)),
            "friction of solids is not negative",
        ),
        (setup.fills.iter().all(|fill| fill.velocity.is_finite()), "velocities of fills are finite"),
        (
            setup.sources.iter().all(|s| s.velocity.is_finite() && s.velocity.length() > 0.0),
            "velocities of sources are finite and not zero",
        ),
        (
            setup
                .sources
                .iter()
                .map(|s| s.active_s)
                .chain(setup.sinks.iter().map(|s| s.active_s))
                .all(|[first, last]| !first.is_nan() && !last.is_nan()),
            "sources and sinks are active from one moment to another",
        ),
        (setup.refine.iter().all(|r| is_finite(r.dx > 0.0, r.dx)), "refined cells have a size in metres"),
    ];
    match checks.into_iter().find(|(good, _)| !good) {
        Some((_, rule)) => Err(SetupError::Invalid(format!("the set-up makes no sense: {rule}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, Fill, Flow, FreeBody, Refine, Solid, Volumes};
    use fluvial_foundation::Vec3;
    use fluvial_grids::UniformGrid;
    use fluvial_solids::{Motion, Shape};

    const NOTHING: Capabilities = Capabilities {
        particles: false,
        volumes: Volumes::None,
        adaptive: false,
        given_flow: false,
        contact_angles: false,
        friction: false,
        surface_tension: false,
        any_gravity: false,
        thin_walls: false,
        moving_solids: false,
        bodies: false,
    };
    const BALL: Shape = Shape::Sphere { center: Vec3::splat(0.5), radius: 0.2 };

    fn plain() -> Setup {
        let grid = UniformGrid { min: Vec3::ZERO, cells: [4; 3], dx: 0.25 };
        let fills = vec![Fill { shape: BALL, velocity: Vec3::ZERO }];
        Setup { fills, ..Setup::new(Domain::closed(grid)) }
    }

    /// What each feature looks like in a set-up.
    fn asking_for(feature: Feature) -> Setup {
        let mut setup = plain();
        match feature {
            Feature::Refine => setup.refine.push(Refine { shape: BALL, dx: 0.1 }),
            Feature::GivenFlow => setup.flow = Some(Flow::Enright { period_s: 3.0 }),
            Feature::ContactAngles => setup.domain.contact_angles_deg[2] = 60.0,
            Feature::Friction => setup.domain.friction[2] = 0.01,
            Feature::SurfaceTension => setup.liquid.surface_tension = 0.07,
            Feature::TiltedGravity => setup.liquid.gravity.x = 1.0,
            Feature::Bodies => setup.solids.push(Solid::body("crate", BALL, FreeBody::default())),
            Feature::MovingSolids => {
                let linear = Vec3::X;
                let motion = Motion::Constant { linear, angular: Vec3::ZERO, about: Vec3::ZERO };
                setup.solids.push(Solid::new("ball", BALL, motion));
            }
        }
        setup
    }

    /// Every feature is refused by name where the method lacks it, and nothing else is.
    #[test]
    fn what_a_method_lacks_is_refused_by_name() {
        check("toy", &NOTHING, &plain()).expect("nothing is asked for");
        for feature in Feature::ALL {
            let setup = asking_for(feature);
            let refused = check("toy", &NOTHING, &setup).unwrap_err().to_string();
            assert_eq!(refused, format!("the method `toy` has no support for {}", feature.name()));
            let has = Capabilities {
                adaptive: true,
                given_flow: true,
                contact_angles: true,
                friction: true,
                surface_tension: true,
                any_gravity: true,
                bodies: true,
                moving_solids: true,
                ..NOTHING
            };
            check("toy", &has, &setup).expect("the method has it");
        }
    }

    /// Numbers that no liquid has are an error, not a panic in a solver.
    #[test]
    fn nonsense_is_refused() {
        type Spoil = fn(&mut Setup);
        let spoilt: [Spoil; 8] = [
            |s| s.domain.grid.cells[1] = 0,
            |s| s.domain.grid.dx = f32::NAN,
            |s| s.cfl = 0.0,
            |s| s.cfl = f32::NAN,
            |s| s.liquid.density = 0.0,
            |s| s.liquid.gravity.y = f32::INFINITY,
            |s| s.fills[0].velocity.z = f32::NAN,
            |s| s.domain.contact_angles_deg[0] = 181.0,
        ];
        for (n, spoil) in spoilt.into_iter().enumerate() {
            let mut setup = plain();
            spoil(&mut setup);
            let refused = check("toy", &NOTHING, &setup).unwrap_err().to_string();
            assert!(refused.contains("makes no sense"), "{n}: {refused}");
        }
    }
}
