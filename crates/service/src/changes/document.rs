//! What happened to a document, as clients see it.

use lapsedb_store::{Event, EventKind};
use lapsedb_value::{Object, Value, bson};

use crate::changes::note::{Note, Origin};
use crate::changes::options::{Before, Full, Options};
use crate::changes::token;
use crate::documents::Namespace;
use crate::documents::fault::{Fault, Result};
use crate::documents::id::ID;

/// Code of a stream that cannot give what it must.
const NO_MATCHING_DOCUMENT: i32 = 47;

/// What an event is told with.
pub(crate) struct Told<'a> {
    pub(crate) namespace: &'a Namespace,
    /// The collection's number for clients, if they want it.
    pub(crate) uuid: Option<Value>,
    /// Whether the collection keeps images by now: what no writer has noted is told by that.
    pub(crate) images: bool,
    /// The document as it is now, where that is asked for.
    pub(crate) current: Option<Option<Object>>,
}

/// What kind of event it is to clients.
enum Kind {
    Insert,
    Update(Object),
    Replace,
    Delete,
}

impl Kind {
    const fn name(&self) -> &'static str {
        match self {
            Kind::Insert => "insert",
            Kind::Update(_) => "update",
            Kind::Replace => "replace",
            Kind::Delete => "delete",
        }
    }
}

/// The event as clients see it.
///
/// # Errors
/// When the stream must have an image that is not kept, or the bytes are damaged.
pub(crate) fn event(event: &Event, options: &Options, told: Told<'_>) -> Result<Object> {
    let note = Note::read(&event.note)?;
    let before = image(event.previous.as_ref())?;
    let after = image(event.current.as_ref())?;
    let kind = kind(event, &note, options, (before.as_ref(), after.as_ref()));
    let mut made = Object::with_capacity(12);
    if let Some(origin) = &note.origin {
        made.push("txnNumber", Value::Int64(origin.number));
        made.push("lsid", Value::Object(session(origin)));
    }
    made.push(ID, Value::Object(token::write(event.place, false)));
    made.push("operationType", kind.name());
    made.push("clusterTime", Value::Timestamp(stamp(event)));
    if let Some(uuid) = told.uuid {
        made.push("collectionUUID", uuid);
    }
    let happened = i64::try_from(event.at.0).unwrap_or(i64::MAX);
    made.push("wallTime", Value::Date(happened));
    let images = match event.kind {
        EventKind::Expire => told.images,
        EventKind::Create | EventKind::Replace | EventKind::Delete => note.images,
    };
    let key = key_of(after.as_ref().or(before.as_ref()));
    let full = match &kind {
        Kind::Insert | Kind::Replace => after.map(Value::Object),
        Kind::Delete => None,
        Kind::Update(_) => {
            let kept = after.filter(|_| images);
            full(options, kept, told.current)
                .map_err(|()| missing(Side::After, &kind, &made, told.namespace))?
        }
    };
    if let Some(full) = full {
        made.push("fullDocument", full);
    }
    made.push("ns", Value::Object(name(told.namespace)));
    made.push("documentKey", Value::Object(key));
    if let Kind::Update(description) = &kind {
        made.push("updateDescription", Value::Object(description.clone()));
    }
    if !matches!(kind, Kind::Insert) {
        let kept = before.filter(|_| images);
        let before = previous(options, kept)
            .map_err(|()| missing(Side::Before, &kind, &made, told.namespace))?;
        if let Some(before) = before {
            made.push("fullDocumentBeforeChange", before);
        }
    }
    if event.kind == EventKind::Expire {
        // Nobody deleted it: its time had come.
        let mut reason = Object::with_capacity(1);
        reason.push("reason", "expired");
        made.push("operationDescription", Value::Object(reason));
    }
    Ok(made)
}

fn kind(
    event: &Event,
    note: &Note,
    options: &Options,
    images: (Option<&Object>, Option<&Object>),
) -> Kind {
    match (event.kind, images) {
        (EventKind::Create, _) => Kind::Insert,
        (EventKind::Delete | EventKind::Expire, _) => Kind::Delete,
        (EventKind::Replace, (Some(before), Some(after))) => {
            match note.description(before, after) {
                Some(description) => Kind::Update(description.to_object(options.expanded)),
                None => Kind::Replace,
            }
        }
        (EventKind::Replace, _) => Kind::Replace,
    }
}

/// The time stamp of an event: its second, and the end of its lsn.
pub(crate) fn stamp(event: &Event) -> u64 {
    stamp_of(event.committed.0, event.place.lsn)
}

/// The time stamp of a commit.
pub(crate) const fn stamp_of(second: u64, lsn: u64) -> u64 {
    second << 32 | (lsn & 0xFFFF_FFFF)
}

fn image(image: Option<&lapsedb_store::EventImage>) -> Result<Option<Object>> {
    match image {
        Some(image) => Ok(Some(bson::read_document(image.body()?)?)),
        None => Ok(None),
    }
}

/// Database and collection, as events name them.
pub(crate) fn name(namespace: &Namespace) -> Object {
    let mut ns = Object::with_capacity(2);
    ns.push("db", namespace.database.as_str());
    ns.push("coll", namespace.collection.as_str());
    ns
}

fn key_of(document: Option<&Object>) -> Object {
    let id = document.and_then(|document| document.get(ID));
    let mut key = Object::with_capacity(1);
    key.push(ID, id.cloned().unwrap_or(Value::Null));
    key
}

/// A session as events name it: what the client chose, and whose it is.
fn session(origin: &Origin) -> Object {
    let mut session = Object::with_capacity(2);
    session.push(
        "id",
        Value::Binary {
            subtype: 4,
            bytes: origin.session.id.clone(),
        },
    );
    session.push(
        "uid",
        Value::Binary {
            subtype: 0,
            bytes: origin.session.user.to_vec(),
        },
    );
    session
}

/// The document after an update, where it is asked for.
fn full(
    options: &Options,
    kept: Option<Object>,
    current: Option<Option<Object>>,
) -> std::result::Result<Option<Value>, ()> {
    let shown = |document: Option<Object>| document.map_or(Value::Null, Value::Object);
    match (options.full, kept) {
        (Full::Default, _) => Ok(None),
        (Full::UpdateLookup, _) => Ok(Some(shown(current.flatten()))),
        (Full::WhenAvailable, kept) => Ok(Some(shown(kept))),
        (Full::Required, Some(kept)) => Ok(Some(Value::Object(kept))),
        (Full::Required, None) => Err(()),
    }
}

/// The document before the change, where it is asked for and kept.
fn previous(options: &Options, kept: Option<Object>) -> std::result::Result<Option<Value>, ()> {
    match (options.before, kept) {
        (Before::Off, _) => Ok(None),
        (Before::WhenAvailable, kept) => Ok(Some(kept.map_or(Value::Null, Value::Object))),
        (Before::Required, Some(kept)) => Ok(Some(Value::Object(kept))),
        (Before::Required, None) => Err(()),
    }
}

enum Side {
    Before,
    After,
}

fn missing(side: Side, kind: &Kind, made: &Object, namespace: &Namespace) -> Fault {
    let (what, which) = match side {
        Side::Before => ("pre-image", "update, delete and replace"),
        Side::After => ("post-image", "update"),
    };
    let stamp = match made.get("clusterTime") {
        Some(Value::Timestamp(stamp)) => *stamp,
        _ => 0,
    };
    Fault::new(
        NO_MATCHING_DOCUMENT,
        format!(
            "Change stream was configured to require a {what} for all {which} events, but the {what} was not found for event: {{operationType: \"{}\", ns: {{db: \"{}\", coll: \"{}\"}}, clusterTime: Timestamp({}, {})}}",
            kind.name(),
            namespace.database,
            namespace.collection,
            stamp >> 32,
            stamp & 0xFFFF_FFFF,
        ),
    )
}
