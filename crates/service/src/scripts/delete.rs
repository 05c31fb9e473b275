//! Deletes a script.

use lapsedb_store::MetaChange;

use crate::attempts::Attempts;
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::reply::{Conditions, Owner, Reply};
use crate::scripts::{ScriptKind, find, shelf};

/// Deletes a script.
///
/// # Errors
/// When it is not there or not as the client knows it, or who asks may not.
pub async fn delete(
    ctx: &Ctx,
    (db, coll): (&str, &str),
    kind: ScriptKind,
    id: &str,
    conditions: &Conditions,
) -> Result<Reply> {
    ctx.who.may_write_at_all()?;
    let mut attempts = Attempts::default();
    loop {
        let scope = ctx.scope(db, coll).await?;
        ctx.who.may_write_items(&scope.collection, None)?;
        let script = find(&scope.view, &scope.collection, kind, id)
            .await?
            .ok_or_else(Error::not_found)?;
        conditions.allow_change(script.lsn)?;
        let mut change = MetaChange::default();
        change.delete(shelf(&scope.collection, kind).key(&script.id));
        if let Some(done) = attempts.commit(ctx, &scope.view, change).await? {
            let owner = Owner::collection(&scope.database, &scope.collection);
            return Ok(Reply::deleted(&done, owner));
        }
    }
}
