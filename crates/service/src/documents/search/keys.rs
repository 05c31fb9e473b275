//! The keys that documents have in indexes over words and over places.

use std::sync::Arc;

use lapsedb_mql::MqlError;
use lapsedb_mql::filter::geo::{Grid, plane_cells, sphere_cells};
use lapsedb_mql::text::TextSpec;
use lapsedb_store::index::named::{FindKeyMaker, IndexPart, KeyMaker, PartKind};
use lapsedb_value::{Object, Value};

use crate::documents::search::{ENTRIES, FTS, FTSX, SCORED_ENTRIES};

/// Code of a document that has no keys in an index.
const CANNOT_BUILD_INDEX_KEYS: i32 = 201;

/// Keys of one document in one index at most.
const KEYS_MAX: usize = 100_000;

/// How the keys of an index are made that is over words or places.
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
            Some("2d" | "2dsphere") => Some(places(parts.to_vec(), options)),
            _ => None,
        }
    })
}

/// A key for each word; fields beside the words stand in each, and how much the word counts if the index is unique.
fn text(parts: Vec<IndexPart>, options: &Object) -> KeyMaker {
    let spec = TextSpec::of_options(options);
    let scored = options.get(ENTRIES).and_then(Value::as_i64) == Some(i64::from(SCORED_ENTRIES));
    Arc::new(move |document: &Object| {
        let beside = parts
            .iter()
            .map(|part| match part.path.as_str() {
                FTS | FTSX => Ok(Value::Null),
                path => single(path, document),
            })
            .collect::<Result<Vec<Value>, _>>()?;
        let terms: Vec<(String, Value)> = match scored {
            true => {
                let terms = spec.scored_index_terms(document).map_err(refused)?;
                let score = |(term, score)| (term, Value::Double(score));
                terms.into_iter().map(score).collect()
            }
            false => {
                let terms = spec.index_terms(document).map_err(refused)?;
                terms.into_iter().map(|term| (term, Value::Null)).collect()
            }
        };
        let key = |(term, score): (String, Value)| {
            let with_term =
                parts
                    .iter()
                    .zip(&beside)
                    .map(|(part, value)| match part.path.as_str() {
                        FTS => Value::from(term.as_str()),
                        FTSX => score.clone(),
                        _ => value.clone(),
                    });
            with_term.collect()
        };
        Ok(terms.into_iter().map(key).collect())
    })
}

fn refused(error: MqlError) -> (i32, String) {
    (error.code, error.message)
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

/// A key for each cell, with each value of the fields beside it. A document without any place has none.
fn places(parts: Vec<IndexPart>, options: &Object) -> KeyMaker {
    let grid = super::places::grid(options);
    Arc::new(move |document: &Object| {
        let mut keys: Vec<Vec<Value>> = vec![Vec::with_capacity(parts.len())];
        let mut placed = false;
        for part in &parts {
            let values = match &part.kind {
                PartKind::Other(kind) => {
                    let cells = cells(&part.path, kind, &grid, document)?;
                    placed |= !cells.is_empty();
                    cells.into_iter().map(Value::Int64).collect()
                }
                PartKind::Ascending | PartKind::Descending | PartKind::Hashed => {
                    let mut values = Vec::new();
                    all_at(document, &part.path, true, &mut |value| {
                        values.push(value.clone())
                    });
                    values
                }
            };
            let values = if values.is_empty() {
                vec![Value::Undefined]
            } else {
                values
            };
            if keys.len().saturating_mul(values.len()) > KEYS_MAX {
                let message =
                    format!("a document has at most {KEYS_MAX} keys in an index over places");
                return Err((CANNOT_BUILD_INDEX_KEYS, message));
            }
            let with = |key: &Vec<Value>| {
                let key = key.clone();
                values
                    .clone()
                    .into_iter()
                    .map(move |value| [key.as_slice(), &[value]].concat())
            };
            keys = keys.iter().flat_map(with).collect();
        }
        Ok(if placed { keys } else { Vec::new() })
    })
}

fn cells(
    path: &str,
    kind: &Value,
    grid: &Grid,
    document: &Object,
) -> Result<Vec<i64>, (i32, String)> {
    let mut found = Ok(Vec::new());
    all_at(document, path, false, &mut |value| {
        let cells = match kind.as_str() {
            Some("2d") => plane_cells(value, grid, document),
            _ => sphere_cells(path, value, document),
        };
        match (&mut found, cells) {
            (Ok(found), Ok(cells)) => found.extend(cells),
            (Ok(_), Err(error)) => found = Err((error.code, error.message)),
            (Err(_), _) => {}
        }
    });
    found
}

/// Shows every value at a path, through arrays of objects; the elements of an array at its end too, if asked for.
fn all_at(document: &Object, path: &str, elements: bool, each: &mut dyn FnMut(&Value)) {
    let (name, rest) = match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    match (document.get(name), rest) {
        (None, _) => {}
        (Some(Value::Array(all)), None) if elements => all.iter().for_each(each),
        (Some(value), None) => each(value),
        (Some(Value::Object(inner)), Some(rest)) => all_at(inner, rest, elements, each),
        (Some(Value::Array(all)), Some(rest)) => {
            for inner in all.iter().filter_map(Value::as_object) {
                all_at(inner, rest, elements, each);
            }
            let (first, behind) = rest.split_once('.').unwrap_or((rest, ""));
            let named = first.parse::<usize>().ok().and_then(|at| all.get(at));
            match named {
                Some(value) if behind.is_empty() => each(value),
                Some(Value::Object(inner)) => all_at(inner, behind, elements, each),
                Some(_) | None => {}
            }
        }
        (Some(_), Some(_)) => {}
    }
}
