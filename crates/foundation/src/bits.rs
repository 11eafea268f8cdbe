//! Bits moved between the low end of a number and the places of a mask.

/// Puts the low bits of `value` at the ones of `mask`, in order.
#[inline(always)]
pub fn deposit(value: u64, mask: u64) -> u64 {
    #[cfg(all(target_arch = "x86_64", target_feature = "bmi2"))]
    // SAFETY: the whole program is compiled for processors that have the instruction.
    unsafe {
        std::arch::x86_64::_pdep_u64(value, mask)
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "bmi2")))]
    {
        deposit_by_loop(value, mask)
    }
}

/// The bits of `value` at the ones of `mask`, side by side from the lowest place on.
#[inline(always)]
pub fn extract(value: u64, mask: u64) -> u64 {
    #[cfg(all(target_arch = "x86_64", target_feature = "bmi2"))]
    // SAFETY: the whole program is compiled for processors that have the instruction.
    unsafe {
        std::arch::x86_64::_pext_u64(value, mask)
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "bmi2")))]
    {
        extract_by_loop(value, mask)
    }
}

/// [`deposit`] on any processor, and its twin in tests.
pub fn deposit_by_loop(mut value: u64, mut mask: u64) -> u64 {
    let mut out = 0;
    while mask != 0 {
        let bit = mask & mask.wrapping_neg();
        out |= if value & 1 == 1 { bit } else { 0 };
        mask ^= bit;
        value >>= 1;
    }
    out
}

/// [`extract`] on any processor, and its twin in tests.
pub fn extract_by_loop(value: u64, mut mask: u64) -> u64 {
    let (mut out, mut place) = (0, 0);
    while mask != 0 {
        let bit = mask & mask.wrapping_neg();
        out |= u64::from(value & bit != 0) << place;
        mask ^= bit;
        place += 1;
    }
    out
}
