//! What is told before a collection is gone.

use lapsedb_store::{Collection, MetaChange, StoreError, View};

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
    match emit_expiries(ctx, view, collection, change).await {
        Ok(is_done) => Ok(is_done),
        // Damage must not keep a collection from being dropped: what cannot be read cannot be emitted either.
        Err(StoreError::Corrupt(why)) => {
            tracing::error!(
                collection = %collection.id,
                error = why,
                "a damaged collection is dropped; expiries of its last items are not in its change feed"
            );
            Ok(true)
        }
        Err(error) => Err(error.into()),
    }
}

async fn emit_expiries(
    ctx: &Ctx,
    view: &View,
    collection: &Collection,
    change: &mut MetaChange,
) -> std::result::Result<bool, StoreError> {
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
