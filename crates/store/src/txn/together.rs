//! Several transactions as one, and notes that are committed with one.

use lapsedb_kv::{Batch, Engine, Expect, Space, Template};
use lapsedb_record::Millis;
use lapsedb_value::Object;

use crate::error::Result;
use crate::keys;
use crate::txn::Txn;
use crate::{MetaDone, Store};

/// What a client's session has done, kept so that a repeated request is answered and not executed again.
#[derive(Clone, Debug)]
pub struct Note {
    /// The session.
    pub session: Vec<u8>,
    /// What it has done.
    pub body: Object,
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
    }
}

impl Txn<'_> {
    /// Commits a note with the rest, on the condition that it is still as it was read.
    pub fn note(&mut self, note: &Note) {
        note.add_to(&mut self.batch);
    }
}

impl Store {
    /// Commits several transactions on one view, all of them or none.
    ///
    /// # Errors
    /// [`StoreError::Retry`](crate::StoreError::Retry) when what one of them relied on no longer holds; otherwise when the
    /// engine fails.
    pub async fn commit_together(
        &self,
        txns: Vec<Txn<'_>>,
        note: Option<&Note>,
    ) -> Result<MetaDone> {
        let mut batch = Batch::new();
        let mut collections = Vec::with_capacity(txns.len());
        for mut txn in txns {
            txn.fill().await?;
            let part = txn.batch;
            batch.checks.extend(part.checks);
            batch.ops.extend(part.ops);
            batch.holds_readers |= part.holds_readers;
            if let Some(limit) = part.not_after {
                batch.not_after(limit);
            }
            collections.push(txn.collection.cid);
        }
        if let Some(note) = note {
            note.add_to(&mut batch);
        }
        let done = self.engine().commit(batch).await?;
        for cid in collections {
            self.announce(cid, done.stamp.0);
        }
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
        let mut batch = Batch::new();
        let mut gone = 0;
        for (session, note) in view.notes().await? {
            if note.written < before.secs() {
                let key = keys::session_note(&session);
                let expect = Expect::StartsWith(note.lsn.to_be_bytes().to_vec());
                batch.check(Space::Meta, key.as_slice(), expect);
                batch.delete(Space::Meta, key);
                gone += 1;
            }
        }
        if gone > 0 {
            self.engine().commit(batch).await?;
        }
        Ok(gone)
    }
}
