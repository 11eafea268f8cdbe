//! Asking for memory ahead of its use, where the processor does not see by itself what comes next.

/// Asks for the line of the cache that holds an item; nothing where there is no such item.
#[inline(always)]
pub fn prefetch<T>(items: &[T], index: usize) {
    let Some(item) = items.get(index) else { return };
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; it reads nothing and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}
