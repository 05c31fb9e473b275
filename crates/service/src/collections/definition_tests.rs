//! Rows D1 to D10 of `docs/ttl-cases.md`, and everything else a collection's body may say.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lapsedb_value::json;

use super::*;

const LIMITS: json::Limits = json::Limits {
    depth_max: 128,
    duplicates_refused: DUPLICATES_REFUSED,
};
const MINIMAL: &str = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;

fn value(text: &str) -> Value {
    json::parse(text.as_bytes(), &LIMITS).unwrap()
}

/// The minimal body with more members, which may also replace its own.
fn body(more: &str) -> Value {
    let mut object = value(MINIMAL).into_object().unwrap();
    for (name, value) in value(more).into_object().unwrap() {
        object.insert(name, value);
    }
    Value::Object(object)
}

fn parse(more: &str) -> Result<Definition, Invalid> {
    Definition::parse(&body(more))
}

fn shown(definition: &Definition) -> String {
    json::to_string(&Value::Object(definition.document.clone()))
}

#[test]
fn the_least_body_is_completed() {
    assert_eq!(
        shown(&parse("{}").unwrap()),
        r#"{"id":"c","indexingPolicy":{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]},"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionPath":"/_ts","conflictResolutionProcedure":""},"geospatialConfig":{"type":"Geography"}}"#
    );
}

#[test]
fn everything_a_body_may_say_is_kept() {
    let text = r#"{"id":"c","indexingPolicy":{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]},"partitionKey":{"paths":["/a","/b"],"kind":"MultiHash","version":2},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/email"]},{"paths":["/x/y","/z"]}]},"conflictResolutionPolicy":{"mode":"Custom","conflictResolutionProcedure":"p"},"geospatialConfig":{"type":"Geometry"},"defaultTtl":100,"analyticalStorageTtl":-1,"computedProperties":[{"name":"lower","query":"SELECT VALUE LOWER(c.name) FROM c"}],"vectorEmbeddingPolicy":{"vectorEmbeddings":[]},"fullTextPolicy":{"defaultLanguage":"en-US"},"changeFeedPolicy":{"retentionDuration":10},"clientEncryptionPolicy":{"includedPaths":[{"path":"/s","clientEncryptionKeyId":"k","encryptionType":"Randomized","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256"}],"policyFormatVersion":1}}"#;
    let definition = Definition::parse(&value(text)).unwrap();
    assert_eq!(shown(&definition), text);
    assert_eq!(definition.default_ttl, Some(100));
    assert_eq!(definition.unique_keys.len(), 2);
    assert_eq!(definition.unique_keys[1].len(), 2);
    assert_eq!(definition.partition_key.paths.len(), 2);
    let again = Definition::parse_replacement(&value(text), &definition.document).unwrap();
    assert_eq!(shown(&again), text);
}

#[test]
fn what_is_not_known_is_not_kept() {
    let definition =
        parse(r#"{"_rid":"x","_self":"y","_ts":1,"_etag":"e","_docs":"docs/","foo":1}"#).unwrap();
    assert_eq!(shown(&definition), shown(&parse("{}").unwrap()));
}

fn ttl(text: &str) -> Result<Option<i64>, Invalid> {
    parse(&format!(r#"{{"defaultTtl":{text}}}"#)).map(|definition| {
        assert_eq!(
            definition
                .document
                .get("defaultTtl")
                .and_then(Value::as_i64),
            definition.default_ttl
        );
        definition.default_ttl
    })
}

#[test]
fn d1_absent_or_null_is_off() {
    assert_eq!(parse("{}").unwrap().default_ttl, None);
    assert_eq!(ttl("null"), Ok(None));
    assert!(
        !parse(r#"{"defaultTtl":null}"#)
            .unwrap()
            .document
            .contains_key("defaultTtl")
    );
}

#[test]
fn d2_minus_one_is_on_without_a_default() {
    assert_eq!(ttl("-1"), Ok(Some(-1)));
    assert_eq!(ttl("-1.0"), Ok(Some(-1)));
}

#[test]
fn d3_whole_seconds_are_echoed_as_an_integer() {
    for (text, seconds) in [
        ("1", 1),
        ("2147483647", 2_147_483_647),
        ("5.0", 5),
        ("1e3", 1000),
    ] {
        assert_eq!(ttl(text), Ok(Some(seconds)), "{text}");
        let definition = parse(&format!(r#"{{"defaultTtl":{text}}}"#)).unwrap();
        assert!(shown(&definition).contains(&format!(r#""defaultTtl":{seconds}"#)));
    }
}

#[test]
fn d4_other_numbers_are_refused() {
    for text in [
        "0",
        "-2",
        "-2147483648",
        "2147483648",
        "4294967297",
        "1.5",
        "-0",
        "0.5",
        "1e308",
        "9007199254740993",
    ] {
        let refused = ttl(text).unwrap_err();
        assert!(refused.0.starts_with("The input defaultTtl '"), "{text}");
    }
    assert_eq!(
        ttl("0").unwrap_err().0,
        "The input defaultTtl '0' is invalid. Ensure to provide a nonzero positive integer less than or equal to '2147483647', or '-1' which means never expire."
    );
    assert!(ttl("1.5").unwrap_err().0.contains("'1.5'"));
    assert!(json::parse(br#"{"defaultTtl":1e400}"#, &LIMITS).is_err());
}

#[test]
fn d5_other_kinds_are_refused() {
    for text in ["\"60\"", "true", "false", "[]", "[60]", "{}"] {
        assert!(ttl(text).is_err(), "{text}");
    }
    assert!(json::parse(br#"{"defaultTtl":NaN}"#, &LIMITS).is_err());
}

#[test]
fn d6_the_property_twice_is_refused() {
    assert!(json::parse(br#"{"id":"c","defaultTtl":1,"defaultTtl":1}"#, &LIMITS).is_err());
    assert!(json::parse(br#"{"id":"c","id":"c"}"#, &LIMITS).is_err());
}

#[test]
fn d7_other_spellings_have_no_effect() {
    for name in [
        "defaultTTL",
        "DefaultTimeToLive",
        "ttl",
        "DefaultTtl",
        "default_ttl",
    ] {
        let definition = parse(&format!(r#"{{"{name}":5}}"#)).unwrap();
        assert_eq!(definition.default_ttl, None);
        assert!(!definition.document.contains_key(name));
    }
}

#[test]
fn d8_a_replacement_that_leaves_it_out_turns_it_off() {
    let current = parse(r#"{"defaultTtl":10}"#).unwrap().document;
    let next = Definition::parse_replacement(&body("{}"), &current).unwrap();
    assert_eq!(next.default_ttl, None);
    assert!(!next.document.contains_key("defaultTtl"));
}

#[test]
fn d9_no_index_no_ttl() {
    for seconds in ["5", "-1"] {
        let more =
            format!(r#"{{"indexingPolicy":{{"indexingMode":"None"}},"defaultTtl":{seconds}}}"#);
        assert_eq!(
            parse(&more).unwrap_err().0,
            "Indexing mode value cannot be 'none' when 'defaultTtl' is specified in the collection"
        );
    }
    assert!(parse(r#"{"indexingPolicy":{"indexingMode":"none"}}"#).is_ok());
    assert!(parse(r#"{"indexingPolicy":{"indexingMode":"none"},"defaultTtl":null}"#).is_ok());
}

#[test]
fn d10_a_refused_default_does_not_stick() {
    let current = parse(r#"{"defaultTtl":10}"#).unwrap().document;
    let before = json::to_string(&Value::Object(current.clone()));
    assert!(Definition::parse_replacement(&body(r#"{"defaultTtl":-2}"#), &current).is_err());
    assert_eq!(json::to_string(&Value::Object(current.clone())), before);
    assert!(Definition::parse_replacement(&body(r#"{"defaultTtl":20}"#), &current).is_ok());
}

#[test]
fn t13_another_base_for_lives_is_a_path_of_members_and_needs_a_default() {
    let path = |text: &str| parse(text).map(|definition| definition.ttl_path);
    let read = |text: &str| Ok(Some(Path::parse_pointer(text).unwrap()));
    assert!(path(r#"{"ttlPropertyPath":"/t"}"#).is_err());
    assert!(path(r#"{"ttlPropertyPath":"/t","defaultTtl":null}"#).is_err());
    assert_eq!(path(r#"{"ttlPropertyPath":null,"defaultTtl":5}"#), Ok(None));
    assert_eq!(
        path(r#"{"ttlPropertyPath":"/t","defaultTtl":5}"#),
        read("/t")
    );
    assert_eq!(
        path(r#"{"ttlPropertyPath":"/a/b","defaultTtl":-1}"#),
        read("/a/b")
    );
    let deep = |levels: usize| {
        format!(
            r#"{{"ttlPropertyPath":"{}","defaultTtl":5}}"#,
            "/a".repeat(levels)
        )
    };
    assert_eq!(path(&deep(128)), read(&"/a".repeat(128)));
    assert!(path(&deep(129)).is_err());
    for wrong in [
        "7",
        "true",
        "[]",
        "\"\"",
        "\"t\"",
        "\"/\"",
        "\"/t/*\"",
        "\"/t/?\"",
        "\"/ttl\"",
        "\"/id/t\"",
        "\"/t/[]\"",
    ] {
        let text = format!(r#"{{"ttlPropertyPath":{wrong},"defaultTtl":5}}"#);
        assert!(path(&text).is_err(), "{wrong}");
    }
}

#[test]
fn names_are_checked() {
    for id in ["1", "null", "true", "[]", "{}", "\"\"", "\"a/b\""] {
        let refused = parse(&format!(r#"{{"id":{id}}}"#)).unwrap_err();
        assert!(refused.0.starts_with("The input name '"), "{id}");
    }
    let nameless = value(r#"{"partitionKey":{"paths":["/pk"]}}"#);
    assert_eq!(
        Definition::parse(&nameless).unwrap_err().0,
        "The input content is invalid because the required properties - 'id; ' - are missing"
    );
    assert_eq!(
        Definition::parse(&value(r#"{"id":"c"}"#)).unwrap_err().0,
        "The input content is invalid because the required properties - 'partitionKey; ' - are missing"
    );
}

#[test]
fn the_partition_key_is_shown_as_sent_and_completed() {
    for (sent, expected) in [
        (r#"{"paths":["/pk"]}"#, r#"{"paths":["/pk"],"kind":"Hash"}"#),
        (
            r#"{"paths":["/pk"],"kind":"hash","version":1}"#,
            r#"{"paths":["/pk"],"kind":"Hash","version":1}"#,
        ),
        (
            r#"{"version":2.0,"kind":"Hash","paths":["/pk"]}"#,
            r#"{"paths":["/pk"],"kind":"Hash","version":2}"#,
        ),
        (
            r#"{"paths":["/_partitionKey"],"systemKey":true}"#,
            r#"{"paths":["/_partitionKey"],"kind":"Hash","systemKey":true}"#,
        ),
    ] {
        let definition = parse(&format!(r#"{{"partitionKey":{sent}}}"#)).unwrap();
        assert_eq!(
            json::to_string(definition.document.get("partitionKey").unwrap()),
            expected
        );
    }
    for bad in [
        "null",
        "{}",
        "\"/pk\"",
        r#"{"paths":["pk"]}"#,
        r#"{"paths":["/a","/b"]}"#,
    ] {
        assert!(
            parse(&format!(r#"{{"partitionKey":{bad}}}"#)).is_err(),
            "{bad}"
        );
    }
}

#[test]
fn unique_keys_are_limited() {
    let keys = |keys: usize, paths: usize| {
        let one: Vec<String> = (0..paths).map(|i| format!("\"/p{i}\"")).collect();
        let all = vec![format!(r#"{{"paths":[{}]}}"#, one.join(",")); keys];
        parse(&format!(
            r#"{{"uniqueKeyPolicy":{{"uniqueKeys":[{}]}}}}"#,
            all.join(",")
        ))
    };
    assert_eq!(
        keys(UNIQUE_KEYS_MAX, UNIQUE_KEY_PATHS_MAX)
            .unwrap()
            .unique_keys
            .len(),
        UNIQUE_KEYS_MAX
    );
    assert!(keys(UNIQUE_KEYS_MAX + 1, 1).is_err());
    assert!(keys(1, UNIQUE_KEY_PATHS_MAX + 1).is_err());
    assert!(keys(1, 0).is_err());
    assert!(keys(0, 0).unwrap().unique_keys.is_empty());
    for bad in [
        "[]",
        "1",
        r#"{"uniqueKeys":{}}"#,
        r#"{"uniqueKeys":[{}]}"#,
        r#"{"uniqueKeys":[{"paths":["x"]}]}"#,
        r#"{"uniqueKeys":[{"paths":["/a/[]/b"]}]}"#,
        r#"{"uniqueKeys":[{"paths":["/a","/a"]}]}"#,
        r#"{"uniqueKeys":[{"paths":[1]}]}"#,
        r#"{"uniqueKeys":[{"paths":["/"]}]}"#,
    ] {
        assert!(
            parse(&format!(r#"{{"uniqueKeyPolicy":{bad}}}"#)).is_err(),
            "{bad}"
        );
    }
}

#[test]
fn other_members_are_checked() {
    for good in [
        r#"{"analyticalStorageTtl":null}"#,
        r#"{"geospatialConfig":{"type":"geometry"}}"#,
        r#"{"conflictResolutionPolicy":{"mode":"lastWriterWins"}}"#,
        r#"{"computedProperties":[]}"#,
        r#"{"computedProperties":[{"name":"a","query":"select value(c.x) from c"}]}"#,
        r#"{"changeFeedPolicy":null}"#,
        r#"{"changeFeedPolicy":{}}"#,
        r#"{"changeFeedPolicy":{"retentionDuration":null}}"#,
        r#"{"changeFeedPolicy":{"retentionDuration":0}}"#,
        r#"{"changeFeedPolicy":{"retentionDuration":43200}}"#,
    ] {
        assert!(parse(good).is_ok(), "{good}");
    }
    for bad in [
        r#"{"analyticalStorageTtl":"x"}"#,
        r#"{"geospatialConfig":{"type":"Flat"}}"#,
        r#"{"geospatialConfig":1}"#,
        r#"{"conflictResolutionPolicy":{"mode":"First"}}"#,
        r#"{"conflictResolutionPolicy":1}"#,
        r#"{"computedProperties":{}}"#,
        r#"{"computedProperties":[{"name":"a"}]}"#,
        r#"{"computedProperties":[{"name":"a","query":"SELECT * FROM c"}]}"#,
        r#"{"computedProperties":[{"name":"a","query":"SELECT VALUE 1 FROM c"},{"name":"a","query":"SELECT VALUE 2"}]}"#,
        r#"{"computedProperties":[{"name":"a","query":"SELECT VALUE NONE(c.x) FROM c"}]}"#,
        r#"{"computedProperties":[{"name":"a","query":"SELECT VALUE c.x FROM c WHERE c.y"}]}"#,
        r#"{"computedProperties":[{"name":"_ts","query":"SELECT VALUE c.x FROM c"}]}"#,
        r#"{"vectorEmbeddingPolicy":[]}"#,
        r#"{"fullTextPolicy":1}"#,
        r#"{"changeFeedPolicy":10}"#,
        r#"{"changeFeedPolicy":{"retentionDuration":-1}}"#,
        r#"{"changeFeedPolicy":{"retentionDuration":1.5}}"#,
        r#"{"changeFeedPolicy":{"retentionDuration":"10"}}"#,
        r#"{"indexingPolicy":{"indexingMode":"none","automatic":true}}"#,
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
    let many: Vec<String> = (0..=computed::COMPUTED_PROPERTIES_MAX)
        .map(|i| format!(r#"{{"name":"p{i}","query":"SELECT VALUE 1 FROM c"}}"#))
        .collect();
    assert!(parse(&format!(r#"{{"computedProperties":[{}]}}"#, many.join(","))).is_err());
    assert!(
        parse(&format!(
            r#"{{"computedProperties":[{}]}}"#,
            many[1..].join(",")
        ))
        .is_ok()
    );
}

#[test]
fn a_body_that_is_no_object_is_refused() {
    for text in ["null", "1", "[]", "\"c\""] {
        assert!(Definition::parse(&value(text)).is_err());
        assert!(Definition::parse_replacement(&value(text), &Object::new()).is_err());
    }
}

#[test]
fn a_replacement_keeps_what_cannot_be_changed() {
    let current = parse(r#"{"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/email"]}]}}"#)
        .unwrap()
        .document;
    let replace = |text: &str| Definition::parse_replacement(&value(text), &current);
    // Left out, they stay.
    let next = replace(r#"{"id":"c","defaultTtl":5}"#).unwrap();
    assert_eq!(next.unique_keys.len(), 1);
    assert!(next.document.contains_key("uniqueKeyPolicy"));
    assert_eq!(
        json::to_string(next.document.get("partitionKey").unwrap()),
        r#"{"paths":["/pk"],"kind":"Hash","version":2}"#
    );
    // Said again, they stay.
    assert!(replace(r#"{"id":"c","partitionKey":{"paths":["/pk"]}}"#).is_ok());
    assert!(replace(r#"{"id":"c","partitionKey":{"version":2,"paths":["/pk"]}}"#).is_ok());
    assert!(
        replace(r#"{"id":"c","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/email"]}]}}"#).is_ok()
    );
    // Said otherwise, they are refused.
    for text in [
        r#"{"id":"d"}"#,
        r#"{"id":1}"#,
        r#"{"id":"c","partitionKey":{"paths":["/other"],"version":2}}"#,
        r#"{"id":"c","partitionKey":{"paths":["/pk"],"version":1}}"#,
        r#"{"id":"c","uniqueKeyPolicy":{"uniqueKeys":[]}}"#,
        r#"{"id":"c","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/phone"]}]}}"#,
        r#"{"defaultTtl":5}"#,
    ] {
        assert!(replace(text).is_err(), "{text}");
    }
}

#[test]
fn what_old_containers_have_may_stay_though_new_ones_may_not_have_it() {
    let spatial = |policy: &str| format!(r#"{{"indexingPolicy":{{"spatialIndexes":[{policy}]}}}}"#);
    let empty = spatial(r#"{"path":"/l/*","types":[]}"#);
    assert!(parse(&empty).is_err());
    let index = IndexPolicy::parse(body(&empty).get("indexingPolicy")).unwrap();
    let mut old = parse("{}").unwrap().document;
    old.insert("indexingPolicy", index.to_object());
    old.insert("partitionKey", value(r#"{"paths":["/a b"],"kind":"Hash"}"#));
    let replace = |more: &str| {
        let mut new = body(more).into_object().unwrap();
        new.remove("partitionKey");
        Definition::parse_replacement(&Value::Object(new), &old)
    };
    assert!(replace(&empty).is_ok());
    assert!(replace("{}").is_ok());
    assert!(replace(&spatial(r#"{"path":"/m/*","types":[]}"#)).is_err());
}
