//! Makes a client encryption key.

use lapsedb_store::MetaChange;
use lapsedb_store::rid::CHILD_OF_DATABASE_MAX;
use lapsedb_value::Object;

use crate::attempts::{Attempts, Numbers};
use crate::client_encryption_keys::{database_of, key_value, record, shelf};
use crate::ctx::Ctx;
use crate::error::Result;
use crate::names;
use crate::reply::{Outcome, Owner, Reply};

/// Makes a key of a database.
///
/// # Errors
/// When the database is not there, the name is not allowed or taken, the key is not as it should be, or who asks may not.
pub async fn create(ctx: &Ctx, db: &str, body: &Object) -> Result<Reply> {
    ctx.who.may_administer()?;
    let id = names::id_of(body)?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let database = database_of(&view, db)?;
        let shelf = shelf(database.number);
        if shelf.find(&view, &id, None).await?.is_some() {
            return Err(names::taken("ClientEncryptionKey"));
        }
        let mut change = MetaChange::default();
        let mut numbers = Numbers::of(&view);
        let key = record(numbers.take(CHILD_OF_DATABASE_MAX)?, body)?;
        numbers.write(&mut change);
        change.put(shelf.key(&id), key.body.clone());
        if let Some(done) = attempts.commit(ctx, &view, change).await? {
            let value = key_value(&database, &key.committed(&done));
            let owner = Owner::database(&database);
            return Ok(Reply::written(Outcome::Created, &done, owner, value));
        }
    }
}
