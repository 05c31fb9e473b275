//! Keys that are no values of the document but are made of them: words of texts, cells of places.

use std::fmt;
use std::sync::Arc;

use lapsedb_value::{Object, Value};

use super::keys::Unindexable;
use super::{FilterCompiler, IndexPart, NamedIndex, PartKind};
use crate::index::bson_key::{self, Part};

/// The keys of a document, one value for each field of the index; or why it cannot stand there, with the code that clients know.
pub type KeyMaker = Arc<dyn Fn(&Object) -> Result<Vec<Vec<Value>>, (i32, String)> + Send + Sync>;

/// Says how the keys of an index are made, by its fields and its options; nothing, if it has none.
pub type FindKeyMaker = Arc<dyn Fn(&[IndexPart], &Object) -> Option<KeyMaker> + Send + Sync>;

/// How the keys of an index are made.
#[derive(Clone)]
pub struct MadeKeys(KeyMaker);

impl fmt::Debug for MadeKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MadeKeys")
    }
}

impl MadeKeys {
    /// For an index with such fields and options, if it needs it.
    pub(super) fn of(
        parts: &[IndexPart],
        options: &Object,
        compiler: Option<&FilterCompiler>,
    ) -> Option<MadeKeys> {
        if !parts
            .iter()
            .any(|part| matches!(part.kind, PartKind::Other(_)))
        {
            return None;
        }
        (compiler?.key_makers)(parts, options).map(MadeKeys)
    }
}

/// The keys of a document, one value for each field; none, if the index makes none of its own.
///
/// # Errors
/// When the document cannot stand in the index.
pub(super) fn made_keys(
    index: &NamedIndex,
    document: &Object,
) -> Result<Vec<Vec<Value>>, Unindexable> {
    let Some(MadeKeys(maker)) = &index.made else {
        return Ok(Vec::new());
    };
    if !index.covers(document) {
        return Ok(Vec::new());
    }
    let refused = |(code, message)| Unindexable::Refused {
        index: index.name.clone(),
        code,
        message,
    };
    maker(document).map_err(refused)
}

/// The parts of a key that was made.
pub(super) fn made_parts(values: &[Value]) -> Vec<Part<'_>> {
    let part = |value| match value {
        &Value::Undefined => Part::Missing,
        value => Part::Value(value),
    };
    values.iter().map(part).collect()
}

/// Keys as bytes, each once.
pub(super) fn made_stems(index: &NamedIndex, keys: &[Vec<Value>], stem: &[u8]) -> Vec<Vec<u8>> {
    let key = |values: &Vec<Value>| {
        let mut key = stem.to_vec();
        for (part, value) in index.parts.iter().zip(made_parts(values)) {
            bson_key::push_part(value, matches!(part.kind, PartKind::Descending), &mut key);
        }
        key
    };
    let mut stems: Vec<Vec<u8>> = keys.iter().map(key).collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}
