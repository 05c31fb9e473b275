//! Drops collections and databases.

use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::{MetaChange, View};

use crate::attempts::Attempts;
use crate::changes::last_words;
use crate::ctx::Ctx;
use crate::databases;
use crate::documents::fault::Result;
use crate::documents::indexes::names;
use crate::documents::look::find_collection;
use crate::documents::namespace::Namespace;
use crate::documents::views;
use crate::documents::work::Work;

/// What was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// Nothing: there was nothing of that name.
    Nothing,
    /// A view, or the definitions of all of them.
    View,
    /// A collection with so many indexes.
    Collection {
        /// How many.
        indexes: usize,
    },
}

/// Drops a collection or a view.
///
/// # Errors
/// When who asks may not, or the engine fails.
pub async fn drop_collection(work: &mut Work, namespace: &Namespace) -> Result<Dropped> {
    let ctx = &work.ctx;
    ctx.who.may_administer()?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let Some(collection) = find_collection(&view, namespace) else {
            match drop_views(ctx, &view, namespace, &mut attempts).await? {
                Some(dropped) => return Ok(dropped),
                None => continue,
            }
        };
        let mut change = MetaChange::default();
        if !last_words(ctx, &view, &collection, &mut change).await? {
            continue;
        }
        let catalog = view.catalog();
        if let Some(offer) = catalog.offer_of(collection.database, Some(collection.cid)) {
            change.delete(keys::meta_numbered(MetaKind::Offer, offer.number));
        }
        change.drop_collection(collection.cid);
        let left =
            catalog.collections_in(collection.database) - 1 + catalog.views_in(collection.database);
        forget_empty(&view, collection.database, left, &mut change);
        let indexes = names(&collection).len();
        if attempts.commit(ctx, &view, change).await?.is_some() {
            return Ok(Dropped::Collection { indexes });
        }
    }
}

/// Drops a view, or all of them with the collection that shows them; nothing, if the catalog has changed meanwhile.
async fn drop_views(
    ctx: &Ctx,
    view: &View,
    namespace: &Namespace,
    attempts: &mut Attempts,
) -> Result<Option<Dropped>> {
    let mut all = views::all(view, &namespace.database);
    let before = all.len();
    if namespace.collection != views::SYSTEM_VIEWS {
        all.retain(|found| found.id == namespace.collection);
    }
    let Some(database) = all.first().map(|found| found.database) else {
        return Ok(Some(Dropped::Nothing));
    };
    let mut change = MetaChange::default();
    for found in &all {
        let owner = u64::from(found.database);
        change.delete(keys::meta_named(MetaKind::View, owner, &found.id));
    }
    let left = view.catalog().collections_in(database) + before - all.len();
    forget_empty(view, database, left, &mut change);
    let done = attempts.commit(ctx, view, change).await?;
    Ok(done.map(|_| Dropped::View))
}

/// A database that has nothing left is gone too.
fn forget_empty(view: &View, database: u32, left: usize, change: &mut MetaChange) {
    if left == 0 && view.catalog().offer_of(database, None).is_none() {
        databases::forget_children(change, database);
        change.delete(keys::meta_numbered(MetaKind::Database, database));
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
        if own.is_empty() && catalog.views_in(database.number) == 0 {
            return Ok(false);
        }
        let mut change = MetaChange::default();
        change.delete_prefix(keys::meta_owned(MetaKind::View, u64::from(database.number)));
        change.drop_database(name);
        let mut told = true;
        for collection in &own {
            told &= last_words(ctx, &view, collection, &mut change).await?;
            if let Some(offer) = catalog.offer_of(database.number, Some(collection.cid)) {
                change.delete(keys::meta_numbered(MetaKind::Offer, offer.number));
            }
            change.drop_collection(collection.cid);
        }
        if !told {
            continue;
        }
        if own.len() == all.len() {
            if let Some(offer) = catalog.offer_of(database.number, None) {
                change.delete(keys::meta_numbered(MetaKind::Offer, offer.number));
            }
            databases::forget_children(&mut change, database.number);
            change.delete(keys::meta_numbered(MetaKind::Database, database.number));
        }
        if attempts.commit(ctx, &view, change).await?.is_some() {
            return Ok(true);
        }
    }
}
