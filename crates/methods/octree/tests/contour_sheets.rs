// Private to the crate, and complete in itself.
#[path = "../src/contour/sheets.rs"]
#[allow(dead_code)]
mod sheets;

use sheets::{PAIRS, pair, pair_of, sheets};

#[test]
fn pairs_and_octants_are_inverse() {
    for n in 0..PAIRS {
        let (low, axis) = pair(n);
        assert_eq!((low >> axis) & 1, 0);
        assert_eq!([pair_of(low, axis), pair_of(low | (1 << axis), axis)], [n, n]);
    }
}

#[test]
fn a_pinched_node_has_one_edge_with_four_polygons() {
    for inside in 0..=255u8 {
        if sheets(inside, false).pinched.is_none() {
            continue;
        }
        let four = (0..6).filter(|edge| {
            let (axis, side) = (edge / 2, edge % 2);
            let (b, c) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
            let is = |o: usize| (inside >> (o | (side << axis))) & 1;
            is(0) == is(b | c) && is(b) == is(c) && is(0) != is(b)
        });
        assert_eq!(four.count(), 1, "{inside:08b}");
    }
}
