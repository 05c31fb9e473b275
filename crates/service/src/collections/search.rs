//! What a definition says about vectors and full text: kept for queries, checked here.
//!
//! Pure: reads JSON values, touches no store.

use std::collections::{HashMap, HashSet};

use lapsedb_sql::Schema;
use lapsedb_store::index::policy::INDEX_PATHS_MAX;
use lapsedb_value::path::Path;
use lapsedb_value::{Object, Value, order};

use crate::collections::definition::Invalid;

/// Most numbers of a vector.
pub const VECTOR_DIMENSIONS_MAX: i64 = 4096;
/// Most bytes a vector may be quantized to; a shorter vector has at most as many as it has numbers.
pub const QUANTIZATION_BYTES_MAX: i64 = 512;
/// How long the list of candidates may be while an index is built.
pub const SEARCH_LIST_SIZES: std::ops::RangeInclusive<i64> = 25..=500;
/// Most paths a vector index may be split by.
pub const SHARD_PATHS_MAX: usize = 1;

const DATA_TYPES: [&str; 4] = ["float32", "float16", "int8", "uint8"];
const DISTANCE_FUNCTIONS: [&str; 3] = ["cosine", "dotproduct", "euclidean"];
const INDEX_TYPES: [&str; 3] = ["flat", "quantizedFlat", "diskANN"];
/// Languages of full text, by their names and by the numbers that Windows gives them.
const LANGUAGES: [&str; 14] = [
    "en-US", "de-DE", "es-ES", "fr-FR", "it-IT", "pt-BR", "pt-PT", "1033", "1031", "3082", "1036",
    "1040", "1046", "2070",
];

fn refused<T>(text: impl Into<String>) -> Result<T, Invalid> {
    Err(Invalid(text.into()))
}

fn invalid_input<T>() -> Result<T, Invalid> {
    refused("One of the specified inputs is invalid")
}

/// The lists that are checked here: the policy, its member, and what messages about two entries of one path name.
const LISTS: [(&str, &str, Option<&str>); 4] = [
    (
        "vectorEmbeddingPolicy",
        "vectorEmbeddings",
        Some("Vector Embedding Policy"),
    ),
    (
        "indexingPolicy",
        "vectorIndexes",
        Some("Vector Indexing Policy"),
    ),
    ("fullTextPolicy", "fullTextPaths", None),
    ("indexingPolicy", "fullTextIndexes", None),
];

/// Checks the policies of a definition's document. A list that is in the stored document as it is may be longer than new ones,
/// and have two entries of one path: older versions took both, and a container keeps what it has.
///
/// # Errors
/// When one is not as it should be, or the two do not fit together.
pub fn check(document: &Object, stored: Option<&Object>) -> Result<(), Invalid> {
    for (policy, entries, name) in LISTS {
        let given = list(document, policy, entries)?;
        let kept = stored.and_then(|stored| list(stored, policy, entries).ok());
        let kept = kept.unwrap_or_default();
        let same = |(given, kept)| order::deep_equal(given, kept);
        if given.len() == kept.len() && given.iter().zip(kept).all(same) {
            continue;
        }
        if given.len() > INDEX_PATHS_MAX {
            return refused(format!(
                "'{entries}' of '{policy}' has {} entries; it may have at most {INDEX_PATHS_MAX}.",
                given.len()
            ));
        }
        if let Some(name) = name {
            each_path_once(given, name)?;
        }
    }
    let embeddings = list(document, "vectorEmbeddingPolicy", "vectorEmbeddings")?;
    for embedding in embeddings {
        check_embedding(embedding)?;
    }
    let embeddings: HashMap<Path, &Value> = embeddings
        .iter()
        .filter_map(|embedding| Some((path_of(embedding)?, embedding)))
        .collect();
    for index in list(document, "indexingPolicy", "vectorIndexes")? {
        check_vector_index(index, &embeddings)?;
    }
    check_full_text(document)
}

/// Tells queries how the vectors of a collection are compared.
pub(crate) fn add_embeddings(document: &Object, schema: &mut Schema) {
    let embeddings = list(document, "vectorEmbeddingPolicy", "vectorEmbeddings");
    for embedding in embeddings.unwrap_or_default() {
        let path = embedding.get("path").as_str();
        let path = path.and_then(|path| Path::parse_pointer(path).ok());
        if let (Some(path), Some(metric)) = (path, embedding.get("distanceFunction").as_str()) {
            schema.add_embedding(&path, metric);
        }
    }
}

/// Checks that what is there already stays as it is: vectors are stored by it.
///
/// # Errors
/// When a path that is kept has another meaning than before.
pub fn check_replacement(document: &Object, current: &Object) -> Result<(), Invalid> {
    for (policy, entries, members, what) in [
        (
            "indexingPolicy",
            "vectorIndexes",
            &["type"][..],
            "vector indexing",
        ),
        (
            "vectorEmbeddingPolicy",
            "vectorEmbeddings",
            &["dataType", "dimensions", "distanceFunction"][..],
            "embedding",
        ),
    ] {
        // Older versions took two entries of one path: either may stay.
        let mut before: HashMap<Path, Vec<&Value>> = HashMap::new();
        for old in list(current, policy, entries)? {
            if let Some(path) = path_of(old) {
                before.entry(path).or_default().push(old);
            }
        }
        for new in list(document, policy, entries)? {
            let same = |old: &&Value| {
                members
                    .iter()
                    .all(|name| order::deep_equal(old.get(name), new.get(name)))
            };
            let old = path_of(new).and_then(|path| before.get(&path));
            if old.is_some_and(|old| !old.iter().any(same)) {
                return refused(format!(
                    "Paths in existing {what} policy cannot be modified in Collection Replace. They can only be added or removed."
                ));
            }
        }
    }
    Ok(())
}

/// The entries of a policy; none if it has none.
fn list<'a>(document: &'a Object, policy: &str, entries: &str) -> Result<&'a [Value], Invalid> {
    match document.get(policy).map(|policy| policy.get(entries)) {
        None | Some(Value::Undefined | Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => invalid_input(),
    }
}

/// The path of an entry of a policy, if it is one: `/v` and `/"v"` are the same.
fn path_of(entry: &Value) -> Option<Path> {
    Path::parse_pointer(entry.get("path").as_str()?).ok()
}

fn is_path(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| Path::parse_pointer(text).is_ok())
}

fn one_of(value: &Value, allowed: &[&str]) -> bool {
    value
        .as_str()
        .is_some_and(|text| allowed.iter().any(|known| known.eq_ignore_ascii_case(text)))
}

/// A value as it stands in a sentence: a text without its quotes.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Names in quotes, as a sentence lists them.
fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    quoted.join(", ")
}

/// Refuses two entries of one path.
fn each_path_once(entries: &[Value], policy: &str) -> Result<(), Invalid> {
    let mut found = HashSet::with_capacity(entries.len());
    for entry in entries {
        if let Some(path) = path_of(entry)
            && !found.insert(path)
        {
            return refused(format!(
                "Duplicate Path :{} found in {policy}.",
                plain(entry.get("path"))
            ));
        }
    }
    Ok(())
}

fn check_embedding(embedding: &Value) -> Result<(), Invalid> {
    let (path, data_type) = (embedding.get("path"), embedding.get("dataType"));
    let distance = embedding.get("distanceFunction");
    if !is_path(path) {
        return refused(format!(
            "The Vector Embedding Policy has an invalid Path:{}.",
            plain(path)
        ));
    }
    if !data_type.is_undefined() && !one_of(data_type, &DATA_TYPES) {
        return refused(format!(
            "The Vector Embedding Policy has an invalid DataType:{}.",
            plain(data_type)
        ));
    }
    if !distance.is_undefined() && !one_of(distance, &DISTANCE_FUNCTIONS) {
        return refused(format!(
            "The Vector Embedding Policy has an invalid DistanceFunction:{}.",
            plain(distance)
        ));
    }
    match embedding.get("dimensions") {
        Value::Undefined => Ok(()),
        given => match given.as_i64() {
            Some(1..=VECTOR_DIMENSIONS_MAX) => Ok(()),
            Some(more) if more > VECTOR_DIMENSIONS_MAX => refused(format!(
                "The Vector Embedding Policy has Dimensions:{more} which is more than the maximum supported value {VECTOR_DIMENSIONS_MAX}."
            )),
            Some(_) | None => refused(format!(
                "The Vector Embedding Policy has Dimensions:{} which is not a positive whole number.",
                plain(given)
            )),
        },
    }
}

fn check_vector_index(index: &Value, embeddings: &HashMap<Path, &Value>) -> Result<(), Invalid> {
    let (path, kind) = (index.get("path"), index.get("type"));
    if !one_of(kind, &INDEX_TYPES) {
        return refused(format!(
            "The Vector Indexing Policy's Index Type::{} is invalid.",
            plain(kind)
        ));
    }
    let Some(embedding) = path_of(index).and_then(|path| embeddings.get(&path)) else {
        return refused(format!(
            "The Vector Indexing Policy's path::{} not matching in Embedding's path.",
            plain(path)
        ));
    };
    let dimensions = embedding
        .get("dimensions")
        .as_i64()
        .unwrap_or(QUANTIZATION_BYTES_MAX);
    let sizes = 1..=dimensions.clamp(1, QUANTIZATION_BYTES_MAX);
    check_size(
        index,
        "quantizationByteSize",
        "QuantizationByteSize",
        &sizes,
    )?;
    check_size(
        index,
        "indexingSearchListSize",
        "IndexingSearchListSize",
        &SEARCH_LIST_SIZES,
    )?;
    match index.get("vectorIndexShardKey") {
        Value::Undefined | Value::Null => Ok(()),
        Value::Array(paths) => match paths.iter().find(|path| !is_path(path)) {
            Some(wrong) => refused(format!(
                "The Vector Indexing Policy has an invalid Shard Path: {}.",
                plain(wrong)
            )),
            None if paths.len() > SHARD_PATHS_MAX => refused(format!(
                "The number of shard paths defined in the Vector Indexing Policy: {} exceeds the maximum: {SHARD_PATHS_MAX}.",
                paths.len()
            )),
            None => Ok(()),
        },
        _ => invalid_input(),
    }
}

fn check_size(
    index: &Value,
    member: &str,
    name: &str,
    allowed: &std::ops::RangeInclusive<i64>,
) -> Result<(), Invalid> {
    match index.get(member) {
        Value::Undefined | Value::Null => Ok(()),
        given if given.as_i64().is_some_and(|size| allowed.contains(&size)) => Ok(()),
        given => refused(format!(
            "The Vector Indexing Policy parameter {name} value :: {} is out of range. The allowed range is between {} and {}.",
            plain(given),
            allowed.start(),
            allowed.end()
        )),
    }
}

fn check_full_text(document: &Object) -> Result<(), Invalid> {
    let language = |of: &Value, name: &str| {
        let given = of.get(name);
        if given.is_undefined() || given.is_null() || one_of(given, &LANGUAGES) {
            return Ok(());
        }
        refused(format!(
            "The Full Text Policy contains an unsupported language {}. Supported languages are: {}.",
            plain(given),
            quoted(&LANGUAGES[..LANGUAGES.len() / 2])
        ))
    };
    if let Some(policy) = document.get("fullTextPolicy") {
        language(policy, "defaultLanguage")?;
    }
    for entry in list(document, "fullTextPolicy", "fullTextPaths")? {
        let path = entry.get("path");
        if !is_path(path) {
            return refused(format!(
                "The Full Text Policy contains an invalid Path: {}.",
                plain(path)
            ));
        }
        language(entry, "language")?;
    }
    for index in list(document, "indexingPolicy", "fullTextIndexes")? {
        let path = index.get("path");
        if !is_path(path) {
            return refused(format!(
                "The Full Text Indexing Policy contains an invalid Path: {}.",
                plain(path)
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use lapsedb_value::json;

    use super::*;

    fn document(text: &str) -> Object {
        let limits = json::Limits {
            depth_max: 16,
            duplicates_refused: &[],
        };
        json::parse(text.as_bytes(), &limits)
            .unwrap()
            .as_object()
            .unwrap()
            .clone()
    }

    fn with_vectors(embedding: &str, index: &str) -> Object {
        document(&format!(
            r#"{{"vectorEmbeddingPolicy":{{"vectorEmbeddings":[{embedding}]}},"indexingPolicy":{{"vectorIndexes":[{index}]}}}}"#
        ))
    }

    /// The check of a new definition.
    fn checked(document: &Object) -> Result<(), Invalid> {
        check(document, None)
    }

    const EMBEDDING: &str =
        r#"{"path":"/v","dataType":"float32","dimensions":3,"distanceFunction":"cosine"}"#;

    #[test]
    fn sound_policies_are_taken() {
        for index in [
            "",
            r#"{"path":"/v","type":"flat"}"#,
            r#"{"path":"/v","type":"quantizedFlat","quantizationByteSize":3}"#,
            r#"{"path":"/v","type":"diskANN","indexingSearchListSize":25,"vectorIndexShardKey":["/a"]}"#,
        ] {
            assert_eq!(checked(&with_vectors(EMBEDDING, index)), Ok(()), "{index}");
        }
        assert_eq!(checked(&document("{}")), Ok(()));
    }

    #[test]
    fn every_fault_is_named() {
        let embeddings = [
            (r#"{"path":"v"}"#, "Path:v"),
            (r#"{"path":"/v","dataType":"float33"}"#, "DataType:float33"),
            (
                r#"{"path":"/v","distanceFunction":"by hand"}"#,
                "DistanceFunction:by hand",
            ),
            (
                r#"{"path":"/v","dimensions":8000}"#,
                "Dimensions:8000 which is more",
            ),
            (r#"{"path":"/v","dimensions":-1}"#, "Dimensions:-1"),
            (r#"{"path":"/v","dimensions":1.5}"#, "Dimensions:1.5"),
        ];
        for (embedding, words) in embeddings {
            let fault = checked(&with_vectors(embedding, "")).unwrap_err();
            assert!(fault.0.contains(words), "{embedding}: {fault}");
        }
        let indexes = [
            (r#"{"path":"/w","type":"flat"}"#, "/w not matching"),
            (r#"{"path":"/v","type":"round"}"#, "Index Type::round"),
            (
                r#"{"path":"/v","type":"flat","quantizationByteSize":0}"#,
                "between 1 and 3",
            ),
            (
                r#"{"path":"/v","type":"flat","quantizationByteSize":4}"#,
                "value :: 4",
            ),
            (
                r#"{"path":"/v","type":"diskANN","indexingSearchListSize":501}"#,
                "between 25 and 500",
            ),
            (
                r#"{"path":"/v","type":"diskANN","vectorIndexShardKey":["a"]}"#,
                "Shard Path: a",
            ),
            (
                r#"{"path":"/v","type":"diskANN","vectorIndexShardKey":["/a","/b"]}"#,
                "exceeds the maximum: 1",
            ),
            (
                r#"{"path":"/v","type":"diskANN","vectorIndexShardKey":"/a"}"#,
                "inputs is invalid",
            ),
        ];
        for (index, words) in indexes {
            let fault = checked(&with_vectors(EMBEDDING, index)).unwrap_err();
            assert!(fault.0.contains(words), "{index}: {fault}");
        }
    }

    #[test]
    fn a_path_has_one_entry_however_it_is_written() {
        let quoted = EMBEDDING.replace("/v", r#"/\"v\""#);
        let fault = checked(&with_vectors(&format!("{EMBEDDING},{quoted}"), "")).unwrap_err();
        assert!(fault.0.starts_with("Duplicate Path"), "{fault}");
        let index = r#"{"path":"/\"v\"","type":"flat"}"#;
        assert_eq!(checked(&with_vectors(EMBEDDING, index)), Ok(()));
    }

    #[test]
    fn of_two_stored_entries_with_one_path_either_may_stay() {
        let other = EMBEDDING.replace("cosine", "euclidean");
        let old = with_vectors(&format!("{EMBEDDING},{other}"), "");
        for kept in [EMBEDDING, &other] {
            assert_eq!(check_replacement(&with_vectors(kept, ""), &old), Ok(()));
        }
        let third = EMBEDDING.replace("cosine", "dotproduct");
        assert!(check_replacement(&with_vectors(&third, ""), &old).is_err());
    }

    #[test]
    fn a_list_that_is_stored_may_stay_as_it_is() {
        let twice = with_vectors(&format!("{EMBEDDING},{EMBEDDING}"), "");
        assert_eq!(check(&twice, Some(&twice)), Ok(()));
        let three = with_vectors(&[EMBEDDING; 3].join(","), "");
        assert!(check(&three, Some(&twice)).is_err());
        assert!(check(&twice, Some(&document("{}"))).is_err());
    }

    #[test]
    fn a_list_that_is_too_long_may_stay_or_be_shortened() {
        let vectors = |count: usize| {
            let all: Vec<String> = (0..count)
                .map(|n| EMBEDDING.replace("/v", &format!("/v{n}")))
                .collect();
            with_vectors(&all.join(","), "")
        };
        let stored = vectors(INDEX_PATHS_MAX + 2);
        for (count, allowed) in [
            (INDEX_PATHS_MAX + 2, true),
            (INDEX_PATHS_MAX + 1, false),
            (INDEX_PATHS_MAX, true),
            (0, true),
        ] {
            let new = vectors(count);
            assert_eq!(check(&new, Some(&stored)).is_ok(), allowed, "{count}");
            assert_eq!(check_replacement(&new, &stored), Ok(()), "{count}");
        }
    }

    #[test]
    fn every_list_has_a_limit() {
        let entries = |count: usize| {
            let paths: Vec<String> = (0..count)
                .map(|n| format!(r#"{{"path":"/v{n}"}}"#))
                .collect();
            paths.join(",")
        };
        for (policy, list) in [
            ("vectorEmbeddingPolicy", "vectorEmbeddings"),
            ("fullTextPolicy", "fullTextPaths"),
            ("indexingPolicy", "fullTextIndexes"),
        ] {
            let with = |count| {
                document(&format!(
                    r#"{{"{policy}":{{"{list}":[{}]}}}}"#,
                    entries(count)
                ))
            };
            assert_eq!(checked(&with(INDEX_PATHS_MAX)), Ok(()), "{list}");
            let fault = checked(&with(INDEX_PATHS_MAX + 1)).unwrap_err();
            assert!(fault.0.contains("at most 1500"), "{fault}");
        }
    }

    #[test]
    fn full_text_has_known_languages_and_real_paths() {
        let sound = r#"{"fullTextPolicy":{"defaultLanguage":"en-US","fullTextPaths":[{"path":"/t","language":"de-DE"}]},
            "indexingPolicy":{"fullTextIndexes":[{"path":"/t"}]}}"#;
        assert_eq!(checked(&document(sound)), Ok(()));
        assert_eq!(checked(&document(&sound.replace("en-US", "1033"))), Ok(()));
        let unknown = checked(&document(&sound.replace("en-US", "xx-YY"))).unwrap_err();
        let words = "The Full Text Policy contains an unsupported language xx-YY.";
        assert!(unknown.0.starts_with(words), "{unknown}");
        for wrong in [
            r#"{"fullTextPolicy":{"defaultLanguage":"spa-SPA"}}"#,
            r#"{"fullTextPolicy":{"fullTextPaths":[{"path":"t"}]}}"#,
            r#"{"fullTextPolicy":{"fullTextPaths":[{"path":"/t","language":"xx"}]}}"#,
            r#"{"indexingPolicy":{"fullTextIndexes":[{"path":"t"}]}}"#,
            r#"{"indexingPolicy":{"fullTextIndexes":[{"not_path":"/t"}]}}"#,
        ] {
            assert!(checked(&document(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_stored_by_a_policy_keeps_it() {
        let old = with_vectors(EMBEDDING, r#"{"path":"/v","type":"flat"}"#);
        assert_eq!(check_replacement(&old, &old), Ok(()));
        assert_eq!(check_replacement(&document("{}"), &old), Ok(()));
        let other_type = with_vectors(EMBEDDING, r#"{"path":"/v","type":"diskANN"}"#);
        assert!(check_replacement(&other_type, &old).is_err());
        let wider = with_vectors(
            &EMBEDDING.replace('3', "4"),
            r#"{"path":"/v","type":"flat"}"#,
        );
        assert!(check_replacement(&wider, &old).is_err());
    }
}
