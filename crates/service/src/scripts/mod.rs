//! Stored procedures, triggers and user-defined functions: kept and shown, not run.

mod create;
mod delete;
mod execute;
mod list;
mod read;
mod replace;
mod source;

use lapsedb_store::keys::MetaKind;
use lapsedb_store::rid::{ChildKind, ChildRid};
use lapsedb_store::{Collection, View};
use lapsedb_value::{Object, Value};

pub use create::create;
pub use delete::delete;
pub use execute::execute;
pub use list::list;
pub use read::read;
pub use replace::replace;

use crate::error::Result;
use crate::limits::{STORED_PROCEDURES_MAX, TRIGGERS_MAX, USER_DEFINED_FUNCTIONS_MAX};
use crate::named::{Named, Shelf};
use crate::resource::{self, push_system};

/// What a script is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScriptKind {
    /// Run by name.
    StoredProcedure,
    /// Run before or after a write.
    Trigger,
    /// Run within queries.
    UserDefinedFunction,
}

impl ScriptKind {
    /// How its records are kept.
    const fn meta(self) -> MetaKind {
        match self {
            ScriptKind::StoredProcedure => MetaKind::StoredProcedure,
            ScriptKind::Trigger => MetaKind::Trigger,
            ScriptKind::UserDefinedFunction => MetaKind::UserDefinedFunction,
        }
    }

    /// How its rid says what it is.
    pub(crate) const fn child(self) -> ChildKind {
        match self {
            ScriptKind::StoredProcedure => ChildKind::StoredProcedure,
            ScriptKind::Trigger => ChildKind::Trigger,
            ScriptKind::UserDefinedFunction => ChildKind::UserDefinedFunction,
        }
    }

    /// Its segment in paths.
    const fn segment(self) -> &'static str {
        match self {
            ScriptKind::StoredProcedure => "sprocs",
            ScriptKind::Trigger => "triggers",
            ScriptKind::UserDefinedFunction => "udfs",
        }
    }

    /// Its name in messages.
    const fn name(self) -> &'static str {
        match self {
            ScriptKind::StoredProcedure => "StoredProcedure",
            ScriptKind::Trigger => "Trigger",
            ScriptKind::UserDefinedFunction => "UserDefinedFunction",
        }
    }

    /// How many of it a collection may have.
    #[must_use]
    pub const fn count_max(self) -> usize {
        match self {
            ScriptKind::StoredProcedure => STORED_PROCEDURES_MAX,
            ScriptKind::Trigger => TRIGGERS_MAX,
            ScriptKind::UserDefinedFunction => USER_DEFINED_FUNCTIONS_MAX,
        }
    }
}

/// Where a collection's scripts of a kind lie.
fn shelf(collection: &Collection, kind: ScriptKind) -> Shelf {
    Shelf {
        kind: kind.meta(),
        owner: u64::from(collection.cid.0),
    }
}

/// A script by name or rid.
pub(crate) async fn find(
    view: &View,
    collection: &Collection,
    kind: ScriptKind,
    id: &str,
) -> Result<Option<Named>> {
    let own = resource::rid_of(collection);
    let number = ChildRid::parse(id)
        .filter(|rid| rid.db == own.db && rid.coll == own.coll && rid.kind == kind.child())
        .and_then(|rid| u32::try_from(rid.ordinal).ok());
    shelf(collection, kind).find(view, id, number).await
}

/// How many scripts of a kind a collection has.
pub(crate) async fn count(view: &View, collection: &Collection, kind: ScriptKind) -> Result<usize> {
    Ok(shelf(collection, kind).all(view).await?.len())
}

/// A script as clients see it.
fn script_value(collection: &Collection, kind: ScriptKind, script: &Named) -> Value {
    let rid = resource::rid_of(collection)
        .child(kind.child(), u64::from(script.number))
        .text();
    let own = format!(
        "{}{}/{rid}/",
        resource::collection_self(collection),
        kind.segment()
    );
    let mut object = Object::new();
    object.push("id", Value::String(script.id.clone()));
    for name in source::SHOWN {
        if let Some(value) = script.body.get(name) {
            object.push(name, value.clone());
        }
    }
    push_system(&mut object, rid, own, script.lsn, script.written);
    Value::Object(object)
}
