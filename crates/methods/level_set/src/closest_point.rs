//! The closest point of the interface to a cell centre, on the tricubic interpolant of phi.

use crate::cubic::{CubicField, Jet};

/// Taylor polynomials taken at most; a plane needs one, a resolved sphere two.
const MAX_MODELS: usize = 6;
/// Newton steps on one polynomial at most.
const MAX_STEPS: usize = 4;
/// A polynomial's closest point is found when a step is shorter than this (in cells): the next would be its
/// square.
const STEP_TOLERANCE: f32 = 1e-3;
/// Good enough after the last polynomial: the interpolant's gradient jumps a little between cells, and a
/// point there may go to and fro across.
const LAST_TRUST: f32 = 0.2;

/// Farther than this from the interface, in cells, a tangent plane is looked for nearer to it, up to this far
/// away.
const FAR_FROM_INTERFACE: f32 = 0.25;
const LONGEST_WAY: f32 = 4.0;
/// Steps on that way at most.
const MAX_WALL_STEPS: usize = 3;

/// Tangent planes are followed this far from where they touch, in cells.
const LONGEST_PLANE: f32 = 3.0;
/// The square of a slope that shows no direction.
const LEAST_SLOPE2: f32 = 0.04;

#[inline]
pub(crate) fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline]
pub(crate) fn scaled(a: [f32; 3], s: f32) -> [f32; 3] {
    [a[0] * s, a[1] * s, a[2] * s]
}

/// The interface as a cell sees it; all lengths in cells, relative to the cell's centre.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Foot {
    /// Its closest point.
    pub point: [f32; 3],
    /// Where phi's second-order Taylor polynomial was taken, near the closest point.
    pub base: [f32; 3],
    /// That polynomial, in cells; a gradient of 0 where there is none.
    pub jet: Jet,
}

impl Foot {
    /// A point without a polynomial.
    pub fn bare(point: [f32; 3]) -> Self {
        Foot { point, ..Foot::default() }
    }

    /// The same seen from the neighbour one cell towards `-side` along `axis`.
    #[inline]
    pub fn seen_from(mut self, axis: usize, side: f32) -> Self {
        self.point[axis] += side;
        self.base[axis] += side;
        self
    }

    /// The same with the closest point of the tangent plane where the polynomial was taken, if that is nearer than
    /// the point but no nearer than `least`: next to a slanting wall the surface goes on as if the wall was not there. Not
    /// farther than [`LONGEST_PLANE`] though, or it would go on along the wall for ever.
    pub fn on_tangent_plane(mut self, distance2: f32, least: f32) -> Self {
        let Jet { value, gradient, .. } = self.jet;
        let g2 = dot(gradient, gradient);
        if g2 < LEAST_SLOPE2 {
            return self;
        }
        let point = scaled(gradient, (dot(gradient, self.base) - value) / g2);
        let away: [f32; 3] = std::array::from_fn(|a| point[a] - self.base[a]);
        let on_plane2 = dot(point, point);
        if on_plane2 < distance2
            && on_plane2 >= least * least
            && dot(away, away) < LONGEST_PLANE * LONGEST_PLANE
        {
            self.point = point;
        }
        self
    }

    /// The same with the closest point of that tangent plane within [`LONGEST_PLANE`] of where it touches: beyond the line where it meets a
    /// solid the interface goes on as a plane.
    pub fn on_plane_beyond_line(mut self, distance2: f32, least: f32) -> Self {
        let Jet { value, gradient, .. } = self.jet;
        let g2 = dot(gradient, gradient);
        if g2 < LEAST_SLOPE2 {
            return self;
        }
        let touches: [f32; 3] = std::array::from_fn(|a| self.base[a] - gradient[a] * value / g2);
        let on_plane = scaled(gradient, dot(gradient, touches) / g2);
        let along: [f32; 3] = std::array::from_fn(|a| on_plane[a] - touches[a]);
        let part = (LONGEST_PLANE / dot(along, along).sqrt().max(f32::MIN_POSITIVE)).min(1.0);
        let point = std::array::from_fn(|a| touches[a] + part * along[a]);
        let straight2 = dot(point, point);
        if straight2 < distance2 && straight2 >= least * least {
            self.point = point;
        }
        self
    }

    /// The same where the way from a neighbour, whose own foot is `before`, leads back past the place that its polynomial was
    /// taken at: round the rim of a wall and down behind it. The plane that the neighbour has continued is no surface there.
    /// What shows of the surface is that place, and the way to it, round the rim, is longer than the neighbour's.
    pub fn behind_rim(self, before: Foot) -> Self {
        let place = if self.has_jet() { self.base } else { self.point };
        let (straight2, least2) = (dot(place, place), dot(before.point, before.point));
        let longer =
            if straight2 < least2 { (least2 / straight2.max(f32::MIN_POSITIVE)).sqrt() } else { 1.0 };
        Foot::bare(scaled(place, longer))
    }

    /// The way from liquid to air where the polynomial was taken, if there is one.
    pub fn out(&self) -> Option<[f32; 3]> {
        let gradient = self.jet.gradient;
        self.has_jet().then(|| scaled(gradient, 1.0 / dot(gradient, gradient).sqrt()))
    }

    fn has_jet(&self) -> bool {
        self.jet.gradient != [0.0; 3]
    }
}

/// What a search may do.
#[derive(Clone, Copy)]
pub(crate) struct Search {
    /// Cells per metre.
    pub per_cell: f32,
    /// How far beyond the outermost samples phi says something, in cells.
    pub overhang: f32,
    /// How far from its base a Taylor polynomial is trusted, in cells: it errs by |phi'''|/6 times the cube.
    pub trust: f32,
}

/// Stationary point of |q|^2/2 with phi(x + q) = 0, near the guess, by Newton's method on
/// q + lambda grad phi = 0, phi = 0 ([chopp-2001 §3] gives the problem; the second derivatives make it
/// quadratic for cells whose distance is not small against the radius of curvature). Newton runs on phi's
/// Taylor polynomial at the last point, which costs next to nothing against the polynomial itself: one is
/// taken anew only where the search has left the last one's reach. The first is the guess's own, if it has
/// one.
///
/// `cell` is x; None when it does not converge. Farther than `overhang` beyond the outermost samples phi says
/// nothing: there the interface goes on as the plane that phi has at the nearest point where it says
/// something. (Not as the plane of a neighbour's closest point: handed on from cell to cell it would go on
/// along the wall for ever.)
#[inline]
pub(crate) fn closest_point(
    field: &CubicField,
    search: Search,
    cell: [usize; 3],
    guess: Foot,
) -> Option<Foot> {
    let mut foot = guess;
    let mut moved2 = f32::INFINITY;
    for n in 0..MAX_MODELS {
        if field.beyond_hull(cell, foot.point) > search.overhang {
            return foot_beyond_hull(field, search, cell, foot.point);
        }
        if n > 0 || !guess.has_jet() {
            foot.base = foot.point;
            foot.jet = field.jet(cell, foot.point).scaled(search.per_cell);
        }
        foot.point = closest_point_of_quadric(&foot)?;
        let away: [f32; 3] = std::array::from_fn(|a| foot.point[a] - foot.base[a]);
        moved2 = dot(away, away);
        if moved2 < search.trust * search.trust {
            return Some(foot);
        }
    }
    (moved2 < LAST_TRUST * LAST_TRUST).then_some(foot)
}

/// The closest point of the plane that phi has where `point`, beyond the hull, comes nearest to it; farther
/// along the wall if that is not near the interface, since phi saturates away from it. None where no step leads to the
/// interface. Test: `distances_ahead_of_a_front_on_the_floor`.
#[cold]
fn foot_beyond_hull(field: &CubicField, search: Search, cell: [usize; 3], point: [f32; 3]) -> Option<Foot> {
    let mut nearest = field.moved_inside(cell, point, search.overhang);
    let mut jet = field.jet(cell, nearest).scaled(search.per_cell);
    for _ in 0..MAX_WALL_STEPS {
        if jet.value.abs() <= FAR_FROM_INTERFACE {
            break;
        }
        let along: [f32; 3] =
            std::array::from_fn(|a| if nearest[a] == point[a] { jet.gradient[a] } else { 0.0 });
        let along2 = dot(along, along).max(1e-6);
        let step = (jet.value / along2).clamp(-LONGEST_WAY / along2.sqrt(), LONGEST_WAY / along2.sqrt());
        let nearer = std::array::from_fn(|a| nearest[a] - step * along[a]);
        nearest = field.moved_inside(cell, nearer, search.overhang);
        jet = field.jet(cell, nearest).scaled(search.per_cell);
    }
    let g2 = dot(jet.gradient, jet.gradient);
    // Away from the interface phi is no distance yet: a plane there is none of the interface's. Nor is one made of samples
    // of one sign: from step to step such planes would come nearer.
    (g2 >= LEAST_SLOPE2 && jet.value.abs() <= FAR_FROM_INTERFACE && field.shows_interface(cell, nearest))
        .then(|| Foot::bare(scaled(jet.gradient, (dot(jet.gradient, nearest) - jet.value) / g2)))
}

/// The closest point of the zero set of a foot's Taylor polynomial, from its present point on; where Newton
/// does not settle, its first step alone.
#[inline]
fn closest_point_of_quadric(foot: &Foot) -> Option<[f32; 3]> {
    let Jet { value, gradient, hessian } = foot.jet;
    let [hxx, hyy, hzz, hxy, hxz, hyz] = hessian;
    let mut q = foot.point;
    let mut first = None;
    for _ in 0..MAX_STEPS {
        let d = [q[0] - foot.base[0], q[1] - foot.base[1], q[2] - foot.base[2]];
        let bend = [
            hxx * d[0] + hxy * d[1] + hxz * d[2],
            hxy * d[0] + hyy * d[1] + hyz * d[2],
            hxz * d[0] + hyz * d[1] + hzz * d[2],
        ];
        let phi = value + dot(gradient, d) + 0.5 * dot(bend, d);
        let g = [gradient[0] + bend[0], gradient[1] + bend[1], gradient[2] + bend[2]];
        let g2 = dot(g, g);
        if g2 < LEAST_SLOPE2 || g2.is_nan() {
            return None; // no direction to go
        }
        let lambda = -dot(q, g) / g2;
        let step = newton_step(&hessian, phi, g, g2, lambda, q);
        let length2 = dot(step, step);
        if length2 > 2.25 || length2.is_nan() {
            return None; // a resolved interface never lies that far from its neighbour's estimate
        }
        for a in 0..3 {
            q[a] += step[a];
        }
        first.get_or_insert(q);
        if length2 < STEP_TOLERANCE * STEP_TOLERANCE {
            return Some(q);
        }
    }
    first
}

/// Solves [I + lambda H, g; g^T, 0] [step; dlambda] = -[q + lambda g; phi].
#[inline]
fn newton_step(hessian: &[f32; 6], phi: f32, g: [f32; 3], g2: f32, lambda: f32, q: [f32; 3]) -> [f32; 3] {
    let r = [q[0] + lambda * g[0], q[1] + lambda * g[1], q[2] + lambda * g[2]];
    let [mut hxx, mut hyy, mut hzz, mut hxy, mut hxz, mut hyz] = *hessian;
    for h in [&mut hxx, &mut hyy, &mut hzz, &mut hxy, &mut hxz, &mut hyz] {
        *h *= lambda;
    }
    let (axx, ayy, azz) = (1.0 + hxx, 1.0 + hyy, 1.0 + hzz);
    let adjugate = [
        [ayy * azz - hyz * hyz, hxz * hyz - hxy * azz, hxy * hyz - hxz * ayy],
        [hxz * hyz - hxy * azz, axx * azz - hxz * hxz, hxy * hxz - axx * hyz],
        [hxy * hyz - hxz * ayy, hxy * hxz - axx * hyz, axx * ayy - hxy * hxy],
    ];
    let det = axx * adjugate[0][0] + hxy * adjugate[0][1] + hxz * adjugate[0][2];
    let inverse = 1.0 / det;
    let solve = |b: [f32; 3]| {
        [dot(adjugate[0], b) * inverse, dot(adjugate[1], b) * inverse, dot(adjugate[2], b) * inverse]
    };
    // Near a focal point the curvature term is no help: fall back to the tangent plane (Chopp's step).
    let (y, z) = if det > 0.01 { (solve(g), solve(r)) } else { (g, r) };
    let gy = dot(g, y);
    let (y, z, gy) = if gy > 0.1 * g2 { (y, z, gy) } else { (g, r, g2) };
    let mu = (phi - dot(g, z)) / gy;
    [-z[0] - mu * y[0], -z[1] - mu * y[1], -z[2] - mu * y[2]]
}
