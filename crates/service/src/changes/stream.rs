//! A change stream at work: events of the collections it follows, merged, through its stages.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use lapsedb_mql::stages::{NoForeign, Runner};
use lapsedb_record::{Clock, Secs};
use lapsedb_store::{CatalogEvent, ChangeLimits, Event, EventPlace, Events, ItemRange, View};
use lapsedb_value::order::identical_bson;
use lapsedb_value::{Object, Value};

use crate::changes::document::{Told, event, stamp, stamp_of};
use crate::changes::follow::{Ahead, Lanes};
use crate::changes::open::keep_all;
use crate::changes::options::{Full, Options};
use crate::changes::structure::{invalidate, structure};
use crate::changes::wait::{Ears, next_death};
use crate::changes::{FATAL, Scope, history_lost, not_resumable, split, token};
use crate::cursors::{Room, encoded};
use crate::documents::fault::{Fault, Result};
use crate::documents::id::ID;
use crate::documents::{Namespace, Work, shell};

/// Events read in one step.
const STEP_EVENTS: usize = 256;
/// Bytes read in one step.
const STEP_BYTES: usize = 4 << 20;
/// Entries read in one step.
const STEP_ENTRIES: u64 = 1024;
/// How long a batch waits for events when the client does not say, in milliseconds.
const AWAIT_MS: u64 = 1000;
/// A stream says that it still reads so many times within the retention.
const RENEW_PARTS: u64 = 32;

/// A stream.
pub(crate) struct Changes {
    namespace: Namespace,
    options: Options,
    runner: Runner,
    after: EventPlace,
    ahead: Ahead,
    /// Events before this time stamp are passed over.
    not_before: u64,
    /// The first batch never waits.
    opening: bool,
    /// When the stream last said that it reads.
    renewed: Option<Secs>,
    /// Documents that did not fit into the last batch, with their places.
    ready: VecDeque<(Bytes, Object)>,
    token: Option<Object>,
    /// Whether what is too large is told in parts.
    splits: bool,
    /// The event of which so many parts were told already.
    within: Option<(EventPlace, u16)>,
    ended: bool,
}

/// What a step has left to do.
struct Rest {
    ears: Ears,
    death: Option<lapsedb_record::Millis>,
    caught_up: bool,
}

impl Changes {
    pub(crate) const fn new(
        namespace: Namespace,
        options: Options,
        runner: Runner,
        after: EventPlace,
        not_before: u64,
    ) -> Changes {
        Changes {
            namespace,
            options,
            runner,
            after,
            ahead: Ahead::behind(after),
            not_before,
            opening: true,
            renewed: None,
            ready: VecDeque::new(),
            token: None,
            splits: false,
            within: None,
            ended: false,
        }
    }

    /// Says whether what is too large is told in parts, and which parts were told already.
    pub(crate) const fn split(&mut self, splits: bool, within: Option<(EventPlace, u16)>) {
        self.splits = splits;
        self.within = within;
    }

    /// Where the stream may be resumed.
    pub(crate) fn resume_token(&self) -> Option<Object> {
        self.token.clone()
    }

    /// Fills a batch: what has happened, or after a while nothing. True when the stream has ended.
    pub(crate) async fn next(&mut self, work: &Work, room: &mut Room) -> Result<bool> {
        let wait = match std::mem::take(&mut self.opening) {
            true => Duration::ZERO,
            false => work.limit().unwrap_or(Duration::from_millis(AWAIT_MS)),
        };
        let verb = if wait.is_zero() {
            "aggregation"
        } else {
            "getMore"
        };
        self.fill(work, room, wait)
            .await
            .map_err(|fault| during(fault, verb))
    }

    async fn fill(&mut self, work: &Work, room: &mut Room, wait: Duration) -> Result<bool> {
        let deadline = Clock::monotonic() + wait;
        loop {
            if self.hand_out(room) || self.ended {
                return Ok(self.ended && self.ready.is_empty());
            }
            let mut rest = self.step(work).await?;
            if self.hand_out(room) || self.ended {
                return Ok(self.ended && self.ready.is_empty());
            }
            // A step that found events, of which the stages let none through, goes on at once.
            if Clock::monotonic() >= deadline {
                return Ok(false);
            }
            work.in_time().await?;
            if rest.caught_up {
                let clock = work.ctx.service().clock();
                rest.ears.wait(clock, rest.death, deadline).await;
            }
        }
    }

    /// Gives what is ready; says whether there was any.
    fn hand_out(&mut self, room: &mut Room) -> bool {
        let any = !self.ready.is_empty();
        while let Some((document, token)) = self.ready.pop_front() {
            match room.take(document) {
                Ok(()) => self.token = Some(token),
                Err(document) => {
                    self.ready.push_front((document, token));
                    return true;
                }
            }
        }
        any
    }

    /// Reads the next events.
    async fn step(&mut self, work: &Work) -> Result<Rest> {
        self.renew(work).await?;
        let service = work.ctx.service();
        let store = service.store();
        let scope = self.options.scope;
        let ears = match scope {
            Scope::Collection => self.emit_own(work).await?,
            Scope::Database | Scope::Everything => {
                let ears = Ears::of_all(store);
                service.emit_due(STEP_ENTRIES).await?;
                ears
            }
        };
        // The ears were open before this view, so nothing that it does not have goes unheard.
        let view = work.ctx.view().await?;
        self.ahead.look(store, &view).await?;
        let of = (scope, &self.namespace);
        let lanes = self.ahead.lanes_behind(store, &view, of, self.after);
        let caught_up = self.read(work, &view, &lanes).await?;
        let death = match (caught_up && self.ready.is_empty(), scope) {
            (true, Scope::Collection) => next_death(&view, &lanes.collections).await?,
            (true, Scope::Database | Scope::Everything) => service.next_emission(view.now()),
            (false, _) => None,
        };
        Ok(Rest {
            ears,
            death,
            caught_up,
        })
    }

    /// Emits what has expired of the one collection that is followed; says how to hear of it.
    async fn emit_own(&mut self, work: &Work) -> Result<Ears> {
        let store = work.ctx.service().store();
        let view = work.ctx.view().await?;
        self.ahead.look(store, &view).await?;
        let of = (self.options.scope, &self.namespace);
        let lanes = self.ahead.lanes(&view, of, None);
        let ears = Ears::of(store, &lanes.collections);
        for collection in &lanes.collections {
            if view.expiries_due(collection).await? {
                store.tell_expiries(collection.cid, STEP_ENTRIES).await?;
            }
        }
        Ok(ears)
    }

    /// Whether what a stream of many collections follows has been followed without a gap since where it stands.
    fn is_followed(&self, view: &View) -> bool {
        match self.options.scope {
            // Its collection says so itself.
            Scope::Collection => true,
            Scope::Database | Scope::Everything => {
                let watched = self.options.scope.watched(&self.namespace);
                let since = view.catalog().watched_since(watched);
                since.is_some_and(|(floor, _)| floor <= self.after.lsn)
            }
        }
    }

    /// Reads what a view has; says whether that was all.
    async fn read(&mut self, work: &Work, view: &View, lanes: &Lanes) -> Result<bool> {
        let limits = ChangeLimits {
            items_max: STEP_EVENTS,
            bytes_max: STEP_BYTES,
            entries_max: STEP_ENTRIES,
        };
        let everything = ItemRange::Everything;
        let sources = lanes.sources(&everything);
        if !self.is_followed(view) || view.catalog_log_forgotten(self.after).await? {
            return Err(history_lost());
        }
        let page = match view.events(&sources, self.after, limits).await? {
            Events::Forgotten => return Err(history_lost()),
            Events::Page(page) => page,
        };
        for one in &page.events {
            self.pass_until(one.place).await?;
            if self.ended {
                return Ok(true);
            }
            if !is_before(stamp(one), self.not_before) {
                self.tell(work, view, lanes, one).await?;
            }
        }
        self.pass_until(page.next).await?;
        self.after = page.next;
        if self.ready.is_empty() {
            self.token = Some(token::write(self.after, false));
        }
        Ok(page.caught_up)
    }

    /// Passes the changes of collections up to a place.
    async fn pass_until(&mut self, place: EventPlace) -> Result<()> {
        while !self.ended && self.ahead.next_place().is_some_and(|next| next < place) {
            let Some(event) = self.ahead.pass() else {
                break;
            };
            let stamp = stamp_of(event.committed.0, event.place.lsn);
            if !is_before(stamp, self.not_before) {
                self.tell_structure(&event).await?;
            }
        }
        Ok(())
    }

    async fn tell_structure(&mut self, event: &CatalogEvent) -> Result<()> {
        let whole = (self.options.scope, &self.namespace);
        let made = structure(event, whole, &self.options);
        if let Some(told) = made.told {
            self.push(told).await?;
        }
        if made.ends {
            self.end(invalidate(event)).await?;
        }
        Ok(())
    }

    /// Ends the stream with its last event.
    pub(crate) async fn end(&mut self, last: Object) -> Result<()> {
        self.push(last).await?;
        self.ended = true;
        Ok(())
    }

    async fn tell(&mut self, work: &Work, view: &View, lanes: &Lanes, one: &Event) -> Result<()> {
        let cid = one.key.collection();
        let Some(about) = self.ahead.about(view, lanes, cid) else {
            return Ok(());
        };
        let mut current = None;
        if self.options.full == Full::UpdateLookup {
            let fresh = work.ctx.view().await?;
            current = match fresh.catalog().collection_numbered(cid) {
                Some(collection) => match fresh.get(collection, &one.key).await? {
                    Some(live) => Some(lapsedb_value::bson::read_document(live.body())?),
                    None => None,
                },
                None => None,
            };
        }
        let told = Told {
            namespace: &about.namespace,
            uuid: about.uuid.filter(|_| self.options.expanded),
            images: about.images,
            current: Some(current),
        };
        let made = event(one, &self.options, told)?;
        self.push(made).await
    }

    /// Takes a document through the stages.
    async fn push(&mut self, told: Object) -> Result<()> {
        let token = told.get(ID).cloned().unwrap_or_default();
        self.runner
            .push(vec![told], &NoForeign)
            .await
            .map_err(|error| Fault::new(error.code, error.message))?;
        while let Some(made) = self.runner.take() {
            let kept = made.get(ID).is_some_and(|id| identical_bson(id, &token));
            if !kept {
                return Err(altered(&token, &made));
            }
            let place = token.as_object().cloned().unwrap_or_default();
            self.take(&made, place)?;
        }
        match self.within {
            // The event that was to be gone on within has been passed.
            Some(_) => Err(split::no_such_part()),
            None => Ok(()),
        }
    }

    /// Takes an event up, in parts if need be.
    fn take(&mut self, made: &Object, token: Object) -> Result<()> {
        let place = token::read(&token)?.place;
        let parts = match self.splits {
            true => split::parts(made, place, split::EVENT_BYTES_MAX)?,
            false => Vec::new(),
        };
        let told = match self.within.take() {
            Some((at, told)) if at != place || parts.len() < usize::from(told) => {
                return Err(split::no_such_part());
            }
            Some((_, told)) => usize::from(told),
            None => 0,
        };
        if parts.is_empty() {
            let event = encoded(made);
            if event.len() > split::EVENT_BYTES_MAX {
                return Err(split::too_large(event.len()));
            }
            self.ready.push_back((event, token));
        }
        for part in parts.into_iter().skip(told) {
            let token = part.get(ID).and_then(Value::as_object).cloned();
            let token = token.unwrap_or_default();
            self.ready.push_back((encoded(&part), token));
        }
        Ok(())
    }

    /// Says now and then that somebody still reads, so that what is read is kept.
    async fn renew(&mut self, work: &Work) -> Result<()> {
        let service = work.ctx.service();
        let now = service.clock().now().secs();
        let part = Secs(service.config().change_retention.0 / RENEW_PARTS);
        match self.renewed {
            Some(then) if then.plus(part) > now => Ok(()),
            // It has just begun.
            None => {
                self.renewed = Some(now);
                Ok(())
            }
            Some(_) => {
                self.renewed = Some(now);
                keep_all(work, &self.namespace, self.options.scope).await
            }
        }
    }
}

/// Whether a time stamp lies before another. Within a second, the ends of lsns may begin anew.
fn is_before(stamp: u64, other: u64) -> bool {
    let (second, other_second) = (stamp >> 32, other >> 32);
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
    let ahead = (other as u32).wrapping_sub(stamp as u32);
    second < other_second || (second == other_second && ahead != 0 && ahead < 1 << 31)
}

/// The answer to stages that took the token away.
fn altered(token: &Value, made: &Object) -> Fault {
    let only = |id: Option<&Value>| {
        let mut object = Object::with_capacity(1);
        if let Some(id) = id {
            object.push(ID, id.clone());
        }
        shell::text(&Value::Object(object))
    };
    not_resumable(
        FATAL,
        &format!(
            "Encountered an event whose _id field, which contains the resume token, was modified by the pipeline. Modifying the _id field of an event makes it impossible to resume the stream from that point. Only transformations that retain the unmodified _id field are allowed. Expected: {} but found: {}",
            only(Some(token)),
            only(made.get(ID)),
        ),
    )
}

/// A failure as clients know it from a cursor at work.
fn during(fault: Fault, verb: &str) -> Fault {
    let begin = match verb {
        "getMore" => "Executor error during getMore",
        _ => "PlanExecutor error during aggregation",
    };
    match fault {
        Fault::Said {
            code,
            message,
            info,
        } => Fault::with(code, format!("{begin} :: caused by :: {message}"), info),
        Fault::Other(error) => Fault::Other(error),
    }
}
