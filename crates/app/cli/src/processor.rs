//! Checks that the processor has the instructions that the program was compiled for.

/// The name of an instruction set that is missing, if one is.
///
/// `is_x86_feature_detected!` answers from the build's own settings once a feature is compiled in, hence
/// cpuid.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
pub fn check() -> Result<(), &'static str> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    if __cpuid(0).eax < 7 {
        return Err("AVX2");
    }
    let (basic, extended) = (__cpuid(1), __cpuid_count(7, 0));
    let required = [
        (basic.ecx, 12, "FMA"),
        (basic.ecx, 28, "AVX"),
        (extended.ebx, 3, "BMI1"),
        (extended.ebx, 5, "AVX2"),
        (extended.ebx, 8, "BMI2"),
    ];
    match required.iter().find(|(register, bit, _)| register >> bit & 1 == 0) {
        Some((_, _, name)) => Err(name),
        None => Ok(()),
    }
}

/// Only the platform's baseline was compiled in, so that nothing can be missing.
#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
pub fn check() -> Result<(), &'static str> {
    Ok(())
}
