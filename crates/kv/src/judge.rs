//! Who says that an entry may be dropped: injected from above, because this crate knows no meaning.

use std::sync::Arc;

use crate::engine::Space;

/// Says of a key and its value whether the entry may go for good.
pub type Verdict = Box<dyn FnMut(&[u8], &[u8]) -> bool + Send>;

/// Decides, by an entry's own bytes, whether it may be dropped.
///
/// An engine that rewrites its data by and by (see [`Caps::judged`](crate::Caps)) asks it on the way and leaves out what is
/// condemned, snapshots or not. So a judge condemns only what no open snapshot needs and nobody will ever look for again.
pub trait Judge: Send + Sync + 'static {
    /// Begins one pass over a part of a space; none, if nothing there may go. What the judge learns during the pass need
    /// not be heeded in it.
    fn session(&self, space: Space) -> Option<Verdict>;
}

/// A judge that spares everything.
#[derive(Debug, Default, Clone, Copy)]
pub struct Mercy;

impl Judge for Mercy {
    fn session(&self, _space: Space) -> Option<Verdict> {
        None
    }
}

/// The judge of an engine that is opened without one.
pub(crate) fn mercy() -> Arc<dyn Judge> {
    Arc::new(Mercy)
}
