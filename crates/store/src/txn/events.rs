//! The version events of a transaction: what it does to each record, told in the same batch.

use lapsedb_kv::{Batch, Space, Template};

use super::Before;
use crate::catalog::Collection;
use crate::error::{Result, StoreError};
use crate::keys::ItemKey;
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

/// What becomes of a record.
pub(super) struct Change<'a> {
    pub(super) key: &'a ItemKey,
    /// Its place among the transaction's changes.
    pub(super) order: u32,
    pub(super) before: Option<&'a Before>,
    /// The new record; none if it goes.
    pub(super) after: Option<Template>,
    /// Whether the new record is another item than the one before it.
    pub(super) fresh: bool,
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
        let mut told = Vec::with_capacity(2);
        if let Some(dead) = change.before.filter(|before| !before.live)
            && self.is_untold(view, collection, batch, dead).await?
        {
            let lens = view.lens(collection);
            let eras = &collection.history.eras;
            told.push(NewEvent {
                kind: EventKind::Expire,
                happened: eras.death(&lens, &dead.header.mark()),
                key,
                current: None,
                previous: Some(dead.stored.as_version()),
            });
        }
        let alive = change.before.filter(|before| before.live);
        let previous = alive.map(|before| before.stored.as_version());
        let event = |kind, current, previous| NewEvent {
            kind,
            happened: None,
            key,
            current,
            previous,
        };
        match change.after {
            Some(after) if previous.is_some() && !change.fresh => {
                told.push(event(EventKind::Replace, Some(after), previous));
            }
            after => {
                if previous.is_some() {
                    told.push(event(EventKind::Delete, None, previous));
                }
                if after.is_some() {
                    told.push(event(EventKind::Create, after, None));
                }
            }
        }
        let order = change.order;
        self.events
            .extend(told.into_iter().map(|event| (order, event.value())));
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

    /// Puts the events into the batch, in the order of their changes.
    pub(super) fn put(mut self, collection: &Collection, batch: &mut Batch) -> Result<()> {
        self.events.sort_by_key(|(order, _)| *order);
        for (index, (_, value)) in self.events.into_iter().enumerate() {
            let index = u16::try_from(index)
                .map_err(|_| StoreError::Engine("a transaction tells too many events".into()))?;
            batch.put(Space::Versions, key_next(collection.cid, index), value);
        }
        Ok(())
    }
}
