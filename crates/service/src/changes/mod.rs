//! Change streams: what happens to documents and collections, told as it happens.

mod document;
mod follow;
mod last_words;
pub(crate) mod note;
mod open;
mod options;
pub(crate) mod split;
mod stream;
mod structure;
mod token;
mod wait;

use lapsedb_store::Watched;
use lapsedb_value::{Object, Value};

use crate::documents::Namespace;
use crate::documents::fault::{Fault, Result};

pub(crate) use last_words::last_words;
pub(crate) use open::open;
pub(crate) use stream::Changes;

/// Code of a stream whose place is kept no longer.
const HISTORY_LOST: i32 = 286;
/// Code of a stream whose stages took its token away.
const FATAL: i32 = 280;

/// What a stream follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// One collection.
    Collection,
    /// All collections of a database.
    Database,
    /// All collections.
    Everything,
}

impl Scope {
    /// What the store is told of it.
    fn watched(self, namespace: &Namespace) -> Watched<'_> {
        match self {
            Scope::Everything => Watched::Everything,
            Scope::Database => Watched::Database(&namespace.database),
            Scope::Collection => Watched::Collection(&namespace.database, &namespace.collection),
        }
    }

    /// Whether a collection is followed. What the door keeps for itself is not.
    fn covers(self, namespace: &Namespace, database: &str, collection: &str) -> bool {
        match self {
            Scope::Everything => !collection.starts_with("system."),
            Scope::Database => namespace.database == database && !collection.starts_with("system."),
            Scope::Collection => {
                namespace.database == database && namespace.collection == collection
            }
        }
    }
}

/// Refuses a stream that could be opened nowhere, or not on a name of the server's own.
pub(crate) fn check(namespace: &Namespace, asked: &Object) -> Result<()> {
    options::read(namespace, asked).map(drop)
}

/// Whether a stream with these options follows all databases.
///
/// # Errors
/// When it could be opened nowhere.
pub(crate) fn follows_everything(namespace: &Namespace, asked: &Object) -> Result<bool> {
    Ok(options::read(namespace, asked)?.scope == Scope::Everything)
}

/// A failure after which no driver should try to resume.
fn not_resumable(code: i32, message: &str) -> Fault {
    let label = Value::from("NonResumableChangeStreamError");
    let mut info = Object::with_capacity(1);
    info.push("errorLabels", Value::Array(vec![label]));
    Fault::with(code, message, info)
}

/// The answer to a place that is kept no longer, or never was.
fn history_lost() -> Fault {
    not_resumable(
        HISTORY_LOST,
        "Resume of change stream was not possible, as the resume point may no longer be in the history that is kept.",
    )
}
