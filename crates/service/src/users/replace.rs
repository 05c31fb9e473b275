//! Replaces a user: all that can change is its name.

use lapsedb_store::MetaChange;
use lapsedb_value::Object;

use crate::attempts::Attempts;
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::named::Named;
use crate::names;
use crate::reply::{Conditions, Outcome, Owner, Reply};
use crate::users::{database_of, find, shelf, user_value};

/// Gives a user another name; its permissions stay.
///
/// # Errors
/// When it is not there or not as the client knows it, the name is not allowed or taken, or who asks may not.
pub async fn replace(
    ctx: &Ctx,
    db: &str,
    id: &str,
    body: &Object,
    conditions: &Conditions,
) -> Result<Reply> {
    ctx.who.may_administer()?;
    let name = names::id_of(body)?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let database = database_of(&view, db)?;
        let shelf = shelf(&database);
        let old = find(&view, &database, id)
            .await?
            .ok_or_else(Error::not_found)?;
        conditions.allow_change(old.lsn)?;
        let mut change = MetaChange::default();
        if old.id != name {
            if shelf.find(&view, &name, None).await?.is_some() {
                return Err(names::taken("User"));
            }
            change.delete(shelf.key(&old.id));
        }
        let user = Named::new(old.number, name.clone());
        change.put(shelf.key(&name), user.body.clone());
        if let Some(done) = attempts.commit(ctx, &view, change).await? {
            let value = user_value(&database, &user.committed(&done));
            let owner = Owner::database(&database);
            return Ok(Reply::written(Outcome::Replaced, &done, owner, value));
        }
    }
}
