//! Loops of the surface through a cube, for each of the 256 sign patterns of its corners.
//!
//! Corner c sits at (c & 1, c >> 1 & 1, c >> 2 & 1). Edge `4 axis + u + 2 v` runs along `axis`; u and v are
//! its coordinates on the two other axes in rising order. The surface cuts every cube face along segments
//! that join crossed edges; segments chain into loops, and dual marching cubes [nielson-2004] places one
//! vertex per loop. On a face with diagonal signs the two liquid corners are cut off singly. That leaves
//! one non-manifold configuration [wenger-2013 §3.5]: both cubes at such a face carry its two segments in
//! one loop each, so that two pairs of quads would meet in one edge. Such cubes have no other ambiguous
//! face (`a_pinching_cube_has_one_ambiguous_face`), hence both may cut off the air corners of the shared
//! face instead: the `joined` variant of the case.

use std::sync::LazyLock;

/// Which loop of the cube each crossed edge belongs to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Case {
    /// Number of loops, at most four.
    pub loops: u8,
    /// Loop of each edge; meaningless where the edge is not crossed.
    pub loop_of_edge: [u8; 12],
    /// `2 axis + side` of the face that both its segments pass in one loop.
    pub pinching_face: Option<u8>,
}

/// Index offset of the variant that joins the liquid corners of its ambiguous face.
pub const JOINED: usize = 256;

/// All cases: 0..256 by sign bits (set: liquid), then the same joined.
pub static CASES: LazyLock<Vec<Case>> =
    LazyLock::new(|| (0..512).map(|n| build(n & 255, n & JOINED != 0)).collect());

/// The two corners of an edge, low one first.
pub const fn edge_corners(edge: usize) -> [usize; 2] {
    let (axis, u, v) = (edge / 4, edge & 1, edge >> 1 & 1);
    let low = match axis {
        0 => 2 * u + 4 * v,
        1 => u + 4 * v,
        _ => u + 2 * v,
    };
    [low, low + (1 << axis)]
}

/// The four corners of face `2 axis + side`, in cyclic order.
fn face_corners(face: usize) -> [usize; 4] {
    let (axis, side) = (face / 2, face % 2);
    let (b, c) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
    let base = side << axis;
    [base, base + b, base + b + c, base + c]
}

fn edge_between(p: usize, q: usize) -> usize {
    (0..12)
        .find(|&e| edge_corners(e) == [p.min(q), p.max(q)])
        .expect("corners of one face are joined by an edge")
}

/// Is the face cut twice, i.e. are its liquid corners exactly one diagonal?
pub fn is_ambiguous(signs: usize, face: usize) -> bool {
    let inside = face_corners(face).map(|c| signs >> c & 1 == 1);
    inside[0] == inside[2] && inside[1] == inside[3] && inside[0] != inside[1]
}

fn build(signs: usize, joined: bool) -> Case {
    let mut label: [u8; 12] = std::array::from_fn(|e| e as u8);
    let mut merge = |a: usize, b: usize| {
        let (from, to) = (label[a].max(label[b]), label[a].min(label[b]));
        label.iter_mut().filter(|l| **l == from).for_each(|l| *l = to);
    };
    let inside = |corner: usize| signs >> corner & 1 == 1;
    let mut segments_of_ambiguous = vec![];
    for face in 0..6 {
        let corners = face_corners(face);
        let edge_after: [usize; 4] = std::array::from_fn(|n| edge_between(corners[n], corners[(n + 1) % 4]));
        if is_ambiguous(signs, face) {
            // A segment around each corner that is cut off joins the two edges at that corner.
            let cut: Vec<usize> = (0..4).filter(|&n| inside(corners[n]) != joined).collect();
            for &n in &cut {
                merge(edge_after[n], edge_after[(n + 3) % 4]);
            }
            segments_of_ambiguous.push((face, edge_after[cut[0]], edge_after[cut[1]]));
        } else {
            let crossed: Vec<usize> =
                (0..4).filter(|&n| inside(corners[n]) != inside(corners[(n + 1) % 4])).collect();
            if let [a, b] = crossed[..] {
                merge(edge_after[a], edge_after[b]);
            }
        }
    }
    let mut case = Case::default();
    let mut number = [u8::MAX; 12];
    for edge in 0..12 {
        let [p, q] = edge_corners(edge);
        if inside(p) != inside(q) {
            let slot = &mut number[label[edge] as usize];
            if *slot == u8::MAX {
                *slot = case.loops;
                case.loops += 1;
            }
            case.loop_of_edge[edge] = *slot;
        }
    }
    case.pinching_face = segments_of_ambiguous
        .iter()
        .find(|&&(_, a, b)| case.loop_of_edge[a] == case.loop_of_edge[b])
        .map(|&(face, _, _)| face as u8);
    case
}
