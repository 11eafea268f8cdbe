//! How particles move: spray through the air, foam with the surface, bubbles through the liquid.

use crate::around::{Around, Met};
use crate::field::{Field, Moment};
use crate::interval::Interval;
use crate::{Kind, Params, Particle};
use fluvial_foundation::Vec3;

/// Steps of a particle between two frames, at most. Longer ones than wanted are counted.
const MOST_STEPS: f32 = 64.0;
/// Part of a bubble's response time that a step may last, and that of foam.
const RESPONSE_PART: f32 = 0.25;
const FOAM_PART: f32 = 0.5;
/// Foam farther than this from the surface is put onto it, parts of a layer.
const ON_SURFACE: f32 = 0.02;
/// A bubble surfaces when it is nearer to the surface than this part of a layer.
const SURFACED: f32 = 0.5;

/// Why a particle is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is still there.
    Lives,
    /// Foam whose time was over.
    Dissolved,
    /// Through an open side of the domain.
    Left,
    /// Spray that came to rest on a dry wall or solid.
    Landed,
}

/// What happened to particles on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Foam whose time was over.
    pub dissolved: u64,
    /// Through open sides.
    pub left: u64,
    /// Spray that came to rest on what is dry.
    pub landed: u64,
    /// Steps of bubbles where the liquid's velocity is not known; it is taken to be at rest.
    pub blind: u64,
    /// Steps longer than they should be, more than a cell mostly, because a particle may take no more of them.
    pub long_steps: u64,
}

impl Tally {
    /// Adds what happened elsewhere.
    pub fn add(&mut self, other: &Tally) {
        self.dissolved += other.dissolved;
        self.left += other.left;
        self.landed += other.landed;
        self.blind += other.blind;
        self.long_steps += other.long_steps;
    }
}

/// A step under a constant force with linear drag towards a velocity: `v' = (v_t - v) / tau`, whose exact solution is
/// `v = v_t + (v0 - v_t) e^(-h/tau)`, `x = x0 + v_t h + (v0 - v_t) tau (1 - e^(-h/tau))`. The result does not depend on how a
/// time is cut into steps. Tests: `spray_follows_the_drag_equation`, `a_bubble_reaches_its_terminal_speed`.
#[inline]
pub fn relax(x: &mut Vec3, v: &mut Vec3, terminal: Vec3, tau_s: f32, h_s: f32) {
    let kept = (-h_s / tau_s).exp();
    // (1 - e^-a) loses its digits for small a.
    let lost = -(-h_s / tau_s).exp_m1();
    *x += h_s * terminal + tau_s * lost * (*v - terminal);
    *v = terminal + kept * (*v - terminal);
}

/// Moves a particle from `from_s` after the interval's start to its end.
pub fn travel(
    p: &mut Particle,
    from_s: f32,
    interval: &Interval<Field>,
    around: &Around,
    params: &Params,
    tally: &mut Tally,
) -> Fate {
    let cell_m = interval.end.grid().dx;
    let shortest_s = interval.length_s / MOST_STEPS;
    let mut at_s = from_s;
    while at_s < interval.length_s {
        let crossing_s = cell_m / p.v.length().max(f32::MIN_POSITIVE);
        // What has plunged in turns around within about its response time.
        let crossing_s = match p.kind {
            Kind::Bubble => crossing_s.min(RESPONSE_PART * params.bubble_response_s),
            // Foam comes off its surface in times that do not depend on how far frames are apart.
            Kind::Foam => crossing_s.min(FOAM_PART * params.bubble_response_s),
            Kind::Spray => crossing_s,
        };
        tally.long_steps += u64::from(crossing_s < shortest_s);
        let left_s = interval.length_s - at_s;
        // Equal steps to the end, none longer than the crossing of a cell takes.
        let steps = (left_s / crossing_s.max(shortest_s)).ceil().max(1.0);
        let h_s = left_s / steps;
        let from = p.x;
        let (fate, used_s) = match p.kind {
            Kind::Spray => fly(p, at_s, h_s, interval, around, params),
            Kind::Foam => drift(p, at_s, h_s, interval, around, params),
            Kind::Bubble => rise(p, at_s, h_s, interval, around, params, tally),
        };
        debug_assert!(p.x.is_finite(), "from {from}");
        p.age_s += used_s;
        if fate != Fate::Lives {
            return fate;
        }
        // Whoever becomes another kind on the way has the rest of the step to go.
        let is_last = steps <= 1.0 && used_s == h_s;
        at_s = if is_last { interval.length_s } else { at_s + used_s };
    }
    settle(p, interval.length_s, interval, params);
    Fate::Lives
}

/// Spray: gravity and the drag of air that moves with the wind, until it meets the liquid, a wall or a solid.
fn fly(
    p: &mut Particle,
    at_s: f32,
    h_s: f32,
    interval: &Interval<Field>,
    around: &Around,
    params: &Params,
) -> (Fate, f32) {
    let old = *p;
    let tau_s = params.spray_response_s;
    let terminal = params.wind + tau_s * params.gravity;
    relax(&mut p.x, &mut p.v, terminal, tau_s, h_s);
    let (met, of) = around.hold(old.x, &mut p.x, &mut p.v, at_s + h_s);
    if met == Met::Left {
        return (Fate::Left, h_s);
    }
    let phi = interval.sample_around(p.x, at_s + h_s).phi;
    if phi < 0.0 {
        // It goes on below the surface from where it has met it, and comes up again as foam.
        let above = interval.sample_around(old.x, at_s).phi.max(0.0);
        let used_s = part_before(above, phi) * h_s;
        *p = Particle { kind: Kind::Bubble, ..old };
        relax(&mut p.x, &mut p.v, terminal, tau_s, used_s);
        around.hold(old.x, &mut p.x, &mut p.v, at_s + used_s);
        return (Fate::Lives, used_s);
    }
    if met == Met::Boundary && p.v.distance(of) < params.rest_speed_m_s {
        return (Fate::Landed, h_s);
    }
    (Fate::Lives, h_s)
}

/// The part of a step after which what changes from `from` to `to` has crossed zero; not all of it and not nothing, so that every
/// step goes on.
fn part_before(from: f32, to: f32) -> f32 {
    (from / (from - to)).clamp(0.01, 0.999)
}

/// Foam: the liquid's own motion, by the midpoint rule. Test: `foam_follows_the_flow`.
fn drift(
    p: &mut Particle,
    at_s: f32,
    h_s: f32,
    interval: &Interval<Field>,
    around: &Around,
    params: &Params,
) -> (Fate, f32) {
    p.foam_left_s -= h_s;
    if p.foam_left_s <= 0.0 {
        return (Fate::Dissolved, h_s);
    }
    let from = p.x;
    let first = interval.sample(p.x, at_s, p.v).u;
    let middle = first.and_then(|u| interval.sample(p.x + 0.5 * h_s * u, at_s + 0.5 * h_s, u).u);
    let Some(u) = middle.or(first) else {
        // No liquid is near any more.
        p.kind = Kind::Spray;
        p.foam_left_s += h_s;
        return fly(p, at_s, h_s, interval, around, params);
    };
    (p.x, p.v) = (p.x + h_s * u, u);
    settle(p, at_s + h_s, interval, params);
    match around.hold(from, &mut p.x, &mut p.v, at_s + h_s).0 {
        Met::Left => (Fate::Left, h_s),
        _ => (Fate::Lives, h_s),
    }
}

/// A bubble: buoyancy and drag, so that its velocity relaxes to the liquid's and its own speed of rise.
fn rise(
    p: &mut Particle,
    at_s: f32,
    h_s: f32,
    interval: &Interval<Field>,
    around: &Around,
    params: &Params,
    tally: &mut Tally,
) -> (Fate, f32) {
    let old = *p;
    // What has plunged in moves otherwise than the liquid: its own velocity does not tell where the liquid comes from.
    let u = interval.sample_around(p.x, at_s).u;
    tally.blind += u64::from(u.is_none());
    let u = u.unwrap_or(Vec3::ZERO);
    let up = -params.gravity.normalize_or_zero();
    let terminal = u + params.bubble_rise_m_s * up;
    relax(&mut p.x, &mut p.v, terminal, params.bubble_response_s, h_s);
    if around.hold(old.x, &mut p.x, &mut p.v, at_s + h_s).0 == Met::Left {
        return (Fate::Left, h_s);
    }
    let phi = interval.sample(p.x, at_s + h_s, u).phi;
    let rises = (p.v - u).dot(up) >= 0.0;
    let surfaced = phi + SURFACED * params.layer_m;
    if phi > params.layer_m {
        p.kind = Kind::Spray;
    } else if surfaced > 0.0 && rises {
        let below = interval.sample(old.x, at_s, u).phi + SURFACED * params.layer_m;
        let used_s = if below < 0.0 { part_before(below, surfaced) * h_s } else { h_s };
        if used_s < h_s {
            p.x = old.x;
            p.v = old.v;
            relax(&mut p.x, &mut p.v, terminal, params.bubble_response_s, used_s);
            around.hold(old.x, &mut p.x, &mut p.v, at_s + used_s);
        }
        (p.kind, p.v) = (Kind::Foam, u);
        return (Fate::Lives, used_s);
    }
    (Fate::Lives, h_s)
}

/// Foam lies on the surface, or is foam no more. It is asked after every step: asked at frames alone, foam had come off its
/// surface the farther the longer they were apart, and there was a quarter less of it at 20 frames a second than at 60.
/// Test: `foam_stays_on_a_surface_that_rises_between_frames`.
fn settle(p: &mut Particle, at_s: f32, interval: &Interval<Field>, params: &Params) {
    if p.kind != Kind::Foam {
        return;
    }
    let phi = interval.sample(p.x, at_s, p.v).phi;
    if phi > params.layer_m {
        p.kind = Kind::Spray;
    } else if phi < -params.layer_m {
        p.kind = Kind::Bubble;
    } else if phi.abs() > ON_SURFACE * params.layer_m {
        p.x -= phi * interval.normal(p.x, at_s, p.v);
    }
}
