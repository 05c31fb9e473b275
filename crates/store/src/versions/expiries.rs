//! Tells expiries: what has died becomes an event, once, whoever comes first.
//!
//! Three may come first: a reader of the feed, the tick, and a transaction that writes or removes what a dead record has left
//! (`txn/events.rs`). The first two move the told places in [`Told`](super::state::Told) forward in the same batch as their
//! events; the third checks them. So each expiry is told once, with its moment, before anything else happens to its id. Those by
//! ttl come in the order of death, and those by dates too, one after the other.

use std::sync::Arc;

use lapsedb_kv::{Batch, Engine, Expect, Scan, Snapshot, Space, Template};
use lapsedb_record::{Expiry, HEADER_BYTES, ItemTtl, Lens, Mark, Millis, Secs, Setting, Stored};

use crate::catalog::Collection;
use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId, ItemKey, MetaKind};
use crate::versions::event::{EventKind, NewEvent, key_next};
use crate::versions::state::{self, ORDINAL_END, State, Told};
use crate::view::View;
use crate::{Store, meta_value};

/// Expiries told in one commit. A reader gets the events of a commit on one page, so they must not be very many.
const TELL_BATCH_EVENTS: usize = 32;
/// Bytes of records told in one commit; the one that passes it is still told.
const TELL_BATCH_BYTES: usize = 4 << 20;
/// How often a commit that others got ahead of is tried again.
const RETRIES_MAX: usize = 100;

impl View {
    /// Whether something has died by the view's time whose expiry is not told yet.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn expiries_due(&self, collection: &Collection) -> Result<bool> {
        if !collection.history.kept || !collection.can_expire() {
            return Ok(false);
        }
        let told = self.versions_state(collection.cid).await?.told;
        let by_ttl = untold(self, collection, &told, self.now(), 1).await?;
        Ok(!by_ttl.is_empty() || self.dated_due(collection).await?)
    }

    /// Whether every expiry up to a time is told, or nobody wants to know.
    pub(crate) async fn told_up_to(&self, collection: &Collection, until: Millis) -> Result<bool> {
        if !collection.history.kept {
            return Ok(true);
        }
        let told = self.versions_state(collection.cid).await?.told;
        Ok(untold(self, collection, &told, until, 1).await?.is_empty())
    }
}

impl View {
    /// When the next living item ends by what is written now: for whoever waits to tell it.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn next_death(&self, collection: &Collection) -> Result<Option<Millis>> {
        let lens = self.lens(collection);
        let told = self.versions_state(collection.cid).await?.told;
        let mut next = self.next_date_end(collection).await?;
        let mut scans = Vec::with_capacity(2);
        // The next to end stands behind the last that was told, in either queue.
        if collection.policy.setting != Setting::Off {
            let (second, ordinal) = told.due;
            let from = keys::due(collection.cid, Secs(second), ordinal.saturating_add(1));
            // Dates stand behind all seconds.
            let to = keys::due(collection.cid, Secs(ORDINAL_END), ORDINAL_END);
            scans.push((Space::Due, from, to));
        }
        if let Setting::OnWithDefault(_) = collection.policy.setting {
            let prefix = keys::log_prefix(collection.cid, keys::log_class(ItemTtl::Inherit));
            let (lsn, index) = told.log;
            let place = [&lsn.to_be_bytes()[..], &index.to_be_bytes(), &[0]].concat();
            let from = [prefix.as_slice(), &place].concat();
            scans.push((Space::Log, from, lapsedb_kv::prefix_end(&prefix)));
        }
        for (space, from, to) in scans {
            let scan = Scan {
                space,
                from,
                to,
                reverse: false,
                rows_max: 1,
                bytes_max: usize::MAX,
            };
            for (_, value) in self.snapshot.scan(scan).await?.rows {
                let (mark, _) = Mark::split(&value)?;
                if let Expiry::At(end) = lens.expiry(&mark) {
                    next = Some(next.map_or(end, |next| next.min(end)));
                }
            }
        }
        Ok(next)
    }
}

impl Store {
    /// Tells up to about `events_max` expiries that are due, oldest first. Says how many it told; fewer than asked for
    /// means that none was left. Whoever lets an engine drop dead entries by itself must have called this to the end first.
    ///
    /// # Errors
    /// When the engine fails, the bytes are damaged, or others were always faster.
    pub async fn tell_expiries(&self, cid: CollectionId, events_max: u64) -> Result<u64> {
        let mut count = 0;
        let mut retries = 0;
        while count < events_max {
            let view = self.view().await?;
            let Some(collection) = view.catalog().collection_numbered(cid).cloned() else {
                break;
            };
            if !collection.history.kept {
                break;
            }
            match tell(self, &view, &collection).await {
                Ok(0) => {
                    drop(view);
                    let room = events_max - count;
                    return Ok(count + self.tell_dated(&collection, room).await?);
                }
                Ok(told) => count += told,
                Err(StoreError::Retry) if retries < RETRIES_MAX => {
                    retries += 1;
                    tokio::task::yield_now().await;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }
}

/// An entry of an expiry queue whose record has died.
struct Dead {
    key: ItemKey,
    died: Millis,
    place: QueuePlace,
}

/// Where a dead entry stands in its queue.
#[derive(Clone, Copy)]
enum QueuePlace {
    Log((u64, u16)),
    Due((u64, u64)),
}

impl QueuePlace {
    fn advance(self, told: &mut Told) {
        match self {
            QueuePlace::Log(place) => told.log = place,
            QueuePlace::Due(place) => told.due = place,
        }
    }
}

/// One commit's worth of events; says how many entries of the queues it dealt with.
async fn tell(store: &Store, view: &View, collection: &Arc<Collection>) -> Result<u64> {
    let cid = collection.cid;
    let state = view.versions_state(cid).await?;
    let dead = untold(view, collection, &state.told, view.now(), TELL_BATCH_EVENTS).await?;
    if dead.is_empty() {
        return Ok(0);
    }
    let mut batch = Batch::new();
    batch.check(
        Space::Meta,
        keys::meta_numbered(MetaKind::Collection, cid.0),
        Expect::StartsWith(collection.version.to_be_bytes().to_vec()),
    );
    state.check(cid, &mut batch);
    let mut told = state.told;
    let (mut dealt, mut index, mut bytes) = (0, 0_u16, 0);
    for dead in dead {
        if bytes >= TELL_BATCH_BYTES {
            break;
        }
        dealt += 1;
        dead.place.advance(&mut told);
        let Some(record) = record_of(view, &dead).await? else {
            continue;
        };
        let head = record.get(..HEADER_BYTES).unwrap_or_default().to_vec();
        batch.check(Space::Items, dead.key.as_bytes(), Expect::StartsWith(head));
        bytes += record.len();
        let event = NewEvent {
            kind: EventKind::Expire,
            happened: Some(dead.died),
            note: &[],
            key: &dead.key,
            current: None,
            previous: Some(Template::from(record.as_slice())),
        };
        batch.put(Space::Versions, key_next(cid, index), event.value());
        index += 1;
    }
    let body = State::body(&told, state.read, Some(state.floor));
    batch.put(
        Space::Meta,
        Template::from(state::key(cid)),
        meta_value(&body),
    );
    let then = store.announcing([cid], false);
    store.engine().commit_then(batch, then).await?;
    Ok(dealt)
}

/// The record an entry stands for, if it is still that one.
async fn record_of(view: &View, dead: &Dead) -> Result<Option<Vec<u8>>> {
    let Some(bytes) = view.snapshot.get(Space::Items, dead.key.as_bytes()).await? else {
        return Ok(None);
    };
    let header = Stored::new(bytes.as_ref()).header()?;
    let same = match (dead.place, header.ttl) {
        (QueuePlace::Log(place), _) => (header.lsn, header.index) == place,
        (QueuePlace::Due(place), ItemTtl::After(life)) => {
            (header.written.plus(life).0, header.ordinal) == place
        }
        (QueuePlace::Due(_), ItemTtl::Inherit | ItemTtl::Never) => false,
    };
    Ok(same.then(|| bytes.as_ref().to_vec()))
}

/// The oldest entries of both queues that were dead at a time and are not yet told, by the moment of their death.
async fn untold(
    view: &View,
    collection: &Collection,
    told: &Told,
    until: Millis,
    rows_max: usize,
) -> Result<Vec<Dead>> {
    let lens = Lens {
        now: until,
        ..view.lens(collection)
    };
    let due = due_entries(view, collection, &lens, told, rows_max).await?;
    let log = log_entries(view, collection, &lens, told, rows_max).await?;
    Ok(merged(due, log, rows_max))
}

/// The first of two queues by the moment of death. Each keeps its own order, even where a date has ended somebody sooner than
/// those in front: the told places could not part the told from the untold otherwise.
fn merged(due: Vec<Dead>, log: Vec<Dead>, rows_max: usize) -> Vec<Dead> {
    let (mut due, mut log) = (due.into_iter().peekable(), log.into_iter().peekable());
    let next = || {
        let from_log = match (due.peek(), log.peek()) {
            (Some(due), Some(log)) => log.died < due.died,
            (due, _) => due.is_none(),
        };
        if from_log { log.next() } else { due.next() }
    };
    std::iter::from_fn(next).take(rows_max).collect()
}

async fn due_entries(
    view: &View,
    collection: &Collection,
    lens: &Lens,
    told: &Told,
    rows_max: usize,
) -> Result<Vec<Dead>> {
    let cid = collection.cid;
    let Some(cut) = collection.policy.dead_due(lens.now) else {
        return Ok(Vec::new());
    };
    let (second, ordinal) = told.due;
    let scan = Scan {
        space: Space::Due,
        from: keys::due(cid, Secs(second), ordinal.saturating_add(1)),
        to: keys::due(cid, cut.plus(Secs(1)), 0),
        reverse: false,
        rows_max,
        bytes_max: usize::MAX,
    };
    let short = || StoreError::Corrupt("a due entry is too short".into());
    let mut dead = Vec::new();
    for (key, value) in view.snapshot.scan(scan).await?.rows {
        let (mark, tail) = Mark::split(&value)?;
        let place = key.get(4..20).ok_or_else(short)?;
        let (second, ordinal) = place.split_at(8);
        let long = |bytes: &[u8]| {
            bytes
                .first_chunk::<8>()
                .map(|bytes| u64::from_be_bytes(*bytes))
        };
        let place = (
            long(second).ok_or_else(short)?,
            long(ordinal).ok_or_else(short)?,
        );
        dead.extend(death(collection, lens, &mark).map(|died| Dead {
            key: ItemKey::from_tail(cid, tail),
            died,
            place: QueuePlace::Due(place),
        }));
    }
    Ok(dead)
}

async fn log_entries(
    view: &View,
    collection: &Collection,
    lens: &Lens,
    told: &Told,
    rows_max: usize,
) -> Result<Vec<Dead>> {
    let cid = collection.cid;
    let Some(cut) = collection.policy.dead_written(lens.now) else {
        return Ok(Vec::new());
    };
    let prefix = keys::log_prefix(cid, keys::log_class(ItemTtl::Inherit));
    let mut from = prefix.clone();
    from.extend_from_slice(&told.log.0.to_be_bytes());
    from.extend_from_slice(&told.log.1.to_be_bytes());
    // The first key behind the one told last.
    from.push(0);
    let scan = Scan {
        space: Space::Log,
        from,
        to: lapsedb_kv::prefix_end(&prefix),
        reverse: false,
        rows_max,
        bytes_max: usize::MAX,
    };
    let mut dead = Vec::new();
    for (key, value) in view.snapshot.scan(scan).await?.rows {
        let (mark, rest) = Mark::split(&value)?;
        if mark.written > cut {
            break;
        }
        let place = keys::log_place(&key)
            .ok_or_else(|| StoreError::Corrupt("a log entry is too short".into()))?;
        dead.extend(death(collection, lens, &mark).map(|died| Dead {
            key: ItemKey::from_tail(cid, keys::log_tail(rest)),
            died,
            place: QueuePlace::Log(place),
        }));
    }
    Ok(dead)
}

fn death(collection: &Collection, lens: &Lens, mark: &Mark) -> Option<Millis> {
    collection.history.eras.death(lens, mark)
}
