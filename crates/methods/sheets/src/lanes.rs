//! Eight numbers at once. Left to itself the compiler takes the inner loops over neighbours apart into single
//! numbers; written with these, density takes half the time and the search for neighbours a third. The
//! results are those of plain arrays, which other processors use.

use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// Numbers that are worked on at once.
pub(crate) const LANES: usize = 8;

#[cfg(all(target_arch = "x86_64", target_feature = "avx", target_feature = "fma"))]
use wide as parts;

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx", target_feature = "fma")))]
use plain as parts;

/// One value per lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes(parts::Parts);

impl Lanes {
    #[inline(always)]
    pub fn splat(value: f32) -> Lanes {
        Lanes(parts::splat(value))
    }

    #[inline(always)]
    pub fn load(values: &[f32; LANES]) -> Lanes {
        Lanes(parts::load(values))
    }

    #[inline(always)]
    pub fn max(self, other: Lanes) -> Lanes {
        Lanes(parts::max(self.0, other.0))
    }

    /// `self * factor + term`, rounded once.
    #[inline(always)]
    pub fn mul_add(self, factor: Lanes, term: Lanes) -> Lanes {
        Lanes(parts::mul_add(self.0, factor.0, term.0))
    }

    /// One bit per lane: is it at most `bound`?
    #[inline(always)]
    pub fn at_most(self, bound: Lanes) -> u32 {
        parts::at_most(self.0, bound.0)
    }

    /// The first `count` lanes; `rest` in the others.
    #[inline(always)]
    pub fn first(self, count: usize, rest: f32) -> Lanes {
        Lanes(parts::first(self.0, count, rest))
    }

    /// The sum of all, in pairs.
    #[inline(always)]
    pub fn sum(self) -> f32 {
        let [a, b, c, d, e, f, g, h] = self.to_array();
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }

    #[inline(always)]
    pub fn to_array(self) -> [f32; LANES] {
        parts::to_array(self.0)
    }
}

impl Add for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn add(self, other: Lanes) -> Lanes {
        Lanes(parts::add(self.0, other.0))
    }
}

impl AddAssign for Lanes {
    #[inline(always)]
    fn add_assign(&mut self, other: Lanes) {
        *self = *self + other;
    }
}

impl Sub for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn sub(self, other: Lanes) -> Lanes {
        Lanes(parts::sub(self.0, other.0))
    }
}

impl Mul for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn mul(self, other: Lanes) -> Lanes {
        Lanes(parts::mul(self.0, other.0))
    }
}

impl Div for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn div(self, other: Lanes) -> Lanes {
        Lanes(parts::div(self.0, other.0))
    }
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx", target_feature = "fma"))]
mod wide {
    use super::LANES;
    use std::arch::x86_64::*;

    pub type Parts = __m256;

    // SAFETY, of all of them: compiled only where the whole program may use AVX and FMA; load and store are
    // those that need no alignment, on arrays of exactly eight.
    #[inline(always)]
    pub fn splat(value: f32) -> Parts {
        unsafe { _mm256_set1_ps(value) }
    }
    #[inline(always)]
    pub fn load(values: &[f32; LANES]) -> Parts {
        unsafe { _mm256_loadu_ps(values.as_ptr()) }
    }
    #[inline(always)]
    pub fn to_array(a: Parts) -> [f32; LANES] {
        let mut out = [0.0; LANES];
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), a) };
        out
    }
    #[inline(always)]
    pub fn add(a: Parts, b: Parts) -> Parts {
        unsafe { _mm256_add_ps(a, b) }
    }
    #[inline(always)]
    pub fn sub(a: Parts, b: Parts) -> Parts {
        unsafe { _mm256_sub_ps(a, b) }
    }
    #[inline(always)]
    pub fn mul(a: Parts, b: Parts) -> Parts {
        unsafe { _mm256_mul_ps(a, b) }
    }
    #[inline(always)]
    pub fn mul_add(a: Parts, b: Parts, c: Parts) -> Parts {
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    pub fn div(a: Parts, b: Parts) -> Parts {
        unsafe { _mm256_div_ps(a, b) }
    }
    #[inline(always)]
    pub fn max(a: Parts, b: Parts) -> Parts {
        unsafe { _mm256_max_ps(a, b) }
    }
    #[inline(always)]
    pub fn first(a: Parts, count: usize, rest: f32) -> Parts {
        // The sign says which to take.
        const TAKEN: [f32; 2 * LANES] =
            [-1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let taken = TAKEN[LANES - count..].first_chunk().expect("count is at most eight");
        unsafe { _mm256_blendv_ps(splat(rest), a, load(taken)) }
    }
    #[inline(always)]
    pub fn at_most(a: Parts, b: Parts) -> u32 {
        unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(a, b)) as u32 }
    }
}

#[cfg_attr(all(target_arch = "x86_64", target_feature = "avx", target_feature = "fma"), cfg(test))]
#[allow(dead_code)] // The tests, which include this file, compare it with the vector instructions.
pub mod plain {
    use super::LANES;
    use std::array::from_fn;

    pub type Parts = [f32; LANES];

    pub fn splat(value: f32) -> Parts {
        [value; LANES]
    }
    pub fn load(values: &[f32; LANES]) -> Parts {
        *values
    }
    pub fn to_array(a: Parts) -> [f32; LANES] {
        a
    }
    pub fn add(a: Parts, b: Parts) -> Parts {
        from_fn(|l| a[l] + b[l])
    }
    pub fn sub(a: Parts, b: Parts) -> Parts {
        from_fn(|l| a[l] - b[l])
    }
    pub fn mul(a: Parts, b: Parts) -> Parts {
        from_fn(|l| a[l] * b[l])
    }
    pub fn mul_add(a: Parts, b: Parts, c: Parts) -> Parts {
        from_fn(|l| a[l].mul_add(b[l], c[l]))
    }
    pub fn div(a: Parts, b: Parts) -> Parts {
        from_fn(|l| a[l] / b[l])
    }
    pub fn max(a: Parts, b: Parts) -> Parts {
        from_fn(|l| a[l].max(b[l]))
    }
    pub fn first(a: Parts, count: usize, rest: f32) -> Parts {
        from_fn(|l| if l < count { a[l] } else { rest })
    }
    pub fn at_most(a: Parts, b: Parts) -> u32 {
        (0..LANES).map(|l| u32::from(a[l] <= b[l]) << l).sum()
    }
}
