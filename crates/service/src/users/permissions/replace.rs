//! Replaces a permission.

use lapsedb_store::MetaChange;
use lapsedb_value::Object;

use crate::attempts::Attempts;
use crate::ctx::Ctx;
use crate::error::Result;
use crate::names;
use crate::reply::{Conditions, Outcome, Reply};
use crate::token;
use crate::users::permissions::Holder;
use crate::users::permissions::target::Wanted;

/// Replaces all a permission says, its name too.
///
/// # Errors
/// When it or its resource is not there, it is not as the client knows it, the body is wrong, the name is taken, or who
/// asks may not.
pub async fn replace(
    ctx: &Ctx,
    (db, user): (&str, &str),
    id: &str,
    body: &Object,
    conditions: &Conditions,
    life_secs: Option<i64>,
) -> Result<Reply> {
    ctx.who.may_administer()?;
    let wanted = Wanted::of_body(body)?;
    let life = token::life(life_secs)?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let holder = Holder::find(&view, db, user).await?;
        let shelf = holder.shelf();
        let old = holder.permission(&view, id).await?;
        conditions.allow_change(old.lsn)?;
        let mut change = MetaChange::default();
        if old.id != wanted.id {
            if shelf.find(&view, &wanted.id, None).await?.is_some() {
                return Err(names::taken("Permission"));
            }
            change.delete(shelf.key(&old.id));
        }
        let permission = wanted.record(&view, &holder.database, old.number).await?;
        change.put(shelf.key(&wanted.id), permission.body.clone());
        if let Some(done) = attempts.commit(ctx, &view, change).await? {
            let value = holder.value(ctx, &permission.committed(&done), life);
            let owner = holder.owner();
            return Ok(Reply::written(Outcome::Replaced, &done, owner, value));
        }
    }
}
