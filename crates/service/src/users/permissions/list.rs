//! Lists permissions.

use crate::ctx::Ctx;
use crate::error::Result;
use crate::feed::{self, Ask, Page};
use crate::token;
use crate::users::permissions::Holder;

/// A user's permissions in the order they were made, with fresh tokens, or what a query makes of them.
///
/// # Errors
/// When the user is not there, who asks may not read them, or the request is wrong in itself.
pub async fn list(
    ctx: &Ctx,
    (db, user): (&str, &str),
    ask: &Ask<'_>,
    life_secs: Option<i64>,
) -> Result<Page> {
    ctx.who.may_administer()?;
    let life = token::life(life_secs)?;
    let view = ctx.view().await?;
    let holder = Holder::find(&view, db, user).await?;
    let mut entries = Vec::new();
    for permission in holder.shelf().all(&view).await? {
        let value = holder.value(ctx, &permission, life);
        entries.push((u64::from(permission.number), value));
    }
    feed::page(&view, (holder.owner(), "permissions"), entries, ask)
}
