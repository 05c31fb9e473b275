//! Deletes a collection.

use lapsedb_store::MetaChange;
use lapsedb_store::keys::{self, MetaKind};

use crate::attempts::Attempts;
use crate::changes::last_words;
use crate::ctx::{Ctx, find_collection, find_database};
use crate::error::{Error, Result};
use crate::reply::{Conditions, Owner, Reply};

/// Deletes a collection with its items, its scripts and its offer.
///
/// # Errors
/// When it is not there or not as the client knows it, or who asks may not.
pub async fn delete(ctx: &Ctx, (db, coll): (&str, &str), conditions: &Conditions) -> Result<Reply> {
    ctx.who.may_administer()?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let database = find_database(&view, db).ok_or_else(Error::owner_not_found)?;
        let collection = find_collection(&view, &database, coll).ok_or_else(Error::not_found)?;
        conditions.allow_change(collection.lsn)?;
        let mut change = MetaChange::default();
        if !last_words(ctx, &view, &collection, &mut change).await? {
            continue;
        }
        let offer = view
            .catalog()
            .offer_of(database.number, Some(collection.cid));
        if let Some(offer) = offer {
            change.delete(keys::meta_numbered(MetaKind::Offer, offer.number));
        }
        change.drop_collection(collection.cid);
        if let Some(done) = attempts.commit(ctx, &view, change).await? {
            return Ok(Reply::deleted(&done, Owner::database(&database)));
        }
    }
}
