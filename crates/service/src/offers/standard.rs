//! The offer of a container that nobody asked any throughput for.
//!
//! It is made up from the catalog and written nowhere until somebody replaces it, so that making a container costs nothing
//! for it and the containers of older stores have theirs.

use std::sync::Arc;

use lapsedb_store::catalog::Catalog;
use lapsedb_store::rid::OFFER_MAX;
use lapsedb_store::{Collection, CollectionId, Offer};

use crate::limits::STANDARD_THROUGHPUT;
use crate::offers::Wanted;

/// The offer of a database or of a container, asked for or not; none for what shares throughput or only holds containers.
pub(crate) fn offer_of(
    catalog: &Catalog,
    database: u32,
    collection: Option<CollectionId>,
) -> Option<Arc<Offer>> {
    match catalog.offer_of(database, collection) {
        Some(offer) => Some(Arc::clone(offer)),
        None => standard(catalog, catalog.collection_numbered(collection?)?).map(Arc::new),
    }
}

/// The offer of a number, asked for or not.
pub(crate) fn offer_numbered(catalog: &Catalog, number: u32) -> Option<Arc<Offer>> {
    match catalog.offer(number) {
        Some(offer) => Some(Arc::clone(offer)),
        None => standard(catalog, catalog.collection_numbered(CollectionId(number))?).map(Arc::new),
    }
}

/// All offers behind a number, asked for or not, in the order of their numbers.
pub(crate) fn all_behind(catalog: &Catalog, number: u32) -> impl Iterator<Item = Arc<Offer>> {
    let mut own = catalog.offers_behind(number).cloned().peekable();
    let containers = catalog.all_collections_behind(number);
    let mut standard = containers
        .filter_map(|collection| standard(catalog, collection).map(Arc::new))
        .peekable();
    std::iter::from_fn(move || {
        let is_own = match (own.peek(), standard.peek()) {
            (Some(own), Some(standard)) => own.number < standard.number,
            (own, _) => own.is_some(),
        };
        if is_own { own.next() } else { standard.next() }
    })
}

/// The offer of a container without one of its own, unless it shares its database's.
///
/// Its number is the container's: the two are drawn from one row, so no other offer has it. Its etag is that of the
/// database, which is never written again and is older than any commit that could replace the offer.
fn standard(catalog: &Catalog, collection: &Collection) -> Option<Offer> {
    let database = catalog.database_numbered(collection.database)?;
    let has_one = catalog
        .offer_of(database.number, Some(collection.cid))
        .is_some();
    let shares = catalog.offer_of(database.number, None).is_some();
    if has_one || shares || collection.cid.0 > OFFER_MAX {
        return None;
    }
    Some(Offer {
        number: collection.cid.0,
        database: database.number,
        collection: Some(collection.cid),
        lsn: database.lsn,
        written: database.written,
        content: Wanted::Manual(STANDARD_THROUGHPUT).content(None),
    })
}
