//! What a committed transaction has written: every version, also those that a later operation replaced or removed.

use lapsedb_kv::Committed;
use lapsedb_record::{Lens, Live, Millis, Policy, Setting, Stored};

use super::{After, Record, Txn};
use crate::error::Result;
use crate::keys::{ItemKey, Ordinal};

/// The number of a version among those that one transaction writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionNumber(u32);

/// A version as it was committed.
type Version = (VersionNumber, Stored<Vec<u8>>);

/// A committed transaction.
pub struct Done {
    /// The commit's place in the log.
    pub lsn: u64,
    /// The commit's time.
    pub now: Millis,
    written: Vec<(ItemKey, Version)>,
    superseded: Vec<Version>,
    lens: Lens,
}

impl Done {
    pub(super) fn new(
        committed: Committed,
        written: Vec<(ItemKey, Record)>,
        superseded: Vec<Record>,
    ) -> Done {
        let finish = |record: Record| (record.number, record.finish(committed));
        Done {
            lsn: committed.stamp.0,
            now: Millis(committed.now),
            written: written
                .into_iter()
                .map(|(key, record)| (key, finish(record)))
                .collect(),
            superseded: superseded.into_iter().map(finish).collect(),
            // Whoever wrote a version is shown it, even if it is expired as it was written.
            lens: Lens::new(Policy::new(Setting::Off), Millis(committed.now)),
        }
    }

    /// The item this transaction left under a key.
    ///
    /// # Errors
    /// When the item cannot be read back: a defect, never ignored.
    pub fn item(&self, key: &ItemKey) -> Result<Option<Live<Vec<u8>>>> {
        let mut written = self.written.iter();
        let found = written.find(|(written, _)| written == key);
        self.reveal(found.map(|(_, version)| version))
    }

    /// A version this transaction wrote, also if a later operation of it replaced or removed that version, or if it was
    /// expired as it was written.
    ///
    /// # Errors
    /// When the version cannot be read back: a defect, never ignored.
    pub fn version(&self, number: VersionNumber) -> Result<Option<Live<Vec<u8>>>> {
        let written = self.written.iter().map(|(_, version)| version);
        let mut versions = written.chain(&self.superseded);
        self.reveal(versions.find(|(version, _)| *version == number))
    }

    fn reveal(&self, version: Option<&Version>) -> Result<Option<Live<Vec<u8>>>> {
        match version {
            Some((_, stored)) => Ok(stored.clone().reveal(&self.lens)?),
            None => Ok(None),
        }
    }
}

impl Txn<'_> {
    /// The number of the next version.
    pub(super) const fn next_version(&mut self) -> VersionNumber {
        self.versions += 1;
        VersionNumber(self.versions)
    }

    /// The superseded versions as records, each with the ordinal that its item had.
    pub(super) fn superseded_records(&mut self) -> Vec<Record> {
        let superseded = std::mem::take(&mut self.superseded);
        let record = |(at, after): (usize, After)| match after {
            After::Put {
                ttl,
                body,
                shape,
                index,
                fresh,
                number,
                document: _,
            } => {
                let ordinal = match &self.slots[at].before {
                    Some(before) if !fresh => Ordinal::Known(before.header.ordinal),
                    Some(_) | None => Ordinal::New(index),
                };
                let record = Record::new(ttl, shape.dates, index, ordinal, &body);
                Some(record.numbered(number))
            }
            After::Same | After::Gone => None,
        };
        superseded.into_iter().filter_map(record).collect()
    }
}
