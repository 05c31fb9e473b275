//! Reads a permission.

use crate::ctx::Ctx;
use crate::error::Result;
use crate::reply::{Conditions, Reply};
use crate::token;
use crate::users::permissions::Holder;

/// The permission of a name or rid, with a fresh token.
///
/// # Errors
/// When it is not there, or who asks may not read it. The read-only key may not: the token might let its holder write.
pub async fn read(
    ctx: &Ctx,
    (db, user): (&str, &str),
    id: &str,
    conditions: &Conditions,
    life_secs: Option<i64>,
) -> Result<Reply> {
    ctx.who.may_administer()?;
    let life = token::life(life_secs)?;
    let view = ctx.view().await?;
    let holder = Holder::find(&view, db, user).await?;
    let permission = holder.permission(&view, id).await?;
    let value = holder.value(ctx, &permission, life);
    Ok(Reply::read(
        &view,
        conditions,
        holder.owner(),
        permission.lsn,
        value,
    ))
}
