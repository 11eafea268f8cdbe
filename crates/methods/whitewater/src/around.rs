//! What particles meet: walls, open sides and solids.

use fluvial_foundation::{AXES, Aabb, Vec3};
use fluvial_solids::PlacedSolids;

/// Rounds in which a particle is pushed out of a solid: one is exact for a flat solid, corners need more.
const PUSHES: usize = 3;

/// Walls and solids through an interval.
pub struct Around<'a> {
    /// The domain.
    pub bounds: Aabb,
    /// Its open sides: x low, x high, y low, y high, z low, z high.
    pub open_walls: [bool; 6],
    /// The solids at moments evenly spread over the interval, its end the last; empty without solids.
    pub solids: Vec<PlacedSolids<'a>>,
    /// Length of the interval, seconds.
    pub length_s: f32,
    /// Coulomb's coefficient of friction.
    pub friction: f32,
    /// Particles are kept so far from walls and solids, metres.
    pub margin_m: f32,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// Nothing is near.
    Nothing,
    /// A wall or a solid holds it.
    Boundary,
    /// It is outside, through an open side.
    Left,
}

/// Velocity after meeting a boundary with normal `n` that moves with `of`: the speed into it is lost, and friction takes up
/// to `friction` times as much of the speed along it.
pub fn after_contact(v: Vec3, of: Vec3, n: Vec3, friction: f32) -> Vec3 {
    let relative = v - of;
    let into = -relative.dot(n);
    if into <= 0.0 {
        return v;
    }
    let along = relative + into * n;
    let speed = along.length();
    let kept = if speed > 0.0 { (1.0 - friction * into / speed).max(0.0) } else { 0.0 };
    of + kept * along
}

impl Around<'_> {
    /// The solids at a moment of the interval.
    fn solids_at(&self, at_s: f32) -> Option<&PlacedSolids<'_>> {
        let count = self.solids.len();
        let n = (at_s / self.length_s * count as f32).ceil() as usize;
        self.solids.get(n.clamp(1, count.max(1)) - 1)
    }

    /// Is a place inside a solid?
    pub fn is_solid(&self, x: Vec3, at_s: f32) -> bool {
        self.solids_at(at_s).is_some_and(|solids| solids.distance(x, self.margin_m) < 0.0)
    }

    /// Keeps a particle that has moved from `from` to `x` on its side of walls and solids; `v` loses what they take. Returns
    /// also the velocity of what it has met.
    pub fn hold(&self, from: Vec3, x: &mut Vec3, v: &mut Vec3, at_s: f32) -> (Met, Vec3) {
        let mut met = (Met::Nothing, Vec3::ZERO);
        if let Some(solids) = self.solids_at(at_s) {
            let reach = from.distance(*x) + 2.0 * self.margin_m;
            if solids.distance(*x, reach) < reach {
                met = self.hold_at_solids(solids, from, x, v, met);
            }
        }
        for axis in AXES {
            for (side, out) in [(0, -1.0), (1, 1.0)] {
                let wall = if side == 0 { self.bounds.min[axis] } else { self.bounds.max[axis] };
                let beyond = out * (x[axis] - wall);
                if beyond > 0.0 && self.open_walls[2 * axis + side] {
                    return (Met::Left, Vec3::ZERO);
                }
                if beyond > -self.margin_m && !self.open_walls[2 * axis + side] {
                    x[axis] = wall - out * self.margin_m;
                    *v = after_contact(*v, Vec3::ZERO, -out * Vec3::AXES[axis], self.friction);
                    met = (Met::Boundary, Vec3::ZERO);
                }
            }
        }
        met
    }

    fn hold_at_solids(
        &self,
        solids: &PlacedSolids,
        from: Vec3,
        x: &mut Vec3,
        v: &mut Vec3,
        mut met: (Met, Vec3),
    ) -> (Met, Vec3) {
        // A wall thinner than the step holds it where it was. What a moving solid has run over is pushed out below.
        let was_outside = solids.distance(from, self.margin_m) > 0.0;
        if was_outside && solids.is_crossed(from, *x, 0.0) && solids.distance(*x, self.margin_m) > 0.0 {
            let of = solids.velocity(from, f32::MAX);
            (*x, *v) = (from, of);
            return (Met::Boundary, of);
        }
        for _ in 0..PUSHES {
            let distance = solids.distance(*x, 2.0 * self.margin_m);
            if distance >= self.margin_m {
                break;
            }
            let h = 0.5 * self.margin_m;
            let band = 4.0 * self.margin_m + distance.abs();
            let along = |a: usize| {
                solids.distance(*x + h * Vec3::AXES[a], band) - solids.distance(*x - h * Vec3::AXES[a], band)
            };
            let normal = Vec3::from_array(AXES.map(along)).normalize_or_zero();
            let of = solids.velocity(*x, f32::MAX);
            *x += (self.margin_m - distance) * normal;
            *v = after_contact(*v, of, normal, self.friction);
            met = (Met::Boundary, of);
        }
        met
    }
}
