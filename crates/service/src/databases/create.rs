//! Makes a database.

use lapsedb_store::catalog::{database_body, offer_body};
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::rid::OFFER_MAX;
use lapsedb_store::{Database, MetaChange};
use lapsedb_value::Object;

use crate::attempts::{Attempts, Numbers};
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::limits::DATABASES_MAX;
use crate::names;
use crate::offers::Wanted;
use crate::reply::{Outcome, Owner, Reply};
use crate::resource;

/// Makes a database, with shared throughput if some is wanted.
///
/// # Errors
/// When the name is not allowed or taken, there are too many databases, or who asks may not.
pub async fn create(ctx: &Ctx, body: &Object, wanted: Option<&Wanted>) -> Result<Reply> {
    ctx.who.may_administer()?;
    let id = names::id_of(body)?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        if view.catalog().database(&id).is_some() {
            return Err(names::database_taken());
        }
        if view.catalog().databases_count() >= DATABASES_MAX {
            return Err(Error::bad_request(format!(
                "The account has {DATABASES_MAX} databases, which is the most it may have."
            )));
        }
        let mut change = MetaChange::default();
        let mut numbers = Numbers::of(&view);
        let number = numbers.take(u32::MAX)?;
        change.put(
            keys::meta_numbered(MetaKind::Database, number),
            database_body(number, &id),
        );
        if let Some(wanted) = wanted {
            let offer = numbers.take(OFFER_MAX)?;
            change.put(
                keys::meta_numbered(MetaKind::Offer, offer),
                offer_body(offer, number, None, wanted.content(None)),
            );
        }
        numbers.write(&mut change);
        if let Some(done) = attempts.commit(ctx, &view, change).await? {
            let database = Database {
                number,
                id,
                lsn: done.lsn,
                written: done.now.secs(),
            };
            let value = resource::database_value(&database);
            return Ok(Reply::written(
                Outcome::Created,
                &done,
                Owner::account(),
                value,
            ));
        }
    }
}
