//! How much of a face or a cell lies outside the solid, from the solid's distance at the corners.
//!
//! [ng-2009 §3.2]: the distance is taken linear on simplices, where the part with phi > 0 has a
//! closed form. A face is cut into four triangles around its centre (which has the mean of the corners), a
//! cell into 24 tetrahedra around its own, so that the triangles of a face are the sides of the tetrahedra
//! behind it: open areas and the interface inside a cell close up exactly (test `a_cut_cell_is_closed`), the
//! result is exact for planes, and mirroring or turning the corners mirrors or turns nothing else.

/// Part of a triangle's area where the linear field through the three corner values is positive.
pub fn positive_fraction_triangle(corners: [f32; 3]) -> f32 {
    // The lone corner's own triangle has the area product of its two cut edges.
    let lone = |a: f32, b: f32, c: f32| (a / (a - b)) * (a / (a - c));
    let [a, b, c] = corners;
    match [a > 0.0, b > 0.0, c > 0.0] {
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

/// Part of a tetrahedron's volume where the linear field through the four corner values is positive.
pub fn positive_fraction_tetrahedron(corners: [f32; 4]) -> f32 {
    let positive = corners.iter().filter(|&&c| c > 0.0).count();
    if positive == 0 || positive == 4 {
        return if positive == 4 { 1.0 } else { 0.0 };
    }
    // Sorted by five exchanges, the largest first.
    let ordered = |a: f32, b: f32| if a < b { (b, a) } else { (a, b) };
    let [a, b, c, d] = corners;
    let ((a, b), (c, d)) = (ordered(a, b), ordered(c, d));
    let ((a, c), (b, d)) = (ordered(a, c), ordered(b, d));
    let (b, c) = ordered(b, c);
    let lone = |a: f32, b: f32, c: f32, d: f32| (a / (a - b)) * (a / (a - c)) * (a / (a - d));
    match positive {
        1 => lone(a, b, c, d),
        2 => {
            // A wedge between the edges ac, ad and bc, bd, as three tetrahedra.
            let (ac, ad, bc, bd) = (a / (a - c), a / (a - d), b / (b - c), b / (b - d));
            ac * ad + bd * ac * (1.0 - ad) + bc * bd * (1.0 - ac)
        }
        _ => 1.0 - lone(d, a, b, c),
    }
}

/// Open part (phi > 0) of a square face; corners in the order low-low, high-low, low-high, high-high.
pub fn open_face_area(corners: [f32; 4]) -> f32 {
    let [a, b, c, d] = corners;
    let open = corners.iter().filter(|&&v| v > 0.0).count();
    if open == 0 || open == 4 {
        return if open == 4 { 1.0 } else { 0.0 };
    }
    let m = 0.25 * ((a + d) + (b + c));
    let t = positive_fraction_triangle;
    0.25 * ((t([a, b, m]) + t([d, c, m])) + (t([b, d, m]) + t([c, a, m])))
}

/// Open part (phi > 0) of a cubic cell; corners x fastest.
pub fn open_cell_volume(corners: [f32; 8]) -> f32 {
    let open = corners.iter().filter(|&&v| v > 0.0).count();
    if open == 0 || open == 8 {
        return if open == 8 { 1.0 } else { 0.0 };
    }
    let center = corners.iter().sum::<f32>() / 8.0;
    let sum: f32 = CELL_FACES
        .iter()
        .map(|face| {
            let [a, b, c, d] = face.map(|n| corners[n]);
            let m = 0.25 * ((a + d) + (b + c));
            let t = |p, q| positive_fraction_tetrahedron([p, q, m, center]);
            t(a, b) + t(d, c) + t(b, d) + t(c, a)
        })
        .sum();
    sum / 24.0
}

/// Corner numbers (x fastest) of a cell's faces, each low-low, high-low, low-high, high-high in its own axes.
pub(crate) const CELL_FACES: [[usize; 4]; 6] =
    [[0, 2, 4, 6], [1, 3, 5, 7], [0, 1, 4, 5], [2, 3, 6, 7], [0, 1, 2, 3], [4, 5, 6, 7]];
