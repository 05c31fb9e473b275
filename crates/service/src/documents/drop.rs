//! Drops collections and databases.

use lapsedb_store::MetaChange;
use lapsedb_store::keys::{self, MetaKind};

use crate::attempts::Attempts;
use crate::documents::fault::Result;
use crate::documents::look::find_collection;
use crate::documents::namespace::Namespace;
use crate::documents::work::Work;
use crate::users;

/// Drops a collection; says whether there was one.
///
/// # Errors
/// When who asks may not, or the engine fails.
pub async fn drop_collection(work: &mut Work, namespace: &Namespace) -> Result<bool> {
    let ctx = &work.ctx;
    ctx.who.may_administer()?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let Some(collection) = find_collection(&view, namespace) else {
            return Ok(false);
        };
        let mut change = MetaChange::default();
        let catalog = view.catalog();
        if let Some(offer) = catalog.offer_of(collection.database, Some(collection.cid)) {
            change.delete(keys::meta_numbered(MetaKind::Offer, offer.number));
        }
        change.drop_collection(collection.cid);
        // A database that has nothing left is gone too.
        if catalog.collections(collection.database).len() == 1
            && catalog.offer_of(collection.database, None).is_none()
        {
            users::forget_all(&mut change, collection.database);
            change.delete(keys::meta_numbered(MetaKind::Database, collection.database));
        }
        if attempts.commit(ctx, &view, change).await?.is_some() {
            return Ok(true);
        }
    }
}

/// Drops all collections of this door in a database, and the database, if nothing else is in it; says whether there was any.
///
/// # Errors
/// When who asks may not, or the engine fails.
pub async fn drop_database(work: &mut Work, name: &str) -> Result<bool> {
    let ctx = &work.ctx;
    ctx.who.may_administer()?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let catalog = view.catalog();
        let Some(database) = catalog.database(name) else {
            return Ok(false);
        };
        let all = catalog.collections(database.number);
        let own: Vec<_> = all
            .iter()
            .filter(|collection| collection.mongo.is_some())
            .collect();
        if own.is_empty() {
            return Ok(false);
        }
        let mut change = MetaChange::default();
        for collection in &own {
            if let Some(offer) = catalog.offer_of(database.number, Some(collection.cid)) {
                change.delete(keys::meta_numbered(MetaKind::Offer, offer.number));
            }
            change.drop_collection(collection.cid);
        }
        if own.len() == all.len() {
            if let Some(offer) = catalog.offer_of(database.number, None) {
                change.delete(keys::meta_numbered(MetaKind::Offer, offer.number));
            }
            users::forget_all(&mut change, database.number);
            change.delete(keys::meta_numbered(MetaKind::Database, database.number));
        }
        if attempts.commit(ctx, &view, change).await?.is_some() {
            return Ok(true);
        }
    }
}
