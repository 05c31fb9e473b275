//! Makes a user.

use lapsedb_store::MetaChange;
use lapsedb_store::rid::CHILD_OF_DATABASE_MAX;
use lapsedb_value::Object;

use crate::attempts::{Attempts, Numbers};
use crate::ctx::Ctx;
use crate::error::Result;
use crate::named::{Named, owning_database};
use crate::names;
use crate::reply::{Outcome, Owner, Reply};
use crate::users::{shelf, user_value};

/// Makes a user; with `upsert`, one that is there is written again.
///
/// # Errors
/// When the database is not there, the name is not allowed or taken, or who asks may not.
pub async fn create(ctx: &Ctx, db: &str, body: &Object, upsert: bool) -> Result<Reply> {
    ctx.who.may_administer()?;
    let id = names::id_of(body)?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let database = owning_database(&view, db)?;
        let shelf = shelf(&database);
        let mut change = MetaChange::default();
        let (outcome, user) = match shelf.find(&view, &id, None).await? {
            Some(_) if !upsert => return Err(names::taken("User")),
            Some(user) => (Outcome::Replaced, user),
            None => {
                let mut numbers = Numbers::of(&view);
                let number = numbers.take(CHILD_OF_DATABASE_MAX)?;
                numbers.write(&mut change);
                (Outcome::Created, Named::new(number, id.clone()))
            }
        };
        change.put(shelf.key(&id), user.body.clone());
        if let Some(done) = attempts.commit(ctx, &view, change).await? {
            let value = user_value(&database, &user.committed(&done));
            return Ok(Reply::written(
                outcome,
                &done,
                Owner::database(&database),
                value,
            ));
        }
    }
}
