//! A change stream at work: events of the collections it follows, merged, through its stages.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lapsedb_mql::stages::{NoForeign, Runner};
use lapsedb_record::Clock;
use lapsedb_store::{
    ChangeLimits, Collection, CollectionId, Event, EventPlace, Events, ItemRange, Source, View,
};
use lapsedb_value::{Object, Value};

use crate::changes::document::{ending, event};
use crate::changes::open::{Full, Options, watched};
use crate::changes::token;
use crate::cursors::{Room, encoded};
use crate::documents::fault::{Fault, Result};
use crate::documents::id::ID;
use crate::documents::{Namespace, Work, running};

/// Events read in one step.
const STEP_EVENTS: usize = 256;
/// Bytes read in one step.
const STEP_BYTES: usize = 4 << 20;
/// Entries read in one step.
const STEP_ENTRIES: u64 = 1024;
/// How long a batch waits for events when the client does not say, in milliseconds.
const AWAIT_MS: u64 = 1000;
/// How long a stream over several collections waits before it looks again, in milliseconds.
const LOOK_AGAIN_MS: u64 = 50;
/// Code of a stream whose place is kept no longer.
const HISTORY_LOST: i32 = 286;
/// Code of a stream whose stages took its token away.
const FATAL: i32 = 280;

/// What a stream follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// One collection.
    Collection,
    /// All collections of a database.
    Database,
    /// All collections.
    Everything,
}

/// A collection that is followed.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) cid: CollectionId,
    pub(crate) namespace: Namespace,
}

/// A stream.
pub(crate) struct Changes {
    namespace: Namespace,
    pub(crate) scope: Scope,
    options: Options,
    pub(crate) images: bool,
    pub(crate) watched: Vec<Watched>,
    pub(crate) after: EventPlace,
    /// Events before this second are passed over.
    pub(crate) not_before: u64,
    /// Nothing can have happened yet.
    pub(crate) fresh: bool,
    pub(crate) runner: Option<Runner>,
    /// Documents that did not fit into the last batch, with their places.
    ready: VecDeque<(Bytes, Object)>,
    token: Option<Object>,
    ended: bool,
}

impl Changes {
    pub(crate) const fn new(namespace: Namespace, scope: Scope, options: Options) -> Changes {
        Changes {
            namespace,
            scope,
            options,
            images: false,
            watched: Vec::new(),
            after: EventPlace { lsn: 0, index: 0 },
            not_before: 0,
            fresh: false,
            runner: None,
            ready: VecDeque::new(),
            token: None,
            ended: false,
        }
    }

    /// Where the stream may be resumed.
    pub(crate) fn resume_token(&self) -> Option<Object> {
        self.token.clone()
    }

    /// Fills a batch: what has happened, or after a while nothing. True when the stream has ended.
    pub(crate) async fn next(&mut self, work: &Work, room: &mut Room) -> Result<bool> {
        self.options.images = self.images;
        let deadline = match std::mem::take(&mut self.fresh) {
            true => Clock::monotonic(),
            false => Clock::monotonic() + work.limit().unwrap_or(Duration::from_millis(AWAIT_MS)),
        };
        loop {
            if self.hand_out(room) {
                return Ok(self.ended && self.ready.is_empty());
            }
            if self.ended {
                return Ok(true);
            }
            let listener = match self.watched.as_slice() {
                [one] => Some(work.ctx.service().store().listen(one.cid)),
                _ => None,
            };
            let before = self.after;
            self.step(work).await?;
            if self.hand_out(room) || self.ended {
                return Ok(self.ended && self.ready.is_empty());
            }
            if self.after == before || self.watched.is_empty() {
                if Clock::monotonic() >= deadline {
                    return Ok(false);
                }
                wait(listener, deadline).await;
            } else if Clock::monotonic() >= deadline {
                return Ok(false);
            }
        }
    }

    /// Gives what is ready; says whether there was any.
    fn hand_out(&mut self, room: &mut Room) -> bool {
        let mut any = false;
        while let Some((document, token)) = self.ready.pop_front() {
            match room.take(document) {
                Ok(()) => {
                    self.token = Some(token);
                    any = true;
                }
                Err(document) => {
                    self.ready.push_front((document, token));
                    return true;
                }
            }
        }
        any
    }

    /// Reads the next events.
    async fn step(&mut self, work: &Work) -> Result<()> {
        let store = work.ctx.service().store();
        for one in &self.watched {
            store.tell_expiries(one.cid, STEP_ENTRIES).await?;
        }
        let view = work.ctx.view().await?;
        let current = watched(&view, &self.namespace, &self.scope);
        self.join(work, &view, &current).await?;
        let catalog = view.catalog();
        let there: Vec<&Collection> = self
            .watched
            .iter()
            .filter_map(|one| {
                catalog
                    .collection_numbered(one.cid)
                    .map(std::convert::AsRef::as_ref)
            })
            .collect();
        let range = ItemRange::Everything;
        let sources: Vec<Source<'_>> = there
            .iter()
            .map(|collection| Source {
                collection,
                range: &range,
            })
            .collect();
        let limits = ChangeLimits {
            items_max: STEP_EVENTS,
            bytes_max: STEP_BYTES,
            entries_max: STEP_ENTRIES,
        };
        let page = match view.events(&sources, self.after, limits).await? {
            Events::Forgotten => {
                return Err(Fault::new(
                    HISTORY_LOST,
                    "Resume of change stream was not possible, as the resume point may no longer be in the history.",
                ));
            }
            Events::Page(page) => page,
        };
        for one in &page.events {
            if one.committed.0 < self.not_before {
                continue;
            }
            let told = told(&view, one, (&self.watched, &self.namespace), &self.options).await?;
            self.push(told).await?;
        }
        self.after = page.next;
        self.token = Some(token::write(self.after, false));
        if page.caught_up {
            self.follow(&view, current).await?;
        }
        Ok(())
    }

    /// Takes a document through the stages.
    async fn push(&mut self, told: Object) -> Result<()> {
        let token = told.get(ID).cloned().unwrap_or_default();
        let Some(runner) = &mut self.runner else {
            return Ok(());
        };
        runner.push(vec![told], &NoForeign).await.map_err(running)?;
        while let Some(made) = runner.take() {
            let kept = made
                .get(ID)
                .is_some_and(|id| lapsedb_value::order::identical_bson(id, &token));
            if !kept {
                return Err(Fault::new(
                    FATAL,
                    "Encountered an event whose _id field, which contains the resume token, was modified by the pipeline. Modifying the _id field of an event makes it impossible to resume the stream from that point. Only transformations that retain the unmodified _id field are allowed.",
                ));
            }
            let place = token.as_object().cloned().unwrap_or_default();
            self.ready.push_back((encoded(&made), place));
        }
        Ok(())
    }

    /// Notices collections that are gone.
    async fn follow(&mut self, view: &View, current: Vec<Watched>) -> Result<()> {
        let known = |all: &[Watched], cid: CollectionId| all.iter().any(|one| one.cid == cid);
        let gone: Vec<_> = self
            .watched
            .iter()
            .filter(|one| !known(&current, one.cid))
            .cloned()
            .collect();
        let now = view.now().secs().0 << 32 | (view.lsn() & 0xFFFF_FFFF);
        let place = EventPlace::end_of(view.lsn());
        for one in &gone {
            self.push(ending("drop", place, now, Some(&one.namespace)))
                .await?;
        }
        let over = match self.scope {
            Scope::Collection => !gone.is_empty(),
            Scope::Database => !gone.is_empty() && current.is_empty(),
            Scope::Everything => false,
        };
        if over {
            if self.scope == Scope::Database {
                let mut told = ending("dropDatabase", place, now, None);
                let mut ns = Object::with_capacity(1);
                ns.push("db", self.namespace.database.as_str());
                told.push("ns", Value::Object(ns));
                self.push(told).await?;
            }
            self.push(ending("invalidate", place, now, None)).await?;
            self.ended = true;
        }
        self.watched.retain(|one| known(&current, one.cid));
        Ok(())
    }

    /// Begins to follow collections that are new. They have kept their versions since they were made, because somebody
    /// watches; those that have not do so from now on.
    async fn join(&mut self, work: &Work, view: &View, current: &[Watched]) -> Result<()> {
        if self.scope == Scope::Collection && !self.watched.is_empty() {
            return Ok(());
        }
        for one in current {
            if self.watched.iter().any(|known| known.cid == one.cid) {
                continue;
            }
            let collection = view.catalog().collection_numbered(one.cid);
            if collection.is_some_and(|collection| collection.history.kept) {
                self.watched.push(one.clone());
            } else {
                work.ctx.service().store().keep_versions(one.cid).await?;
            }
        }
        Ok(())
    }
}

/// Has the versions of all that is followed be kept.
pub(crate) async fn keep_all(work: &Work, namespace: &Namespace, scope: Scope) -> Result<()> {
    let service = work.ctx.service();
    service.documents_state().watch(namespace, scope);
    let view = work.ctx.view().await?;
    for one in watched(&view, namespace, &scope) {
        service.store().keep_versions(one.cid).await?;
        service.store().tell_expiries(one.cid, u64::MAX).await?;
    }
    Ok(())
}

/// One event as a document.
async fn told(
    view: &View,
    one: &Event,
    (watched, namespace): (&[Watched], &Namespace),
    options: &Options,
) -> Result<Object> {
    let cid = one.key.collection();
    let namespace = watched
        .iter()
        .find(|watched| watched.cid == cid)
        .map_or(namespace, |watched| &watched.namespace);
    let mut current = None;
    if options.full == Full::UpdateLookup
        && let Some(collection) = view.catalog().collection_numbered(cid)
    {
        let live = view.get(collection, &one.key).await?;
        current = Some(match live {
            Some(live) => Some(lapsedb_value::bson::read_document(live.body())?),
            None => None,
        });
    }
    event(one, namespace, options, current)
}

/// Waits until something may have happened.
async fn wait(listener: Option<lapsedb_store::Listener>, deadline: Instant) {
    let left = deadline.saturating_duration_since(Clock::monotonic());
    match listener {
        Some(mut listener) => {
            // Expiries are told once a second, and drops are not told at all: look again now and then.
            let step = left.min(Duration::from_millis(10 * LOOK_AGAIN_MS));
            let _ = tokio::time::timeout(step, listener.changed()).await;
        }
        None => tokio::time::sleep(left.min(Duration::from_millis(LOOK_AGAIN_MS))).await,
    }
}
