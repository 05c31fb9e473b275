//! Lists client encryption keys.

use crate::client_encryption_keys::{key_value, shelf};
use crate::ctx::Ctx;
use crate::error::Result;
use crate::feed::{self, Ask, Page};
use crate::named::owning_database;
use crate::reply::Owner;

/// A database's keys in the order they were made, or what a query makes of them.
///
/// # Errors
/// When the database is not there, who asks may not read them, or the request is wrong in itself.
pub async fn list(ctx: &Ctx, db: &str, ask: &Ask<'_>) -> Result<Page> {
    ctx.who.may_read_account()?;
    let view = ctx.view().await?;
    let database = owning_database(&view, db)?;
    let keys = shelf(&database).all(&view).await?;
    let entries = keys
        .iter()
        .map(|key| (u64::from(key.number), key_value(&database, key)))
        .collect();
    let owner = Owner::database(&database);
    feed::page(&view, (owner, "clientencryptionkeys"), entries, ask)
}
