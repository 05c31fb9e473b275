//! The version events of a transaction: what it does to each record, told in the same batch.

use lapsedb_kv::{Batch, Space, Template};
use lapsedb_record::{Dates, ItemTtl, Mark};

use super::{After, Before, Record, Slot};
use crate::catalog::Collection;
use crate::error::{Result, StoreError};
use crate::keys::{CollectionId, ItemKey, Ordinal};
use crate::versions::event::{EventKind, NewEvent, key_next};
use crate::versions::state::State;
use crate::view::View;

/// Events under way, each with the place of its change in the transaction.
#[derive(Default)]
pub(super) struct Pending {
    events: Vec<(u32, Template)>,
    /// Up to where expiries have been told; read when a dead record is touched.
    state: Option<State>,
}

/// An event with its place among all changes of a commit.
pub(super) struct Told {
    order: u32,
    cid: CollectionId,
    value: Template,
}

/// What becomes of a record.
pub(super) struct Change<'a> {
    pub(super) key: &'a ItemKey,
    pub(super) before: Option<&'a Before>,
    /// One after the other; usually one.
    pub(super) steps: Vec<Step>,
}

/// One change of a record.
pub(super) struct Step {
    /// Its place among the transaction's changes.
    pub(super) order: u32,
    /// The new record; none if it goes.
    pub(super) after: Option<Template>,
    /// Whether the new record is another item than the one before it.
    pub(super) fresh: bool,
    /// What readers are told of it.
    pub(super) note: Vec<u8>,
    /// The mark of a new record that was dead as it was written, if another one of this transaction came in its place.
    pub(super) ended: Option<Mark>,
}

/// A change that was followed by another one of the same record.
pub(super) struct Past {
    order: u32,
    note: Vec<u8>,
    /// What the record was then; none if it was gone.
    was: Option<Was>,
    /// Its mark, if it was dead as it was written.
    ended: Option<Mark>,
}

struct Was {
    ttl: ItemTtl,
    dates: Dates,
    index: u16,
    body: Vec<u8>,
    fresh: bool,
}

impl Past {
    pub(super) fn of(slot: &Slot, ended: Option<Mark>) -> Past {
        let was = match &slot.after {
            After::Put {
                ttl,
                body,
                shape,
                index,
                fresh,
                document: _,
                number: _,
            } => Some(Was {
                ttl: *ttl,
                dates: shape.dates.clone(),
                index: *index,
                body: body.clone(),
                fresh: *fresh,
            }),
            After::Same | After::Gone => None,
        };
        Past {
            order: slot.order,
            note: slot.note.clone(),
            was,
            ended,
        }
    }

    /// The change, of a record that had this ordinal before the transaction.
    pub(super) fn step(self, known: Option<u64>) -> Step {
        let fresh = self.was.as_ref().is_none_or(|was| was.fresh);
        let after = self.was.map(|was| {
            let ordinal = match known {
                Some(ordinal) if !was.fresh => Ordinal::Known(ordinal),
                Some(_) | None => Ordinal::New(was.index),
            };
            Record::new(was.ttl, was.dates, was.index, ordinal, &was.body).template()
        });
        Step {
            order: self.order,
            after,
            fresh,
            note: self.note,
            ended: self.ended,
        }
    }
}

impl Pending {
    /// Adds what one change tells. A dead record is told first, if nobody has done so.
    pub(super) async fn add(
        &mut self,
        view: &View,
        collection: &Collection,
        batch: &mut Batch,
        change: Change<'_>,
    ) -> Result<()> {
        let key = change.key;
        let first = change.steps.first().map_or(0, |step| step.order);
        if let Some(dead) = change.before.filter(|before| !before.live)
            && self.is_untold(view, collection, batch, dead).await?
        {
            let version = Template::from(dead.stored.as_version());
            let event = end(view, collection, key, &dead.header.mark(), version);
            self.events.push((first, event));
        }
        let alive = change.before.filter(|before| before.live);
        let mut previous = alive.map(|before| Template::from(before.stored.as_version()));
        let mut ended = None;
        for (at, step) in change.steps.into_iter().enumerate() {
            let mut old = std::mem::replace(&mut previous, step.after.clone());
            // What was dead as it was written is over before something else comes in its place.
            if let Some(mark) = std::mem::replace(&mut ended, step.ended)
                && let Some(version) = old.take()
            {
                let event = end(view, collection, key, &mark, version);
                self.events.push((step.order, event));
            }
            let mut tell = |kind, current, previous| {
                let event = NewEvent {
                    kind,
                    happened: None,
                    note: &step.note,
                    key,
                    current,
                    previous,
                };
                self.events.push((step.order, event.value()));
            };
            // Whatever it is to what was there before, it is the same item as a step ago.
            let same = at > 0 || !step.fresh;
            match step.after {
                Some(after) if old.is_some() && same => {
                    tell(EventKind::Replace, Some(after), old);
                }
                after => {
                    if old.is_some() {
                        tell(EventKind::Delete, None, old);
                    }
                    if after.is_some() {
                        tell(EventKind::Create, after, None);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a dead record's expiry is still to be told; the commit then depends on that.
    async fn is_untold(
        &mut self,
        view: &View,
        collection: &Collection,
        batch: &mut Batch,
        dead: &Before,
    ) -> Result<bool> {
        let known = self.state;
        let state = match known {
            Some(state) => state,
            None => view.versions_state(collection.cid).await?,
        };
        let untold = !state.told.covers(&dead.header);
        // Whoever else tells it moves the state, and one of the two commits runs again.
        if untold && known.is_none() {
            state.check(collection.cid, batch);
            self.state = Some(state);
        }
        Ok(untold)
    }

    /// The events, to be put into a batch.
    pub(super) fn into_told(self, cid: CollectionId) -> Vec<Told> {
        let told = |(order, value)| Told { order, cid, value };
        self.events.into_iter().map(told).collect()
    }
}

/// The event of a record that has ended by itself.
fn end(
    view: &View,
    collection: &Collection,
    key: &ItemKey,
    mark: &Mark,
    version: Template,
) -> Template {
    let event = NewEvent {
        kind: EventKind::Expire,
        happened: collection.history.eras.death(&view.lens(collection), mark),
        note: &[],
        key,
        current: None,
        previous: Some(version),
    };
    event.value()
}

/// Puts the events of a commit into its batch, in the order of their changes. Each has a place that no other event of the
/// commit has, whichever collection it is of: so a reader of several can go on behind any of them. Those before `first` are
/// the catalog's.
pub(super) fn put(mut told: Vec<Told>, first: u16, batch: &mut Batch) -> Result<()> {
    told.sort_by_key(|told| told.order);
    for (index, told) in (usize::from(first)..).zip(told) {
        let index = u16::try_from(index)
            .ok()
            .filter(|index| *index < u16::MAX)
            .ok_or_else(|| StoreError::Engine("a transaction tells too many events".into()))?;
        batch.put(Space::Versions, key_next(told.cid, index), told.value);
    }
    Ok(())
}
