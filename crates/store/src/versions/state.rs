//! How far a collection's kept versions reach back, and up to where its expiries have been told.
//!
//! The dead are always the front of two queues (`record/src/ttl.rs`): of what inherits, in the order of the log, and of what
//! has a ttl of its own, in the order of the due index. So two places tell the told from the untold, for ever.

use lapsedb_kv::{Batch, Expect, Snapshot, Space};
use lapsedb_record::{Header, ItemTtl, Secs};
use lapsedb_value::{Object, Value};

use crate::catalog::MetaRecord;
use crate::error::{Result, StoreError};
use crate::keys::{self, CollectionId, MetaKind};
use crate::versions::history::{number, unsigned};
use crate::view::View;

/// Behind every ordinal of a second of the due index.
pub(crate) const ORDINAL_END: u64 = i64::MAX as u64;

/// Up to where expiries have been told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Of what inherits: the last entry of the log, by commit and place in it.
    pub(crate) log: (u64, u16),
    /// Of what has a ttl of its own: the last entry of the due index, by second and ordinal.
    pub(crate) due: (u64, u64),
}

impl Told {
    /// Whether the expiry of a dead record has been told.
    pub(crate) fn covers(&self, header: &Header) -> bool {
        match header.ttl {
            ItemTtl::Inherit => (header.lsn, header.index) <= self.log,
            ItemTtl::After(life) => (header.written.plus(life).0, header.ordinal) <= self.due,
            // Only a date can have ended it, and then it is told when it is removed.
            ItemTtl::Never => header.dates.is_empty(),
        }
    }
}

/// The record of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// The commit that wrote it; 0 if there is none yet.
    pub(crate) stamp: u64,
    /// Events of this commit and earlier ones are kept no longer.
    pub(crate) floor: u64,
    /// When a reader last came, about.
    pub(crate) read: Secs,
    /// See [`Told`].
    pub(crate) told: Told,
}

impl State {
    /// The record's body. Without a floor, that is the commit which writes it.
    pub(crate) fn body(told: &Told, read: Secs, floor: Option<u64>) -> Object {
        let mut body = Object::new();
        body.push("floor", floor.map_or(Value::Null, number));
        body.push("read", number(read.0));
        body.push("logLsn", number(told.log.0));
        body.push("logIndex", number(u64::from(told.log.1)));
        body.push("dueSecond", number(told.due.0));
        body.push("dueOrdinal", number(told.due.1));
        body
    }

    fn of_record(record: &MetaRecord) -> Option<State> {
        let long = |name: &str| unsigned(record.body.get(name)?);
        let floor = match record.body.get("floor")? {
            Value::Null => record.lsn,
            value => unsigned(value)?,
        };
        Some(State {
            stamp: record.lsn,
            floor,
            read: Secs(long("read")?),
            told: Told {
                log: (long("logLsn")?, u16::try_from(long("logIndex")?).ok()?),
                due: (long("dueSecond")?, long("dueOrdinal")?),
            },
        })
    }

    /// Makes a commit depend on it: whoever tells an expiry has seen that nobody else did.
    pub(crate) fn check(&self, cid: CollectionId, batch: &mut Batch) {
        let expect = match self.stamp {
            0 => Expect::Absent,
            stamp => Expect::StartsWith(stamp.to_be_bytes().to_vec()),
        };
        batch.check(Space::Meta, key(cid), expect);
    }
}

/// Key of the record.
pub(crate) fn key(cid: CollectionId) -> Vec<u8> {
    keys::meta_numbered(MetaKind::Versions, cid.0)
}

impl View {
    /// How far a collection's versions reach back, and up to where its expiries have been told.
    pub(crate) async fn versions_state(&self, cid: CollectionId) -> Result<State> {
        match self.snapshot.get(Space::Meta, &key(cid)).await? {
            None => Ok(State::default()),
            Some(bytes) => State::of_record(&MetaRecord::read(bytes.as_ref())?)
                .ok_or_else(|| StoreError::Corrupt("a record of versions cannot be read".into())),
        }
    }
}
