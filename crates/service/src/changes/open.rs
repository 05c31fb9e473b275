//! Begins a change stream.

use lapsedb_mql::stages::{Pipeline, Runner};
use lapsedb_store::{CollectionId, EventPlace, View};
use lapsedb_value::{Object, Value};

use crate::changes::stream::{Changes, Scope, Watched, keep_all};
use crate::changes::token;
use crate::cursors::{self, Batch, Feed, Keep, Room};
use crate::documents::fault::{Fault, Result, code};
use crate::documents::look::{Look, find_collection};
use crate::documents::{Aggregate, FIRST_BATCH_DOCUMENTS, Namespace, Work};

/// Code of a token that belongs to an ended stream.
const INVALID_RESUME_TOKEN: i32 = 260;

/// Whether the document after an update is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// Only what changed.
    Default,
    /// As it is when the event is read.
    UpdateLookup,
    /// As it was then, if it is kept.
    WhenAvailable,
    /// As it was then.
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

/// What a stream was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) full: Full,
    pub(crate) before: Before,
    /// Whether the collection keeps images for streams.
    pub(crate) images: bool,
}

/// Begins a stream on a collection, a database or everything.
///
/// # Errors
/// When the options are wrong, or the place to resume at is not there any more.
pub(crate) async fn open(
    work: &mut Work,
    namespace: &Namespace,
    options: &Object,
    pipeline: &Pipeline,
    asked: &Aggregate,
) -> Result<Batch> {
    let (mut stream, start) = read(namespace, options)?;
    keep_all(work, namespace, stream.scope).await?;
    let look = Look::fresh(work, namespace).await?;
    stream.watched = watched(&look.view, namespace, &stream.scope);
    stream.images = images(&look.view, namespace);
    stream.after = match start {
        Start::Now => EventPlace::end_of(look.view.lsn()),
        Start::After(place) => place,
        Start::At(stamp) => {
            let lsn = stamp & 0xFFFF_FFFF;
            stream.not_before = stamp >> 32;
            EventPlace::end_of(lsn.saturating_sub(1))
        }
    };
    if matches!(start, Start::Now) {
        stream.fresh = true;
    }
    stream.runner = Some(Runner::new(pipeline));
    let room = Room::new(Some(asked.batch_size.unwrap_or(FIRST_BATCH_DOCUMENTS)));
    let keep = Keep {
        no_timeout: false,
        single_batch: false,
    };
    let mut batch = cursors::open(
        work,
        &look,
        namespace,
        Feed::Changes(Box::new(stream)),
        room,
        keep,
    )
    .await?;
    if batch.resume_token.is_none() {
        batch.resume_token = Some(token::write(EventPlace::end_of(look.view.lsn()), false));
    }
    Ok(batch)
}

enum Start {
    Now,
    After(EventPlace),
    At(u64),
}

fn read(namespace: &Namespace, options: &Object) -> Result<(Changes, Start)> {
    let mut start = Start::Now;
    let mut starts = 0;
    let mut wanted = Options {
        full: Full::Default,
        before: Before::Off,
        images: false,
    };
    let mut cluster = false;
    for (name, value) in options.iter() {
        match name.as_str() {
            "fullDocument" => wanted.full = full(value)?,
            "fullDocumentBeforeChange" => wanted.before = before(value)?,
            "resumeAfter" | "startAfter" => {
                let (place, ended) = token::read(value)?;
                if ended && name == "resumeAfter" {
                    return Err(Fault::new(
                        INVALID_RESUME_TOKEN,
                        "Attempting to resume a change stream using 'resumeAfter' is not allowed from an invalidate notification.",
                    ));
                }
                start = Start::After(place);
                starts += 1;
            }
            "startAtOperationTime" => match value {
                Value::Timestamp(stamp) => {
                    start = Start::At(*stamp);
                    starts += 1;
                }
                _ => {
                    return Err(Fault::new(
                        code::TYPE_MISMATCH,
                        "startAtOperationTime must be a timestamp",
                    ));
                }
            },
            "allChangesForCluster" => cluster = value.as_bool() == Some(true),
            "showExpandedEvents" | "showMigrationEvents" | "showSystemEvents" => {}
            other => {
                return Err(Fault::new(
                    40_415,
                    format!("BSON field '$changeStream.{other}' is an unknown field."),
                ));
            }
        }
    }
    if starts > 1 {
        return Err(Fault::new(
            50_865,
            "Only one type of resume option is allowed, but multiple were found.",
        ));
    }
    let whole = namespace.collection == "$cmd.aggregate";
    let scope = match (whole, cluster) {
        (true, true) if namespace.database != "admin" => {
            return Err(Fault::new(
                code::INVALID_OPTIONS,
                "allChangesForCluster may only be opened on the admin database",
            ));
        }
        (true, true) => Scope::Everything,
        (true, false) => Scope::Database,
        (false, _) => Scope::Collection,
    };
    Ok((Changes::new(namespace.clone(), scope, wanted), start))
}

fn full(value: &Value) -> Result<Full> {
    match value.as_str() {
        Some("default") => Ok(Full::Default),
        Some("updateLookup") => Ok(Full::UpdateLookup),
        Some("whenAvailable") => Ok(Full::WhenAvailable),
        Some("required") => Ok(Full::Required),
        Some(_) | None => Err(unknown("fullDocument", value)),
    }
}

fn before(value: &Value) -> Result<Before> {
    match value.as_str() {
        Some("off") => Ok(Before::Off),
        Some("whenAvailable") => Ok(Before::WhenAvailable),
        Some("required") => Ok(Before::Required),
        Some(_) | None => Err(unknown("fullDocumentBeforeChange", value)),
    }
}

fn unknown(field: &str, value: &Value) -> Fault {
    Fault::new(
        code::BAD_VALUE,
        format!(
            "Enumeration value {value} for field '$changeStream.{field}' is not a valid value."
        ),
    )
}

/// The collections a stream follows, as a view has them.
pub(crate) fn watched(view: &View, namespace: &Namespace, scope: &Scope) -> Vec<Watched> {
    let catalog = view.catalog();
    let mut all = Vec::new();
    for database in catalog.databases() {
        let own = match scope {
            Scope::Everything => true,
            Scope::Database | Scope::Collection => database.id == namespace.database,
        };
        if !own {
            continue;
        }
        for collection in catalog.collections(database.number) {
            let meant = match scope {
                Scope::Everything | Scope::Database => !collection.id.starts_with("system."),
                Scope::Collection => collection.id == namespace.collection,
            };
            if meant && collection.mongo.is_some() {
                all.push(Watched {
                    cid: CollectionId(collection.cid.0),
                    namespace: Namespace::pseudo(&database.id, &collection.id),
                });
            }
        }
    }
    all
}

/// Whether a collection keeps images for streams.
fn images(view: &View, namespace: &Namespace) -> bool {
    find_collection(view, namespace).is_none_or(|collection| {
        let kept = collection
            .mongo
            .as_deref()
            .and_then(|kept| kept.get("options"));
        let setting = kept.map(|options| {
            options
                .get("changeStreamPreAndPostImages")
                .get("enabled")
                .as_bool()
        });
        setting.flatten() == Some(true)
    })
}
