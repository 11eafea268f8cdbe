//! The sheets of surface through a node of a tree, from the signs of the eight octants around it.

use fluvial_foundation::{AXES, Axis};

/// Pairs of octants around a node that share a face: 4 for each axis, the low one first.
pub const PAIRS: usize = 12;

/// The low octant and the axis of a pair.
#[inline]
pub fn pair(n: usize) -> (usize, Axis) {
    let (axis, at) = (n / 4, n % 4);
    let low = at & ((1 << axis) - 1);
    (low | ((at & !((1 << axis) - 1)) << 1), axis)
}

/// The pair of an octant and its neighbour along an axis.
#[inline]
pub fn pair_of(octant: usize, axis: Axis) -> usize {
    let low = octant & !(1 << axis);
    4 * axis + (low & ((1 << axis) - 1)) + ((low >> (axis + 1)) << axis)
}

/// The sheets of surface through one node: each is a vertex.
#[derive(Clone, Copy, Debug)]
pub struct Sheets {
    /// For each pair of octants the number of its vertex, [`NONE`] without one.
    pub of: [u8; PAIRS],
    /// Number of sheets.
    pub count: u8,
    /// `2 axis + side` of the edge whose four polygons all belong to one sheet.
    pub pinched: Option<u8>,
}

const NONE: u8 = u8::MAX;

/// Joins the crossed pairs of a node; `inside` has a bit per octant. Around an edge with four crossings the
/// two pairs of an inside octant are joined, or with `merged` those of an outside one.
pub fn sheets(inside: u8, merged: bool) -> Sheets {
    let is = |octant: usize| (inside >> octant) & 1;
    let mut root = [NONE; PAIRS];
    for (n, root) in root.iter_mut().enumerate() {
        let (low, axis) = pair(n);
        if is(low) != is(low | (1 << axis)) {
            *root = n as u8;
        }
    }
    let join = |root: &mut [u8; PAIRS], a: usize, b: usize| {
        let (from, to) = (root[a].max(root[b]), root[a].min(root[b]));
        root.iter_mut().filter(|r| **r == from).for_each(|r| *r = to);
    };
    let mut ambiguous = vec![];
    for axis in AXES {
        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
        for side in 0..2 {
            // The four octants around one of the edges that meet in the node, in order around it.
            let ring = [0, 1 << b, (1 << b) | (1 << c), 1 << c].map(|o| o | (side << axis));
            let across = |n: usize| pair_of(ring[n], if n.is_multiple_of(2) { b } else { c });
            let crossed: [bool; 4] = std::array::from_fn(|n| is(ring[n]) != is(ring[(n + 1) % 4]));
            match crossed.iter().filter(|&&c| c).count() {
                2 => {
                    let mut both = (0..4).filter(|&n| crossed[n]);
                    let (first, second) = (both.next().expect("two"), both.next().expect("two"));
                    join(&mut root, across(first), across(second));
                }
                4 => {
                    (0..4).filter(|&n| (is(ring[n]) == 1) != merged).for_each(|n| {
                        join(&mut root, across(n), across((n + 3) % 4));
                    });
                    ambiguous.push((2 * axis + side, across(0), across(1), across(2), across(3)));
                }
                _ => {}
            }
        }
    }
    let (mut of, mut count) = ([NONE; PAIRS], 0);
    for n in 0..PAIRS {
        if root[n] == NONE {
            continue;
        }
        if root[n] as usize == n {
            of[n] = count;
            count += 1;
        } else {
            of[n] = of[root[n] as usize];
        }
    }
    let mut pinching =
        ambiguous.into_iter().filter(|&(_, a, b, c, d)| of[a] == of[b] && of[b] == of[c] && of[c] == of[d]);
    Sheets { of, count, pinched: pinching.next().map(|a| a.0 as u8) }
}
