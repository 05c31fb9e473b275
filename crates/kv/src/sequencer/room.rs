//! What the sequencer knows of the room on disk.

use std::time::Duration;

use crate::engine::EngineError;

/// How often a sequencer that found no room tries to write again.
pub(super) const CHECK_EVERY: Duration = Duration::from_millis(500);
/// After so many writes that found no room although there is some, the engine beneath does not recover by itself. RocksDB looks every five
/// seconds, and then writes all that is in memory to new files.
pub(super) const IN_VAIN_MAX: usize = 120;

/// Whether the last write found room. If not, nothing is added until one succeeds; what removes is tried.
#[derive(Default)]
pub(super) struct Room {
    missing: Option<EngineError>,
    /// Writes that found no room although the disk has some.
    in_vain: usize,
}

impl Room {
    /// Why nothing is added.
    pub fn missing(&self) -> Option<&EngineError> {
        self.missing.as_ref()
    }

    /// A write has succeeded.
    pub fn is_there(&mut self) {
        self.in_vain = 0;
        if self.missing.take().is_some() {
            tracing::info!("the disk has room again; writing goes on");
        }
    }

    /// A write has found no room; `has_room` is what the disk says. False if that will not change any more.
    pub fn is_missing(&mut self, text: &str, has_room: bool) -> bool {
        if self.missing.is_none() {
            tracing::error!(
                error = text,
                "the disk is full: nothing is added to the store until it has room again"
            );
        }
        self.missing = Some(EngineError::NoSpace(text.to_owned()));
        self.in_vain += usize::from(has_room);
        self.in_vain <= IN_VAIN_MAX
    }
}
