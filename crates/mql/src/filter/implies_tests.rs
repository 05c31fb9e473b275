//! A filter that is said to imply another is held against documents: none may fulfil the first alone.

use lapsedb_value::{Object, json};

use crate::filter::{Filter, Options};

fn object(text: &str) -> Object {
    let value = json::parse(text.as_bytes(), &json::Limits::DEFAULT).unwrap();
    value.into_object().unwrap()
}

fn filter(text: &str) -> Filter {
    Filter::parse(&object(text), &Options::default()).unwrap()
}

const FILTERS: &[&str] = &[
    "{}",
    r#"{"a":1}"#,
    r#"{"a":null}"#,
    r#"{"a":"x"}"#,
    r#"{"a":{"$gt":1}}"#,
    r#"{"a":{"$gt":0}}"#,
    r#"{"a":{"$gte":1}}"#,
    r#"{"a":{"$lt":2}}"#,
    r#"{"a":{"$lte":1}}"#,
    r#"{"a":{"$gt":0,"$lt":2}}"#,
    r#"{"a":{"$in":[1,2]}}"#,
    r#"{"a":{"$in":[1,2,3]}}"#,
    r#"{"a":{"$in":[1,null]}}"#,
    r#"{"a":{"$exists":true}}"#,
    r#"{"a":{"$exists":false}}"#,
    r#"{"a":{"$ne":null}}"#,
    r#"{"a":{"$ne":1}}"#,
    r#"{"a":{"$type":"number"}}"#,
    r#"{"a":{"$type":"int"}}"#,
    r#"{"a":{"$size":1}}"#,
    r#"{"a":{"$elemMatch":{"$gt":1}}}"#,
    r#"{"a":{"$elemMatch":{"b":1}}}"#,
    r#"{"a.b":1}"#,
    r#"{"a.b":{"$exists":true}}"#,
    r#"{"a":[1,2]}"#,
    r#"{"$or":[{"a":1},{"a":2}]}"#,
    r#"{"$or":[{"a":1},{"b":2}]}"#,
    r#"{"$and":[{"a":1},{"b":2}]}"#,
    r#"{"b":2}"#,
];

const VALUES: &[&str] = &[
    "null",
    "0",
    "1",
    "1.5",
    "2",
    "3",
    "\"x\"",
    "true",
    "[]",
    "[1]",
    "[1,2]",
    "[0,5]",
    "[[1]]",
    "[null]",
    "{}",
    "{\"b\":1}",
    "[{\"b\":1}]",
    "[{\"b\":2},{}]",
];

#[test]
fn what_implies_another_finds_nothing_the_other_does_not() {
    let mut documents = vec![object("{}"), object(r#"{"b":2}"#)];
    for value in VALUES {
        documents.push(object(&format!(r#"{{"a":{value}}}"#)));
        documents.push(object(&format!(r#"{{"a":{value},"b":2}}"#)));
    }
    let mut implied = 0;
    for given in FILTERS {
        for wanted in FILTERS {
            if !filter(given).implies(&filter(wanted)) {
                continue;
            }
            implied += 1;
            for document in &documents {
                let found = filter(given).matches(document).unwrap();
                let held = filter(wanted).matches(document).unwrap();
                assert!(held || !found, "{given} -> {wanted}: {document:?}");
            }
        }
    }
    assert!(implied > 100, "{implied}");
}

#[test]
fn the_common_cases_are_seen() {
    for (given, wanted) in [
        (r#"{"a":5}"#, r#"{"a":{"$gt":3}}"#),
        (r#"{"a":{"$gt":5}}"#, r#"{"a":{"$gte":5}}"#),
        (r#"{"a":{"$lt":5}}"#, r#"{"a":{"$lt":6}}"#),
        (r#"{"a":5,"b":1}"#, r#"{"b":{"$exists":true}}"#),
        (r#"{"a":{"$ne":null}}"#, r#"{"a":{"$exists":true}}"#),
        (r#"{"a":{"$in":[1,2]}}"#, r#"{"a":{"$in":[2,1,0]}}"#),
        (r#"{"a":true,"b":{"$gt":1}}"#, r#"{"a":true}"#),
        (r#"{"a":null}"#, r#"{"a":null}"#),
        (r#"{"a":{"$elemMatch":{"b":1}}}"#, r#"{"a.b":{"$gt":0}}"#),
        (r#"{"a":1}"#, r#"{"$or":[{"a":1},{"b":1}]}"#),
    ] {
        assert!(
            filter(given).implies(&filter(wanted)),
            "{given} -> {wanted}"
        );
    }
    for (given, wanted) in [
        ("{}", r#"{"a":1}"#),
        (r#"{"a":{"$gt":3}}"#, r#"{"a":{"$gt":5}}"#),
        (r#"{"a":null}"#, r#"{"a":{"$exists":true}}"#),
        (r#"{"$or":[{"a":1},{"b":1}]}"#, r#"{"a":1}"#),
        (r#"{"a":{"$ne":1}}"#, r#"{"a":{"$exists":true}}"#),
    ] {
        assert!(
            !filter(given).implies(&filter(wanted)),
            "{given} -> {wanted}"
        );
    }
}
