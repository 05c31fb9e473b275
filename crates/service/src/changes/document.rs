//! An event as a document.

use lapsedb_mql::update::Description;
use lapsedb_store::{Event, EventKind};
use lapsedb_value::{Object, Value, bson};

use crate::changes::open::{Before, Full, Options};
use crate::changes::token;
use crate::documents::Namespace;
use crate::documents::fault::{Fault, Result};
use crate::documents::id::ID;

/// Code of a stream that cannot give what it must.
const NO_MATCHING_DOCUMENT: i32 = 47;

/// The event as clients see it. `current` is the document as it is now, where that is asked for.
pub(crate) fn event(
    event: &Event,
    namespace: &Namespace,
    options: &Options,
    current: Option<Option<Object>>,
) -> Result<Object> {
    let before = image(event.previous.as_ref())?;
    let after = image(event.current.as_ref())?;
    let kind = match event.kind {
        EventKind::Create => "insert",
        EventKind::Replace => "update",
        EventKind::Delete | EventKind::Expire => "delete",
    };
    let mut told = Object::with_capacity(10);
    told.push(ID, Value::Object(token::write(event.place, false)));
    told.push("operationType", kind);
    told.push("clusterTime", Value::Timestamp(stamp(event)));
    let happened = i64::try_from(event.happened.millis().0).unwrap_or(i64::MAX);
    told.push("wallTime", Value::Date(happened));
    match event.kind {
        EventKind::Create => {
            told.push(
                "fullDocument",
                after.clone().map_or(Value::Null, Value::Object),
            );
        }
        EventKind::Replace => full(&mut told, options, &after, current)?,
        EventKind::Delete | EventKind::Expire => {}
    }
    told.push("ns", Value::Object(name(namespace)));
    let of = after.as_ref().or(before.as_ref());
    let mut key = Object::with_capacity(1);
    key.push(
        ID,
        of.and_then(|document| document.get(ID))
            .cloned()
            .unwrap_or(Value::Null),
    );
    told.push("documentKey", Value::Object(key));
    if let (EventKind::Replace, Some(before), Some(after)) = (event.kind, &before, &after) {
        told.push(
            "updateDescription",
            Value::Object(Description::between(before, after).to_object()),
        );
    }
    if event.kind != EventKind::Create {
        previous(&mut told, options, before)?;
    }
    if event.kind == EventKind::Expire {
        // Nobody deleted it: its time had come.
        let mut reason = Object::with_capacity(1);
        reason.push("reason", "expired");
        told.push("operationDescription", Value::Object(reason));
    }
    Ok(told)
}

/// The time stamp of an event: its second, and the end of its lsn.
pub(crate) fn stamp(event: &Event) -> u64 {
    event.committed.0 << 32 | (event.place.lsn & 0xFFFF_FFFF)
}

fn image(image: Option<&lapsedb_store::EventImage>) -> Result<Option<Object>> {
    match image {
        Some(image) => Ok(Some(bson::read_document(image.body()?)?)),
        None => Ok(None),
    }
}

fn name(namespace: &Namespace) -> Object {
    let mut ns = Object::with_capacity(2);
    ns.push("db", namespace.database.as_str());
    ns.push("coll", namespace.collection.as_str());
    ns
}

/// The document after an update, where it is asked for.
fn full(
    told: &mut Object,
    options: &Options,
    after: &Option<Object>,
    current: Option<Option<Object>>,
) -> Result<()> {
    match (options.full, current) {
        (Full::Default, _) => {}
        (Full::UpdateLookup, Some(current)) => {
            told.push("fullDocument", current.map_or(Value::Null, Value::Object));
        }
        (Full::UpdateLookup, None) | (Full::WhenAvailable | Full::Required, _) => {
            told.push(
                "fullDocument",
                after.clone().map_or(Value::Null, Value::Object),
            );
        }
    }
    Ok(())
}

/// The document before the change, where it is asked for and kept.
fn previous(told: &mut Object, options: &Options, before: Option<Object>) -> Result<()> {
    let kept = before.filter(|_| options.images);
    match (options.before, kept) {
        (Before::Off, _) => Ok(()),
        (Before::WhenAvailable, kept) => {
            told.push(
                "fullDocumentBeforeChange",
                kept.map_or(Value::Null, Value::Object),
            );
            Ok(())
        }
        (Before::Required, Some(kept)) => {
            told.push("fullDocumentBeforeChange", Value::Object(kept));
            Ok(())
        }
        (Before::Required, None) => Err(Fault::new(
            NO_MATCHING_DOCUMENT,
            "Change stream was configured to require a pre-image for all update, delete and replace events, but the pre-image was not found",
        )),
    }
}

/// What tells that a collection is gone, and that with it the stream ends.
pub(crate) fn ending(
    kind: &str,
    place: lapsedb_store::EventPlace,
    stamp: u64,
    namespace: Option<&Namespace>,
) -> Object {
    let mut told = Object::with_capacity(4);
    told.push(ID, Value::Object(token::write(place, kind == "invalidate")));
    told.push("operationType", kind);
    told.push("clusterTime", Value::Timestamp(stamp));
    let second = i64::try_from(stamp >> 32).unwrap_or(i64::MAX);
    told.push("wallTime", Value::Date(second.saturating_mul(1000)));
    if let Some(namespace) = namespace {
        told.push("ns", Value::Object(name(namespace)));
    }
    told
}
