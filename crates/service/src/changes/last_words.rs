//! What is told before a collection is gone.

use lapsedb_store::{Collection, MetaChange, View};

use crate::ctx::Ctx;
use crate::error::Result;

/// Tells what has expired before a collection is gone; false, if there was something and all must be looked at anew. What
/// expires later than the view is too late for the change.
///
/// # Errors
/// When the engine fails.
pub(crate) async fn last_words(
    ctx: &Ctx,
    view: &View,
    collection: &Collection,
    change: &mut MetaChange,
) -> Result<bool> {
    if !collection.history.kept {
        return Ok(true);
    }
    if view.expiries_due(collection).await? {
        let store = ctx.service().store();
        // A suspect clock lets nothing be told, and then nothing has to be.
        return Ok(store.tell_expiries(collection.cid, u64::MAX).await? == 0);
    }
    if let Some(death) = view.next_death(collection).await? {
        change.not_after(death);
    }
    Ok(true)
}
