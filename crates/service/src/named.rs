//! Catalog records that lie under an owner by name: users, permissions, scripts, client encryption keys.

use std::sync::Arc;

use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::{Database, MetaChange, MetaDone, MetaRecord, StoreError, View};
use lapsedb_value::{Object, Str, Value};

use crate::attempts::Attempts;
use crate::ctx::{Ctx, find_database};
use crate::error::{Error, Result};
use crate::names;
use crate::reply::{Conditions, Outcome, Owner, Reply};

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

/// A kind of resource that databases have by name: users and client encryption keys.
pub(crate) struct InDatabase {
    /// What it is called in errors.
    pub name: &'static str,
    /// Where a database's resources lie.
    pub shelf: fn(&Database) -> Shelf,
    /// The number in a `_rid` of this database.
    pub number: fn(&Database, &str) -> Option<u32>,
    /// A resource as clients see it.
    pub value: fn(&Database, &Named) -> Value,
}

impl InDatabase {
    /// A resource by name or rid.
    pub(crate) async fn find(
        &self,
        view: &View,
        database: &Database,
        id: &str,
    ) -> Result<Option<Named>> {
        let number = (self.number)(database, id);
        (self.shelf)(database).find(view, id, number).await
    }

    /// Reads a resource.
    pub(crate) async fn read(
        &self,
        ctx: &Ctx,
        (db, id): (&str, &str),
        conditions: &Conditions,
    ) -> Result<Reply> {
        ctx.who.may_read_account()?;
        let view = ctx.view().await?;
        let database = owning_database(&view, db)?;
        let found = self.find(&view, &database, id).await?;
        let found = found.ok_or_else(Error::not_found)?;
        let value = (self.value)(&database, &found);
        let owner = Owner::database(&database);
        Ok(Reply::read(&view, conditions, owner, found.lsn, value))
    }

    /// Replaces a resource by what `new` makes of it; it may have another name that nobody has.
    pub(crate) async fn replace(
        &self,
        ctx: &Ctx,
        (db, id): (&str, &str),
        conditions: &Conditions,
        new: impl Fn(&Named) -> Result<Named>,
    ) -> Result<Reply> {
        ctx.who.may_administer()?;
        let mut attempts = Attempts::default();
        loop {
            let view = ctx.view().await?;
            let database = owning_database(&view, db)?;
            let shelf = (self.shelf)(&database);
            let old = self.find(&view, &database, id).await?;
            let old = old.ok_or_else(Error::not_found)?;
            conditions.allow_change(old.lsn)?;
            let replacement = new(&old)?;
            let mut change = MetaChange::default();
            if old.id != replacement.id {
                if shelf.find(&view, &replacement.id, None).await?.is_some() {
                    return Err(names::taken(self.name));
                }
                change.delete(shelf.key(&old.id));
            }
            change.put(shelf.key(&replacement.id), replacement.body.clone());
            if let Some(done) = attempts.commit(ctx, &view, change).await? {
                let value = (self.value)(&database, &replacement.committed(&done));
                let owner = Owner::database(&database);
                return Ok(Reply::written(Outcome::Replaced, &done, owner, value));
            }
        }
    }
}

/// The database of an address whose resources are asked for.
pub(crate) fn owning_database(view: &View, id: &str) -> Result<Arc<Database>> {
    find_database(view, id).ok_or_else(Error::owner_not_found)
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
