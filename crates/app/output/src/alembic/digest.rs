//! Digests of samples.

use fluvial_foundation::random::splitmix64;

/// 128 bits that differ when the bytes do: readers take samples with equal digests for the same one.
pub fn digest(bytes: &[u8]) -> [u64; 2] {
    let mut hash = [splitmix64(bytes.len() as u64), splitmix64(!(bytes.len() as u64))];
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let word = u64::from_le_bytes(word);
        hash[0] = (hash[0] ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        hash[1] = (hash[1] ^ word.rotate_left(32)).wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_left(31);
    }
    hash.map(splitmix64)
}
