//! What a stream is asked for.

use lapsedb_store::EventPlace;
use lapsedb_value::bson::type_name;
use lapsedb_value::{Object, Value};

use crate::changes::{Scope, token};
use crate::documents::Namespace;
use crate::documents::fault::{Fault, Result, code};

/// Code of a token that belongs to an ended stream.
const INVALID_RESUME_TOKEN: i32 = 260;
/// The name of a database's own collection when the whole of it is asked.
const WHOLE: &str = "$cmd.aggregate";
/// Databases whose collections are the server's own.
const INTERNAL: [&str; 3] = ["admin", "config", "local"];

/// Whether the document after an update is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// Only what changed.
    Default,
    /// As it is when the event is read.
    UpdateLookup,
    /// As it was then, if it is kept.
    WhenAvailable,
    /// As it was then, else the stream fails.
    Required,
}

/// Whether the document before a change is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// No.
    Off,
    /// If it is kept.
    WhenAvailable,
    /// Else the stream fails.
    Required,
}

/// Where a stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// With what happens from now on.
    Now,
    /// Behind an event, or behind the end of the stream at that event.
    After(EventPlace, bool),
    /// Behind so many parts of an event.
    Within(EventPlace, u16),
    /// With what happened at a time stamp or later.
    At(u64),
}

/// What a stream was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) scope: Scope,
    pub(crate) full: Full,
    pub(crate) before: Before,
    /// Whether what happens to collections is told, and more of what happens to documents.
    pub(crate) expanded: bool,
    pub(crate) start: Start,
}

/// Reads the options of the stage.
///
/// # Errors
/// When one of them is unknown or wrong, or the namespace cannot be followed.
pub(crate) fn read(namespace: &Namespace, asked: &Object) -> Result<Options> {
    let mut options = Options {
        scope: Scope::Collection,
        full: Full::Default,
        before: Before::Off,
        expanded: false,
        start: Start::Now,
    };
    let mut cluster = false;
    for (name, value) in asked.iter() {
        match name.as_str() {
            "fullDocument" => options.full = full(value)?,
            "fullDocumentBeforeChange" => options.before = before(value)?,
            "resumeAfter" | "startAfter" | "startAtOperationTime" => {}
            "allChangesForCluster" => cluster = flag(name, value)?,
            "showExpandedEvents" => options.expanded = flag(name, value)?,
            // There is nothing of the kind here.
            "showMigrationEvents" | "showSystemEvents" => {
                flag(name, value)?;
            }
            other => {
                return Err(Fault::new(
                    40_415,
                    format!("BSON field '$changeStream.{other}' is an unknown field."),
                ));
            }
        }
    }
    options.start = start(asked)?;
    options.scope = scope(namespace, cluster)?;
    Ok(options)
}

fn scope(namespace: &Namespace, cluster: bool) -> Result<Scope> {
    let whole = namespace.collection == WHOLE;
    if cluster {
        if namespace.database == "admin" && whole {
            return Ok(Scope::Everything);
        }
        return Err(Fault::new(
            code::INVALID_OPTIONS,
            format!(
                "A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' database, and with no collection name; found {namespace}"
            ),
        ));
    }
    if INTERNAL.contains(&namespace.database.as_str()) {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!(
                "$changeStream may not be opened on the internal {} database",
                namespace.database
            ),
        ));
    }
    if namespace.collection.starts_with("system.") {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!("$changeStream may not be opened on the internal {namespace} collection"),
        ));
    }
    Ok(if whole {
        Scope::Database
    } else {
        Scope::Collection
    })
}

fn start(asked: &Object) -> Result<Start> {
    let at = asked.get("startAtOperationTime");
    let resume = asked.get("resumeAfter");
    let begin = asked.get("startAfter");
    if resume.is_some() && begin.is_some() {
        return Err(Fault::new(
            50_865,
            "Do not specify both 'resumeAfter' and 'startAfter' in a $changeStream stage",
        ));
    }
    if at.is_some() && (resume.is_some() || begin.is_some()) {
        return Err(Fault::new(
            40_674,
            "Only one type of resume option is allowed, but multiple were found",
        ));
    }
    for (name, given) in [("resumeAfter", resume), ("startAfter", begin)] {
        let Some(given) = given else {
            continue;
        };
        let Value::Object(given) = given else {
            return Err(wrong_type(name, given, "object"));
        };
        let token = token::read(given)?;
        if let Some(part) = token.part {
            return Ok(Start::Within(token.place, part));
        }
        let (place, ended) = (token.place, token.ended);
        if ended && name == "resumeAfter" {
            return Err(Fault::new(
                INVALID_RESUME_TOKEN,
                "Attempting to resume a change stream using 'resumeAfter' is not allowed from an invalidate notification",
            ));
        }
        return Ok(Start::After(place, ended));
    }
    match at {
        None => Ok(Start::Now),
        Some(Value::Timestamp(stamp)) => Ok(Start::At(*stamp)),
        Some(other) => Err(wrong_type("startAtOperationTime", other, "timestamp")),
    }
}

fn full(value: &Value) -> Result<Full> {
    match value.as_str() {
        Some("default") => Ok(Full::Default),
        Some("updateLookup") => Ok(Full::UpdateLookup),
        Some("whenAvailable") => Ok(Full::WhenAvailable),
        Some("required") => Ok(Full::Required),
        Some(other) => Err(unknown("fullDocument", other)),
        None => Err(wrong_type("fullDocument", value, "string")),
    }
}

fn before(value: &Value) -> Result<Before> {
    match value.as_str() {
        Some("off") => Ok(Before::Off),
        Some("whenAvailable") => Ok(Before::WhenAvailable),
        Some("required") => Ok(Before::Required),
        Some(other) => Err(unknown("fullDocumentBeforeChange", other)),
        None => Err(wrong_type("fullDocumentBeforeChange", value, "string")),
    }
}

fn flag(name: &str, value: &Value) -> Result<bool> {
    value.as_bool().ok_or_else(|| {
        Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "Field '{name}' should be a boolean value, but found: {}",
                type_name(value)
            ),
        )
    })
}

fn unknown(field: &str, value: &str) -> Fault {
    Fault::new(
        code::BAD_VALUE,
        format!(
            "Enumeration value '{value}' for field '$changeStream.{field}' is not a valid value."
        ),
    )
}

fn wrong_type(field: &str, value: &Value, expected: &str) -> Fault {
    Fault::new(
        code::TYPE_MISMATCH,
        format!(
            "BSON field '$changeStream.{field}' is the wrong type '{}', expected type '{expected}'",
            type_name(value)
        ),
    )
}
