//! Replaces a client encryption key: it is wrapped with another key, or in another way.

use lapsedb_store::MetaChange;
use lapsedb_value::Object;

use crate::attempts::Attempts;
use crate::client_encryption_keys::{database_of, find, key_value, record, shelf};
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::names;
use crate::reply::{Conditions, Outcome, Owner, Reply};

/// Wraps a key anew; its name and its `_rid` stay.
///
/// # Errors
/// When it is not there or not as the client knows it, the key is not as it should be, or who asks may not.
pub async fn replace(
    ctx: &Ctx,
    db: &str,
    id: &str,
    body: &Object,
    conditions: &Conditions,
) -> Result<Reply> {
    ctx.who.may_administer()?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let database = database_of(&view, db)?;
        let old = find(&view, &database, id)
            .await?
            .ok_or_else(Error::not_found)?;
        conditions.allow_change(old.lsn)?;
        names::same_id(body, &old.id)?;
        let key = record(old.number, body)?;
        let mut change = MetaChange::default();
        change.put(shelf(database.number).key(&old.id), key.body.clone());
        if let Some(done) = attempts.commit(ctx, &view, change).await? {
            let value = key_value(&database, &key.committed(&done));
            let owner = Owner::database(&database);
            return Ok(Reply::written(Outcome::Replaced, &done, owner, value));
        }
    }
}
