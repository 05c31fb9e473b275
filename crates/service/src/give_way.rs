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

/// Two looks that are further apart, in milliseconds, belong to two turns of this thread.
const LOOKS_APART_MILLIS_MAX: u64 = 5;

/// What this thread evaluates.
#[derive(Clone, Copy)]
struct Turn {
    request: usize,
    since: Instant,
    last: Instant,
    handed_over: bool,
}

thread_local! {
    static TURN: Cell<Option<Turn>> = const { Cell::new(None) };
}

/// Lets other requests go on, if this one has been evaluated for long. The number tells requests apart.
pub(crate) fn give_way(request: usize) {
    let now = Clock::monotonic();
    let apart = Duration::from_millis(LOOKS_APART_MILLIS_MAX);
    let mut turn = match TURN.get() {
        Some(turn) if turn.request == request && now - turn.last < apart => turn,
        Some(_) | None => Turn {
            request,
            since: now,
            last: now,
            handed_over: false,
        },
    };
    turn.last = now;
    let long = now - turn.since >= Duration::from_millis(ALONE_MILLIS_MAX);
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
