//! Randomness as a function of counters, so that it depends on neither order nor thread.

/// The splitmix64 finaliser: a bijection of 64-bit words whose outputs pass as random.
#[inline]
pub fn splitmix64(x: u64) -> u64 {
    let z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Uniform in [0, 1) from two counters, e.g. an id and a draw number.
#[inline]
pub fn unit_f32(counter: u64, draw: u64) -> f32 {
    let word = splitmix64(splitmix64(counter) ^ draw.wrapping_mul(0xD6E8_FEB8_6659_FD93));
    (word >> 40) as f32 * (1.0 / (1u64 << 24) as f32)
}

/// Three independent draws of [`unit_f32`].
#[inline]
pub fn unit_vec3(counter: u64, draw: u64) -> crate::Vec3 {
    let d = draw.wrapping_mul(3);
    crate::Vec3::new(
        unit_f32(counter, d),
        unit_f32(counter, d.wrapping_add(1)),
        unit_f32(counter, d.wrapping_add(2)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_fill_the_unit_interval_evenly() {
        let n = 100_000;
        let mean: f64 = (0..n).map(|i| unit_f32(i, 7) as f64).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 4.0 * (1.0f64 / 12.0 / n as f64).sqrt(), "mean {mean}");
        assert!((0..n).all(|i| (0.0..1.0).contains(&unit_f32(i, 0))));
    }
}
