//! Long evaluation gives way: the thread that it runs on is one of the few that serve all connections.
//!
//! An expression cannot wait in the middle, and nobody knows before how long one takes. So its budget asks here now and then; once a
//! request has been evaluated for long, the other tasks of the thread are handed to another one, and the evaluation goes on here.

use std::cell::Cell;
use std::time::{Duration, Instant};

use lapsedb_record::Clock;
use tokio::runtime::{Handle, RuntimeFlavor};

/// How long an evaluation keeps its thread to itself, in milliseconds.
const ALONE_MILLIS_MAX: u64 = 20;

/// How long the evaluation pauses, in microseconds: within this time another thread takes over.
const HAND_OVER_MICROS: u64 = 500;

/// Between two looks that are further apart, in milliseconds, the thread may have got its other tasks back: a request that was
/// waiting is run anew by whichever thread is free. A slow step, or a thread that did not run for a while, looks the same.
const LOOKS_APART_MILLIS_MAX: u64 = 5;

/// What this thread evaluates.
#[derive(Clone, Copy)]
struct Turn {
    request: usize,
    last: Instant,
    /// How long it has been evaluated. A long time between two looks counts, up to what is allowed alone.
    evaluated: Duration,
    handed_over: bool,
}

thread_local! {
    static TURN: Cell<Option<Turn>> = const { Cell::new(None) };
}

/// Lets other requests go on, if this one has been evaluated for long. The number tells requests apart.
pub(crate) fn give_way(request: usize) {
    let now = Clock::monotonic();
    let alone = Duration::from_millis(ALONE_MILLIS_MAX);
    let mut turn = match TURN.get() {
        Some(turn) if turn.request == request => turn,
        Some(_) | None => Turn {
            request,
            last: now,
            evaluated: Duration::ZERO,
            handed_over: false,
        },
    };
    let apart = now.saturating_duration_since(turn.last);
    turn.handed_over &= apart < Duration::from_millis(LOOKS_APART_MILLIS_MAX);
    turn.evaluated = turn.evaluated.saturating_add(apart.min(alone));
    turn.last = now;
    let long = turn.evaluated >= alone;
    if long && !turn.handed_over && has_other_threads() {
        turn.handed_over = true;
        TURN.set(Some(turn));
        // When this returns, another thread serves what this one did, unless none was free in the meantime.
        tokio::task::block_in_place(|| {
            std::thread::sleep(Duration::from_micros(HAND_OVER_MICROS));
        });
        return;
    }
    TURN.set(Some(turn));
}

/// Whether tasks of this thread can go on in another one.
pub(crate) fn has_other_threads() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}
