// Private to the crate, and complete in itself.
#[path = "../src/alembic/digest.rs"]
#[allow(dead_code)]
mod digest;

use digest::digest;

#[test]
fn digests_of_different_samples_differ() {
    let mut seen = std::collections::BTreeSet::new();
    for length in 0..200usize {
        for value in 0..20u8 {
            let mut bytes = vec![0; length];
            if let Some(last) = bytes.last_mut() {
                *last = value;
            } else if value > 0 {
                continue;
            }
            assert!(seen.insert(digest(&bytes)), "{length} {value}");
        }
    }
}
