//! Which properties of its items clients encrypt before they send them: checked here, kept for the clients.
//!
//! Pure: reads JSON values, touches no store.

use std::collections::HashSet;

use lapsedb_store::partition_key::PartitionKeyDef;
use lapsedb_value::path::Segment;
use lapsedb_value::{Object, Value, order};

use crate::collections::definition::Invalid;

/// The member of a definition that holds the policy.
pub(crate) const POLICY: &str = "clientEncryptionPolicy";

const ALGORITHM: &str = "AEAD_AES_256_CBC_HMAC_SHA256";
const DETERMINISTIC: &str = "Deterministic";
const RANDOMIZED: &str = "Randomized";
/// Forms of the policy; the first cannot encrypt what items are found by.
const VERSIONS: std::ops::RangeInclusive<i64> = 1..=2;

/// One property that clients encrypt.
struct Included<'a> {
    path: &'a str,
    deterministic: bool,
}

/// Checks the policy of a definition that is about to be made.
///
/// # Errors
/// When it is not as it should be, or encrypts what items are found by in a way that they could not be found.
pub(crate) fn check(document: &Object, key: &PartitionKeyDef) -> Result<(), Invalid> {
    let Some(policy) = document.get(POLICY) else {
        return Ok(());
    };
    let version = match policy.get("policyFormatVersion") {
        Value::Undefined | Value::Null => Some(*VERSIONS.start()),
        given => given.as_i64().filter(|version| VERSIONS.contains(version)),
    };
    let Some(version) = version else {
        return refused("Supported versions of client encryption policy are 1 and 2.");
    };
    let Some(entries) = policy.get("includedPaths").as_array() else {
        return refused(
            "The client encryption policy must be an object with an array 'includedPaths'.",
        );
    };
    let mut paths = HashSet::with_capacity(entries.len());
    for entry in entries {
        let included = read(entry)?;
        if !paths.insert(included.path) {
            return refused(format!(
                "Duplicate path found: {} in client encryption policy.",
                included.path
            ));
        }
        check_address(&included, version, key)?;
    }
    Ok(())
}

/// Checks that a definition that replaces another has the same policy: items are encrypted by it.
///
/// # Errors
/// When it has another one.
pub(crate) fn check_replacement(document: &Object, current: &Object) -> Result<(), Invalid> {
    let of = |document: &Object| document.get(POLICY).cloned().unwrap_or_default();
    if order::deep_equal(&of(document), &of(current)) {
        return Ok(());
    }
    refused("'clientEncryptionPolicy' cannot be changed as part of collection replace operation.")
}

/// The names of the keys that a checked policy needs.
pub(crate) fn keys(document: &Object) -> impl Iterator<Item = &str> {
    let entries = document
        .get(POLICY)
        .and_then(|policy| policy.get("includedPaths").as_array());
    entries
        .unwrap_or_default()
        .iter()
        .filter_map(|entry| entry.get("clientEncryptionKeyId").as_str())
}

fn read(entry: &Value) -> Result<Included<'_>, Invalid> {
    let text = |name: &str| entry.get(name).as_str().filter(|text| !text.is_empty());
    let Some(path) = text("path") else {
        return refused("Path needs to be defined in ClientEncryptionIncludedPath.");
    };
    match path.strip_prefix('/') {
        Some(name) if !name.is_empty() && !name.contains('/') => {}
        Some(_) | None => {
            return refused(format!(
                "The path '{path}' of the client encryption policy is invalid: only top-level paths can be encrypted, which start with '/' and name one property."
            ));
        }
    }
    if text("clientEncryptionKeyId").is_none() {
        return refused(
            "ClientEncryptionKeyId needs to be defined in ClientEncryptionIncludedPath.",
        );
    }
    let deterministic = match text("encryptionType") {
        Some(DETERMINISTIC) => true,
        Some(RANDOMIZED) => false,
        Some(_) | None => {
            return refused("EncryptionType should be either 'Deterministic' or 'Randomized'.");
        }
    };
    if text("encryptionAlgorithm") != Some(ALGORITHM) {
        return refused(format!("EncryptionAlgorithm should be '{ALGORITHM}'."));
    }
    Ok(Included {
        path,
        deterministic,
    })
}

/// What items are found by must look the same each time it is encrypted.
fn check_address(
    included: &Included<'_>,
    version: i64,
    key: &PartitionKeyDef,
) -> Result<(), Invalid> {
    let path = included.path;
    let in_key = key.paths.iter().any(|level| {
        matches!(level.segments().first(), Some(Segment::Member(name)) if path.strip_prefix('/') == Some(name))
    });
    let what = match (path == "/id", in_key) {
        (false, false) => return Ok(()),
        (false, true) => " which is part of the partition key",
        (true, _) => "",
    };
    if version < 2 {
        return refused(format!(
            "Path: {path}{what} cannot be encrypted with PolicyFormatVersion: {version}. Please use PolicyFormatVersion: 2."
        ));
    }
    match (included.deterministic, what) {
        (true, _) => Ok(()),
        (false, "") => refused(format!(
            "Only Deterministic encryption type is supported for path: {path}."
        )),
        (false, _) => refused(format!(
            "Path: {path}{what} has to be encrypted with Deterministic type Encryption."
        )),
    }
}

fn refused<T>(text: impl Into<String>) -> Result<T, Invalid> {
    Err(Invalid(text.into()))
}
