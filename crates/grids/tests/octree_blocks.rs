// Private to the crate, and complete in itself.
#[path = "../src/octree/blocks.rs"]
#[allow(dead_code)]
mod blocks;

use blocks::{BlockIndex, morton};

#[test]
fn codes_interleave_the_bits_of_all_axes() {
    for at in [[0, 0, 0], [1, 2, 4], [65535, 0, 1], [12345, 54321, 4660]] {
        let expected = (0..16).fold(0u64, |code, b| {
            (0..3).fold(code, |code, axis| code | (((at[axis] >> b) & 1) as u64) << (3 * b + axis as u32))
        });
        assert_eq!(morton(at), expected);
    }
}

#[test]
fn only_what_was_set_is_found() {
    let mut index = BlockIndex::new([256, 64, 64]);
    index.set([63, 15, 0], 7);
    index.set([64, 3, 2], 8);
    assert_eq!([index.get([63, 15, 0]), index.get([64, 3, 2]), index.get([62, 15, 0])], [7, 8, 0]);
    assert_eq!([index.get([u32::MAX, 0, 0]), index.get([0, 900, 0])], [0, 0]);
}
