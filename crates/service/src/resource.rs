//! System properties: what every resource says of itself besides what its user wrote.

use lapsedb_record::{Header, Live};
use lapsedb_store::rid::{CollectionRid, DatabaseRid, Rid};
use lapsedb_store::{Collection, Database, StoreError};
use lapsedb_value::{Object, Str, Value, bson, number};

use crate::documents::other_door;
use crate::error::Result;

/// Names that the server owns in an item; what a client sends under them is dropped.
pub const SYSTEM_PROPERTIES: [&str; 6] = ["_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"];

/// The etag of a commit, quotes included.
#[must_use]
pub fn etag(lsn: u64) -> Str {
    let mut text = Vec::with_capacity(40);
    write_etag(lsn, &mut text);
    String::from_utf8(text).unwrap_or_default().into()
}

/// Appends an etag: a quoted text in the shape of a GUID whose last sixteen digits are the lsn.
fn write_etag(lsn: u64, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\"00000000-0000-0000-");
    for (place, shift) in (0..64).step_by(4).rev().enumerate() {
        if place == 4 {
            out.push(b'-');
        }
        out.push(DIGITS[usize::from((lsn >> shift) as u8 & 0xf)]);
    }
    out.push(b'"');
}

/// Whether a condition's etag names a commit: as sent by us, without its quotes, or `*`.
#[must_use]
pub fn etag_matches(condition: &str, lsn: u64) -> bool {
    let condition = condition.trim();
    let own = etag(lsn);
    condition == "*" || condition == own || Some(condition) == own.get(1..own.len() - 1)
}

/// A database's `_rid`.
#[must_use]
pub fn database_rid(database: &Database) -> Str {
    DatabaseRid(database.number).text()
}

/// A collection's `_rid`, as numbers.
#[must_use]
pub const fn rid_of(collection: &Collection) -> CollectionRid {
    CollectionRid {
        db: collection.database,
        coll: collection.cid.0,
    }
}

/// A collection's `_rid`.
#[must_use]
pub fn collection_rid(collection: &Collection) -> Str {
    rid_of(collection).text()
}

/// Whether a text is the `_rid` of a collection, be it there or not.
#[must_use]
pub fn is_collection_rid(text: &str) -> bool {
    matches!(Rid::parse(text), Some(Rid::Collection(_)))
}

/// A collection's `_self`: `dbs/…/colls/…/`.
#[must_use]
pub fn collection_self(collection: &Collection) -> String {
    format!(
        "dbs/{}/colls/{}/",
        DatabaseRid(collection.database).text(),
        collection_rid(collection)
    )
}

/// Which of the system's properties an item is shown with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// All.
    Whole,
    /// All but `_self` and `_attachments`, which follow from the others.
    WithoutLinks,
}

/// Appends an item as JSON text in one pass over its stored bytes: the user's members, then the system's.
///
/// # Errors
/// When the stored body is damaged.
pub fn write_item(
    collection: &Collection,
    header: &Header,
    body: &[u8],
    out: &mut Vec<u8>,
) -> Result<()> {
    write_item_with(System::Whole, collection, header, body, out)
}

/// The same with some of the system's properties.
///
/// # Errors
/// When the stored body is damaged.
pub fn write_item_with(
    system: System,
    collection: &Collection,
    header: &Header,
    body: &[u8],
    out: &mut Vec<u8>,
) -> Result<()> {
    out.push(b'{');
    if other_door::is_foreign(collection) {
        write_document(body, out)?;
    } else if bson::json_members(body, out).map_err(StoreError::from)? > 0 {
        out.push(b',');
    }
    write_system(system, collection, header, out);
    Ok(())
}

/// Appends a document of the Mongo door behind its opening brace: its `id` first, a client's own `id` not at all.
fn write_document(body: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut document = bson::read_document(body).map_err(StoreError::from)?;
    other_door::shown(&mut document);
    // The object's own braces are not wanted: the system's members follow.
    let mut text = Vec::with_capacity(body.len() + 64);
    lapsedb_value::json::write(&Value::Object(document), &mut text);
    let members = text.get(1..text.len().saturating_sub(1));
    out.extend_from_slice(members.unwrap_or_default());
    out.push(b',');
    Ok(())
}

/// Appends the system's members and the closing brace.
fn write_system(system: System, collection: &Collection, header: &Header, out: &mut Vec<u8>) {
    let rid = rid_of(collection);
    out.extend_from_slice(b"\"_rid\":\"");
    rid.document(header.ordinal).write(out);
    if system == System::Whole {
        out.extend_from_slice(b"\",\"_self\":\"dbs/");
        rid.database().write(out);
        out.extend_from_slice(b"/colls/");
        rid.write(out);
        out.extend_from_slice(b"/docs/");
        rid.document(header.ordinal).write(out);
        out.push(b'/');
    }
    out.extend_from_slice(b"\",\"_etag\":\"\\");
    let at = out.len();
    write_etag(header.lsn, out);
    // The closing quote of the etag is escaped inside the JSON text, as the opening one is above.
    if let Some(quote) = out.pop() {
        out.push(b'\\');
        out.push(quote);
    }
    debug_assert!(out.len() > at);
    if system == System::Whole {
        out.extend_from_slice(b"\",\"_attachments\":\"attachments/");
    }
    out.extend_from_slice(b"\",\"_ts\":");
    number::write_u64(header.written.0, out);
    out.push(b'}');
}

/// Appends an item as the change feed shows it: with the commit that changed it.
///
/// # Errors
/// When the stored body is damaged.
pub fn write_changed_item(
    collection: &Collection,
    header: &Header,
    body: &[u8],
    out: &mut Vec<u8>,
) -> Result<()> {
    write_item(collection, header, body, out)?;
    // The lsn goes before the closing brace.
    out.pop();
    out.extend_from_slice(b",\"_lsn\":");
    number::write_u64(header.lsn, out);
    out.push(b'}');
    Ok(())
}

/// An item as a value, with its system properties: what queries see.
///
/// # Errors
/// When the stored body is damaged.
pub fn item_value<B: AsRef<[u8]>>(collection: &Collection, item: &Live<B>) -> Result<Value> {
    shown_item(System::Whole, collection, item.header(), item.body())
}

/// The value that [`write_item_with`] writes as text.
///
/// # Errors
/// When the stored body is damaged.
pub fn shown_item(
    system: System,
    collection: &Collection,
    header: &Header,
    body: &[u8],
) -> Result<Value> {
    let mut document = bson::read_document(body).map_err(StoreError::from)?;
    if other_door::is_foreign(collection) {
        other_door::shown(&mut document);
    }
    let rid = rid_of(collection).document(header.ordinal).text();
    document.push("_rid", Value::String(rid.clone()));
    if system == System::Whole {
        let own = format!("{}docs/{rid}/", collection_self(collection));
        document.push("_self", Value::from(own));
    }
    document.push("_etag", Value::String(etag(header.lsn)));
    if system == System::Whole {
        document.push("_attachments", Value::from("attachments/"));
    }
    document.push(
        "_ts",
        Value::Int64(i64::try_from(header.written.0).unwrap_or(i64::MAX)),
    );
    Ok(Value::Object(document))
}

/// Appends the properties every catalog resource has.
pub fn push_system(object: &mut Object, rid: Str, own: String, lsn: u64, ts: u64) {
    object.push("_rid", Value::String(rid));
    object.push("_self", Value::from(own));
    object.push("_etag", Value::String(etag(lsn)));
    object.push("_ts", Value::Int64(i64::try_from(ts).unwrap_or(i64::MAX)));
}

/// A database as clients see it.
#[must_use]
pub fn database_value(database: &Database) -> Value {
    let rid = database_rid(database);
    let mut object = Object::new();
    object.push("id", Value::String(database.id.clone()));
    push_system(
        &mut object,
        rid.clone(),
        format!("dbs/{rid}/"),
        database.lsn,
        database.written.0,
    );
    object.push("_colls", Value::from("colls/"));
    object.push("_users", Value::from("users/"));
    Value::Object(object)
}

/// A collection as clients see it.
#[must_use]
pub fn collection_value(collection: &Collection) -> Value {
    let mut object = collection.document.clone();
    let rid = collection_rid(collection);
    push_system(
        &mut object,
        rid,
        collection_self(collection),
        collection.lsn,
        collection.written.0,
    );
    for (name, path) in [
        ("_docs", "docs/"),
        ("_sprocs", "sprocs/"),
        ("_triggers", "triggers/"),
        ("_udfs", "udfs/"),
        ("_conflicts", "conflicts/"),
    ] {
        object.push(name, Value::from(path));
    }
    Value::Object(object)
}
