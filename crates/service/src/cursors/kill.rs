//! Closes cursors.

use crate::documents::Work;

/// Which cursors were closed.
#[derive(Clone, Debug, Default)]
pub struct Killed {
    /// Those that are closed now.
    pub killed: Vec<i64>,
    /// Those that were not there.
    pub not_found: Vec<i64>,
}

/// Closes cursors by number.
#[must_use]
pub fn kill(work: &Work, ids: &[i64]) -> Killed {
    let cursors = &work.ctx.service().documents_state().cursors;
    let mut killed = Killed::default();
    for id in ids {
        if cursors.close(&work.ctx, *id) {
            killed.killed.push(*id);
        } else {
            killed.not_found.push(*id);
        }
    }
    killed
}
