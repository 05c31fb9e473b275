//! Changes of the catalog: records that are written and removed together, and what follows from that.

use std::collections::{BTreeMap, BTreeSet};

use lapsedb_kv::{Batch, Engine, Expect, Fill, Scan, Snapshot, Space, Template};
use lapsedb_record::Millis;
use lapsedb_value::{Object, bson};

use crate::Store;
use crate::catalog::{Catalog, changes};
use crate::error::Result;
use crate::keys::{self, CollectionId, MetaKind};
use crate::settled;
use crate::versions::catalog_log;
use crate::versions::grave::{self, Grave};
use crate::versions::state;
use crate::view::View;

/// Rows that are removed one by one at most.
const FEW_ROWS_MAX: usize = 256;
/// Bytes of them.
const FEW_BYTES_MAX: usize = 1 << 20;

/// Changes of the catalog that belong together.
#[derive(Default)]
pub struct MetaChange {
    pub(crate) puts: Vec<(Vec<u8>, Object)>,
    pub(crate) deletes: Vec<Vec<u8>>,
    delete_prefixes: Vec<Vec<u8>>,
    pub(crate) drops: Vec<CollectionId>,
    forgets: Vec<CollectionId>,
    next: Option<u32>,
    not_after: Option<Millis>,
    holds_readers: bool,
    /// What was asked of a collection, told also if it is as it was before.
    pub(crate) asked: Option<(CollectionId, Object)>,
    /// The name of a database that is dropped as a whole.
    pub(crate) drops_database: Option<String>,
}

impl MetaChange {
    /// Writes a record.
    pub fn put(&mut self, key: Vec<u8>, body: Object) -> &mut MetaChange {
        self.puts.push((key, body));
        self
    }

    /// Removes a record.
    pub fn delete(&mut self, key: Vec<u8>) -> &mut MetaChange {
        self.deletes.push(key);
        self
    }

    /// Removes all records under a prefix.
    pub fn delete_prefix(&mut self, prefix: Vec<u8>) -> &mut MetaChange {
        self.delete_prefixes.push(prefix);
        self
    }

    /// Removes a collection's record; all of its data, its scripts among it, follows in the background ([`Store::drop_data`]):
    /// nobody finds them without it, and its number is never used again.
    pub fn drop_collection(&mut self, cid: CollectionId) -> &mut MetaChange {
        self.delete(keys::meta_numbered(MetaKind::Collection, cid.0));
        self.delete(keys::meta_numbered(MetaKind::IndexBuild, cid.0));
        self.delete(settled::key(cid));
        self.delete(keys::meta_numbered(MetaKind::Capped, cid.0));
        self.drops.push(cid);
        self
    }

    /// Removes a collection's kept versions.
    pub(crate) fn forget_versions(&mut self, cid: CollectionId) -> &mut MetaChange {
        self.delete(state::key(cid));
        self.forgets.push(cid);
        self
    }

    /// Commits only before this instant: what was computed for a second must not land in the next one.
    pub fn not_after(&mut self, limit: Millis) -> &mut MetaChange {
        self.not_after = Some(self.not_after.map_or(limit, |known| known.min(limit)));
        self
    }

    /// Makes readers wait for this change, so that it holds from the very instant of its commit.
    pub fn hold_readers(&mut self) -> &mut MetaChange {
        self.holds_readers = true;
        self
    }

    /// Says what was asked of a collection, which is told to those who follow it even if nothing has to be changed.
    pub fn asked(&mut self, cid: CollectionId, asked: Object) -> &mut MetaChange {
        self.asked = Some((cid, asked));
        self
    }

    /// Says that this is the end of a database, which is told to those who follow it.
    pub fn drop_database(&mut self, name: &str) -> &mut MetaChange {
        self.drops_database = Some(name.to_owned());
        self
    }

    /// Says which number is the next free one.
    pub fn next(&mut self, next: u32) -> &mut MetaChange {
        self.next = Some(next);
        self
    }
}

/// A committed change of the catalog.
#[derive(Clone, Copy, Debug)]
pub struct MetaDone {
    /// The commit: the etag of what it wrote.
    pub lsn: u64,
    /// Its time.
    pub now: Millis,
}

impl Store {
    /// Commits a change of the catalog, on the condition that the catalog is still as the view saw it.
    ///
    /// # Errors
    /// [`StoreError::Retry`](crate::StoreError::Retry) when the catalog has changed; otherwise when the engine fails.
    pub async fn change_catalog(&self, view: &View, change: MetaChange) -> Result<MetaDone> {
        let mut batch = Batch::new();
        let drops = change.drops.clone();
        change.add_to(view, &mut batch).await?;
        let then = self.announcing(drops, true);
        let done = self.engine().commit_then(batch, then).await?;
        Ok(MetaDone {
            lsn: done.stamp.0,
            now: Millis(done.now),
        })
    }

    /// Dropped collections whose data is to be removed, at most so many. The commit that dropped one has left a record of that,
    /// so neither a client that hangs up nor the end of the process leaves the data behind.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn pending_drops(&self, collections_max: usize) -> Result<Vec<CollectionId>> {
        let snapshot = self.engine().snapshot().await?;
        let pending = Scan {
            rows_max: collections_max,
            ..Scan::prefix(Space::Meta, &keys::meta_all(MetaKind::Dropping))
        };
        let pending = snapshot.scan(pending).await?;
        let number = |key: &[u8]| key.get(1..)?.first_chunk::<4>().copied();
        let numbers = pending.rows.iter().filter_map(|(key, _)| number(key));
        Ok(numbers.map(u32::from_be_bytes).map(CollectionId).collect())
    }

    /// Removes a dropped collection's data, then the record that it is to be removed.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn drop_data(&self, cid: CollectionId) -> Result<()> {
        self.marks.forget(cid);
        let view = self.view().await?;
        let mut batch = Batch::new();
        let mut large = Vec::new();
        let prefix = keys::collection_prefix(cid);
        let stays = self.has_grave(cid).await?;
        if !stays {
            self.recent.forget(cid);
        }
        for space in Space::ALL {
            if space != Space::Meta
                && !(stays && space == Space::Versions)
                && !delete_few(&view, space, &prefix, &mut batch).await?
            {
                large.push(space);
            }
        }
        for prefix in records_of(cid) {
            delete_all(&view, Space::Meta, &prefix, &mut batch).await?;
        }
        // A dropped range waits for snapshots.
        drop(view);
        for space in large {
            let end = lapsedb_kv::prefix_end(&prefix);
            self.engine().drop_range(space, &prefix, &end).await?;
        }
        batch.delete(Space::Meta, keys::meta_numbered(MetaKind::Dropping, cid.0));
        self.engine().commit(batch).await?;
        Ok(())
    }
}

/// Prefixes of the records that a collection has beside its own.
fn records_of(cid: CollectionId) -> [Vec<u8>; 4] {
    let owned = |kind| keys::meta_owned(kind, u64::from(cid.0));
    [
        keys::meta_numbered(MetaKind::Multikey, cid.0),
        owned(MetaKind::StoredProcedure),
        owned(MetaKind::Trigger),
        owned(MetaKind::UserDefinedFunction),
    ]
}

/// Removes what a view has under a prefix, one by one if that is not much. A range that is removed as such is not for every
/// day: until it is compacted away each reader of the space has to look at it, and that adds up.
async fn delete_all(view: &View, space: Space, prefix: &[u8], batch: &mut Batch) -> Result<()> {
    if !delete_few(view, space, prefix, batch).await? {
        batch.delete_range(space, prefix, lapsedb_kv::prefix_end(prefix));
    }
    Ok(())
}

/// Removes what a view has under a prefix one by one; false, and nothing removed, if that is much.
async fn delete_few(view: &View, space: Space, prefix: &[u8], batch: &mut Batch) -> Result<bool> {
    let scan = Scan {
        rows_max: FEW_ROWS_MAX,
        bytes_max: FEW_BYTES_MAX,
        ..Scan::prefix(space, prefix)
    };
    let page = view.snapshot.scan(scan).await?;
    if page.more {
        return Ok(false);
    }
    for (key, _) in page.rows {
        batch.delete(space, key.to_vec());
    }
    Ok(true)
}

impl MetaChange {
    /// Adds the change to a batch, on the condition that the catalog is still as the view saw it. Says how many events it
    /// tells.
    pub(crate) async fn add_to(self, view: &View, batch: &mut Batch) -> Result<u16> {
        let catalog = view.catalog();
        let told = catalog_log::put(&catalog_log::events(catalog, &self), batch);
        let expect = match catalog.epoch {
            0 => Expect::Absent,
            epoch => Expect::StartsWith(epoch.to_be_bytes().to_vec()),
        };
        batch.check(Space::Meta, keys::EPOCH, expect);
        if let Some(limit) = self.not_after {
            batch.not_after(limit.0);
        }
        if self.holds_readers {
            batch.hold_readers();
        }
        let graves: BTreeMap<_, _> = self
            .drops
            .iter()
            .filter_map(|cid| Some((grave::key(*cid), buried(catalog, *cid)?)))
            .collect();
        changes::put(catalog, &self.touched(catalog, &graves), batch);
        if let Some(next) = self.next {
            batch.put(
                Space::Meta,
                Template::from(keys::NEXT),
                Template::from(next.to_be_bytes().to_vec()),
            );
        }
        if self.touches_logins() {
            let mut logins = Template::with_capacity(8);
            logins.fill(Fill::Stamp);
            batch.put(Space::Meta, Template::from(keys::LOGINS), logins);
        }
        for prefix in self.delete_prefixes {
            delete_all(view, Space::Meta, &prefix, batch).await?;
        }
        for key in self.deletes {
            batch.delete(Space::Meta, key);
        }
        for cid in &self.forgets {
            let prefix = keys::collection_prefix(*cid);
            delete_all(view, Space::Versions, &prefix, batch).await?;
        }
        for cid in &self.drops {
            if !graves.contains_key(&grave::key(*cid)) {
                batch.delete(Space::Meta, state::key(*cid));
            }
            batch.put(
                Space::Meta,
                Template::from(keys::meta_numbered(MetaKind::Dropping, cid.0)),
                meta_value(&Object::new()),
            );
        }
        for (key, body) in graves.into_iter().chain(self.puts) {
            batch.put(Space::Meta, Template::from(key), meta_value(&body));
        }
        Ok(told)
    }

    /// Whether a login or a role is written or removed.
    fn touches_logins(&self) -> bool {
        let kinds = [MetaKind::Login, MetaKind::Role].map(keys::meta_all);
        let written = self.puts.iter().map(|(key, _)| key);
        let mut all = written.chain(&self.deletes).chain(&self.delete_prefixes);
        all.any(|key| kinds.iter().any(|kind| key.starts_with(kind)))
    }

    /// The keys of the records that are written or removed and that images of the catalog hold. What is removed by a prefix is
    /// what the view's image has of it: the change is committed only if nothing has come since.
    fn touched(&self, catalog: &Catalog, graves: &BTreeMap<Vec<u8>, Object>) -> BTreeSet<Vec<u8>> {
        let written = self.puts.iter().map(|(key, _)| key).chain(graves.keys());
        let named = written.chain(&self.deletes).cloned();
        let prefixes = self.delete_prefixes.iter();
        let under = prefixes.flat_map(|prefix| changes::under(catalog, prefix));
        let all = named.chain(under);
        all.filter(|key| changes::is_noted(key)).collect()
    }
}

/// The grave of a collection that is dropped, if somebody may still have to read its versions.
fn buried(catalog: &Catalog, cid: CollectionId) -> Option<Object> {
    let collection = catalog.collection_numbered(cid)?;
    let database = catalog.database_numbered(collection.database)?;
    let follows = collection.history.kept && collection.mongo.is_some();
    follows.then(|| Grave::body(&database.id, collection))
}

/// A catalog record's value: the commit fills in lsn, second and, behind the body, millisecond.
pub(crate) fn meta_value(body: &Object) -> Template {
    let mut value = Template::with_capacity(256);
    value
        .fill(Fill::Stamp)
        .fill(Fill::Seconds { plus: 0, unit: 1 });
    bson::write_document(body, &mut value.bytes);
    value.fill(Fill::Millis);
    value
}
