//! Says whether a collection shares the throughput of its database.

use crate::ctx::{Ctx, find_collection, find_database};
use crate::error::Result;

/// Whether a collection has no throughput of its own, and its database has some. Of one that is not there it is not so.
///
/// # Errors
/// When the engine fails.
pub async fn is_shared(ctx: &Ctx, (db, coll): (&str, &str)) -> Result<bool> {
    let view = ctx.view().await?;
    let Some(database) = find_database(&view, db) else {
        return Ok(false);
    };
    let Some(collection) = find_collection(&view, &database, coll) else {
        return Ok(false);
    };
    let catalog = view.catalog();
    let own = catalog.offer_of(database.number, Some(collection.cid));
    Ok(own.is_none() && catalog.offer_of(database.number, None).is_some())
}
