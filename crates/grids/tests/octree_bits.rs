// Private to the crate, and complete in itself.
#[path = "../src/octree/bits.rs"]
#[allow(dead_code)]
mod bits;

use bits::{
    below, bit_of, bits_around, children, complete_octets, from_high, from_low, layer, members, parents,
    place_of,
};
use fluvial_foundation::AXES;
use fluvial_foundation::random::splitmix64;

#[test]
fn bits_and_places_are_inverse() {
    assert!((0..64).all(|bit| bit_of(place_of(bit)) == bit));
    for at in (0..64).map(place_of).chain([[u32::MAX, 3, 7]]) {
        let next = |o: u32| [0, 1, 2].map(|a| at[a as usize].wrapping_add((o >> a) & 1));
        assert_eq!(bits_around(at), std::array::from_fn(|o| bit_of(next(o as u32))));
    }
}

#[test]
fn shifts_agree_with_coordinates_across_blocks() {
    for n in 0..50 {
        let (own, other) = (splitmix64(n), splitmix64(n + 1000));
        for axis in AXES {
            for bit in 0..64 {
                let has = |set: u64, at: [u32; 3]| (set >> bit_of(at)) & 1;
                let mut at = place_of(bit);
                let (c, mut low, mut high) = (at[axis], at, at);
                low[axis] = (c + 3) % 4;
                high[axis] = (c + 1) % 4;
                at[axis] = c;
                assert_eq!(has(from_low(own, other, axis), at), has(if c == 0 { other } else { own }, low));
                assert_eq!(has(from_high(own, other, axis), at), has(if c == 3 { other } else { own }, high));
                assert_eq!(has(layer(axis, false), at), (c == 0) as u64);
                assert_eq!(has(layer(axis, true), at), (c == 3) as u64);
                for count in 0..=4 {
                    assert_eq!(has(below(count, axis), at), ((c as usize) < count) as u64);
                }
            }
        }
    }
}

#[test]
fn families_agree_with_their_bytes() {
    for n in 0..200 {
        let set = splitmix64(n) & splitmix64(n + 7) & splitmix64(n + 99) & splitmix64(n + 3);
        let bytes = set.to_le_bytes();
        let full = u64::from_le_bytes(bytes.map(|b| if b == 0 { 0 } else { 0xFF }));
        let parent = (0..8).map(|o| ((bytes[o] != 0) as u64) << o).sum::<u64>();
        assert_eq!(complete_octets(set), full);
        assert_eq!(parents(set), parent);
        assert_eq!(children(parent), full);
        assert_eq!(members(set).fold(0, |s, bit| s | (1u64 << bit)), set);
    }
}
