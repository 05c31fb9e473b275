//! One operation inside a transaction: conditions, checks, then the write. All of it goes through an [`Operation`] of the
//! transaction, so that a refused one leaves no trace.

use std::sync::Arc;

use bytes::Bytes;
use lapsedb_mql::update::Described;
use lapsedb_record::Header;
use lapsedb_store::partition_key::PartitionKey;
use lapsedb_store::{Found, ItemKey, Operation, Refused, Txn, VersionNumber};
use lapsedb_value::{Budget, Object, Value, bson};

use crate::access::Who;
use crate::changes::note;
use crate::charge;
use crate::documents::Fault;
use crate::documents::id::candidates;
use crate::documents::other_door;
use crate::documents::rules::Rules;
use crate::documents::writable::check_items;
use crate::error::{Error, Kind, Result};
use crate::items::body::{Document, given_partition};
use crate::items::read::key_by_rid;
use crate::items::{Action, Item, ItemOp, Outcome, Patch};
use crate::limits::{BATCH_ANSWER_BYTES_MAX, RULE_STEPS_MAX};
use crate::resource::{etag, etag_matches};

/// What an operation will have done once the transaction commits.
pub(crate) struct Applied {
    pub(crate) outcome: Outcome,
    pub(crate) charge: f64,
    pub(crate) shows: Shows,
}

/// The item as it was after an operation, whatever later ones do with it.
pub(crate) enum Shows {
    /// It is gone.
    Nothing,
    /// As it was before the transaction, and its client knows it: the commit that wrote it.
    Known(u64),
    /// As it was before the transaction.
    Read(Item),
    /// As the transaction wrote it, in this operation or in an earlier one: the version and the bytes of its body.
    Version(VersionNumber, usize),
}

impl Applied {
    /// Bytes of the document that goes back to the client.
    fn bytes(&self, op: &ItemOp) -> usize {
        match &self.shows {
            Shows::Nothing | Shows::Known(_) => 0,
            Shows::Read(_) | Shows::Version(..) if op.minimal => 0,
            Shows::Read(item) => item.body.len(),
            Shows::Version(_, bytes) => *bytes,
        }
    }
}

/// How much the documents of an answer may still have.
pub(crate) struct AnswerRoom {
    bytes_left: usize,
    /// Whether a document did not fit.
    pub(crate) exceeded: bool,
}

impl AnswerRoom {
    /// The room for the answer to so many operations. A single one answers whatever was stored.
    pub(crate) const fn for_operations(count: usize) -> AnswerRoom {
        AnswerRoom {
            bytes_left: match count {
                0 | 1 => usize::MAX,
                _ => BATCH_ANSWER_BYTES_MAX,
            },
            exceeded: false,
        }
    }

    fn take(&mut self, bytes: usize) -> Result<()> {
        match self.bytes_left.checked_sub(bytes) {
            Some(left) => {
                self.bytes_left = left;
                Ok(())
            }
            None => {
                self.exceeded = true;
                Err(answer_too_large())
            }
        }
    }
}

/// Applies one operation to a transaction, whole or not at all: not, if the answer has no room for its document.
pub(crate) async fn apply(
    who: &Who,
    txn: &mut Txn<'_>,
    op: &ItemOp,
    room: &mut AnswerRoom,
) -> Result<Applied> {
    let mut operation = txn.operation();
    let applied = steps(who, &mut operation, op).await?;
    room.take(applied.bytes(op))?;
    operation.keep();
    Ok(applied)
}

/// The failure of an operation whose document no longer fits into the answer of its batch.
fn answer_too_large() -> Error {
    Error::new(
        Kind::AnswerTooLarge,
        format!(
            "Response size is too large: the documents of a batch's answer may have {BATCH_ANSWER_BYTES_MAX} bytes in all. \
             Read less in one batch, or ask for no content on write."
        ),
    )
}

async fn steps(who: &Who, txn: &mut Operation<'_, '_>, op: &ItemOp) -> Result<Applied> {
    if !matches!(op.action, Action::Read { .. } | Action::Refused(_)) {
        check_items(txn.view().catalog(), txn.collection())?;
    }
    match &op.action {
        Action::Create(document) => create(who, txn, op, document).await,
        Action::Upsert(document) => upsert(who, txn, op, document).await,
        Action::Replace { id, document } => replace(who, txn, op, id, document).await,
        Action::Patch { id, patch } => patch_item(who, txn, op, id, patch).await,
        Action::Delete { id } => delete(who, txn, op, id).await,
        Action::Read { id } => read(who, txn, op, id).await,
        Action::Refused(error) => Err(error.clone()),
    }
}

async fn create(
    who: &Who,
    txn: &mut Operation<'_, '_>,
    op: &ItemOp,
    document: &Document,
) -> Result<Applied> {
    let (key, partition) = place(txn, op, document)?;
    who.may_write_items(txn.collection(), Some(&partition))?;
    if txn.get(&key, &partition).await?.is_some() {
        return Err(Error::conflict());
    }
    put(txn, key, &partition, document, Outcome::Created).await
}

async fn upsert(
    who: &Who,
    txn: &mut Operation<'_, '_>,
    op: &ItemOp,
    document: &Document,
) -> Result<Applied> {
    let (key, partition) = place(txn, op, document)?;
    let outcome = match txn.get(&key, &partition).await? {
        None => {
            who.may_write_items(txn.collection(), Some(&partition))?;
            Outcome::Created
        }
        Some(found) => {
            may_write(who, txn, &partition, &found)?;
            conditions(op, &found)?;
            Outcome::Ok
        }
    };
    put(txn, key, &partition, document, outcome).await
}

async fn replace(
    who: &Who,
    txn: &mut Operation<'_, '_>,
    op: &ItemOp,
    id: &str,
    document: &Document,
) -> Result<Applied> {
    let Existing {
        key,
        partition,
        found,
    } = to_write(who, txn, op, id).await?;
    document.partition(txn.collection(), op.partition.as_ref())?;
    document.check_ttl(txn.collection())?;
    if other_door::is_foreign(txn.collection()) {
        if document.id != id {
            return Err(Error::bad_request(
                "The id of a document of the Mongo door cannot be changed.",
            ));
        }
        return put(txn, key, &partition, document, Outcome::Ok).await;
    }
    if found.document.get("id").and_then(Value::as_str) == Some(&document.id) {
        return put(txn, key, &partition, document, Outcome::Ok).await;
    }
    // A replaced item may get another id, if nobody has it.
    let renamed = ItemKey::new(txn.collection(), &partition, &document.id);
    if txn.get(&renamed, &partition).await?.is_some() {
        return Err(Error::conflict());
    }
    txn.delete(&key, &partition).await?;
    put(txn, renamed, &partition, document, Outcome::Ok).await
}

async fn patch_item(
    who: &Who,
    txn: &mut Operation<'_, '_>,
    op: &ItemOp,
    id: &str,
    patch: &Patch,
) -> Result<Applied> {
    let Existing {
        key,
        partition,
        found,
    } = to_write(who, txn, op, id).await?;
    if let Some(condition) = &patch.condition {
        let now = i64::try_from(txn.view().now().0).unwrap_or(i64::MAX);
        if !condition.holds(&with_system(&found), now)? {
            return Err(Error::precondition_failed());
        }
    }
    let mut object = found.document;
    if other_door::is_foreign(txn.collection()) {
        other_door::with_id(&mut object);
    }
    patch.apply(&mut object, txn.collection())?;
    let document = Document {
        id: id.to_owned(),
        object: Arc::new(object),
    };
    document.check_size()?;
    document.check_ttl(txn.collection())?;
    let described = Described::Change;
    put_as(txn, key, &partition, &document, (Outcome::Ok, described)).await
}

async fn delete(who: &Who, txn: &mut Operation<'_, '_>, op: &ItemOp, id: &str) -> Result<Applied> {
    let Existing {
        key,
        partition,
        found,
    } = to_write(who, txn, op, id).await?;
    let note = note::write(txn.collection(), &Described::Whole, None);
    txn.delete_noted(&key, &partition, &note).await?;
    Ok(Applied {
        charge: charge::delete(found.bytes),
        outcome: Outcome::Deleted,
        shows: Shows::Nothing,
    })
}

async fn read(who: &Who, txn: &mut Operation<'_, '_>, op: &ItemOp, id: &str) -> Result<Applied> {
    let Existing {
        partition, found, ..
    } = existing(who, txn, op, id).await?;
    who.may_read_item(txn.collection(), &partition, ordinal(&found))?;
    let charge = charge::read(found.bytes);
    // A reader that names the current etag knows the item, whichever of the two conditions it names it in: so the service.
    let mut conditions = op.if_match.iter().chain(&op.if_none_match);
    let (outcome, shows) = match (found.header, found.version) {
        (Some(header), _) if conditions.any(|condition| etag_matches(condition, header.lsn)) => {
            (Outcome::NotModified, Shows::Known(header.lsn))
        }
        (Some(header), _) => (Outcome::Ok, Shows::Read(item(header, &found.document))),
        (None, Some(version)) => (Outcome::Ok, Shows::Version(version, found.bytes)),
        (None, None) => (Outcome::Ok, Shows::Nothing),
    };
    Ok(Applied {
        outcome,
        charge,
        shows,
    })
}

/// An item put together from its parts.
fn item(header: Header, document: &Object) -> Item {
    let mut body = Vec::new();
    bson::write_document(document, &mut body);
    Item {
        header,
        body: Bytes::from(body),
    }
}

/// Where a new document goes, after all that can be said against it by itself.
fn place(txn: &Txn<'_>, op: &ItemOp, document: &Document) -> Result<(ItemKey, PartitionKey)> {
    let partition = document.partition(txn.collection(), op.partition.as_ref())?;
    document.check_ttl(txn.collection())?;
    if other_door::is_foreign(txn.collection()) {
        let (id, _) = other_door::taken(&document.object)?;
        return Ok((id.key(txn.collection()), partition));
    }
    Ok((
        ItemKey::new(txn.collection(), &partition, &document.id),
        partition,
    ))
}

async fn put(
    txn: &mut Operation<'_, '_>,
    key: ItemKey,
    partition: &PartitionKey,
    document: &Document,
    outcome: Outcome,
) -> Result<Applied> {
    put_as(txn, key, partition, document, (outcome, Described::Whole)).await
}

async fn put_as(
    txn: &mut Operation<'_, '_>,
    key: ItemKey,
    partition: &PartitionKey,
    document: &Document,
    (outcome, described): (Outcome, Described),
) -> Result<Applied> {
    let note = note::write(txn.collection(), &described, None);
    let object = match other_door::is_foreign(txn.collection()) {
        true => Arc::new(other_door::taken(&document.object)?.1),
        false => Arc::clone(&document.object),
    };
    check_rules(txn, &key, partition, &object).await?;
    match txn.put_noted(&key, partition, object, &note).await? {
        Ok(written) => {
            let charge = match outcome {
                Outcome::Created => charge::insert(written.bytes, written.terms),
                Outcome::Ok | Outcome::Deleted | Outcome::NotModified => {
                    charge::replace(written.bytes, written.terms)
                }
            };
            Ok(Applied {
                outcome,
                charge,
                shows: Shows::Version(written.version, written.bytes),
            })
        }
        Err(Refused::UniqueKey | Refused::Duplicate(_)) => Err(Error::new(
            Kind::Conflict,
            "Unique index constraint violation.",
        )),
        Err(Refused::Unindexable(why)) => Err(Error::new(Kind::BadRequest, why.to_string())),
    }
}

/// Refuses a document that fails the rules of a collection of the Mongo door.
async fn check_rules(
    txn: &mut Operation<'_, '_>,
    key: &ItemKey,
    partition: &PartitionKey,
    object: &Object,
) -> Result<()> {
    let refused = |fault| match fault {
        Fault::Said { message, info, .. } => Error::bad_request(match info.get("errInfo") {
            Some(why) => format!("{message}: {}", why.get("details")),
            None => message,
        }),
        Fault::Other(error) => error,
    };
    let now = txn.view().now();
    let budget = Arc::new(Budget::default().with_steps_max(RULE_STEPS_MAX));
    let Some(rules) = Rules::of(txn.collection(), now, false, &budget).map_err(refused)? else {
        return Ok(());
    };
    let old = txn.get(key, partition).await?.map(|found| found.document);
    rules.check(old.as_ref(), object).map_err(refused)
}

/// The item an operation is about.
struct Existing {
    key: ItemKey,
    partition: PartitionKey,
    found: Found,
}

/// The item an id names: by itself, or as a `_rid` if there is no such id.
async fn existing(
    who: &Who,
    txn: &mut Operation<'_, '_>,
    op: &ItemOp,
    id: &str,
) -> Result<Existing> {
    let partition = given_partition(txn.collection(), op.partition.as_ref())?;
    who.may_look(txn.collection(), &partition)?;
    let mut key = ItemKey::new(txn.collection(), &partition, id);
    let mut found = None;
    if other_door::is_foreign(txn.collection()) {
        for candidate in candidates(&partition, id) {
            if found.is_none() {
                key = candidate.key(txn.collection());
                found = txn.get(&key, &partition).await?;
            }
        }
    } else {
        found = txn.get(&key, &partition).await?;
    }
    if found.is_none()
        && let Some(by_rid) = key_by_rid(txn.view(), txn.collection(), &partition, id).await?
    {
        found = txn.get(&by_rid, &partition).await?;
        key = by_rid;
    }
    let found = found.ok_or_else(Error::not_found)?;
    Ok(Existing {
        key,
        partition,
        found,
    })
}

/// The same for an operation that writes: whoever asks may, and its conditions hold.
async fn to_write(
    who: &Who,
    txn: &mut Operation<'_, '_>,
    op: &ItemOp,
    id: &str,
) -> Result<Existing> {
    let existing = existing(who, txn, op, id).await?;
    may_write(who, txn, &existing.partition, &existing.found)?;
    conditions(op, &existing.found)?;
    Ok(existing)
}

/// Etag conditions of a write on an item that is there.
fn conditions(op: &ItemOp, found: &Found) -> Result<()> {
    let holds = |condition: &str| match &found.header {
        Some(header) => etag_matches(condition, header.lsn),
        // Written earlier in this transaction: its etag is not known to anybody yet.
        None => condition.trim() == "*",
    };
    if op
        .if_match
        .as_deref()
        .is_some_and(|condition| !holds(condition))
        || op.if_none_match.as_deref().is_some_and(holds)
    {
        return Err(Error::precondition_failed());
    }
    Ok(())
}

fn may_write(who: &Who, txn: &Txn<'_>, partition: &PartitionKey, found: &Found) -> Result<()> {
    who.may_write_item(txn.collection(), partition, ordinal(found))
}

fn ordinal(found: &Found) -> u64 {
    found
        .header
        .as_ref()
        .map_or(0, |header: &Header| header.ordinal)
}

/// The document with what conditions may ask of the system's properties.
fn with_system(found: &Found) -> Value {
    let mut object: Object = found.document.clone();
    if let Some(header) = &found.header {
        object.insert("_etag", Value::String(etag(header.lsn)));
        object.insert(
            "_ts",
            Value::Int64(i64::try_from(header.written.0).unwrap_or(i64::MAX)),
        );
    }
    Value::Object(object)
}
