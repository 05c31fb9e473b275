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
    let behind = |number: u64| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let collections = view.catalog().collections_behind(database.number, number);
        collections.map(|collection| {
            let value = resource::collection_value(collection);
            (u64::from(collection.cid.0), value)
        })
    };
    feed::page_behind(&view, (Owner::database(&database), "colls"), behind, ask)
}
