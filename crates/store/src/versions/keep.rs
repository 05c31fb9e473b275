//! Begins to keep a collection's versions, and removes those whose retention is over.

use std::sync::Arc;

use lapsedb_kv::{Batch, Engine, Scan, Snapshot, Space, Template};
use lapsedb_record::{Millis, Secs};

use crate::catalog::{Collection, CollectionBody};
use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId, MetaKind};
use crate::versions::event::{self, Place};
use crate::versions::history::policy_retention;
use crate::versions::state::{self, ORDINAL_END, State, Told};
use crate::versions::watch::Watched;
use crate::view::View;
use crate::{MetaChange, Store, meta_value};

/// How often a change that others got ahead of is tried again.
const RETRIES_MAX: usize = 100;
/// Collections whose versions one change begins to keep at most.
const BEGUN_AT_ONCE_MAX: usize = 500;
/// How exactly it is known when a reader last came: to this part of the retention.
const READ_PARTS: u64 = 16;

impl MetaChange {
    /// Keeps the versions of a collection that this change makes, with [`History::kept`], as if a reader had just come.
    pub fn keep_from_start(&mut self, cid: CollectionId, now: Secs) -> &mut MetaChange {
        let body = State::body(&Told::default(), now, Some(0));
        self.put(state::key(cid), body)
    }

    /// Begins to keep a collection's versions with this change, which also writes its record, with [`History::kept`].
    /// What is dead by then has died untold, and stays so.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn begin_versions(&mut self, view: &View, collection: &Collection) -> Result<()> {
        let mut told = Told::default();
        if let Some(cut) = collection.policy.dead_written(view.now()) {
            let lsn = view.lsn_before(collection, cut.plus(Secs(1))).await?;
            told.log = (lsn, u16::MAX);
        }
        if let Some(cut) = collection.policy.dead_due(view.now()) {
            told.due = (cut.0, ORDINAL_END);
        }
        let body = State::body(&told, view.now().secs(), None);
        self.put(state::key(collection.cid), body);
        // Who dies in the next second must be told.
        self.not_after(view.now().secs().plus(Secs(1)).millis());
        Ok(())
    }
}

impl Collection {
    /// Its record, written again with another history, so that its definition keeps its etag.
    fn rewritten(&self, kept: bool, retention: Option<Secs>) -> CollectionBody<'_> {
        let mut body = self.body();
        body.history.kept = kept;
        body.history.retention = retention;
        body
    }
}

impl Store {
    /// Keeps a collection's versions from now on, if they are not kept yet, and notes that a reader has come: what no policy
    /// asks for and no reader reads is given up after its retention. The collection's etag stays.
    ///
    /// # Errors
    /// When the engine fails, or others were always faster.
    pub async fn keep_versions(&self, cid: CollectionId) -> Result<()> {
        self.keep_versions_for(cid, None).await
    }

    /// The same for a retention, where the definition has none.
    ///
    /// # Errors
    /// When the engine fails, or others were always faster.
    pub async fn keep_versions_for(
        &self,
        cid: CollectionId,
        retention: Option<Secs>,
    ) -> Result<()> {
        for _ in 0..RETRIES_MAX {
            let view = self.view().await?;
            let Some(collection) = view.catalog().collection_numbered(cid).cloned() else {
                return Ok(());
            };
            let kept = collection.history.kept;
            let retention = retention.or(collection.history.retention);
            let outcome = if kept && collection.history.retention == retention {
                self.note_reader(&view, &collection).await
            } else {
                let mut change = MetaChange::default();
                if !kept {
                    change.begin_versions(&view, &collection).await?;
                }
                change.put(
                    keys::meta_numbered(MetaKind::Collection, cid.0),
                    collection.rewritten(true, retention).into_object(),
                );
                self.change_catalog(&view, change).await.map(|_| ())
            };
            match outcome {
                Err(StoreError::Retry) => tokio::task::yield_now().await,
                outcome => return outcome,
            }
        }
        Err(StoreError::Retry)
    }

    /// Keeps the versions of several collections from now on, those that are not kept yet, for a retention: many in one change.
    ///
    /// # Errors
    /// When the engine fails, or others were always faster.
    pub async fn begin_versions_of(&self, cids: &[CollectionId], retention: Secs) -> Result<()> {
        for some in cids.chunks(BEGUN_AT_ONCE_MAX) {
            let mut tries = 0;
            while let Err(error) = self.begin_some(some, retention).await {
                tries += 1;
                if !matches!(error, StoreError::Retry) || tries > RETRIES_MAX {
                    return Err(error);
                }
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    async fn begin_some(&self, cids: &[CollectionId], retention: Secs) -> Result<()> {
        let view = self.view().await?;
        let catalog = view.catalog();
        let mut change = MetaChange::default();
        let unkept = cids.iter().filter_map(|cid| {
            let collection = catalog.collection_numbered(*cid)?;
            (!collection.history.kept).then_some(collection)
        });
        let mut any = false;
        for collection in unkept {
            any = true;
            change.begin_versions(&view, collection).await?;
            let key = keys::meta_numbered(MetaKind::Collection, collection.cid.0);
            change.put(
                key,
                collection.rewritten(true, Some(retention)).into_object(),
            );
        }
        if any {
            self.change_catalog(&view, change).await?;
        }
        Ok(())
    }

    /// Notes that a reader has come, if that was last noted long ago.
    async fn note_reader(&self, view: &View, collection: &Collection) -> Result<()> {
        let state = view.versions_state(collection.cid).await?;
        let now = view.now().secs();
        let step = Secs(collection.retention().0 / READ_PARTS);
        if state.stamp > 0 && state.read.plus(step) > now {
            return Ok(());
        }
        let mut batch = Batch::new();
        state.check(collection.cid, &mut batch);
        let body = State::body(&state.told, now, Some(state.floor));
        batch.put(
            Space::Meta,
            Template::from(state::key(collection.cid)),
            meta_value(&body),
        );
        self.engine().commit(batch).await?;
        Ok(())
    }

    /// Removes events whose retention is over, or all of them if no policy asks for them and no reader has come for that
    /// long. Says when it is worth another look.
    ///
    /// # Errors
    /// [`StoreError::Retry`] when something else came in between; otherwise when the engine fails.
    pub async fn trim_versions(&self, collection: &Arc<Collection>) -> Result<Millis> {
        let view = self.view().await?;
        let Some(collection) = view.catalog().collection_numbered(collection.cid).cloned() else {
            return Ok(Millis(u64::MAX));
        };
        let retention = collection.retention();
        let mut state = view.versions_state(collection.cid).await?;
        // Who follows many collections says so once for all of them.
        let watched = view.watch_read(&collection);
        let is_renewed = watched.is_some_and(|read| read > state.read)
            && state.read.plus(retention) < view.now().secs();
        if let Some(read) = watched.filter(|_| is_renewed) {
            state.read = read;
        }
        let wanted = policy_retention(&collection.document).is_some();
        let unread = state.read.plus(retention);
        if !wanted && unread < view.now().secs() {
            self.forget_versions(&view, &collection).await?;
            return Ok(Millis(u64::MAX));
        }
        let look = if wanted { Secs(u64::MAX) } else { unread };
        let oldest = Secs(view.now().secs().0.saturating_sub(retention.0));
        let cut = last_before(&view, collection.cid, state.floor, oldest).await?;
        if cut > state.floor || is_renewed {
            let mut batch = Batch::new();
            state.check(collection.cid, &mut batch);
            let body = State::body(&state.told, state.read, Some(cut));
            batch.put(
                Space::Meta,
                Template::from(state::key(collection.cid)),
                meta_value(&body),
            );
            batch.delete_range(
                Space::Versions,
                keys::collection_prefix(collection.cid),
                event::key_after(collection.cid, Place::end_of(cut)),
            );
            self.engine().commit(batch).await?;
        }
        let next = first_after(&view, collection.cid, cut).await?;
        let next = next.map_or(view.now().secs(), |(_, second)| second);
        // A little later than need be, so that many go at once.
        let slack = Secs(1 + retention.0 / READ_PARTS);
        Ok(next.plus(retention).plus(slack).min(look).millis())
    }

    /// Ends keeping a collection's versions and removes them.
    async fn forget_versions(&self, view: &View, collection: &Collection) -> Result<()> {
        let mut change = MetaChange::default();
        change.put(
            keys::meta_numbered(MetaKind::Collection, collection.cid.0),
            collection.rewritten(false, None).into_object(),
        );
        change.forget_versions(collection.cid);
        self.change_catalog(view, change).await?;
        Ok(())
    }
}

impl View {
    /// When somebody who follows a collection by a watch was last there, about.
    fn watch_read(&self, collection: &Collection) -> Option<Secs> {
        let database = self.catalog().database_numbered(collection.database)?;
        let watched = Watched::Collection(&database.id, &collection.id);
        self.catalog().watch_read(watched)
    }

    /// The first commit whose events of a collection were told in a second or later; none, if there is no such one yet.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn versions_from(&self, cid: CollectionId, second: Secs) -> Result<Option<u64>> {
        let floor = self.versions_state(cid).await?.floor;
        let before = last_before(self, cid, floor, second).await?;
        let first = first_after(self, cid, before).await?;
        Ok(first.map(|(lsn, _)| lsn))
    }
}

/// The first commit with events behind another, and its second.
async fn first_after(view: &View, cid: CollectionId, lsn: u64) -> Result<Option<(u64, Secs)>> {
    let scan = Scan {
        space: Space::Versions,
        from: event::key_after(cid, Place::end_of(lsn)),
        to: lapsedb_kv::prefix_end(&keys::collection_prefix(cid)),
        reverse: false,
        rows_max: 1,
        bytes_max: 1,
    };
    match view.snapshot.scan(scan).await?.rows.first() {
        None => Ok(None),
        Some((key, value)) => {
            let lsn = key.get(4..).and_then(|rest| rest.first_chunk::<8>());
            let lsn = lsn
                .ok_or_else(|| StoreError::Corrupt("a version event's key is too short".into()))?;
            Ok(Some((
                u64::from_be_bytes(*lsn),
                event::committed_of(value)?,
            )))
        }
    }
}

/// The last commit whose events were told before a second; `floor` if there is none. Seconds never fall along the log.
async fn last_before(view: &View, cid: CollectionId, floor: u64, second: Secs) -> Result<u64> {
    // The answer is at least `low` and at most `high`.
    let (mut low, mut high) = (floor, view.lsn().max(floor));
    while low < high {
        let middle = low + (high - low) / 2;
        match first_after(view, cid, middle).await? {
            Some((lsn, told)) if told < second => low = lsn,
            Some(_) | None => high = middle,
        }
    }
    Ok(low)
}
