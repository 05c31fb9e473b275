//! The catalog in memory: maps that share what they have in common with the version before, so that a new version costs what
//! its change costs, and an old one is held for nothing by whoever still reads it.

use std::ops::{Bound, Deref};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lapsedb_value::Str;
use rpds::{HashTrieMapSync, RedBlackTreeMapSync};

use crate::catalog::{
    Collection, Database, MetaRecord, NamedView, Offer, collection_of, database_of, offer_of,
    view_of,
};
use crate::error::Result;
use crate::index::build::Build;
use crate::index::named::FilterCompiler;
use crate::keys::{self, CollectionId, MetaKind};
use crate::versions::grave::Graves;
use crate::versions::watch::Watches;

/// The first number that is given to a database, collection or offer.
pub(super) const FIRST_NUMBER: u32 = 1;

/// How names begin that the MongoDB API keeps for itself: nobody who watches all collections is told of those.
const OWN_NAMES: &str = "system.";

/// A map in the order of its keys.
pub(crate) type Ordered<K, V> = RedBlackTreeMapSync<K, V>;
/// A map by name, for lookups.
type ByName<V> = HashTrieMapSync<Str, V>;

/// The kinds of records that the image holds, in the order in which they are put into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ImageKind {
    /// Before collections, which say whether their index is whole.
    IndexBuild,
    Database,
    Collection,
    Offer,
    View,
    Watch,
    Grave,
}

impl ImageKind {
    pub(super) const ALL: [ImageKind; 7] = [
        ImageKind::IndexBuild,
        ImageKind::Database,
        ImageKind::Collection,
        ImageKind::Offer,
        ImageKind::View,
        ImageKind::Watch,
        ImageKind::Grave,
    ];

    pub(super) const fn meta(self) -> MetaKind {
        match self {
            ImageKind::IndexBuild => MetaKind::IndexBuild,
            ImageKind::Database => MetaKind::Database,
            ImageKind::Collection => MetaKind::Collection,
            ImageKind::Offer => MetaKind::Offer,
            ImageKind::View => MetaKind::View,
            ImageKind::Watch => MetaKind::Watch,
            ImageKind::Grave => MetaKind::Grave,
        }
    }

    /// The kind of the record with this key; none, if the image does not hold such.
    pub(super) fn of_key(key: &[u8]) -> Option<ImageKind> {
        let mut all = ImageKind::ALL.into_iter();
        all.find(|kind| key.starts_with(&keys::meta_all(kind.meta())))
    }
}

/// Work between requests that a collection may be in need of. The catalog knows who is, so that nobody looks through all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// The index of its policy is not whole.
    IndexBuild,
    /// A named index is not whole, or one that was dropped has left entries.
    NamedIndexes,
    /// Its items can expire.
    Purge,
}

impl Upkeep {
    const ALL: [Upkeep; 3] = [Upkeep::IndexBuild, Upkeep::NamedIndexes, Upkeep::Purge];

    fn is_needed(self, collection: &Collection) -> bool {
        match self {
            Upkeep::IndexBuild => !collection.index_is_whole(),
            Upkeep::NamedIndexes => collection.indexes.is_unfinished(),
            Upkeep::Purge => collection.can_expire(),
        }
    }
}

/// What a database has.
#[derive(Clone, Debug, Default)]
struct Contents {
    by_name: ByName<Arc<Collection>>,
    collections: Ordered<CollectionId, Arc<Collection>>,
    /// How many of them are collections of the MongoDB API.
    of_mongo: usize,
    views: Ordered<Str, Arc<NamedView>>,
    /// Its own under no collection, and those of its collections.
    offers: Ordered<Option<CollectionId>, Arc<Offer>>,
}

impl Contents {
    fn is_empty(&self) -> bool {
        self.collections.is_empty() && self.views.is_empty() && self.offers.is_empty()
    }
}

/// What has been done for the catalog since the start: for tests that count work instead of measuring time.
#[derive(Debug, Default)]
pub(crate) struct CatalogWork {
    /// Records read from the engine.
    pub(super) read: AtomicU64,
    /// Entries of the image that were listed.
    listed: AtomicU64,
}

impl CatalogWork {
    pub(super) fn reads(&self, records: usize) {
        self.read.fetch_add(records as u64, Ordering::Relaxed);
    }

    pub(crate) fn total(&self) -> (u64, u64) {
        (
            self.read.load(Ordering::Relaxed),
            self.listed.load(Ordering::Relaxed),
        )
    }
}

/// The image of the catalog at one epoch.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// The epoch this image is of: the commit of the last change.
    pub epoch: u64,
    /// The number of the last change, as far as changes are counted.
    pub(crate) changes: u64,
    /// The next free number.
    pub next: u32,
    /// The commit of the last change of a login or a role; 0, if there was none since changes of them are noted.
    pub logins: u64,
    databases: ByName<Arc<Database>>,
    databases_by_number: Ordered<u32, Arc<Database>>,
    /// By names in lower case.
    databases_folded: Ordered<(Str, u32), Arc<Database>>,
    contents: Ordered<u32, Contents>,
    collections: Ordered<CollectionId, Arc<Collection>>,
    /// By the commit that last wrote their records.
    changed: Ordered<(u64, CollectionId), Arc<Collection>>,
    upkeep: [Ordered<CollectionId, Arc<Collection>>; Upkeep::ALL.len()],
    /// Those of the MongoDB API whose versions are not kept, by their databases.
    unkept: Ordered<(u32, CollectionId), Arc<Collection>>,
    /// The generation of each collection whose index has been built, but for those that were whole from the beginning.
    index_builds: Ordered<CollectionId, u32>,
    offers: Ordered<u32, Arc<Offer>>,
    pub(crate) watches: Watches,
    pub(crate) graves: Graves,
    pub(super) work: Arc<CatalogWork>,
}

impl Catalog {
    /// The catalog of a store that has none yet. Numbers begin at 1: a `_rid` of zeros means nothing to clients.
    #[must_use]
    pub fn empty() -> Catalog {
        Catalog {
            next: FIRST_NUMBER,
            ..Catalog::default()
        }
    }

    /// Copies entries out, and counts them.
    pub(crate) fn listed<'a, T: Clone + 'a>(&self, all: impl Iterator<Item = &'a T>) -> Vec<T> {
        let all: Vec<T> = all.cloned().collect();
        self.work
            .listed
            .fetch_add(all.len() as u64, Ordering::Relaxed);
        all
    }

    /// A database by name.
    #[must_use]
    pub fn database(&self, id: &str) -> Option<&Arc<Database>> {
        self.databases.get(id)
    }

    /// A database by number.
    #[must_use]
    pub fn database_numbered(&self, number: u32) -> Option<&Arc<Database>> {
        self.databases_by_number.get(&number)
    }

    /// The first database whose name differs from this one at most in the case of ASCII letters.
    #[must_use]
    pub fn database_in_any_case(&self, id: &str) -> Option<&Arc<Database>> {
        let folded = Str::from(id.to_ascii_lowercase());
        let range = (folded.clone(), 0)..=(folded, u32::MAX);
        self.databases_folded.range(range).next().map(|(_, it)| it)
    }

    /// How many databases there are.
    #[must_use]
    pub fn databases_count(&self) -> usize {
        self.databases_by_number.size()
    }

    /// Counts entries as they are looked at.
    fn counted<'a, T: 'a>(
        &'a self,
        all: impl Iterator<Item = &'a T> + 'a,
    ) -> impl Iterator<Item = &'a T> + 'a {
        all.inspect(|_| {
            self.work.listed.fetch_add(1, Ordering::Relaxed);
        })
    }

    /// The databases behind a number, in the order they were made.
    pub fn databases_behind(&self, number: u32) -> impl Iterator<Item = &Arc<Database>> {
        let behind = (Bound::Excluded(number), Bound::Unbounded);
        self.counted(self.databases_by_number.range(behind).map(|(_, it)| it))
    }

    /// A database's collections behind a number, in the order they were made.
    pub fn collections_behind(
        &self,
        database: u32,
        number: u32,
    ) -> impl Iterator<Item = &Arc<Collection>> {
        let behind = (Bound::Excluded(CollectionId(number)), Bound::Unbounded);
        let contents = self.contents.get(&database).into_iter();
        let own = contents.flat_map(move |contents| contents.collections.range(behind));
        self.counted(own.map(|(_, it)| it))
    }

    /// All collections behind a number, in the order they were made.
    pub fn all_collections_behind(&self, number: u32) -> impl Iterator<Item = &Arc<Collection>> {
        let behind = (Bound::Excluded(CollectionId(number)), Bound::Unbounded);
        self.counted(self.collections.range(behind).map(|(_, it)| it))
    }

    /// All offers behind a number, in the order they were made.
    pub fn offers_behind(&self, number: u32) -> impl Iterator<Item = &Arc<Offer>> {
        let behind = (Bound::Excluded(number), Bound::Unbounded);
        self.counted(self.offers.range(behind).map(|(_, it)| it))
    }

    /// The collections whose records were written behind a commit.
    #[must_use]
    pub fn changed_behind(&self, lsn: u64) -> Vec<Arc<Collection>> {
        let behind = (
            Bound::Excluded((lsn, CollectionId(u32::MAX))),
            Bound::Unbounded,
        );
        self.listed(self.changed.range(behind).map(|(_, it)| it))
    }

    /// The collections of the MongoDB API whose versions are not kept: of a database, or all of them.
    #[must_use]
    pub fn unkept(&self, database: Option<u32>) -> Vec<Arc<Collection>> {
        let from = database.unwrap_or(0);
        let to = database.unwrap_or(u32::MAX);
        let range = (from, CollectionId(0))..=(to, CollectionId(u32::MAX));
        self.listed(self.unkept.range(range).map(|(_, it)| it))
    }

    /// All databases, in the order they were made.
    #[must_use]
    pub fn databases(&self) -> Vec<Arc<Database>> {
        self.listed(self.databases_by_number.values())
    }

    /// A collection by name.
    #[must_use]
    pub fn collection(&self, database: u32, id: &str) -> Option<&Arc<Collection>> {
        self.contents.get(&database)?.by_name.get(id)
    }

    /// A collection by number.
    #[must_use]
    pub fn collection_numbered(&self, cid: CollectionId) -> Option<&Arc<Collection>> {
        self.collections.get(&cid)
    }

    /// Those of some numbers that there are.
    #[must_use]
    pub fn collections_numbered(&self, cids: &[CollectionId]) -> Vec<Arc<Collection>> {
        self.listed(cids.iter().filter_map(|cid| self.collections.get(cid)))
    }

    /// How many collections a database has.
    #[must_use]
    pub fn collections_in(&self, database: u32) -> usize {
        let contents = self.contents.get(&database);
        contents.map_or(0, |contents| contents.collections.size())
    }

    /// A database's collections, in the order they were made.
    #[must_use]
    pub fn collections(&self, database: u32) -> Vec<Arc<Collection>> {
        let contents = self.contents.get(&database).into_iter();
        self.listed(contents.flat_map(|contents| contents.collections.values()))
    }

    /// Whether a database has a collection or a view of the MongoDB API.
    #[must_use]
    pub fn has_documents(&self, database: u32) -> bool {
        let contents = self.contents.get(&database);
        contents.is_some_and(|contents| contents.of_mongo > 0 || !contents.views.is_empty())
    }

    /// A view by name.
    #[must_use]
    pub fn view(&self, database: u32, id: &str) -> Option<&Arc<NamedView>> {
        self.contents.get(&database)?.views.get(id)
    }

    /// The view whose record has this key.
    pub(crate) fn view_of_key(&self, key: &[u8]) -> Option<&Arc<NamedView>> {
        let (database, id) = owner_of(key)?;
        self.view(database, id)
    }

    /// How many views a database has.
    #[must_use]
    pub fn views_in(&self, database: u32) -> usize {
        let contents = self.contents.get(&database);
        contents.map_or(0, |contents| contents.views.size())
    }

    /// A database's views, in the order they were made.
    #[must_use]
    pub fn views(&self, database: u32) -> Vec<Arc<NamedView>> {
        let contents = self.contents.get(&database).into_iter();
        let mut all = self.listed(contents.flat_map(|contents| contents.views.values()));
        all.sort_by(|a, b| (a.made, &a.id).cmp(&(b.made, &b.id)));
        all
    }

    /// How many collections there are.
    #[must_use]
    pub fn collections_count(&self) -> usize {
        self.collections.size()
    }

    /// Every collection there is, in the order they were made. For what must look at all of them, which no request for one
    /// and no change of one does; [`Catalog::in_need_of`] has those that work between requests is about.
    #[must_use]
    pub fn all_collections(&self) -> Vec<Arc<Collection>> {
        self.listed(self.collections.values())
    }

    /// The collections in need of some work between requests, in the order they were made.
    #[must_use]
    pub fn in_need_of(&self, upkeep: Upkeep) -> Vec<Arc<Collection>> {
        let all = Upkeep::ALL.into_iter().zip(&self.upkeep);
        let own = all.filter(|(other, _)| *other == upkeep);
        self.listed(own.flat_map(|(_, collections)| collections.values()))
    }

    /// An offer by number.
    #[must_use]
    pub fn offer(&self, number: u32) -> Option<&Arc<Offer>> {
        self.offers.get(&number)
    }

    /// The offer of a collection, or of a database.
    #[must_use]
    pub fn offer_of(&self, database: u32, collection: Option<CollectionId>) -> Option<&Arc<Offer>> {
        self.contents.get(&database)?.offers.get(&collection)
    }

    /// The offers of a database and of its collections.
    #[must_use]
    pub fn offers_in(&self, database: u32) -> Vec<Arc<Offer>> {
        let contents = self.contents.get(&database).into_iter();
        self.listed(contents.flat_map(|contents| contents.offers.values()))
    }

    /// How many collections of a database have throughput of their own.
    #[must_use]
    pub fn dedicated_in(&self, database: u32) -> usize {
        self.contents.get(&database).map_or(0, |contents| {
            contents.offers.size() - usize::from(contents.offers.contains_key(&None))
        })
    }

    /// All offers, in the order they were made.
    #[must_use]
    pub fn offers(&self) -> Vec<Arc<Offer>> {
        self.listed(self.offers.values())
    }

    /// The keys of the records under a prefix that the image holds.
    pub(super) fn keys_under(&self, prefix: &[u8]) -> Vec<Vec<u8>> {
        let Some(kind) = ImageKind::of_key(prefix) else {
            return Vec::new();
        };
        let numbered = |number: u32| keys::meta_numbered(kind.meta(), number);
        let cids = |cids: &mut dyn Iterator<Item = &CollectionId>| -> Vec<Vec<u8>> {
            cids.map(|cid| numbered(cid.0)).collect()
        };
        let view_key = |view: &Arc<NamedView>| {
            keys::meta_named(MetaKind::View, u64::from(view.database), &view.id)
        };
        let mut all: Vec<Vec<u8>> = match kind {
            ImageKind::IndexBuild => cids(&mut self.index_builds.keys()),
            ImageKind::Database => {
                let numbers = self.databases_by_number.keys();
                numbers.map(|number| numbered(*number)).collect()
            }
            ImageKind::Collection => cids(&mut self.collections.keys()),
            ImageKind::Offer => self.offers.keys().map(|number| numbered(*number)).collect(),
            ImageKind::View => match owner_of(prefix) {
                Some((database, _)) => {
                    let own = self.contents.get(&database).into_iter();
                    let views = own.flat_map(|contents| contents.views.values());
                    views.map(view_key).collect()
                }
                None => {
                    let all = self.contents.values();
                    let views = all.flat_map(|contents| contents.views.values());
                    views.map(view_key).collect()
                }
            },
            ImageKind::Watch => self.watches.keys(),
            ImageKind::Grave => cids(&mut self.graves.numbers()),
        };
        all.retain(|key| key.starts_with(prefix));
        all
    }

    /// Takes the record with this key out.
    pub(super) fn remove(&mut self, kind: ImageKind, key: &[u8]) {
        match (kind, number_of(key)) {
            (ImageKind::IndexBuild, Some(number)) => {
                self.index_builds.remove_mut(&CollectionId(number));
            }
            (ImageKind::Database, Some(number)) => {
                if let Some(old) = self.databases_by_number.get(&number).cloned() {
                    self.databases_by_number.remove_mut(&number);
                    self.databases.remove_mut(&old.id);
                    self.databases_folded.remove_mut(&folded(&old));
                }
            }
            (ImageKind::Collection, Some(number)) => self.remove_collection(CollectionId(number)),
            (ImageKind::Offer, Some(number)) => {
                if let Some(old) = self.offers.get(&number).cloned() {
                    self.offers.remove_mut(&number);
                    self.in_database(old.database, |contents| {
                        contents.offers.remove_mut(&old.collection);
                    });
                }
            }
            (ImageKind::Grave, Some(number)) => self.graves.remove(CollectionId(number)),
            (ImageKind::View, _) => {
                if let Some((database, id)) = owner_of(key) {
                    self.in_database(database, |contents| {
                        contents.views.remove_mut(id);
                    });
                }
            }
            (ImageKind::Watch, _) => self.watches.remove(key),
            (
                ImageKind::IndexBuild
                | ImageKind::Database
                | ImageKind::Collection
                | ImageKind::Offer
                | ImageKind::Grave,
                None,
            ) => {}
        }
    }

    /// Puts a record in that is not there.
    pub(super) fn insert(
        &mut self,
        kind: ImageKind,
        key: &[u8],
        record: &MetaRecord,
        language: Option<&FilterCompiler>,
    ) -> Result<()> {
        match kind {
            ImageKind::IndexBuild => {
                let build = Build::read(record)?;
                if let Some(number) = number_of(key).filter(|_| build.whole) {
                    let cid = CollectionId(number);
                    self.index_builds.insert_mut(cid, build.generation);
                }
            }
            ImageKind::Database => {
                let new = Arc::new(database_of(record)?);
                self.databases_folded
                    .insert_mut(folded(&new), Arc::clone(&new));
                self.databases_by_number
                    .insert_mut(new.number, Arc::clone(&new));
                self.databases.insert_mut(new.id.clone(), new);
            }
            ImageKind::Collection => {
                let mut new = collection_of(record, language)?;
                if let Some(generation) = self.index_builds.get(&new.cid) {
                    new.index_ready_generation = *generation;
                }
                self.insert_collection(Arc::new(new));
            }
            ImageKind::Offer => {
                let new = Arc::new(offer_of(record)?);
                self.offers.insert_mut(new.number, Arc::clone(&new));
                self.in_database(new.database, |contents| {
                    contents.offers.insert_mut(new.collection, new);
                });
            }
            ImageKind::View => {
                let new = Arc::new(view_of(record)?);
                self.in_database(new.database, |contents| {
                    contents.views.insert_mut(new.id.clone(), new);
                });
            }
            ImageKind::Watch => self.watches.insert(record)?,
            ImageKind::Grave => self.graves.insert(record)?,
        }
        Ok(())
    }

    fn insert_collection(&mut self, new: Arc<Collection>) {
        self.collections.insert_mut(new.cid, Arc::clone(&new));
        let written = (new.version, new.cid);
        self.changed.insert_mut(written, Arc::clone(&new));
        if new.mongo.is_some() && !new.history.kept && !new.id.starts_with(OWN_NAMES) {
            let place = (new.database, new.cid);
            self.unkept.insert_mut(place, Arc::clone(&new));
        }
        for (upkeep, own) in Upkeep::ALL.into_iter().zip(&mut self.upkeep) {
            if upkeep.is_needed(&new) {
                own.insert_mut(new.cid, Arc::clone(&new));
            }
        }
        self.in_database(new.database, |contents| {
            contents.collections.insert_mut(new.cid, Arc::clone(&new));
            contents.of_mongo += usize::from(new.mongo.is_some());
            contents.by_name.insert_mut(new.id.clone(), new);
        });
    }

    fn remove_collection(&mut self, cid: CollectionId) {
        let Some(old) = self.collections.get(&cid).cloned() else {
            return;
        };
        self.collections.remove_mut(&cid);
        self.changed.remove_mut(&(old.version, cid));
        self.unkept.remove_mut(&(old.database, cid));
        for own in &mut self.upkeep {
            if own.contains_key(&cid) {
                own.remove_mut(&cid);
            }
        }
        self.in_database(old.database, |contents| {
            contents.collections.remove_mut(&cid);
            contents.of_mongo -= usize::from(old.mongo.is_some());
            contents.by_name.remove_mut(&old.id);
        });
    }

    /// All that it says, for tests that compare two of them.
    #[cfg(test)]
    pub(super) fn described(&self) -> Vec<String> {
        let mut all = vec![
            format!("{:?}", (self.epoch, self.changes, self.next, self.logins)),
            in_order(&self.databases_by_number),
            in_order(&self.databases_folded),
            by_name(&self.databases),
            in_order(&self.collections),
            in_order(&self.changed),
            in_order(&self.unkept),
            in_order(&self.index_builds),
            in_order(&self.offers),
        ];
        all.extend(self.upkeep.iter().map(in_order));
        all.extend(self.watches.described());
        all.extend(self.graves.described());
        for (number, contents) in &self.contents {
            all.push(format!("{number}: {}", contents.of_mongo));
            all.push(by_name(&contents.by_name));
            all.push(in_order(&contents.collections));
            all.push(in_order(&contents.views));
            all.push(in_order(&contents.offers));
        }
        all
    }

    /// Changes what a database has.
    fn in_database(&mut self, number: u32, change: impl FnOnce(&mut Contents)) {
        if !self.contents.contains_key(&number) {
            self.contents.insert_mut(number, Contents::default());
        }
        let Some(contents) = self.contents.get_mut(&number) else {
            return;
        };
        change(contents);
        if contents.is_empty() {
            self.contents.remove_mut(&number);
        }
    }
}

/// The number in the key of a record that has one.
fn number_of(key: &[u8]) -> Option<u32> {
    let number = key.get(1..)?.try_into().ok()?;
    Some(u32::from_be_bytes(number))
}

/// The database and the name in the key of a view.
fn owner_of(key: &[u8]) -> Option<(u32, &str)> {
    let (owner, id) = key.get(1..)?.split_first_chunk::<8>()?;
    let owner = u32::try_from(u64::from_be_bytes(*owner)).ok()?;
    Some((owner, std::str::from_utf8(id).ok()?))
}

fn folded(database: &Database) -> (Str, u32) {
    (
        Str::from(database.id.deref().to_ascii_lowercase()),
        database.number,
    )
}

/// What a map says, whatever its shape.
#[cfg(test)]
pub(crate) fn in_order<K: Ord + std::fmt::Debug, V: std::fmt::Debug>(
    map: &Ordered<K, V>,
) -> String {
    format!("{:?}", map.iter().collect::<Vec<_>>())
}

#[cfg(test)]
fn by_name<V: std::fmt::Debug>(map: &ByName<V>) -> String {
    let mut all: Vec<_> = map.iter().collect();
    all.sort_by_key(|(name, _)| *name);
    format!("{all:?}")
}
