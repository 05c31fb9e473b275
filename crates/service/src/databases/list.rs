//! Lists databases.

use crate::ctx::Ctx;
use crate::error::Result;
use crate::feed::{self, Ask, Page};
use crate::reply::Owner;
use crate::resource;

/// The databases in the order they were made, or what a query makes of them.
///
/// # Errors
/// When who asks may not read them, or the request is wrong in itself.
pub async fn list(ctx: &Ctx, ask: &Ask<'_>) -> Result<Page> {
    ctx.who.may_read_account()?;
    let view = ctx.view().await?;
    let databases = view.catalog().databases();
    let entries = databases
        .iter()
        .map(|database| {
            (
                u64::from(database.number),
                resource::database_value(database),
            )
        })
        .collect();
    feed::page(&view, (Owner::account(), "dbs"), entries, ask)
}
