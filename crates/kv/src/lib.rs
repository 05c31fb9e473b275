//! Ordered bytes, nothing else: engines behind one small trait.
//!
//! Knows no documents, no TTL, no protocol and no clock: time is injected by [`Time`].

mod batch;
mod engine;
mod engines;
mod group;
mod judge;
mod open;
mod sequencer;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod suite;

pub use batch::{
    Batch, Check, Expect, FILL_BYTES, Fill, ORDINAL_BITS, ORDINALS_MAX, Op, Template, ordinal,
    tally,
};
pub use engine::{
    Caps, CommitError, Committed, Engine, EngineError, Millis, Page, Scan, Snapshot, Space, Stamp,
    Standstill, Then, Time, prefix_end,
};
pub use engines::memory::{Memory, MemorySnapshot};
#[cfg(feature = "rocksdb")]
pub use engines::rocksdb::{Pinned, Rocksdb, RocksdbSnapshot, Verified, verify};
pub use judge::{Judge, Mercy, Verdict};
pub use open::{AnyEngine, AnySlice, AnySnapshot, EngineKind, OpenError, OpenOptions, open};
