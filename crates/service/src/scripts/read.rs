//! Reads a script.

use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::reply::{Conditions, Owner, Reply};
use crate::scripts::{ScriptKind, find, script_value};

/// The script of a name or rid.
///
/// # Errors
/// When it is not there, or who asks may not read all of the collection.
pub async fn read(
    ctx: &Ctx,
    (db, coll): (&str, &str),
    kind: ScriptKind,
    id: &str,
    conditions: &Conditions,
) -> Result<Reply> {
    let scope = ctx.scope(db, coll).await?;
    ctx.who.may_read_items(&scope.collection, None)?;
    let script = find(&scope.view, &scope.collection, kind, id)
        .await?
        .ok_or_else(Error::not_found)?;
    let value = script_value(&scope.collection, kind, &script);
    let owner = Owner::collection(&scope.database, &scope.collection);
    Ok(Reply::read(
        &scope.view,
        conditions,
        owner,
        script.lsn,
        value,
    ))
}
