//! Reads a user.

use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::reply::{Conditions, Owner, Reply};
use crate::users::{database_of, find, user_value};

/// The user of a name or rid.
///
/// # Errors
/// When it is not there, or who asks may not read it.
pub async fn read(ctx: &Ctx, db: &str, id: &str, conditions: &Conditions) -> Result<Reply> {
    ctx.who.may_read_account()?;
    let view = ctx.view().await?;
    let database = database_of(&view, db)?;
    let user = find(&view, &database, id)
        .await?
        .ok_or_else(Error::not_found)?;
    let value = user_value(&database, &user);
    Ok(Reply::read(
        &view,
        conditions,
        Owner::database(&database),
        user.lsn,
        value,
    ))
}
