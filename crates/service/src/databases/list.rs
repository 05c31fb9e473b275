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
    let behind = |number: u64| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let databases = view.catalog().databases_behind(number);
        databases.map(|database| {
            let value = resource::database_value(database);
            (u64::from(database.number), value)
        })
    };
    feed::page_behind(&view, (Owner::account(), "dbs"), behind, ask)
}
