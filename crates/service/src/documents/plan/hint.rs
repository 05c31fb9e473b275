//! Which index a client wants to be used.

use lapsedb_mql::show::show_object;
use lapsedb_mql::sort::Sort;
use lapsedb_store::Collection;
use lapsedb_store::index::named::NamedIndex;
use lapsedb_value::order::equal_bson;
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::indexes::{ID_INDEX, shown};
use crate::documents::look::Look;
use crate::documents::plan::Question;

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

/// How the answer begins when no plan can be made, and how it goes on behind the query.
const REFUSED: &str = "error processing query: ";
const WHY: &str = "planner returned error :: caused by :: ";

/// What is answered when no plan can be made.
pub(crate) fn refused(code: i32, why: &str) -> Fault {
    Fault::new(code, format!("{REFUSED}{WHY}{why}"))
}

/// The same with the query: applications read there which field needs an index.
pub(super) fn with_query(fault: Fault, look: &Look<'_>, question: &Question<'_>) -> Fault {
    match (fault, &look.collection) {
        (
            Fault::Said {
                code,
                message,
                info,
            },
            Some(collection),
        ) => {
            let why = message.strip_prefix(REFUSED);
            let message = match why.filter(|why| why.starts_with(WHY)) {
                Some(why) => format!("{REFUSED}{}{why}", query(look, collection, question)),
                None => message,
            };
            Fault::with(code, message, info)
        }
        (fault, _) => fault,
    }
}

/// A query as MongoDB shows it, up to its projection.
fn query(look: &Look<'_>, collection: &Collection, question: &Question<'_>) -> String {
    let database = look.view.catalog().database_numbered(collection.database);
    let mut sort = Object::new();
    let fields = question.sort.into_iter().flat_map(Sort::fields);
    // The order by distance is nobody's wish.
    for (path, descending) in fields.filter(|(path, _)| !path.starts_with('$')) {
        sort.push(path, if descending { -1 } else { 1 });
    }
    format!(
        "ns={}.{}Tree: {}Sort: {}\nProj: {{}}\n ",
        database.map_or("", |database| database.id.as_str()),
        collection.id,
        question.filter.tree(),
        show_object(&sort),
    )
}
