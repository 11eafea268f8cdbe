//! Parts of squares, cubes and simplices where a field is negative.
//!
//! Fields are linear on simplices, where such parts have closed forms. A square is cut into four triangles
//! around its centre, a cube into 24 tetrahedra around its own, so that the triangles of a face are the sides
//! of the tetrahedra behind it [ng-2009 §3.2]: exact for planes, and what two cubes say of their common face
//! is the same.

/// Part of a triangle where the linear field with these values at its corners is negative.
pub fn triangle_below(corners: [f64; 3]) -> f64 {
    let lone = |a: f64, b: f64, c: f64| (a / (a - b)) * (a / (a - c));
    let [a, b, c] = corners;
    match [a < 0.0, b < 0.0, c < 0.0] {
        [true, true, true] => 1.0,
        [false, false, false] => 0.0,
        [true, false, false] => lone(a, b, c),
        [false, true, false] => lone(b, c, a),
        [false, false, true] => lone(c, a, b),
        [false, true, true] => 1.0 - lone(a, b, c),
        [true, false, true] => 1.0 - lone(b, c, a),
        [true, true, false] => 1.0 - lone(c, a, b),
    }
}

/// Part of a tetrahedron where the linear field with these values at its corners is negative.
pub fn tetrahedron_below(corners: [f64; 4]) -> f64 {
    let mut v = corners;
    v.sort_unstable_by(f64::total_cmp);
    let [a, b, c, d] = v;
    if a >= 0.0 {
        0.0
    } else if d < 0.0 {
        1.0
    } else if b >= 0.0 {
        a * a * a / ((a - b) * (a - c) * (a - d))
    } else if c < 0.0 {
        1.0 - d * d * d / ((d - a) * (d - b) * (d - c))
    } else {
        // Two below: a wedge, as the sum of the tetrahedra of its triangulation.
        let (ac, ad, bc, bd) = (a / (a - c), a / (a - d), b / (b - c), b / (b - d));
        ac * ad * (1.0 - bc) + bc * ad + bc * bd * (1.0 - ad)
    }
}

/// Part of a tetrahedron where two linear fields, given as pairs at its corners, are both negative.
pub fn tetrahedron_below_both(corners: [[f64; 2]; 4]) -> f64 {
    let mut p = corners;
    p.sort_unstable_by(|a, b| a[0].total_cmp(&b[0]));
    let below = p.iter().filter(|v| v[0] < 0.0).count();
    // Where the first field vanishes between two corners: the second one's value, and the part of the way.
    let cut = |a: [f64; 2], b: [f64; 2]| {
        let t = a[0] / (a[0] - b[0]);
        (a[1] + t * (b[1] - a[1]), t)
    };
    let [q0, q1, q2, q3] = p.map(|v| v[1]);
    match below {
        0 => 0.0,
        4 => tetrahedron_below([q0, q1, q2, q3]),
        1 => {
            let ((b, tb), (c, tc), (d, td)) = (cut(p[0], p[1]), cut(p[0], p[2]), cut(p[0], p[3]));
            tb * tc * td * tetrahedron_below([q0, b, c, d])
        }
        3 => {
            // The corner above is cut off: a prism of three tetrahedra.
            let ((a, ta), (b, tb), (c, tc)) = (cut(p[0], p[3]), cut(p[1], p[3]), cut(p[2], p[3]));
            let (ra, rb, rc) = (1.0 - ta, 1.0 - tb, 1.0 - tc);
            (1.0 - rc) * tetrahedron_below([q0, q1, q2, c])
                + rc * (1.0 - rb) * tetrahedron_below([q0, q1, b, c])
                + rb * rc * (1.0 - ra) * tetrahedron_below([q0, a, b, c])
        }
        _ => {
            let ((ac, tac), (ad, tad)) = (cut(p[0], p[2]), cut(p[0], p[3]));
            let ((bc, tbc), (bd, tbd)) = (cut(p[1], p[2]), cut(p[1], p[3]));
            tac * tad * (1.0 - tbc) * tetrahedron_below([q0, ac, ad, bc])
                + tbc * tad * tetrahedron_below([q0, q1, ad, bc])
                + tbc * tbd * (1.0 - tad) * tetrahedron_below([q1, ad, bc, bd])
        }
    }
}

/// Part of a square where a field is negative; corners around it.
pub fn square_below(corners: [f64; 4]) -> f64 {
    let [a, b, c, d] = corners;
    let middle = 0.25 * ((a + c) + (b + d));
    let t = |p, q| triangle_below([p, q, middle]);
    0.25 * ((t(a, b) + t(c, d)) + (t(b, c) + t(d, a)))
}

/// Corners (x fastest) around a cube's faces: x low, x high, y low, y high, z low, z high.
pub const CUBE_FACES: [[usize; 4]; 6] =
    [[0, 2, 6, 4], [1, 3, 7, 5], [0, 1, 5, 4], [2, 3, 7, 6], [0, 1, 3, 2], [4, 5, 7, 6]];

/// Part of a cube where a field is negative; corners x fastest.
pub fn cube_below(corners: [f64; 8]) -> f64 {
    let centre = corners.iter().sum::<f64>() / 8.0;
    let mut sum = 0.0;
    for face in CUBE_FACES {
        let [a, b, c, d] = face.map(|n| corners[n]);
        let middle = 0.25 * ((a + c) + (b + d));
        let t = |p, q| tetrahedron_below([p, q, middle, centre]);
        sum += (t(a, b) + t(c, d)) + (t(b, c) + t(d, a));
    }
    sum / 24.0
}

/// Part of a cube below the plane where `value + slope . x` vanishes, with x from the centre in edges.
///
/// Exact [scardovelli-2000 eq. 2.9]: with `m_i = |slope_i|` and `alpha` the plane's offset from the corner
/// deepest below, `V = (alpha^3 - sum max(alpha - m_i, 0)^3 + sum max(alpha - m_i - m_j, 0)^3) / (6 m_1 m_2
/// m_3)` for alpha up to half of `m_1 + m_2 + m_3`, the complement above.
#[inline]
pub fn cube_below_plane(value: f64, slope: [f64; 3]) -> f64 {
    let mut m = slope.map(f64::abs);
    m.sort_unstable_by(f64::total_cmp);
    let [m1, m2, m3] = m;
    let half = 0.5 * (m1 + m2 + m3);
    if value.is_nan() {
        return value; // not hidden
    }
    if value.abs() >= half {
        return if value < 0.0 { 1.0 } else { 0.0 };
    }
    let alpha = half - value.abs(); // the smaller part; the rest by symmetry
    let cut = |a: f64| a.max(0.0).powi(3);
    let part = if m1 > 1e-4 * m3 {
        // alpha <= half, hence alpha - m_2 - m_3 <= 0 and alpha - m_1 - m_3 <= 0.
        (cut(alpha) - cut(alpha - m1) - cut(alpha - m2) - cut(alpha - m3) + cut(alpha - m1 - m2))
            / (6.0 * m1 * m2 * m3)
    } else {
        // Nearly parallel to an axis: the mean of the two-dimensional part over that axis, by Simpson, free
        // of the cancellation above and exact where the part is a cubic in alpha.
        let flat = |a: f64| {
            let a = a.clamp(0.0, m2 + m3);
            if m2 <= 1e-12 * m3 {
                return a / m3;
            }
            let square = |v: f64| v.max(0.0).powi(2);
            (square(a) - square(a - m2) - square(a - m3) + square(a - m2 - m3)) / (2.0 * m2 * m3)
        };
        (flat(alpha) + 4.0 * flat(alpha - 0.5 * m1) + flat(alpha - m1)) / 6.0
    };
    if value < 0.0 { 1.0 - part } else { part }
}

/// Corners of an octant of a lattice of 3 x 3 x 3.
pub fn octant_corners(points: &[f64; 27], octant: usize) -> [f64; 8] {
    let step = |n: usize, a: usize| ((octant >> a) & 1) + ((n >> a) & 1);
    std::array::from_fn(|n| points[step(n, 0) + 3 * step(n, 1) + 9 * step(n, 2)])
}

/// Part of a box below zero from values on a lattice of half its size, each octant cut by a plane of its own.
pub fn octants_below(points: &[f64; 27]) -> f64 {
    let part = |octant: usize| {
        let v = octant_corners(points, octant);
        let slope = [0, 1, 2]
            .map(|a| (0..8).map(|n| if n >> a & 1 == 1 { 0.25 * v[n] } else { -0.25 * v[n] }).sum::<f64>());
        cube_below_plane(v.iter().sum::<f64>() / 8.0, slope)
    };
    (0..8).map(part).sum::<f64>() / 8.0
}
