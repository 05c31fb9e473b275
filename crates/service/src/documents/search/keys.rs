//! The keys that documents have in indexes over words.

use std::sync::Arc;

use lapsedb_mql::text::TextSpec;
use lapsedb_store::index::named::{FindKeyMaker, IndexPart, KeyMaker, PartKind};
use lapsedb_value::{Object, Value};

use crate::documents::search::{ENTRIES, FTS, FTSX};

/// Code of a document that has no keys in an index.
const CANNOT_BUILD_INDEX_KEYS: i32 = 201;

/// How the keys of an index are made that is over words.
pub(crate) fn key_makers() -> FindKeyMaker {
    Arc::new(|parts: &[IndexPart], options: &Object| {
        if !options.contains_key(ENTRIES) {
            return None;
        }
        let kind = parts.iter().find_map(|part| match &part.kind {
            PartKind::Other(Value::String(kind)) => Some(kind.as_str()),
            PartKind::Other(_) | PartKind::Ascending | PartKind::Descending | PartKind::Hashed => {
                None
            }
        });
        match kind {
            Some("text") => Some(text(parts.to_vec(), options)),
            _ => None,
        }
    })
}

/// A key for each word; fields beside the words stand in each.
fn text(parts: Vec<IndexPart>, options: &Object) -> KeyMaker {
    let spec = TextSpec::of_options(options);
    Arc::new(move |document: &Object| {
        let beside = parts
            .iter()
            .map(|part| match part.path.as_str() {
                FTS | FTSX => Ok(Value::Null),
                path => single(path, document),
            })
            .collect::<Result<Vec<Value>, _>>()?;
        let terms = spec
            .index_terms(document)
            .map_err(|error| (error.code, error.message))?;
        let key = |term: String| {
            let with_term =
                parts
                    .iter()
                    .zip(&beside)
                    .map(|(part, value)| match part.path.as_str() {
                        FTS => Value::from(term.as_str()),
                        _ => value.clone(),
                    });
            with_term.collect()
        };
        Ok(terms.into_iter().map(key).collect())
    })
}

/// The value at a path that leads through no array.
fn single(path: &str, document: &Object) -> Result<Value, (i32, String)> {
    let mut value = Value::undefined();
    let mut holder = Some(document);
    for name in path.split('.') {
        value = holder
            .and_then(|holder| holder.get(name))
            .unwrap_or(Value::undefined());
        if value.as_array().is_some() {
            let shown = crate::documents::shell::text(&Value::Object(document.clone()));
            let message =
                format!("Field '{path}' of text index contains an array in document: {shown}");
            return Err((CANNOT_BUILD_INDEX_KEYS, message));
        }
        holder = value.as_object();
    }
    Ok(value.clone())
}
