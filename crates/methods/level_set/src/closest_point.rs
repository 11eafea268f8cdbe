//! The closest point of the interface to a cell centre, on the tricubic interpolant of phi.

use crate::cubic::{CubicField, Jet};

/// Newton steps at most; a plane needs one, a resolved sphere two or three.
const MAX_STEPS: usize = 8;
/// Good enough after the last step: the interpolant's gradient jumps a little between cells, and a point
/// there may go to and fro across.
const TOLERANCE_LAST: f32 = 0.05;
/// Converged when a step is shorter than this (in cells): the distance errs by its square.
const TOLERANCE: f32 = 1e-4;

#[inline]
pub(crate) fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Stationary point of |q|^2/2 with phi(x + q) = 0, near the guess `q`, by Newton's method on
/// q + lambda grad phi = 0, phi = 0 [Chopp 2001 §3 gives the problem; the second derivatives make it
/// quadratic for cells whose distance is not small against the radius of curvature].
///
/// `cell` is x, `q` in cells relative to it; None when it does not converge. Farther than `overhang` beyond
/// the outermost samples phi says nothing: there the interface goes on as its last tangent plane, which at the
/// first guess is the plane normal to `normal`.
#[inline]
pub(crate) fn closest_point(
    field: &CubicField,
    per_cell: f32,
    cell: [usize; 3],
    guess: [f32; 3],
    normal: [f32; 3],
    overhang: f32,
) -> Option<[f32; 3]> {
    let mut q = guess;
    let mut length2 = 0.0;
    let mut tangent_foot = scaled(normal, dot(guess, normal) / dot(normal, normal));
    for _ in 0..MAX_STEPS {
        if field.beyond_hull(cell, q) > overhang {
            return Some(tangent_foot);
        }
        let jet = field.jet(cell, q);
        let phi = jet.value * per_cell;
        let g = scaled(jet.gradient, per_cell);
        let g2 = dot(g, g);
        if g2 < 0.04 || g2.is_nan() {
            return None; // no direction to go
        }
        let lambda = -dot(q, g) / g2;
        let step = newton_step(&jet, phi, g, g2, lambda, per_cell, q);
        length2 = dot(step, step);
        if length2 > 2.25 || length2.is_nan() {
            return None; // a resolved interface never lies that far from its neighbour's estimate
        }
        tangent_foot = scaled(g, -lambda - phi / g2);
        for a in 0..3 {
            q[a] += step[a];
        }
        if length2 < TOLERANCE * TOLERANCE {
            return Some(q);
        }
    }
    (length2 < TOLERANCE_LAST * TOLERANCE_LAST).then_some(q)
}

#[inline]
pub(crate) fn scaled(a: [f32; 3], s: f32) -> [f32; 3] {
    a.map(|v| v * s)
}

/// Solves [I + lambda H, g; g^T, 0] [step; dlambda] = -[q + lambda g; phi].
#[inline]
fn newton_step(
    jet: &Jet,
    phi: f32,
    g: [f32; 3],
    g2: f32,
    lambda: f32,
    per_cell: f32,
    q: [f32; 3],
) -> [f32; 3] {
    let r: [f32; 3] = std::array::from_fn(|a| q[a] + lambda * g[a]);
    let s = lambda * per_cell;
    let [hxx, hyy, hzz, hxy, hxz, hyz] = jet.hessian.map(|v| v * s);
    let (axx, ayy, azz) = (1.0 + hxx, 1.0 + hyy, 1.0 + hzz);
    let adjugate = [
        [ayy * azz - hyz * hyz, hxz * hyz - hxy * azz, hxy * hyz - hxz * ayy],
        [hxz * hyz - hxy * azz, axx * azz - hxz * hxz, hxy * hxz - axx * hyz],
        [hxy * hyz - hxz * ayy, hxy * hxz - axx * hyz, axx * ayy - hxy * hxy],
    ];
    let det = axx * adjugate[0][0] + hxy * adjugate[0][1] + hxz * adjugate[0][2];
    let solve = |b: [f32; 3]| adjugate.map(|row| dot(row, b) / det);
    // Near a focal point the curvature term is no help: fall back to the tangent plane (Chopp's step).
    let (y, z) = if det > 0.01 { (solve(g), solve(r)) } else { (g, r) };
    let gy = dot(g, y);
    let (y, z, gy) = if gy > 0.1 * g2 { (y, z, gy) } else { (g, r, g2) };
    let mu = (phi - dot(g, z)) / gy;
    std::array::from_fn(|a| -z[a] - mu * y[a])
}
