//! Deletes a permission.

use lapsedb_store::MetaChange;

use crate::attempts::Attempts;
use crate::ctx::Ctx;
use crate::error::Result;
use crate::reply::{Conditions, Reply};
use crate::users::permissions::Holder;

/// Deletes a permission. Tokens already given out end with it.
///
/// # Errors
/// When it is not there or not as the client knows it, or who asks may not.
pub async fn delete(
    ctx: &Ctx,
    (db, user): (&str, &str),
    id: &str,
    conditions: &Conditions,
) -> Result<Reply> {
    ctx.who.may_administer()?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let holder = Holder::find(&view, db, user).await?;
        let permission = holder.permission(&view, id).await?;
        conditions.allow_change(permission.lsn)?;
        let mut change = MetaChange::default();
        change.delete(holder.shelf().key(&permission.id));
        if let Some(done) = attempts.commit(ctx, &view, change).await? {
            return Ok(Reply::deleted(&done, holder.owner()));
        }
    }
}
