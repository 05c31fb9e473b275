//! Refuses to run a script: that needs a JavaScript engine, which is not built in.

use crate::ctx::Ctx;
use crate::error::{Error, Kind, Result};
use crate::scripts::{ScriptKind, find};

/// Says that scripts are not run; a success without an effect would be a lie.
///
/// # Errors
/// Always: the script is not there, who asks may not run it, or scripts are not run.
pub async fn execute(
    ctx: &Ctx,
    (db, coll): (&str, &str),
    kind: ScriptKind,
    id: &str,
) -> Result<()> {
    let scope = ctx.scope(db, coll).await?;
    ctx.who.may_write_items(&scope.collection, None)?;
    let script = find(&scope.view, &scope.collection, kind, id)
        .await?
        .ok_or_else(Error::not_found)?;
    Err(Error::new(
        Kind::NotImplemented,
        format!(
            "The script '{}' was not run: this server keeps stored procedures, triggers and user-defined functions, but does not execute JavaScript.",
            script.id
        ),
    ))
}
