//! Text indexes as clients define them. Their fields become `_fts` and `_ftsx`, and which fields they were is told by the weights.

use std::collections::BTreeMap;

use lapsedb_mql::text::Language;
use lapsedb_store::index::named::{IndexDefinition, parts};
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::indexes::definition::{refuse_collation, refused};
use crate::documents::search::{ENTRIES, FTS, FTSX, PLAIN_ENTRIES, SCORED_ENTRIES};

/// Weights lie between these, both exclusive.
const WEIGHTS: (i64, i64) = (0, 100_000);
/// What a field counts that no weight is given for.
const WEIGHT_DEFAULT: i32 = 1;
/// How texts are taken apart; older versions are made as this one.
const VERSION: i32 = 3;

/// Whether a key asks for a text index.
pub(super) fn is_text(key: &Object) -> bool {
    key.values().any(|kind| kind.as_str() == Some("text"))
}

/// Makes the definition what is kept and shown.
///
/// # Errors
/// When a field, a weight or a language is not allowed.
pub(super) fn complete(key: &Object, definition: &mut IndexDefinition) -> Result<()> {
    refuse_collation("text", &definition.options)?;
    let entries = match definition.unique {
        true => SCORED_ENTRIES,
        false => PLAIN_ENTRIES,
    };
    let options = &mut definition.options;
    let mut weights = weights(options.remove("weights"))?;
    let kept = fields(key, &mut weights)?;
    if weights.is_empty() {
        return Err(refused(
            "text index option 'weights' must specify fields or the wildcard",
        ));
    }
    let default_language = text(options, "default_language", "english")?;
    if Language::named(&default_language).is_none() {
        return Err(refused("default_language is not valid"));
    }
    let language_override = text(options, "language_override", "language")?;
    let wrong = |name: &str| name.is_empty() || name.starts_with('$') || name.contains('.');
    if wrong(&language_override) {
        return Err(refused("language_override is not valid"));
    }
    let version = options
        .remove("textIndexVersion")
        .unwrap_or(Value::Int32(VERSION));
    if !matches!(version.as_i64(), Some(1..=3)) {
        let shown = crate::documents::shell::text(&version);
        return Err(refused(format!("bad textIndexVersion: {shown}")));
    }
    options.remove("key");
    let mut shown = Object::with_capacity(weights.len());
    for (path, weight) in weights {
        shown.push(path, weight);
    }
    options.push("weights", Value::Object(shown));
    options.push("default_language", default_language);
    options.push("language_override", language_override);
    options.push("textIndexVersion", VERSION);
    options.push(ENTRIES, entries);
    definition.parts = parts(&kept);
    Ok(())
}

/// The key with its text fields as one; they get their weights.
fn fields(key: &Object, weights: &mut BTreeMap<String, i32>) -> Result<Object> {
    let mut kept = Object::with_capacity(key.len() + 1);
    let mut ended = false;
    for (path, kind) in key {
        match kind.as_str() {
            Some("text") if ended => {
                return Err(refused("'text' fields in index must all be adjacent"));
            }
            Some("text") => {
                if path != FTS {
                    weights.entry(path.to_string()).or_insert(WEIGHT_DEFAULT);
                }
                if !kept.contains_key(FTS) {
                    kept.push(FTS, "text");
                    kept.push(FTSX, 1);
                }
            }
            Some(_) => {
                return Err(refused(
                    "Can't use more than one index plugin for a single index.",
                ));
            }
            None if path == FTSX => {}
            None => {
                ended = kept.contains_key(FTS);
                kept.push(path.clone(), kind.clone());
            }
        }
    }
    Ok(kept)
}

fn weights(given: Option<Value>) -> Result<BTreeMap<String, i32>> {
    let mut weights = BTreeMap::new();
    match given {
        None => {}
        Some(Value::Object(given)) => {
            for (path, weight) in given {
                if !weight.is_number() {
                    return Err(refused("weight for text index needs numeric type"));
                }
                let number = weight.as_f64().unwrap_or(f64::NAN).trunc();
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "what is beyond is refused below"
                )]
                let whole = number as i64;
                match i32::try_from(whole) {
                    Ok(fits) if whole > WEIGHTS.0 && whole < WEIGHTS.1 => {
                        weights.insert(path.to_string(), fits)
                    }
                    _ => {
                        return Err(refused(format!(
                            "text index weight must be in the exclusive interval ({},{}) but found: {whole}",
                            WEIGHTS.0, WEIGHTS.1
                        )));
                    }
                };
            }
        }
        Some(Value::String(everything)) if everything == "$**" => {
            weights.insert(everything.to_string(), WEIGHT_DEFAULT);
        }
        Some(_) => return Err(refused("text index option 'weights' must be an object")),
    }
    Ok(weights)
}

fn text(options: &mut Object, name: &str, default: &str) -> Result<String> {
    match options.remove(name) {
        None => Ok(default.to_owned()),
        Some(Value::String(text)) => Ok(text.to_string()),
        Some(_) => Err(Fault::new(
            code::TYPE_MISMATCH,
            format!("The field '{name}' must be a string"),
        )),
    }
}
