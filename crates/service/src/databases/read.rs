//! Reads a database.

use crate::ctx::{Ctx, find_database};
use crate::error::{Error, Result};
use crate::reply::{Conditions, Owner, Reply};
use crate::resource;

/// The database of a name or rid.
///
/// # Errors
/// When it is not there, or who asks may not read it.
pub async fn read(ctx: &Ctx, id: &str, conditions: &Conditions) -> Result<Reply> {
    ctx.who.may_read_account()?;
    let view = ctx.view().await?;
    let database = find_database(&view, id).ok_or_else(Error::not_found)?;
    let value = resource::database_value(&database);
    Ok(Reply::read(
        &view,
        conditions,
        Owner::account(),
        database.lsn,
        value,
    ))
}
