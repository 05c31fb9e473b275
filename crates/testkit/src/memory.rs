//! Counts the bytes that each test's own thread has allocated, so that a test can ask for the most there ever were.
//! A test program that asks makes [`CountingAllocator`] its global allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends counts no more.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
}

#[allow(unsafe_code)]
// SAFETY: every call is handed on to the system's allocator as it came; what is counted is never looked at by it.
unsafe impl GlobalAlloc for CountingAllocator {
    // SAFETY: what is asked of the caller is what the system's allocator asks.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller has promised it.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: what is asked of the caller is what the system's allocator asks.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller has promised it.
        unsafe { System.dealloc(pointer, layout) }
    }

    // SAFETY: what is asked of the caller is what the system's allocator asks.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: the caller has promised it.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The most bytes that a piece of work had allocated at once, beyond those there were before it.
///
/// # Panics
/// If the program has another allocator: it would seem to need no memory at all.
pub fn peak<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = NOW.with(Cell::get);
    PEAK.with(|peak| peak.set(before));
    drop(std::hint::black_box(Box::new(0_u64)));
    PEAK.with(|peak| {
        assert!(
            peak.get() > before,
            "the allocator of this program does not count"
        );
    });
    PEAK.with(|peak| peak.set(before));
    let done = work();
    let peak = PEAK.with(Cell::get);
    (usize::try_from(peak - before).unwrap_or(0), done)
}
