//! Lists users.

use crate::ctx::Ctx;
use crate::error::Result;
use crate::feed::{self, Ask, Page};
use crate::named::owning_database;
use crate::reply::Owner;
use crate::users::{shelf, user_value};

/// A database's users in the order they were made, or what a query makes of them.
///
/// # Errors
/// When the database is not there, who asks may not read them, or the request is wrong in itself.
pub async fn list(ctx: &Ctx, db: &str, ask: &Ask<'_>) -> Result<Page> {
    ctx.who.may_read_account()?;
    let view = ctx.view().await?;
    let database = owning_database(&view, db)?;
    let users = shelf(&database).all(&view).await?;
    let entries = users
        .iter()
        .map(|user| (u64::from(user.number), user_value(&database, user)))
        .collect();
    let owner = Owner::database(&database);
    feed::page(&view, (owner, "users"), entries, ask)
}
