//! What a container's document says about its partition key.

use std::fmt;

use lapsedb_value::path::{Path, Segment};
use lapsedb_value::{Object, Value};

use super::{Kind, PARTITION_KEY_LEVELS_MAX, PartitionKeyDef, Version};

/// Why a definition is refused, in the words a client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionError(pub String);

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DefinitionError {}

fn refused(text: &str) -> DefinitionError {
    DefinitionError(text.to_owned())
}

impl PartitionKeyDef {
    /// Reads the `partitionKey` of a container that is about to be made: its paths may hold only the characters that the
    /// service takes outside quotes. What is stored already was judged when it was made, by the rules of its time.
    pub fn of_new(value: &Value) -> Result<Self, DefinitionError> {
        let def = Self::from_document(value)?;
        let texts = value.get("paths").as_array().unwrap_or_default();
        match texts
            .iter()
            .filter_map(Value::as_str)
            .find(|text| bad_character(text).is_some())
        {
            Some(text) => Err(bad_path(text)),
            None => Ok(def),
        }
    }

    /// Reads the `partitionKey` of a container's document.
    pub fn from_document(value: &Value) -> Result<Self, DefinitionError> {
        let object = value.as_object().ok_or_else(|| {
            refused("The partition key definition must be an object with 'paths'.")
        })?;
        let kind = read_kind(object)?;
        let version = read_version(object, kind)?;
        let texts = read_path_texts(object)?;
        let levels = match kind {
            Kind::Hash => 1..=1,
            // The .NET SDK says MultiHash for every key that is given as a list, one path or more.
            Kind::MultiHash => 1..=PARTITION_KEY_LEVELS_MAX,
        };
        if !levels.contains(&texts.len()) {
            let (fault, bound) = if texts.len() > *levels.end() {
                ("many", format!("A maximum of {} is allowed.", levels.end()))
            } else {
                (
                    "few",
                    format!("A minimum of {} is required.", levels.start()),
                )
            };
            return Err(DefinitionError(format!(
                "Too {fault} partition key paths ({}) specified. {bound}",
                texts.len()
            )));
        }
        let mut paths = Vec::with_capacity(texts.len());
        for text in texts {
            let path = read_path(text)?;
            if paths.contains(&path) {
                return Err(DefinitionError(format!(
                    "The partition key path '{text}' is given twice."
                )));
            }
            paths.push(path);
        }
        let system_key = object.get("systemKey").and_then(Value::as_bool) == Some(true);
        Ok(PartitionKeyDef {
            paths,
            kind,
            version,
            system_key,
        })
    }
}

fn read_kind(object: &Object) -> Result<Kind, DefinitionError> {
    match object.get("kind") {
        None | Some(Value::Null) => Ok(Kind::Hash),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("Hash") => Ok(Kind::Hash),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("MultiHash") => Ok(Kind::MultiHash),
        Some(other) => Err(DefinitionError(format!(
            "The partition key kind {other} is invalid. It must be 'Hash' or 'MultiHash'."
        ))),
    }
}

/// Clients take a missing version for 1, so it must be hashed so; a hierarchy has only version 2. The Java client writes `"V2"`.
fn read_version(object: &Object, kind: Kind) -> Result<Version, DefinitionError> {
    let given = match object.get("version") {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) if name.eq_ignore_ascii_case("V1") => Some(Version::V1),
        Some(Value::String(name)) if name.eq_ignore_ascii_case("V2") => Some(Version::V2),
        Some(number) => Some(match number.as_i64() {
            Some(1) => Version::V1,
            Some(2) => Version::V2,
            _ => {
                return Err(DefinitionError(format!(
                    "The partition key version {number} is invalid. It must be 1 or 2."
                )));
            }
        }),
    };
    match (kind, given) {
        (Kind::Hash, None) => Ok(Version::V1),
        (Kind::Hash, Some(version)) => Ok(version),
        (Kind::MultiHash, None | Some(Version::V2)) => Ok(Version::V2),
        (Kind::MultiHash, Some(Version::V1)) => Err(refused(
            "A partition key of kind 'MultiHash' must have version 2.",
        )),
    }
}

fn read_path_texts(object: &Object) -> Result<Vec<&str>, DefinitionError> {
    object
        .get("paths")
        .and_then(Value::as_array)
        .and_then(|list| list.iter().map(Value::as_str).collect())
        .ok_or_else(|| refused("The partition key's 'paths' must be an array of strings."))
}

fn read_path(text: &str) -> Result<Path, DefinitionError> {
    let plain = |path: &Path| {
        !path.segments().is_empty()
            && !path.segments().contains(&Segment::Elements)
            && !text.ends_with("/?")
    };
    Path::parse_pointer(text)
        .ok()
        .filter(plain)
        .ok_or_else(|| bad_path(text))
}

fn bad_path(text: &str) -> DefinitionError {
    DefinitionError(format!(
        "The partition key component definition path '{text}' could not be accepted, failed near position '{}'. Partition key paths must contain only valid characters and not contain a trailing slash or wildcard character.",
        position_of_fault(text)
    ))
}

/// About where a path goes wrong.
fn position_of_fault(text: &str) -> usize {
    if !text.starts_with('/') {
        return 0;
    }
    bad_character(text).unwrap_or(text.len().saturating_sub(1))
}

/// Where the first character stands that a name must be quoted for.
fn bad_character(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    text.char_indices()
        .find(|(_, c)| {
            let literal = std::mem::take(&mut escaped);
            match (quote, c) {
                (Some(_), '\\') if !literal => escaped = true,
                (Some(open), c) if open == *c && !literal => quote = None,
                (None, '"' | '\'') => quote = Some(*c),
                (Some(_), _) => {}
                (None, c) => return !(c.is_alphanumeric() || matches!(c, '/' | '_' | '-' | '$')),
            }
            false
        })
        .map(|(at, _)| at)
}
