//! Makes a client encryption key.

use lapsedb_store::MetaChange;
use lapsedb_store::rid::CHILD_OF_DATABASE_MAX;
use lapsedb_value::Object;

use crate::attempts::{Attempts, Numbers};
use crate::client_encryption_keys::{KEYS, key_value, record, shelf};
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::limits::CLIENT_ENCRYPTION_KEYS_MAX;
use crate::named::owning_database;
use crate::names;
use crate::reply::{Outcome, Owner, Reply};

/// Makes a key of a database.
///
/// # Errors
/// When the database is not there, the name is not allowed or taken, the key is not as it should be, there are too many,
/// or who asks may not.
pub async fn create(ctx: &Ctx, db: &str, body: &Object) -> Result<Reply> {
    ctx.who.may_administer()?;
    let id = names::id_of(body)?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let database = owning_database(&view, db)?;
        let shelf = shelf(&database);
        if shelf.find(&view, &id, None).await?.is_some() {
            return Err(names::taken(KEYS.name));
        }
        if shelf.all(&view).await?.len() >= CLIENT_ENCRYPTION_KEYS_MAX {
            return Err(Error::bad_request(format!(
                "The database has {CLIENT_ENCRYPTION_KEYS_MAX} client encryption keys, which is the most it may have."
            )));
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
