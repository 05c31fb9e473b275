//! What a client says a collection should be: checked, completed, and put into its usual form.
//!
//! Pure: reads JSON values, touches no store.

use std::fmt;

use lapsedb_store::index::policy::{IndexPolicy, Mode};
use lapsedb_store::partition_key::{PartitionKeyDef, Version};
use lapsedb_value::path::{End, Path, Segment};
use lapsedb_value::{Object, Str, Value};

use crate::collections::{client_encryption, computed, search, spatial};
use crate::limits::NESTING_LEVELS_MAX;
use crate::names;

/// Members of a collection's body that may not come twice.
pub const DUPLICATES_REFUSED: &[&str] = &["id", "defaultTtl"];
/// Most unique keys of a collection.
pub const UNIQUE_KEYS_MAX: usize = 10;
/// Most paths of a unique key.
pub const UNIQUE_KEY_PATHS_MAX: usize = 16;
/// Longest time to live, in seconds.
pub const TTL_SECONDS_MAX: i64 = 2_147_483_647;

/// The default TTL that means "on, but items live until they say otherwise".
const TTL_NEVER: i64 = -1;

/// Members that hold no second which times to live could be counted from: what the server sets is text, or counted from anyway,
/// and a ttl is a length.
const NO_BASES: &[&str] = &["id", "ttl", "_ts", "_rid", "_self", "_etag", "_attachments"];

/// Why a definition is refused, in the words a client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(pub String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

fn refused<T>(text: impl Into<String>) -> Result<T, Invalid> {
    Err(Invalid(text.into()))
}

/// A collection as it is defined.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its name.
    pub id: Str,
    /// Its partition key.
    pub partition_key: PartitionKeyDef,
    /// Its default TTL in seconds: none means TTL is off, -1 that items without a ttl of their own stay.
    pub default_ttl: Option<i64>,
    /// Where its items have the second that times to live are counted from; none means their last write.
    pub ttl_path: Option<Path>,
    /// The paths of its unique keys.
    pub unique_keys: Vec<Vec<Path>>,
    /// What it indexes.
    pub index: IndexPolicy,
    /// All of it as clients see it, without system properties.
    pub document: Object,
}

impl Definition {
    /// Reads the body of a request to create a collection.
    ///
    /// # Errors
    /// When anything in it is not as it should be.
    pub fn parse(body: &Value) -> Result<Definition, Invalid> {
        let Some(body) = body.as_object() else {
            return refused("One of the specified inputs is invalid");
        };
        let Some(key) = present(body, "partitionKey") else {
            return refused(names::missing(&["partitionKey"]).message);
        };
        PartitionKeyDef::of_new(key).map_err(|error| Invalid(error.0))?;
        let definition = Definition::read(body, key, present(body, "uniqueKeyPolicy"), None)?;
        spatial::check(&definition.document)?;
        client_encryption::check(&definition.document, &definition.partition_key)?;
        Ok(definition)
    }

    /// Reads the body of a request to replace a collection, given its present document.
    ///
    /// What is left out is taken away, but for the partition key and the unique keys: those cannot be changed, and
    /// clients that have no way to say them must not lose them.
    ///
    /// # Errors
    /// When anything in it is not as it should be, or would change what cannot be changed.
    pub fn parse_replacement(body: &Value, current: &Object) -> Result<Definition, Invalid> {
        let Some(body) = body.as_object() else {
            return refused("One of the specified inputs is invalid");
        };
        if let Some(id) = present(body, "id")
            && id.as_str() != current.get("id").and_then(Value::as_str)
        {
            return refused(
                "The 'id' of the resource cannot be changed: it must be the one that the address names.",
            );
        }
        let old_key = current.get("partitionKey").unwrap_or(Value::undefined());
        if let Some(key) = present(body, "partitionKey") {
            let (new, old) = (read_partition_key(key)?, read_partition_key(old_key)?);
            // Some clients never say the version; that is no wish to change it.
            let versioned = present_in(key, "version").is_some();
            if new.paths != old.paths
                || new.kind != old.kind
                || (versioned && new.version != old.version)
            {
                return refused(
                    "The partition key cannot be changed. To change it, remove the collection and re-create a new one.",
                );
            }
        }
        let old_unique = present(current, "uniqueKeyPolicy");
        if let Some(unique) = present(body, "uniqueKeyPolicy")
            && read_unique_keys(Some(unique))?.0 != read_unique_keys(old_unique)?.0
        {
            return refused(
                "The unique index cannot be modified. To change the unique index, remove the collection and re-create a new one.",
            );
        }
        let definition = Definition::read(body, old_key, old_unique, Some(current))?;
        search::check_replacement(&definition.document, current)?;
        spatial::check_replacement(&definition.document, current)?;
        client_encryption::check_replacement(&definition.document, current)?;
        Ok(definition)
    }

    fn read(
        body: &Object,
        key: &Value,
        unique: Option<&Value>,
        stored: Option<&Object>,
    ) -> Result<Definition, Invalid> {
        let id = read_name(body)?;
        let partition_key = read_partition_key(key)?;
        let index = IndexPolicy::parse(body.get("indexingPolicy").unwrap_or(Value::undefined()))
            .map_err(|error| Invalid(error.0))?;
        let default_ttl = read_default_ttl(body)?;
        if index.mode == Mode::None && default_ttl.is_some() {
            return refused(
                "Indexing mode value cannot be 'none' when 'defaultTtl' is specified in the collection",
            );
        }
        let ttl_path = read_ttl_property_path(body, default_ttl)?;
        let (unique_keys, unique_shown) = read_unique_keys(unique)?;
        let mut document = Object::with_capacity(12);
        document.push("id", id.clone());
        document.push("indexingPolicy", index.to_object());
        document.push("partitionKey", show_partition_key(key, &partition_key));
        if let Some(shown) = unique_shown {
            document.push("uniqueKeyPolicy", shown);
        }
        document.push("conflictResolutionPolicy", read_conflict_resolution(body)?);
        document.push("geospatialConfig", read_geospatial(body)?);
        if let Some(seconds) = default_ttl {
            document.push("defaultTtl", seconds);
        }
        if let Some(shown) = present(body, "ttlPropertyPath") {
            document.push("ttlPropertyPath", shown.clone());
        }
        read_rest(body, &mut document)?;
        search::check(&document, stored)?;
        Ok(Definition {
            id,
            partition_key,
            default_ttl,
            ttl_path,
            unique_keys,
            index,
            document,
        })
    }
}

/// A member that is there and not null.
fn present<'a>(object: &'a Object, name: &str) -> Option<&'a Value> {
    object
        .get(name)
        .filter(|value| !matches!(value, Value::Undefined | Value::Null))
}

fn present_in<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.as_object().and_then(|object| present(object, name))
}

fn read_name(body: &Object) -> Result<Str, Invalid> {
    names::id_of(body).map_err(|error| Invalid(error.message))
}

fn read_partition_key(value: &Value) -> Result<PartitionKeyDef, Invalid> {
    PartitionKeyDef::from_document(value).map_err(|error| Invalid(error.0))
}

/// The definition as sent, with the kind filled in; a version that was not sent is not shown, and one that was is a number.
fn show_partition_key(value: &Value, read: &PartitionKeyDef) -> Object {
    let mut shown = Object::with_capacity(4);
    shown.push("paths", value.get("paths").clone());
    let kind = match value.get("kind").as_str() {
        Some(kind) if kind.eq_ignore_ascii_case("MultiHash") => "MultiHash",
        Some(_) | None => "Hash",
    };
    shown.push("kind", kind);
    if present_in(value, "version").is_some() {
        let version = match read.version {
            Version::V1 => 1,
            Version::V2 => 2,
        };
        shown.push("version", version);
    }
    if value.get("systemKey").as_bool() == Some(true) {
        shown.push("systemKey", true);
    }
    shown
}

/// A default that is refused is never taken for anything else: it could only make items vanish.
fn read_default_ttl(body: &Object) -> Result<Option<i64>, Invalid> {
    let Some(value) = present(body, "defaultTtl") else {
        return Ok(None);
    };
    match value.as_i64() {
        Some(seconds) if seconds == TTL_NEVER || (1..=TTL_SECONDS_MAX).contains(&seconds) => {
            Ok(Some(seconds))
        }
        Some(_) | None => refused(format!(
            "The input defaultTtl '{value}' is invalid. Ensure to provide a nonzero positive integer less than or equal to '{TTL_SECONDS_MAX}', or '-1' which means never expire."
        )),
    }
}

/// A path that can never lead to a number is refused: ignoring a wish for another base could end a life early. `/_ts` is what
/// times to live are counted from without a path.
fn read_ttl_property_path(
    body: &Object,
    default_ttl: Option<i64>,
) -> Result<Option<Path>, Invalid> {
    let Some(value) = present(body, "ttlPropertyPath") else {
        return Ok(None);
    };
    if default_ttl.is_none() {
        return refused("'ttlPropertyPath' needs 'defaultTtl' to be specified in the collection");
    }
    let Some(names) = value.as_str().and_then(property_names) else {
        return refused(format!(
            "The ttlPropertyPath {value} is invalid. Ensure to provide the path of a property, such as '/createdAt'."
        ));
    };
    match names.first().and_then(Segment::member) {
        Some("_ts") if names.len() == 1 => Ok(None),
        Some(name) if NO_BASES.contains(&name) => refused(format!(
            "The ttlPropertyPath {value} is invalid: '{name}' never holds the second that a time to live could be counted from."
        )),
        Some(_) | None => Ok(Some(Path::new(names))),
    }
}

/// The names of a path that leads from member to member and ends bare, no deeper than items may nest.
fn property_names(text: &str) -> Option<Vec<Segment>> {
    match Path::parse_policy(text).ok()? {
        (_, End::Subtree | End::Scalar) => None,
        (path, End::Bare) => {
            let names = path.segments();
            let plain = !names.is_empty() && !names.contains(&Segment::Elements);
            (plain && names.len() <= NESTING_LEVELS_MAX).then(|| names.to_vec())
        }
    }
}

/// A path that leads from member to member.
fn member_path(text: &str) -> Option<Path> {
    let path = Path::parse_pointer(text).ok()?;
    let names = !path.segments().is_empty() && !path.segments().contains(&Segment::Elements);
    names.then_some(path)
}

type UniqueKeys = (Vec<Vec<Path>>, Option<Object>);

fn read_unique_keys(policy: Option<&Value>) -> Result<UniqueKeys, Invalid> {
    let Some(policy) = policy else {
        return Ok((Vec::new(), None));
    };
    let keys = match policy.get("uniqueKeys") {
        Value::Undefined | Value::Null => &[][..],
        Value::Array(keys) if policy.as_object().is_some() => keys,
        _ => return refused("The unique key policy must be an object with an array 'uniqueKeys'."),
    };
    if policy.as_object().is_none() {
        return refused("The unique key policy must be an object with an array 'uniqueKeys'.");
    }
    if keys.is_empty() {
        return Ok((Vec::new(), None));
    }
    if keys.len() > UNIQUE_KEYS_MAX {
        return refused(format!(
            "The number of unique keys may not exceed {UNIQUE_KEYS_MAX}."
        ));
    }
    let mut paths = Vec::with_capacity(keys.len());
    let mut shown = Vec::with_capacity(keys.len());
    for key in keys {
        let (read, texts) = read_unique_key(key)?;
        paths.push(read);
        let mut entry = Object::with_capacity(1);
        entry.push("paths", texts);
        shown.push(Value::Object(entry));
    }
    let mut echo = Object::with_capacity(1);
    echo.push("uniqueKeys", shown);
    Ok((paths, Some(echo)))
}

fn read_unique_key(key: &Value) -> Result<(Vec<Path>, Vec<Value>), Invalid> {
    let Some(texts) = key
        .get("paths")
        .as_array()
        .filter(|paths| !paths.is_empty())
    else {
        return refused("Every unique key must have an array 'paths' that is not empty.");
    };
    if texts.len() > UNIQUE_KEY_PATHS_MAX {
        return refused(format!(
            "The number of paths of a unique key may not exceed {UNIQUE_KEY_PATHS_MAX}."
        ));
    }
    let mut paths: Vec<Path> = Vec::with_capacity(texts.len());
    for text in texts {
        let path = text.as_str().and_then(member_path);
        match path {
            Some(path) if paths.contains(&path) => {
                return refused(format!("The unique key path {text} is given twice."));
            }
            Some(path) => paths.push(path),
            None => return refused(format!("The unique key path {text} is not valid.")),
        }
    }
    Ok((paths, texts.to_vec()))
}

fn read_conflict_resolution(body: &Object) -> Result<Object, Invalid> {
    let Some(given) = present(body, "conflictResolutionPolicy") else {
        let mut usual = Object::with_capacity(3);
        usual.push("mode", "LastWriterWins");
        usual.push("conflictResolutionPath", "/_ts");
        usual.push("conflictResolutionProcedure", "");
        return Ok(usual);
    };
    let mode = given.get("mode");
    let known = |mode: &str| {
        mode.eq_ignore_ascii_case("LastWriterWins") || mode.eq_ignore_ascii_case("Custom")
    };
    match (given.as_object(), mode) {
        (Some(object), Value::Undefined | Value::Null) => Ok(object.clone()),
        (Some(object), Value::String(mode)) if known(mode) => Ok(object.clone()),
        (Some(_) | None, _) => {
            refused("The conflict resolution policy's mode must be 'LastWriterWins' or 'Custom'.")
        }
    }
}

fn read_geospatial(body: &Object) -> Result<Object, Invalid> {
    let mut shown = Object::with_capacity(1);
    let kind = match present(body, "geospatialConfig").map(|config| config.get("type")) {
        None => "Geography",
        Some(Value::String(text)) if text.eq_ignore_ascii_case("Geography") => "Geography",
        Some(Value::String(text)) if text.eq_ignore_ascii_case("Geometry") => "Geometry",
        Some(_) => return refused("The geospatial type must be 'Geography' or 'Geometry'."),
    };
    shown.push("type", kind);
    Ok(shown)
}

/// What is only kept and shown.
fn read_rest(body: &Object, document: &mut Object) -> Result<(), Invalid> {
    match body.get("analyticalStorageTtl") {
        None | Some(Value::Undefined) => {}
        Some(Value::Null) => document.push("analyticalStorageTtl", Value::Null),
        Some(value) => match value.as_i64() {
            Some(seconds) => document.push("analyticalStorageTtl", seconds),
            None => {
                return refused(format!(
                    "The input analyticalStorageTtl '{value}' is invalid."
                ));
            }
        },
    }
    if let Some(list) = present(body, "computedProperties") {
        computed::check(list)?;
        document.push("computedProperties", list.clone());
    }
    check_change_feed_policy(body)?;
    if present(body, "materializedViewDefinition").is_some() {
        // A view that is made and never filled would be taken for one without results.
        return refused(
            "The collection's 'materializedViewDefinition' is not supported: this server has no materialized views or global secondary indexes.",
        );
    }
    for name in [
        "vectorEmbeddingPolicy",
        "fullTextPolicy",
        "changeFeedPolicy",
        client_encryption::POLICY,
    ] {
        match present(body, name) {
            None => {}
            Some(object @ Value::Object(_)) => document.push(name, object.clone()),
            Some(_) => return refused(format!("The collection's '{name}' must be an object.")),
        }
    }
    Ok(())
}

/// How long versions are kept, in minutes; 0 asks for none.
fn check_change_feed_policy(body: &Object) -> Result<(), Invalid> {
    let Some(policy) = present(body, "changeFeedPolicy") else {
        return Ok(());
    };
    match present_in(policy, "retentionDuration") {
        None => Ok(()),
        Some(minutes) if minutes.as_i64().is_some_and(|minutes| minutes >= 0) => Ok(()),
        Some(minutes) => refused(format!(
            "The change feed policy's retentionDuration {minutes} is invalid. It must be a whole number of minutes, 0 or more."
        )),
    }
}

#[cfg(test)]
#[path = "definition_tests.rs"]
mod tests;
