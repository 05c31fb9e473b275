//! Reads a client encryption key.

use crate::client_encryption_keys::{database_of, find, key_value};
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::reply::{Conditions, Owner, Reply};

/// The key of a name or rid.
///
/// # Errors
/// When it is not there, or who asks may not read it.
pub async fn read(ctx: &Ctx, db: &str, id: &str, conditions: &Conditions) -> Result<Reply> {
    ctx.who.may_read_account()?;
    let view = ctx.view().await?;
    let database = database_of(&view, db)?;
    let key = find(&view, &database, id)
        .await?
        .ok_or_else(Error::not_found)?;
    let value = key_value(&database, &key);
    let owner = Owner::database(&database);
    Ok(Reply::read(&view, conditions, owner, key.lsn, value))
}
