//! Which index a client wants to be used.

use lapsedb_store::Collection;
use lapsedb_store::index::named::NamedIndex;
use lapsedb_value::order::equal_bson;
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::indexes::{ID_INDEX, shown};

/// The member of a hint or an order that asks for the order of creation.
const NATURAL: &str = "$natural";

/// Which index a client wants to be used.
#[derive(Clone, Debug, Default)]
pub enum Hint {
    /// Whichever is best.
    #[default]
    None,
    /// That of this name.
    Name(String),
    /// That with this key; `$natural` asks for none, and for a direction.
    Key(Object),
}

/// What a hint means in a collection.
pub(super) enum Hinted<'a> {
    /// Nothing.
    Free,
    /// All documents, in the order of their creation or backward.
    Natural { reverse: bool },
    /// An index.
    Index(&'a NamedIndex),
}

/// Finds what a hint names.
pub(super) fn hinted<'a>(collection: &'a Collection, hint: &Hint) -> Result<Hinted<'a>> {
    let name = match hint {
        Hint::None => return Ok(Hinted::Free),
        Hint::Name(name) => collection
            .indexes
            .named(name)
            .filter(|index| !index.hidden)
            .map(|index| index.name.to_string())
            .or_else(|| (name == ID_INDEX).then(|| name.clone())),
        Hint::Key(key) => match key.get(NATURAL) {
            Some(direction) => {
                return Ok(Hinted::Natural {
                    reverse: direction.as_f64().is_some_and(|number| number < 0.0),
                });
            }
            None => by_key(collection, key),
        },
    };
    let name = name.ok_or_else(|| {
        refused(
            code::BAD_VALUE,
            "hint provided does not correspond to an existing index",
        )
    })?;
    match collection.indexes.named(&name) {
        Some(index) if index.is_usable() => Ok(Hinted::Index(index)),
        // One that is being built, or of a kind that has no entries: any other way finds the same.
        Some(_) | None => Ok(Hinted::Free),
    }
}

fn by_key(collection: &Collection, key: &Object) -> Option<String> {
    let same = |index: &Object| {
        let own = index.get("key").cloned().unwrap_or_default();
        let hidden = matches!(index.get("hidden"), Some(Value::Bool(true)));
        equal_bson(&own, &Value::Object(key.clone())) && !hidden
    };
    let found = shown(collection).into_iter().find(same)?;
    found.get("name").and_then(Value::as_str).map(str::to_owned)
}

/// What is answered when no plan can be made.
pub(super) fn refused(code: i32, why: &str) -> Fault {
    Fault::new(
        code,
        format!("error processing query: planner returned error :: caused by :: {why}"),
    )
}
