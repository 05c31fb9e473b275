//! Makes a script.

use lapsedb_store::MetaChange;
use lapsedb_value::Object;

use crate::attempts::{Attempts, Numbers};
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::names;
use crate::reply::{Outcome, Owner, Reply};
use crate::scripts::source::Source;
use crate::scripts::{ScriptKind, count, script_value, shelf};

/// Makes a script; with `upsert`, one that is there is replaced.
///
/// # Errors
/// When the collection is not there, the body is wrong, the name is taken, there are too many, or who asks may not.
pub async fn create(
    ctx: &Ctx,
    (db, coll): (&str, &str),
    kind: ScriptKind,
    body: &Object,
    upsert: bool,
) -> Result<Reply> {
    ctx.who.may_write_at_all()?;
    let source = Source::of_body(kind, body)?;
    let mut attempts = Attempts::default();
    loop {
        let scope = ctx.scope(db, coll).await?;
        ctx.who.may_write_items(&scope.collection, None)?;
        let view = &scope.view;
        let shelf = shelf(&scope.collection, kind);
        let mut change = MetaChange::default();
        let (outcome, number) = match shelf.find(view, &source.id, None).await? {
            Some(_) if !upsert => return Err(names::taken(kind.name())),
            Some(old) => (Outcome::Replaced, old.number),
            None => {
                if count(view, &scope.collection, kind).await? >= kind.count_max() {
                    return Err(Error::bad_request(format!(
                        "The container has {} resources of the kind {}, which is the most it may have.",
                        kind.count_max(),
                        kind.name(),
                    )));
                }
                let mut numbers = Numbers::of(view);
                let number = numbers.take(u32::MAX)?;
                numbers.write(&mut change);
                (Outcome::Created, number)
            }
        };
        let script = source.record(number);
        change.put(shelf.key(&source.id), script.body.clone());
        if let Some(done) = attempts.commit(ctx, view, change).await? {
            let value = script_value(&scope.collection, kind, &script.committed(&done));
            let owner = Owner::collection(&scope.database, &scope.collection);
            return Ok(Reply::written(outcome, &done, owner, value));
        }
    }
}
