//! Cursors that wait for their clients, as they are shown to who asks what is running.

use lapsedb_record::Millis;
use lapsedb_value::{Object, Value, bson};

use crate::cursors::{Cursor, Cursors, Feed};
use crate::documents::Work;

/// When a cursor was used, and what it has given.
#[derive(Default)]
pub(super) struct Usage {
    created: Millis,
    used: Millis,
    documents: u64,
    batches: u64,
    /// The command that opened it, as far as it is shown.
    command: Box<[u8]>,
}

impl Usage {
    /// A cursor is kept behind its first batch.
    pub(super) fn new(work: &Work, documents: usize) -> Usage {
        let now = work.ctx.service().clock().now();
        let mut usage = Usage {
            created: now,
            command: work.shown_command(),
            ..Usage::default()
        };
        usage.handed_out(work, documents);
        usage
    }

    /// It has given a batch.
    pub(super) fn handed_out(&mut self, work: &Work, documents: usize) {
        self.used = work.ctx.service().clock().now();
        self.documents += u64::try_from(documents).unwrap_or(0);
        self.batches += 1;
    }
}

impl Cursors {
    /// The cursors that nobody fetches from right now; only those of one login, if one is named.
    pub(crate) fn idle(&self, host: &str, owner: Option<&str>) -> Vec<Object> {
        let slots = self.slots.lock();
        let mut idle = Vec::new();
        for (id, slot) in slots.iter() {
            let seen = owner.is_none() || slot.owner.as_deref() == owner;
            let cursor = slot.cursor.as_ref().ok().filter(|_| seen);
            // One that is locked is in use.
            if let Some(cursor) = cursor.and_then(|cursor| cursor.try_lock().ok()) {
                idle.push((cursor.usage.created, *id, cursor.shown(*id, host)));
            }
        }
        drop(slots);
        idle.sort_by_key(|(created, id, _)| (*created, *id));
        idle.into_iter().map(|(_, _, shown)| shown).collect()
    }
}

impl Cursor {
    fn shown(&self, id: i64, host: &str) -> Object {
        let date = |at: Millis| Value::Date(i64::try_from(at.0).unwrap_or(i64::MAX));
        let long = |number: u64| Value::Int64(i64::try_from(number).unwrap_or(i64::MAX));
        let tailable = match &self.feed {
            Feed::Query(query) => query.tail.is_some(),
            Feed::Changes(_) => true,
            Feed::Held(_) | Feed::Piped(_) => false,
        };
        let Usage {
            created,
            used,
            documents,
            batches,
            command,
        } = &self.usage;
        let mut cursor = Object::with_capacity(10);
        cursor.push("cursorId", Value::Int64(id));
        cursor.push("createdDate", date(*created));
        cursor.push("lastAccessDate", date(*used));
        cursor.push("nDocsReturned", long(*documents));
        cursor.push("nBatchesReturned", long(*batches));
        cursor.push("noCursorTimeout", self.no_timeout);
        cursor.push("tailable", tailable);
        cursor.push("awaitData", self.feed.waits());
        // What was kept was read before, so that it can be read.
        let command = bson::read_document(command).unwrap_or_default();
        cursor.push("originatingCommand", Value::Object(command));
        let mut shown = Object::with_capacity(5);
        shown.push("type", "idleCursor");
        shown.push("host", host);
        shown.push("ns", self.namespace.to_string());
        if let Some((session, _)) = &self.place {
            shown.push("lsid", Value::Object(session.shown()));
        }
        shown.push("cursor", Value::Object(cursor));
        shown
    }
}
