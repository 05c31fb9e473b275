//! Closes cursors.

use crate::documents::fault::{Fault, Result, code};
use crate::documents::{Namespace, Work};

/// Which cursors were closed.
#[derive(Clone, Debug, Default)]
pub struct Killed {
    /// Those that are closed now.
    pub killed: Vec<i64>,
    /// Those that were not there.
    pub not_found: Vec<i64>,
}

/// Closes cursors by number.
///
/// # Errors
/// When one of them is somebody else's, and who asks may not close those; then none is closed.
pub fn kill(work: &Work, namespace: &Namespace, ids: &[i64]) -> Result<Killed> {
    let cursors = &work.ctx.service().documents_state().cursors;
    if !ids.iter().all(|id| cursors.may_close(&work.ctx, *id)) {
        return Err(Fault::new(
            code::UNAUTHORIZED,
            format!("not authorized to kill cursor on {namespace}"),
        ));
    }
    let mut killed = Killed::default();
    for id in ids {
        match cursors.remove(*id) {
            true => killed.killed.push(*id),
            false => killed.not_found.push(*id),
        }
    }
    Ok(killed)
}
