//! Deletes a user.

use lapsedb_store::MetaChange;

use crate::attempts::Attempts;
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::named::owning_database;
use crate::reply::{Conditions, Owner, Reply};
use crate::users::{USERS, permissions, shelf};

/// Deletes a user and its permissions. Tokens already given out end with them.
///
/// # Errors
/// When it is not there or not as the client knows it, or who asks may not.
pub async fn delete(ctx: &Ctx, db: &str, id: &str, conditions: &Conditions) -> Result<Reply> {
    ctx.who.may_administer()?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let database = owning_database(&view, db)?;
        let user = USERS
            .find(&view, &database, id)
            .await?
            .ok_or_else(Error::not_found)?;
        conditions.allow_change(user.lsn)?;
        let mut change = MetaChange::default();
        change.delete_prefix(permissions::shelf(database.number, user.number).prefix());
        change.delete(shelf(&database).key(&user.id));
        if let Some(done) = attempts.commit(ctx, &view, change).await? {
            return Ok(Reply::deleted(&done, Owner::database(&database)));
        }
    }
}
