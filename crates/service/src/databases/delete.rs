//! Deletes a database.

use lapsedb_store::MetaChange;
use lapsedb_store::keys::{self, MetaKind};

use crate::attempts::Attempts;
use crate::ctx::{Ctx, find_database};
use crate::databases::forget_children;
use crate::error::{Error, Result};
use crate::reply::{Conditions, Owner, Reply};

/// Deletes a database and all it has: collections with their items and scripts, offers, users and permissions, and
/// client encryption keys.
///
/// # Errors
/// When it is not there or not as the client knows it, or who asks may not.
pub async fn delete(ctx: &Ctx, id: &str, conditions: &Conditions) -> Result<Reply> {
    ctx.who.may_administer()?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let database = find_database(&view, id).ok_or_else(Error::not_found)?;
        conditions.allow_change(database.lsn)?;
        let catalog = view.catalog();
        let mut change = MetaChange::default();
        change.drop_database(&database.id);
        for collection in catalog.collections(database.number) {
            change.drop_collection(collection.cid);
        }
        for offer in catalog.offers_in(database.number) {
            change.delete(keys::meta_numbered(MetaKind::Offer, offer.number));
        }
        forget_children(&mut change, database.number);
        change.delete_prefix(keys::meta_owned(MetaKind::View, u64::from(database.number)));
        change.delete(keys::meta_numbered(MetaKind::Database, database.number));
        if let Some(done) = attempts.commit(ctx, &view, change).await? {
            return Ok(Reply::deleted(&done, Owner::account()));
        }
    }
}
