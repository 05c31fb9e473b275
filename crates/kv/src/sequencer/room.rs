//! What the sequencer knows of errors that pass: a full disk, a used-up quota, no file descriptor left.

use std::time::Duration;

use crate::engine::EngineError;

/// How often a sequencer whose last write met such an error tries to write again.
pub(super) const CHECK_EVERY: Duration = Duration::from_millis(500);

/// Whether the last write found room. If not, nothing is added until one succeeds; what removes is tried.
///
/// However often a write fails, this never becomes final: the engine beneath looks in its own time whether it can go on (RocksDB every
/// five seconds, and then it writes all that is in memory to new files), and how many writes fail until then says nothing.
#[derive(Default)]
pub(super) struct Room {
    missing: Option<EngineError>,
}

impl Room {
    /// Why nothing is added.
    pub fn missing(&self) -> Option<&EngineError> {
        self.missing.as_ref()
    }

    /// A write has succeeded.
    pub fn is_there(&mut self) {
        if self.missing.take().is_some() {
            tracing::info!("the store can be written again; writing goes on");
        }
    }

    /// A write has met an error that passes.
    pub fn is_missing(&mut self, error: EngineError) {
        if self.missing.is_none() {
            tracing::error!(%error, "nothing is added to the store until this has passed");
        }
        self.missing = Some(error);
    }
}
