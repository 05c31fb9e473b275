//! What a client says an index should be: checked, and taken apart.

use lapsedb_mql::collation::Collation;
use lapsedb_record::Secs;
use lapsedb_store::index::named::{IndexDefinition, parts};
use lapsedb_value::bson::type_name;
use lapsedb_value::order::identical_bson;
use lapsedb_value::{Object, Str, Value};

use crate::documents::create;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::id::ID;
use crate::documents::indexes::{TS, places, text};
use crate::documents::members::plain_number;
use crate::documents::shell;

/// Fields of an index at most.
const FIELDS_MAX: usize = 32;
/// The longest life after a date, in seconds.
pub(crate) const EXPIRE_SECONDS_MAX: i64 = 2_147_483_647;
const INVALID_INDEX_SPECIFICATION_OPTION: i32 = 197;

/// Code of a unique index that has only hashes of its values.
const UNIQUE_HASHED: i32 = 16_764;

/// Options that say nothing here.
const WITHOUT_EFFECT: [&str; 3] = ["v", "ns", "dropDups"];
/// Options that are kept and shown.
const KEPT: [&str; 12] = [
    "2dsphereIndexVersion",
    "background",
    "bits",
    "bucketSize",
    "collation",
    "default_language",
    "language_override",
    "max",
    "min",
    "textIndexVersion",
    "weights",
    "wildcardProjection",
];
/// Kinds of fields besides the two directions.
const KINDS: [&str; 5] = ["2d", "2dsphere", "geoHaystack", "hashed", "text"];

/// An index as a client wants it.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// That on `_id`, which is always there.
    Id,
    /// The collection's default TTL, under a name.
    DefaultTtl(i64, Str),
    /// Any other.
    Named(Box<IndexDefinition>),
}

/// Refuses a collation in an index of a kind that has none; one that compares by bytes is none.
pub(super) fn refuse_collation(kind: &str, options: &Object) -> Result<()> {
    // One that compares by bytes stays, so that the collection's does not take its place.
    let given = options.get("collation").and_then(Value::as_object);
    match given.map(Collation::parse).transpose()?.flatten() {
        None => Ok(()),
        Some(collation) => Err(no_collation(kind, &collation)),
    }
}

/// What a collation of an index of a kind that has none is answered.
pub(super) fn no_collation(kind: &str, collation: &Collation) -> Fault {
    refused(format!(
        "Index type '{kind}' does not support collation: {}",
        shell::text(&Value::Object(collation.to_object()))
    ))
}

/// Reads one member of `indexes`.
pub(crate) fn read(mut spec: Object) -> Result<Wanted> {
    let Some(Value::Object(key)) = spec.remove("key") else {
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            "The 'key' field is a required property of an index specification",
        ));
    };
    let name = match spec.remove("name") {
        Some(Value::String(name)) if !name.is_empty() => name,
        Some(Value::String(_)) => return Err(refused("The index name cannot be empty")),
        Some(_) => {
            return Err(Fault::new(
                code::TYPE_MISMATCH,
                "The field 'name' must be a string",
            ));
        }
        None => {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                "The 'name' field is a required property of an index specification",
            ));
        }
    };
    let shown = key;
    let key = numbered(&shown);
    check_key(&key)?;
    if key.len() == 1 && key.contains_key(ID) && key.get(ID).and_then(Value::as_f64).is_some() {
        return on_id(&key, &spec);
    }
    let mut definition = IndexDefinition {
        name,
        parts: parts(&key),
        ..IndexDefinition::default()
    };
    // Directions are shown as they were given: 1.0 stays 1.0.
    let shown = Value::Object(shown);
    if !identical_bson(&shown, &Value::Object(plain(&key))) {
        definition.options.push("key", shown);
    }
    let expire = spec.remove("expireAfterSeconds");
    read_options(spec, &mut definition)?;
    check_kind(&key, &definition)?;
    if text::is_text(&key) {
        text::complete(&key, &mut definition)?;
    } else if let Some(kind) = places::kind(&key) {
        places::complete(kind, &key, &mut definition)?;
    } else if definition.options.contains_key("weights") {
        return Err(refused(
            "the field 'weights' can only be specified with text indexes",
        ));
    }
    match expire {
        Some(expire) => ending(&key, definition, &expire),
        None => Ok(Wanted::Named(Box::new(definition))),
    }
}

/// Refuses options that a kind of index does not have.
fn check_kind(key: &Object, definition: &IndexDefinition) -> Result<()> {
    let is_hashed = key.values().any(|kind| kind.as_str() == Some("hashed"));
    if is_hashed && definition.unique {
        return Err(Fault::new(
            UNIQUE_HASHED,
            "Currently hashed indexes cannot guarantee uniqueness. Use a regular index.",
        ));
    }
    let with = [("sparse", definition.sparse), ("unique", definition.unique)];
    match with.iter().find(|(_, given)| *given) {
        Some((option, _)) if is_wildcard(key) => Err(refused(format!(
            "Index type 'wildcard' does not support the {option} option"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Whether an index is over all fields below a path.
fn is_wildcard(key: &Object) -> bool {
    key.iter()
        .any(|(field, kind)| kind.is_number() && field.split('.').any(|part| part == "$**"))
}

/// An index that ends documents.
fn ending(key: &Object, mut definition: IndexDefinition, expire: &Value) -> Result<Wanted> {
    if key.len() != 1 {
        return Err(refused(
            "TTL indexes are single-field indexes, compound indexes do not support TTL. Index spec: see the key",
        ));
    }
    let is_by_value = key.values().next().is_some_and(Value::is_number);
    if is_by_value && key.contains_key(TS) {
        return Ok(Wanted::DefaultTtl(
            default_seconds(expire)?,
            definition.name,
        ));
    }
    if is_wildcard(key) {
        return Err(wildcard_ttl());
    }
    definition.expire_after = Some(date_seconds(expire)?);
    Ok(Wanted::Named(Box::new(definition)))
}

/// How a wildcard index with a time to live is refused.
pub(super) fn wildcard_ttl() -> Fault {
    refused("a wildcard index cannot be a TTL index")
}

/// The key with decimals as doubles, which is all that a direction needs.
fn numbered(key: &Object) -> Object {
    let mut numbered = Object::with_capacity(key.len());
    for (field, kind) in key.iter() {
        numbered.push(field.clone(), plain_number(kind));
    }
    numbered
}

/// The key with directions as plain numbers.
fn plain(key: &Object) -> Object {
    let mut plain = Object::with_capacity(key.len());
    for (field, kind) in key.iter() {
        let kind = match kind.as_f64() {
            Some(direction) if direction < 0.0 => Value::Int32(-1),
            Some(_) => Value::Int32(1),
            None => kind.clone(),
        };
        plain.push(field.clone(), kind);
    }
    plain
}

fn on_id(key: &Object, spec: &Object) -> Result<Wanted> {
    if key.get(ID).and_then(Value::as_f64) != Some(1.0) {
        return Err(Fault::new(
            code::BAD_VALUE,
            "The field 'key' for an _id index must be {_id: 1}, but got another direction",
        ));
    }
    let allowed =
        |name: &str| WITHOUT_EFFECT.contains(&name) || ["collation", "background"].contains(&name);
    match spec.keys().find(|name| !allowed(name)) {
        Some(name) => Err(Fault::new(
            INVALID_INDEX_SPECIFICATION_OPTION,
            format!("The field '{name}' is not valid for an _id index specification."),
        )),
        None => Ok(Wanted::Id),
    }
}

fn check_key(key: &Object) -> Result<()> {
    if key.is_empty() {
        return Err(refused("Index keys cannot be empty."));
    }
    if key.len() > FIELDS_MAX {
        return Err(Fault::new(
            13_103,
            format!("too many compound keys; at most {FIELDS_MAX} fields are allowed"),
        ));
    }
    for (field, kind) in key.iter() {
        if field.is_empty() || field.split('.').any(str::is_empty) {
            return Err(refused("Index keys cannot contain an empty field."));
        }
        if field
            .split('.')
            .any(|part| part.starts_with('$') && part != "$**")
        {
            return Err(refused(
                "Index key contains an illegal field name: field name starts with '$'.",
            ));
        }
        match kind {
            Value::String(name) if KINDS.contains(&name.as_str()) => {}
            Value::String(name) => {
                return Err(refused(format!("Unknown index plugin '{name}'")));
            }
            number if number.is_number() => match number.as_f64() {
                Some(0.0) => return Err(refused("Values in the index key pattern cannot be 0.")),
                Some(direction) if direction.is_nan() => {
                    return Err(refused("Values in the index key pattern cannot be NaN."));
                }
                Some(_) | None => {}
            },
            other => {
                return Err(refused(format!(
                    "Values in v:2 index key pattern cannot be of type {}. Only numbers > 0, numbers < 0, and strings are allowed.",
                    type_name(other)
                )));
            }
        }
    }
    Ok(())
}

fn read_options(spec: Object, definition: &mut IndexDefinition) -> Result<()> {
    let truth = |name: &str, value: &Value| match value {
        Value::Bool(truth) => Ok(*truth),
        value => match plain_number(value).as_f64() {
            Some(number) => Ok(number != 0.0),
            None => Err(Fault::new(
                code::TYPE_MISMATCH,
                format!("The field '{name}' must be a bool"),
            )),
        },
    };
    for (name, value) in spec {
        match name.as_str() {
            "unique" => definition.unique = truth(&name, &value)?,
            "sparse" => definition.sparse = truth(&name, &value)?,
            "hidden" => definition.hidden = truth(&name, &value)?,
            // It would have to refuse duplicates from now on and keep those that are there.
            "prepareUnique" => {
                if truth(&name, &value)? {
                    return Err(Fault::new(
                        code::COMMAND_NOT_SUPPORTED,
                        "an index's 'prepareUnique' is not supported: make it unique, or not",
                    ));
                }
            }
            "partialFilterExpression" => match value {
                Value::Object(filter) => {
                    check_partial(&filter)?;
                    definition.filter = Some(filter);
                }
                _ => {
                    return Err(Fault::new(
                        code::TYPE_MISMATCH,
                        "The field 'partialFilterExpression' must be an object",
                    ));
                }
            },
            "collation" if value.as_object().is_some_and(Object::is_empty) => {
                return Err(Fault::new(
                    code::BAD_VALUE,
                    "The field 'collation' cannot be an empty object.",
                ));
            }
            "storageEngine" => {
                check_engines(&value)?;
                definition.options.push(name, value);
            }
            known if KEPT.contains(&known) => definition.options.push(name, value),
            known if WITHOUT_EFFECT.contains(&known) => {}
            other => {
                return Err(Fault::new(
                    INVALID_INDEX_SPECIFICATION_OPTION,
                    format!("The field '{other}' is not valid for an index specification."),
                ));
            }
        }
    }
    if definition.sparse && definition.filter.is_some() {
        return Err(refused(
            "cannot mix \"partialFilterExpression\" and \"sparse\" options",
        ));
    }
    Ok(())
}

/// What is said of storage engines is kept and means nothing here.
fn check_engines(engines: &Value) -> Result<()> {
    match engines {
        Value::Object(engines) if engines.is_empty() => Err(refused(
            "Empty \"storageEngine\" options are invalid. Please remove the field or include valid options.",
        )),
        Value::Object(engines) => create::check_engines(engines),
        _ => Err(refused(
            "\"storageEngine\" options must be a document if present",
        )),
    }
}

/// What a partial index may ask of its documents.
fn check_partial(filter: &Object) -> Result<()> {
    for (name, value) in filter.iter() {
        match (name.as_str(), value) {
            ("$and" | "$or", Value::Array(parts)) => {
                for part in parts.iter().filter_map(Value::as_object) {
                    check_partial(part)?;
                }
            }
            (name, _) if name.starts_with('$') => return Err(unsupported(name)),
            (_, Value::Object(operators)) => {
                for (operator, operand) in operators.iter() {
                    let fits = match operator.as_str() {
                        "$eq" | "$gt" | "$gte" | "$lt" | "$lte" | "$type" | "$in" => true,
                        "$exists" => operand.as_bool() != Some(false),
                        other => !other.starts_with('$'),
                    };
                    if !fits {
                        return Err(unsupported(operator));
                    }
                }
            }
            (_, Value::Regex { .. }) => return Err(unsupported("a regular expression")),
            _ => {}
        }
    }
    Ok(())
}

fn unsupported(what: &str) -> Fault {
    refused(format!("Expression not supported in partial index: {what}"))
}

/// The seconds of the TTL index on `_ts`.
pub(crate) fn default_seconds(value: &Value) -> Result<i64> {
    let value = plain_number(value);
    if !value.is_number() {
        return Err(refused(
            "TTL index 'expireAfterSeconds' option must be numeric, but received another type",
        ));
    }
    match value.as_i64() {
        Some(seconds) if seconds == -1 || (1..=EXPIRE_SECONDS_MAX).contains(&seconds) => {
            Ok(seconds)
        }
        Some(_) | None => Err(refused(
            "TTL index 'expireAfterSeconds' option on '_ts' must be -1 or a whole number from 1 to 2147483647",
        )),
    }
}

/// The seconds of a TTL index on a date.
pub(crate) fn date_seconds(value: &Value) -> Result<Secs> {
    let value = plain_number(value);
    if !value.is_number() {
        return Err(refused(
            "TTL index 'expireAfterSeconds' option must be numeric, but received another type",
        ));
    }
    let number = value.as_f64().unwrap_or(f64::NAN);
    if number.is_nan() {
        return Err(refused(
            "TTL index 'expireAfterSeconds' option must be a number, not NaN",
        ));
    }
    if number < 0.0 {
        return Err(refused(
            "TTL index 'expireAfterSeconds' option cannot be less than 0",
        ));
    }
    #[expect(clippy::cast_precision_loss, reason = "2^31 - 1 is exact in a double")]
    if number.trunc() > EXPIRE_SECONDS_MAX as f64 {
        return Err(refused(
            "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a different number than the one given",
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above"
    )]
    Ok(Secs(number.trunc() as u64))
}

/// An index that cannot be made.
pub(crate) fn refused(message: impl Into<String>) -> Fault {
    Fault::new(code::CANNOT_CREATE_INDEX, message)
}

#[cfg(test)]
#[path = "definition_tests.rs"]
mod tests;
