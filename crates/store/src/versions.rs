//! All versions: every change of a collection as an event, in the order of commits, kept for a retention.
//!
//! Where versions are kept ([`History::kept`]), each create, replace and delete writes its event in its own batch, and each
//! expiry becomes one when it is due (`expiries.rs`). Knows no wire, so that every door can read it. A reader:
//!
//! 1. asks [`Store::keep_versions`] once, which begins to keep them if that is not so yet, and starts behind the view's lsn;
//! 2. takes a view and reads [`View::events`] behind the last place it has seen;
//! 3. if that is caught up and [`View::expiries_due`], calls [`Store::tell_expiries`] and looks again with a new view: so an
//!    answer that says "nothing new" is true of expiries too;
//! 4. waits, if it may, with [`Store::listen`] instead of asking again and again.

pub mod catalog_log;
pub mod event;
mod expiries;
pub mod grave;
pub mod history;
mod keep;
pub(crate) mod state;
pub mod watch;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use bytes::Bytes;
use lapsedb_kv::{Scan, Snapshot, Space};
use lapsedb_record::Secs;

use crate::catalog::Collection;
use crate::change_feed::{ChangeLimits, Within};
use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId};

use crate::versions::event::{Event, Place};
use crate::versions::grave::Grave;
use crate::view::{ItemRange, View};

#[cfg(doc)]
use crate::{Store, versions::history::History};

/// How many events one step asks of the engine.
const STEP_ROWS_MAX: usize = 128;
/// The same of all collections that are read together, as far as each has one.
const STEP_ROWS_ALL: usize = 16 * STEP_ROWS_MAX;
/// How many bytes of events one step asks of the engine.
const STEP_BYTES_MAX: usize = 1 << 20;

/// Whose events are read.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// Of some items of a collection, which is of the view that reads it.
    Items(&'a Collection, &'a ItemRange),
    /// Of all items of a collection that is gone.
    Grave(&'a Grave),
}

impl Source<'_> {
    const fn cid(&self) -> CollectionId {
        match self {
            Source::Items(collection, _) => collection.cid,
            Source::Grave(grave) => grave.cid,
        }
    }
}

/// A stretch of events.
pub struct EventPage {
    /// In the order they happened to be committed.
    pub events: Vec<Event>,
    /// Where the reader now stands.
    pub next: Place,
    /// Whether the view holds nothing behind it.
    pub caught_up: bool,
    /// How many events were read to find these.
    pub entries_read: u64,
}

/// What a reader finds behind its place.
pub enum Events {
    /// What comes next.
    Page(EventPage),
    /// Events behind that place are kept no longer, or never were: the reader must begin anew.
    Forgotten,
}

impl View {
    /// The events of some collections behind a place, merged in the order of commits. A page ends between commits, even
    /// beyond its limits.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn events(
        &self,
        sources: &[Source<'_>],
        after: Place,
        limits: ChangeLimits,
    ) -> Result<Events> {
        let share = (STEP_ROWS_ALL / sources.len().max(1)).clamp(1, STEP_ROWS_MAX);
        let rows_max = limits.items_max.saturating_add(1).min(share);
        let mut lanes = Vec::with_capacity(sources.len());
        for source in sources {
            let mut lane = Lane::new(source, after, rows_max);
            if lane.forgotten(self, source, after).await? {
                return Ok(Events::Forgotten);
            }
            lanes.push(lane);
        }
        let end = Place::end_of(self.lsn());
        let mut page = EventPage {
            events: Vec::new(),
            next: after.max(end),
            caught_up: true,
            entries_read: 0,
        };
        let mut bytes_left = limits.bytes_max;
        let mut seen = None;
        let mut heads = heads(&mut lanes, self).await?;
        while let Some(Reverse((_, at))) = heads.pop() {
            let Some(lane) = lanes.get_mut(at) else {
                break;
            };
            let Some((key, value)) = lane.rows.pop_front() else {
                break;
            };
            heads.extend(lane.place(self).await?.map(|place| Reverse((place, at))));
            let event = Event::read(&key, &value)?;
            let full = page.events.len() >= limits.items_max
                || bytes_left == 0
                || page.entries_read >= limits.entries_max;
            if let Some(seen) = seen
                && full
                && event.place.lsn != seen
            {
                page.next = Place::end_of(seen);
                page.caught_up = false;
                break;
            }
            seen = Some(event.place.lsn);
            page.entries_read += 1;
            let wanted = lanes.get(at).is_some_and(|lane| lane.wants(&event));
            if wanted {
                bytes_left = bytes_left.saturating_sub(value.len());
                page.events.push(event);
            }
        }
        Ok(Events::Page(page))
    }

    /// Whether the view holds no event behind a place, whichever items it is about: one look per collection.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn caught_up(&self, sources: &[Source<'_>], after: Place) -> Result<bool> {
        if after >= Place::end_of(self.lsn()) {
            return Ok(true);
        }
        for source in sources {
            if Lane::new(source, after, 1).head(self).await?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A place as the bytes of a key.
type HeadPlace = [u8; 10];

/// The events of one collection, read in steps.
struct Lane<'a> {
    /// Whose items are wanted, and which; all, if that is not said.
    within: Option<(&'a Collection, Within<'a>)>,
    scan: Scan,
    rows: VecDeque<(Bytes, Bytes)>,
    more: bool,
}

impl<'a> Lane<'a> {
    fn new(source: &Source<'a>, after: Place, rows_max: usize) -> Lane<'a> {
        let cid = source.cid();
        Lane {
            within: match source {
                Source::Items(collection, range) => {
                    Some((*collection, Within::new(collection, range)))
                }
                Source::Grave(_) => None,
            },
            scan: Scan {
                space: Space::Versions,
                from: event::key_after(cid, after),
                to: lapsedb_kv::prefix_end(&keys::collection_prefix(cid)),
                reverse: false,
                rows_max,
                bytes_max: STEP_BYTES_MAX,
            },
            rows: VecDeque::new(),
            more: true,
        }
    }

    /// Whether something behind the place is kept no longer: it was removed, or its time is over and it will be.
    async fn forgotten(&mut self, view: &View, source: &Source<'_>, after: Place) -> Result<bool> {
        let retention = match source {
            Source::Items(collection, _) if !collection.history.kept => return Ok(true),
            Source::Items(collection, _) => collection.retention(),
            Source::Grave(grave) => grave.retention,
        };
        if after.lsn < view.versions_state(source.cid()).await?.floor {
            return Ok(true);
        }
        let oldest = view.now().secs().0.saturating_sub(retention.0);
        match self.head(view).await? {
            Some((_, value)) => Ok(event::committed_of(value)? < Secs(oldest)),
            None => Ok(false),
        }
    }

    async fn head(&mut self, view: &View) -> Result<Option<&(Bytes, Bytes)>> {
        if self.rows.is_empty() && self.more {
            let step = view.snapshot.scan(self.scan.clone()).await?;
            self.more = step.more;
            if let Some((key, _)) = step.rows.last() {
                self.scan.resume_after(key);
            }
            self.rows.extend(step.rows);
        }
        Ok(self.rows.front())
    }

    /// Where its next event stands.
    async fn place(&mut self, view: &View) -> Result<Option<HeadPlace>> {
        let Some((key, _)) = self.head(view).await? else {
            return Ok(None);
        };
        // Behind the collection stand lsn and index.
        let place = key.get(4..).and_then(|place| place.first_chunk::<10>());
        let short = || StoreError::Corrupt("a version event's key is too short".into());
        Ok(Some(*place.ok_or_else(short)?))
    }

    fn wants(&self, event: &Event) -> bool {
        self.within
            .as_ref()
            .is_none_or(|(collection, within)| within.contains(collection, &event.key))
    }
}

/// The lanes that have events, by the places of their next ones.
async fn heads(
    lanes: &mut [Lane<'_>],
    view: &View,
) -> Result<BinaryHeap<Reverse<(HeadPlace, usize)>>> {
    let mut heads = BinaryHeap::with_capacity(lanes.len());
    for (at, lane) in lanes.iter_mut().enumerate() {
        heads.extend(lane.place(view).await?.map(|place| Reverse((place, at))));
    }
    Ok(heads)
}
