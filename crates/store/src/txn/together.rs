//! Several transactions as one, and notes that are committed with one.

use lapsedb_kv::{Batch, Engine, Expect, Scan, Snapshot, Space, Template};
use lapsedb_record::Millis;
use lapsedb_value::Object;

use crate::catalog::MetaRecord;
use crate::error::Result;
use crate::keys::{self, MetaKind};
use crate::txn::{Txn, events};
use crate::view::View;
use crate::{MetaChange, MetaDone, Store};

/// Notes looked at in one step.
const NOTES_ROWS_MAX: usize = 1000;
/// Bytes of notes looked at in one step.
const NOTES_BYTES_MAX: usize = 8 << 20;

/// What a client's session has done, kept so that a repeated request is answered and not executed again.
#[derive(Clone, Debug)]
pub struct Note {
    /// The session.
    pub session: Vec<u8>,
    /// What it has done.
    pub body: Object,
    /// What single statements have done, by their numbers: records of their own, so that the note itself stays small.
    pub parts: Vec<(i32, Object)>,
    /// The commit that wrote the note this one takes the place of; none, if there is none.
    pub was: Option<u64>,
}

impl Note {
    fn add_to(&self, batch: &mut Batch) {
        let key = keys::session_note(&self.session);
        let expect = match self.was {
            Some(lsn) => Expect::StartsWith(lsn.to_be_bytes().to_vec()),
            None => Expect::Absent,
        };
        batch.check(Space::Meta, key.as_slice(), expect);
        batch.put(
            Space::Meta,
            Template::from(key),
            crate::meta_value(&self.body),
        );
        for (statement, body) in &self.parts {
            let key = keys::session_note(&Note::part(&self.session, *statement));
            batch.put(Space::Meta, Template::from(key), crate::meta_value(body));
        }
    }

    /// Under what a statement's part of a session's note stands.
    #[must_use]
    pub fn part(session: &[u8], statement: i32) -> Vec<u8> {
        [session, &statement.to_be_bytes()].concat()
    }
}

impl Txn<'_> {
    /// Commits a note with the rest, on the condition that it is still as it was read.
    pub fn note(&mut self, note: &Note) {
        note.add_to(&mut self.batch);
    }
}

impl Store {
    /// Commits several transactions, all of them or none, and with them a change of the catalog as a view has it.
    ///
    /// # Errors
    /// [`StoreError::Retry`](crate::StoreError::Retry) when what one of them relied on no longer holds; otherwise when the
    /// engine fails.
    pub async fn commit_together(
        &self,
        txns: Vec<Txn<'_>>,
        note: Option<&Note>,
        catalog: Option<(&View, MetaChange)>,
    ) -> Result<MetaDone> {
        let mut batch = Batch::new();
        let mut first = 0;
        let changes_catalog = catalog.is_some();
        let mut collections = Vec::with_capacity(txns.len());
        if let Some((view, change)) = catalog {
            collections.extend_from_slice(&change.drops);
            first = change.add_to(view, &mut batch).await?;
        }
        let mut told = Vec::new();
        for mut txn in txns {
            told.extend(txn.fill().await?.1);
            let part = txn.batch;
            batch.checks.extend(part.checks);
            batch.ops.extend(part.ops);
            batch.holds_readers |= part.holds_readers;
            if let Some(limit) = part.not_after {
                batch.not_after(limit);
            }
            collections.push(txn.collection.cid);
        }
        events::put(told, first, &mut batch)?;
        if let Some(note) = note {
            note.add_to(&mut batch);
        }
        let then = self.announcing(collections, changes_catalog);
        let done = self.engine().commit_then(batch, then).await?;
        Ok(MetaDone {
            lsn: done.stamp.0,
            now: Millis(done.now),
        })
    }

    /// Removes the notes of sessions that were written before a time.
    ///
    /// # Errors
    /// When the engine fails or the bytes are damaged.
    pub async fn forget_notes(&self, before: Millis) -> Result<usize> {
        let view = self.view().await?;
        let mut scan = Scan {
            rows_max: NOTES_ROWS_MAX,
            bytes_max: NOTES_BYTES_MAX,
            ..Scan::prefix(Space::Meta, &keys::meta_all(MetaKind::Session))
        };
        let mut gone = 0;
        loop {
            let page = view.snapshot.scan(scan.clone()).await?;
            let mut batch = Batch::new();
            for (key, value) in &page.rows {
                let (lsn, written) = MetaRecord::stamp(value)?;
                if written < before.secs() {
                    let expect = Expect::StartsWith(lsn.to_be_bytes().to_vec());
                    batch.check(Space::Meta, key.to_vec(), expect);
                    batch.delete(Space::Meta, key.to_vec());
                    gone += 1;
                }
                scan.resume_after(key);
            }
            if !batch.ops.is_empty() {
                self.engine().commit(batch).await?;
            }
            if !page.more {
                return Ok(gone);
            }
        }
    }
}
