//! Everything in memory, nothing kept: for tests and `--memory`.
//!
//! Every key has a short list of versions; a view reads the newest that is not newer than itself.
//! What no open view can see any more is removed with the next write.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};

use crate::batch::{Batch, tally};
use crate::engine::{
    Caps, CommitError, Committed, Engine, EngineError, Millis, Page, Scan, Snapshot, Space, Stamp,
    Then, Time,
};
use crate::group::{Change, Mark, View};
use crate::sequencer::{Backend, Sequencer};

const CAPS: Caps = Caps {
    name: "memory",
    key_bytes_max: 64 * 1024,
    value_bytes_max: 64 * 1024 * 1024,
    batch_bytes_max: 256 * 1024 * 1024,
    durable: false,
    judged: false,
};

/// An engine whose data lives as long as it does.
pub struct Memory {
    sequencer: Sequencer<Store>,
}

impl Memory {
    /// An empty engine.
    pub fn open(time: Arc<dyn Time>) -> Result<Memory, EngineError> {
        let shared = Arc::new(Shared::default());
        let view = shared.view(0, Mark::default());
        Ok(Memory {
            sequencer: Sequencer::start(Store { shared }, view, time)?,
        })
    }

    /// Replaces the time.
    pub fn set_time(&self, time: Arc<dyn Time>) {
        self.sequencer.set_time(time);
    }
}

impl Engine for Memory {
    type Snapshot = MemorySnapshot;

    async fn snapshot(&self) -> Result<MemorySnapshot, EngineError> {
        let (view, now) = self.sequencer.snapshot().await?;
        Ok(MemorySnapshot { view, now })
    }

    async fn commit_then(&self, batch: Batch, then: Then) -> Result<Committed, CommitError> {
        self.sequencer.commit_then(batch, then).await
    }

    async fn drop_range(&self, space: Space, from: &[u8], to: &[u8]) -> Result<(), EngineError> {
        self.sequencer.drop_range(space, from, to).await
    }

    async fn sync(&self) -> Result<(), EngineError> {
        Ok(())
    }

    async fn rewrite(
        &self,
        _space: Space,
        _from: &[u8],
        _to: &[u8],
    ) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(None)
    }

    fn caps(&self) -> Caps {
        CAPS
    }

    async fn close(&self) -> Result<(), EngineError> {
        self.sequencer.close().await;
        Ok(())
    }

    fn halted(&self) -> Option<EngineError> {
        self.sequencer.halted()
    }

    fn outcomes_are_known(&self) -> bool {
        self.sequencer.outcomes_are_known()
    }

    fn disk_bytes(&self) -> u64 {
        0
    }

    fn disk_room(&self) -> Option<(u64, u64)> {
        None
    }
}

/// The versions of a key, oldest first; `None` says that the key was removed.
type Versions = Vec<(u64, Option<Bytes>)>;

#[derive(Default)]
struct Tables {
    newest: u64,
    spaces: [BTreeMap<Bytes, Versions>; Space::ALL.len()],
    /// Keys whose older versions can go once no view is older than the number.
    garbage: VecDeque<(u64, Space, Bytes)>,
}

#[derive(Default)]
struct Shared {
    tables: RwLock<Tables>,
    /// How many views stand at each version.
    open: Mutex<BTreeMap<u64, usize>>,
}

impl Shared {
    fn view(self: &Arc<Shared>, version: u64, mark: Mark) -> MemoryView {
        *self.open.lock().entry(version).or_default() += 1;
        MemoryView {
            shared: Arc::clone(self),
            version,
            mark,
        }
    }
}

struct Store {
    shared: Arc<Shared>,
}

impl Backend for Store {
    type View = MemoryView;

    fn caps(&self) -> Caps {
        CAPS
    }

    fn write(&self, changes: Vec<Change>, mark: Mark) -> Result<MemoryView, EngineError> {
        let mut tables = self.shared.tables.write();
        tables.newest += 1;
        for change in changes {
            tables.apply(change)?;
        }
        let oldest = self
            .shared
            .open
            .lock()
            .keys()
            .next()
            .copied()
            .unwrap_or(tables.newest);
        tables.collect(oldest);
        let newest = tables.newest;
        drop(tables);
        Ok(self.shared.view(newest, mark))
    }
}

impl Tables {
    fn apply(&mut self, change: Change) -> Result<(), EngineError> {
        match change {
            Change::Put { space, key, value } => {
                let zeros = space == Space::Tally && tally::decode(&value) == Some((0, 0));
                self.set(space, key.into(), (!zeros).then(|| value.into()));
            }
            Change::Delete { space, key } => self.set(space, key.into(), None),
            Change::Add {
                space,
                key,
                items,
                bytes,
            } => {
                let old = self.spaces[space as usize]
                    .get(key.as_slice())
                    .and_then(|versions| at(versions, self.newest));
                let old = old.map_or(Some((0, 0)), |value| tally::decode(&value));
                let old =
                    old.ok_or_else(|| EngineError::Corrupt("a sum is not two numbers".to_owned()))?;
                let (items, bytes) = tally::sum(old, (items, bytes));
                let value = Bytes::copy_from_slice(&tally::encode(items, bytes));
                self.set(
                    space,
                    key.into(),
                    ((items, bytes) != (0, 0)).then_some(value),
                );
            }
            Change::DeleteRange { space, from, to } => {
                if from < to {
                    let range = self.spaces[space as usize].range::<[u8], _>(bounds(&from, &to));
                    let keys: Vec<Bytes> = range.map(|(key, _)| key.clone()).collect();
                    for key in keys {
                        self.set(space, key, None);
                    }
                }
            }
        }
        Ok(())
    }

    fn set(&mut self, space: Space, key: Bytes, value: Option<Bytes>) {
        let table = &mut self.spaces[space as usize];
        if value.is_none() && !table.contains_key(&key) {
            return;
        }
        let versions = table.entry(key.clone()).or_default();
        match versions.last_mut() {
            Some((version, newest)) if *version == self.newest => *newest = value,
            Some(_) | None => {
                let only = versions.is_empty() && value.is_some();
                versions.push((self.newest, value));
                if only {
                    return;
                }
            }
        }
        self.garbage.push_back((self.newest, space, key));
    }

    /// Forgets what no view at or after `oldest` can see.
    fn collect(&mut self, oldest: u64) {
        while let Some((_, space, key)) = self
            .garbage
            .pop_front_if(|(version, _, _)| *version <= oldest)
        {
            let table = &mut self.spaces[space as usize];
            let Some(versions) = table.get_mut(&key) else {
                continue;
            };
            let keep = versions
                .iter()
                .rposition(|(version, _)| *version <= oldest)
                .unwrap_or(0);
            versions.drain(..keep);
            if versions
                .first()
                .is_some_and(|(version, value)| *version <= oldest && value.is_none())
            {
                versions.remove(0);
            }
            if versions.is_empty() {
                table.remove(&key);
            }
        }
    }
}

fn at(versions: &Versions, version: u64) -> Option<Bytes> {
    versions
        .iter()
        .rev()
        .find(|(number, _)| *number <= version)
        .and_then(|(_, value)| value.clone())
}

fn bounds<'a>(from: &'a [u8], to: &'a [u8]) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
    let end = if to.is_empty() {
        Bound::Unbounded
    } else {
        Bound::Excluded(to)
    };
    (Bound::Included(from), end)
}

/// The state after one write.
pub(crate) struct MemoryView {
    shared: Arc<Shared>,
    version: u64,
    mark: Mark,
}

impl View for MemoryView {
    type Slice = Bytes;

    fn mark(&self) -> Mark {
        self.mark
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, EngineError> {
        let tables = self.shared.tables.read();
        Ok(tables.spaces[space as usize]
            .get(key)
            .and_then(|versions| at(versions, self.version)))
    }
}

impl MemoryView {
    fn scan(&self, scan: &Scan) -> Page {
        let mut page = Page::default();
        if !scan.to.is_empty() && scan.from >= scan.to {
            return page;
        }
        let tables = self.shared.tables.read();
        let range =
            tables.spaces[scan.space as usize].range::<[u8], _>(bounds(&scan.from, &scan.to));
        let seen =
            |(key, versions): (&Bytes, &Versions)| Some((key.clone(), at(versions, self.version)?));
        if scan.reverse {
            fill(&mut page, scan, range.rev().filter_map(seen));
        } else {
            fill(&mut page, scan, range.filter_map(seen));
        }
        page
    }
}

fn fill(page: &mut Page, scan: &Scan, rows: impl Iterator<Item = (Bytes, Bytes)>) {
    let mut bytes = 0;
    for (key, value) in rows {
        if !page.rows.is_empty() && (page.rows.len() >= scan.rows_max || bytes >= scan.bytes_max) {
            page.more = true;
            return;
        }
        bytes += key.len() + value.len();
        page.rows.push((key, value));
    }
}

impl Drop for MemoryView {
    fn drop(&mut self) {
        let mut open = self.shared.open.lock();
        if let Some(count) = open.get_mut(&self.version) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.version);
            }
        }
    }
}

/// A snapshot of [`Memory`].
#[derive(Clone)]
pub struct MemorySnapshot {
    view: Arc<MemoryView>,
    now: Millis,
}

impl Snapshot for MemorySnapshot {
    type Slice = Bytes;

    fn now(&self) -> Millis {
        self.now
    }

    fn stamp(&self) -> Stamp {
        self.view.mark.stamp
    }

    async fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, EngineError> {
        self.view.get(space, key)
    }

    async fn multi_get(
        &self,
        space: Space,
        keys: &[Vec<u8>],
    ) -> Result<Vec<Option<Bytes>>, EngineError> {
        keys.iter().map(|key| self.view.get(space, key)).collect()
    }

    async fn scan(&self, scan: Scan) -> Result<Page, EngineError> {
        Ok(self.view.scan(&scan))
    }

    async fn visit(
        &self,
        mut scan: Scan,
        mut see: impl FnMut(&[u8], &[u8]) + Send,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        // Rows are shared, not copied, so a page is as good as the place itself; and nobody is shown anything under a lock.
        let page = self.view.scan(&scan);
        for (key, value) in &page.rows {
            see(key, value);
        }
        Ok(page.rows.last().filter(|_| page.more).map(|(key, _)| {
            scan.resume_after(key);
            scan.from
        }))
    }
}
