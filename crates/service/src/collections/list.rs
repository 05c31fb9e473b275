//! Lists collections.

use crate::ctx::{Ctx, find_database};
use crate::error::{Error, Result};
use crate::feed::{self, Ask, Page};
use crate::reply::Owner;
use crate::resource;

/// A database's collections in the order they were made, or what a query makes of them.
///
/// # Errors
/// When the database is not there, who asks may not read them, or the request is wrong in itself.
pub async fn list(ctx: &Ctx, db: &str, ask: &Ask<'_>) -> Result<Page> {
    ctx.who.may_read_account()?;
    let view = ctx.view().await?;
    let database = find_database(&view, db).ok_or_else(Error::owner_not_found)?;
    let collections = view.catalog().collections(database.number);
    let entries = collections
        .iter()
        .map(|collection| {
            (
                u64::from(collection.cid.0),
                resource::collection_value(collection),
            )
        })
        .collect();
    let owner = Owner::database(&database);
    feed::page(&view, (owner, "colls"), entries, ask)
}
