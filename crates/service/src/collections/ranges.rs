//! A collection's partition key ranges: one, from the first key to the last.

use lapsedb_store::rid::ChildKind;
use lapsedb_value::{Object, Value};

use crate::ctx::Ctx;
use crate::error::Result;
use crate::feed::{self, Ask, Page};
use crate::reply::{Conditions, Owner};
use crate::resource::{self, push_system};

/// The id of the one range.
pub const RANGE_ID: &str = "0";
/// The ordinal of the one range.
const RANGE_ORDINAL: u64 = 1;

/// The ranges of a collection.
pub struct Ranges {
    /// The ranges; none are sent again to who has them.
    pub page: Page,
    /// The version of the ranges, quotes included. It changes only when ranges do.
    pub etag: String,
    /// Whether the reader has them already.
    pub known: bool,
}

/// The ranges that the keys of a collection fall into.
///
/// # Errors
/// When the collection is not there, who asks may not read it, or the request is wrong in itself.
pub async fn ranges(
    ctx: &Ctx,
    (db, coll): (&str, &str),
    conditions: &Conditions,
    ask: &Ask<'_>,
) -> Result<Ranges> {
    let scope = ctx.scope(db, coll).await?;
    let collection = &scope.collection;
    ctx.who.may_read_collection(collection)?;
    // A collection's number is never used twice, so a client's cache of another one of the same name does not match.
    let version = u64::from(collection.cid.0);
    let rid = resource::rid_of(collection)
        .child(ChildKind::PartitionKeyRange, RANGE_ORDINAL)
        .text();
    let own = format!("{}pkranges/{rid}/", resource::collection_self(collection));
    let mut range = Object::new();
    range.push("id", Value::from(RANGE_ID));
    push_system(&mut range, rid, own, version, collection.written.0);
    range.push("minInclusive", Value::from(""));
    range.push("maxExclusive", Value::from("FF"));
    range.push("ridPrefix", Value::from(0));
    range.push("throughputFraction", Value::from(1));
    range.push("status", Value::from("online"));
    range.push("parents", Value::Array(Vec::new()));
    range.push("ownedArchivalPKRangeIds", Value::Array(Vec::new()));
    range.push(
        "lsn",
        Value::from(i64::try_from(scope.view.lsn()).unwrap_or(i64::MAX)),
    );
    let owner = Owner::collection(&scope.database, collection);
    let entries = vec![(RANGE_ORDINAL, Value::Object(range))];
    Ok(Ranges {
        page: feed::page(&scope.view, (owner, "pkranges"), entries, ask)?,
        etag: resource::etag(version).to_string(),
        known: conditions.known(version),
    })
}
