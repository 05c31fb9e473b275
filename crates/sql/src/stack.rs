//! Room on the stack for what recurses as deep as a query nests.
//!
//! A query may nest a thousand levels deep, and a thread of the server has a stack of two megabytes. Where a recursion goes
//! deeper than that, it goes on upon a stack of its own, which the `stacker` crate allocates.

/// Bytes that must be left for a recursion to go one level down: the largest frames of a level, several times over.
const ROOM_BYTES: usize = 128 * 1024;

/// Bytes of a stack of its own.
const STACK_BYTES: usize = 4 * 1024 * 1024;

/// Trees up to this height fit any stack.
const SHALLOW: u16 = 64;

/// Bytes of stack for one level of a tree: binding and evaluating a subquery takes the most.
const LEVEL_BYTES: usize = 16 * 1024;

/// Runs one level of a recursion whose depth is not known before.
pub(crate) fn with_room<T>(run: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(ROOM_BYTES, STACK_BYTES, run)
}

/// Runs a recursion over a tree of that height.
pub(crate) fn for_height<T>(height: u16, run: impl FnOnce() -> T) -> T {
    if height <= SHALLOW {
        return run();
    }
    let bytes = usize::from(height) * LEVEL_BYTES;
    stacker::maybe_grow(bytes, bytes + ROOM_BYTES, run)
}
