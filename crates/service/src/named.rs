//! Catalog records that lie under an owner by name: users, permissions, scripts.

use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::{MetaDone, MetaRecord, StoreError, View};
use lapsedb_value::{Object, Str, Value};

use crate::error::Result;

/// A record under an owner.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// Its number: part of its `_rid`.
    pub number: u32,
    /// Its name.
    pub id: Str,
    /// The commit that last wrote it: its etag.
    pub lsn: u64,
    /// The second of that commit.
    pub written: u64,
    /// All it says.
    pub body: Object,
}

impl Named {
    /// A record as stored.
    fn read(record: MetaRecord) -> Result<Named> {
        let number = record.body.get("number").and_then(Value::as_i64);
        let number = number.and_then(|number| u32::try_from(number).ok());
        let id = record.body.get("id").and_then(Value::as_str).map(Str::new);
        match (number, id) {
            (Some(number), Some(id)) => Ok(Named {
                number,
                id,
                lsn: record.lsn,
                written: record.written.0,
                body: record.body,
            }),
            (None, _) | (_, None) => {
                Err(StoreError::Corrupt("a catalog record has no number or no id".into()).into())
            }
        }
    }

    /// A record about to be written.
    pub(crate) fn new(number: u32, id: Str) -> Named {
        let mut body = Object::new();
        body.push("number", Value::from(i64::from(number)));
        body.push("id", Value::String(id.clone()));
        Named {
            number,
            id,
            lsn: 0,
            written: 0,
            body,
        }
    }

    /// The same record once it is written.
    pub(crate) fn committed(mut self, done: &MetaDone) -> Named {
        self.lsn = done.lsn;
        self.written = done.now.secs().0;
        self
    }
}

/// Where the records of a kind and an owner lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shelf {
    /// What they are.
    pub kind: MetaKind,
    /// Whose they are.
    pub owner: u64,
}

impl Shelf {
    /// The key of a record.
    pub(crate) fn key(&self, id: &str) -> Vec<u8> {
        keys::meta_named(self.kind, self.owner, id)
    }

    /// The prefix of all records.
    pub(crate) fn prefix(&self) -> Vec<u8> {
        keys::meta_owned(self.kind, self.owner)
    }

    /// A record by name, or else by the number in its rid.
    pub(crate) async fn find(
        &self,
        view: &View,
        id: &str,
        number: Option<u32>,
    ) -> Result<Option<Named>> {
        if let Some(record) = view.meta(&self.key(id)).await? {
            return Named::read(record).map(Some);
        }
        let Some(number) = number else {
            return Ok(None);
        };
        let all = self.all(view).await?;
        Ok(all.into_iter().find(|named| named.number == number))
    }

    /// All records, in the order they were made.
    pub(crate) async fn all(&self, view: &View) -> Result<Vec<Named>> {
        let records = view.meta_all(self.prefix()).await?;
        let mut all: Vec<Named> = records
            .into_iter()
            .map(Named::read)
            .collect::<Result<_>>()?;
        all.sort_by_key(|named| named.number);
        Ok(all)
    }
}
