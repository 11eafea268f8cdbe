//! Counts the memory that is held, so that tests can tell what a reader takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

/// The system's allocator, counting.
pub struct Counting;

static HELD: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

fn add(bytes: isize) {
    let held = HELD.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(held, Relaxed);
}

// SAFETY: every call is handed on to the system's allocator unchanged; counting touches atomics only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        add(bytes as isize - layout.size() as isize);
        unsafe { System.realloc(at, layout, bytes) }
    }
}

/// What a call took.
pub struct Taken {
    /// Most bytes held at once, beyond those before.
    pub peak: isize,
    /// Bytes that its result holds.
    pub kept: isize,
}

/// Calls `body` and counts. Other threads count too: one measurement at a time.
pub fn measured<T>(body: impl FnOnce() -> T) -> (T, Taken) {
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = body();
    let taken = Taken { peak: PEAK.load(Relaxed) - before, kept: HELD.load(Relaxed) - before };
    (result, taken)
}
