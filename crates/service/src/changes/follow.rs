//! Which collections a stream reads, and what they were called when something happened to their documents.

use std::collections::VecDeque;
use std::sync::Arc;

use lapsedb_store::{
    Catalog, CatalogEvent, Collection, CollectionId, EventPlace, Grave, ItemRange, Source, Store,
    View,
};
use lapsedb_value::Value;

use crate::changes::Scope;
use crate::changes::note::keeps_images;
use crate::documents::Namespace;
use crate::documents::fault::Result;

/// Changes of collections that the stream has not come to yet.
pub(crate) struct Ahead {
    events: VecDeque<CatalogEvent>,
    /// Up to where they have been read.
    read: EventPlace,
}

/// The collections that are read in one step.
pub(crate) struct Lanes {
    pub(crate) collections: Vec<Arc<Collection>>,
    graves: Vec<Arc<Grave>>,
}

/// What is known of a collection whose document changed.
pub(crate) struct About {
    pub(crate) namespace: Namespace,
    pub(crate) uuid: Option<Value>,
    pub(crate) images: bool,
}

impl Ahead {
    /// Everything behind a place is still ahead.
    pub(crate) const fn behind(place: EventPlace) -> Ahead {
        Ahead {
            events: VecDeque::new(),
            read: place,
        }
    }

    /// Reads what a view has.
    pub(crate) async fn look(&mut self, store: &Store, view: &View) -> Result<()> {
        let end = EventPlace::end_of(view.lsn());
        if end > self.read {
            let new = store.catalog_events(view, self.read, false).await?;
            self.events.extend(new);
            self.read = end;
        }
        Ok(())
    }

    /// Where the next change stands.
    pub(crate) fn next_place(&self) -> Option<EventPlace> {
        self.events.front().map(|event| event.place)
    }

    /// Passes the next change.
    pub(crate) fn pass(&mut self) -> Option<CatalogEvent> {
        self.events.pop_front()
    }

    /// Changes of names ahead: what was called what, and what it will be called.
    fn renames(&self) -> impl Iterator<Item = (&CatalogEvent, &Collection, &Collection)> {
        self.events.iter().filter_map(|event| {
            let (before, after) = (event.before.as_deref()?, event.after.as_deref()?);
            (before.id != after.id).then_some((event, before, after))
        })
    }

    /// The collections a stream reads: those that are there and those that are gone, by the names they have or had. Where it
    /// is known which were written to, a stream that follows many looks at no others.
    pub(crate) fn lanes(
        &self,
        view: &View,
        (scope, namespace): (Scope, &Namespace),
        written: Option<&[CollectionId]>,
    ) -> Lanes {
        let catalog = view.catalog();
        let own = |event: &CatalogEvent, id: &str| scope.covers(namespace, &event.database, id);
        let covers = |cid: CollectionId, database: &str, id: &str| {
            let mut renames = self.renames();
            let first = renames.find(|(_, before, _)| before.cid == cid);
            match first {
                // What has the name only from a change on that ends the stream is none of its collections.
                Some((event, before, _)) => own(event, &before.id),
                None => scope.covers(namespace, database, id),
            }
        };
        let mut lanes = Lanes {
            collections: Vec::new(),
            graves: Vec::new(),
        };
        let (collections, graves) = match written {
            Some(written) if scope != Scope::Collection => (
                catalog.collections_numbered(written),
                catalog.graves_numbered(written),
            ),
            Some(_) | None => self.candidates(catalog, scope, namespace),
        };
        for collection in collections {
            if let Some(database) = catalog.database_numbered(collection.database)
                && collection.mongo.is_some()
                && covers(collection.cid, &database.id, &collection.id)
            {
                lanes.collections.push(collection);
            }
        }
        for grave in graves {
            if covers(grave.cid, &grave.database, &grave.id) {
                lanes.graves.push(grave);
            }
        }
        lanes
    }

    /// The collections that a stream may read, and those that are gone. For one on a collection, these have its name, or had
    /// it before a change that the stream has not come to yet.
    fn candidates(
        &self,
        catalog: &Catalog,
        scope: Scope,
        namespace: &Namespace,
    ) -> (Vec<Arc<Collection>>, Vec<Arc<Grave>>) {
        let own = catalog.database(&namespace.database);
        match scope {
            Scope::Everything => (catalog.all_collections(), catalog.graves()),
            Scope::Database => {
                let collections = own.map(|database| catalog.collections(database.number));
                let graves = catalog.graves_in(&namespace.database, None);
                (collections.unwrap_or_default(), graves)
            }
            Scope::Collection => {
                let name = namespace.collection.as_str();
                let named = own.and_then(|database| catalog.collection(database.number, name));
                let mut collections: Vec<_> = named.into_iter().cloned().collect();
                let mut graves = catalog.graves_in(&namespace.database, Some(name));
                for (_, before, _) in self.renames() {
                    collections.extend(catalog.collection_numbered(before.cid).cloned());
                    graves.extend(catalog.grave(before.cid).cloned());
                }
                collections.sort_by_key(|collection| collection.cid);
                collections.dedup_by_key(|collection| collection.cid);
                graves.sort_by_key(|grave| grave.cid);
                graves.dedup_by_key(|grave| grave.cid);
                (collections, graves)
            }
        }
    }

    /// The same, of all that have changes behind a place that the view has.
    pub(crate) fn lanes_behind(
        &self,
        store: &Store,
        view: &View,
        of: (Scope, &Namespace),
        place: EventPlace,
    ) -> Lanes {
        // Of the commit itself there may be more behind the place.
        let whole = place == EventPlace::end_of(place.lsn);
        let lsn = place.lsn.saturating_sub(u64::from(!whole));
        let written = match of.0 {
            Scope::Collection => None,
            Scope::Database | Scope::Everything => store.written_behind(lsn),
        };
        self.lanes(view, of, written.as_deref())
    }

    /// What is known of a collection where the stream stands.
    pub(crate) fn about(&self, view: &View, lanes: &Lanes, cid: CollectionId) -> Option<About> {
        let renamed = self
            .renames()
            .find(|(_, before, _)| before.cid == cid)
            .map(|(_, before, _)| before.id.to_string());
        let mut live = lanes.collections.iter();
        let (database, id, mongo) = match live.find(|collection| collection.cid == cid) {
            Some(collection) => {
                let database = view.catalog().database_numbered(collection.database)?;
                let mongo = collection.mongo.as_deref()?;
                (database.id.to_string(), &collection.id, mongo)
            }
            None => {
                let grave = lanes.graves.iter().find(|grave| grave.cid == cid)?;
                (grave.database.to_string(), &grave.id, &grave.mongo)
            }
        };
        Some(About {
            namespace: Namespace {
                database,
                collection: renamed.unwrap_or_else(|| id.to_string()),
            },
            uuid: mongo.get("uuid").cloned(),
            images: keeps_images(mongo),
        })
    }
}

impl Lanes {
    /// What the store reads.
    pub(crate) fn sources<'a>(&'a self, everything: &'a ItemRange) -> Vec<Source<'a>> {
        let live = self.collections.iter();
        let live = live.map(|collection| Source::Items(collection, everything));
        live.chain(self.graves.iter().map(|grave| Source::Grave(grave)))
            .collect()
    }

    /// The numbers of all collections, those that are gone included.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = CollectionId> {
        let live = self.collections.iter().map(|collection| collection.cid);
        live.chain(self.graves.iter().map(|grave| grave.cid))
    }
}
