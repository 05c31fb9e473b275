//! Lists scripts.

use crate::ctx::Ctx;
use crate::error::Result;
use crate::feed::{self, Ask, Page};
use crate::reply::Owner;
use crate::scripts::{ScriptKind, script_value, shelf};

/// A collection's scripts of a kind in the order they were made, or what a query makes of them.
///
/// # Errors
/// When the collection is not there, who asks may not read all of it, or the request is wrong in itself.
pub async fn list(
    ctx: &Ctx,
    (db, coll): (&str, &str),
    kind: ScriptKind,
    ask: &Ask<'_>,
) -> Result<Page> {
    let scope = ctx.scope(db, coll).await?;
    ctx.who.may_read_items(&scope.collection, None)?;
    let scripts = shelf(&scope.collection, kind).all(&scope.view).await?;
    let entries = scripts
        .iter()
        .map(|script| {
            (
                u64::from(script.number),
                script_value(&scope.collection, kind, script),
            )
        })
        .collect();
    let owner = Owner::collection(&scope.database, &scope.collection);
    feed::page(&scope.view, (owner, kind.name()), entries, ask)
}
