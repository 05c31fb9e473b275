//! Replaces a script.

use lapsedb_store::MetaChange;
use lapsedb_value::Object;

use crate::attempts::Attempts;
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::names;
use crate::reply::{Conditions, Outcome, Owner, Reply};
use crate::scripts::source::Source;
use crate::scripts::{ScriptKind, find, script_value, shelf};

/// Replaces all a script says, but for its name.
///
/// # Errors
/// When it is not there or not as the client knows it, the body is wrong, or who asks may not.
pub async fn replace(
    ctx: &Ctx,
    (db, coll): (&str, &str),
    kind: ScriptKind,
    id: &str,
    body: &Object,
    conditions: &Conditions,
) -> Result<Reply> {
    ctx.who.may_write_at_all()?;
    let source = Source::of_body(kind, body)?;
    let mut attempts = Attempts::default();
    loop {
        let scope = ctx.scope(db, coll).await?;
        ctx.who.may_write_items(&scope.collection, None)?;
        let old = find(&scope.view, &scope.collection, kind, id)
            .await?
            .ok_or_else(Error::not_found)?;
        conditions.allow_change(old.lsn)?;
        names::same_id(body, &old.id)?;
        let script = source.record(old.number);
        let mut change = MetaChange::default();
        change.put(
            shelf(&scope.collection, kind).key(&old.id),
            script.body.clone(),
        );
        if let Some(done) = attempts.commit(ctx, &scope.view, change).await? {
            let value = script_value(&scope.collection, kind, &script.committed(&done));
            let owner = Owner::collection(&scope.database, &scope.collection);
            return Ok(Reply::written(Outcome::Replaced, &done, owner, value));
        }
    }
}
