//! Filters: each case was checked against a real server.

use crate::common::{self, object, value};
use lapsedb_mql::filter::{Filter, Options};
use lapsedb_value::order::equal_bson;
use lapsedb_value::{Object, Value};

/// A filter, documents that it finds, and documents that it does not.
const CASES: &[(&str, &[&str], &[&str])] = &[
    // Null is also what is missing, and one among elements.
    (
        r#"{"a":null}"#,
        &[r#"{}"#, r#"{"a":null}"#, r#"{"a":[null]}"#],
        &[r#"{"a":[]}"#, r#"{"a":0}"#],
    ),
    (
        r#"{"a":{"$ne":null}}"#,
        &[r#"{"a":[]}"#, r#"{"a":0}"#],
        &[r#"{}"#, r#"{"a":[null]}"#],
    ),
    (
        r#"{"a.b":null}"#,
        &[
            r#"{}"#,
            r#"{"a":1}"#,
            r#"{"a":{}}"#,
            r#"{"a":[{"c":1}]}"#,
            r#"{"a":[1,{}]}"#,
        ],
        &[
            r#"{"a":[1,2]}"#,
            r#"{"a":[]}"#,
            r#"{"a":[null]}"#,
            r#"{"a":[[{}]]}"#,
        ],
    ),
    (
        r#"{"a.b":{"$exists":false}}"#,
        &[r#"{"a":[1]}"#, r#"{"a":[]}"#, r#"{"a":[{"c":1}]}"#],
        &[r#"{"a":[{"b":1},{}]}"#],
    ),
    // Arrays match by an element or as a whole; one level is looked through.
    (
        r#"{"a":1}"#,
        &[r#"{"a":1}"#, r#"{"a":[2,1]}"#, r#"{"a":1.0}"#],
        &[r#"{"a":[[1]]}"#, r#"{"a":"1"}"#, r#"{"a":true}"#],
    ),
    (
        r#"{"a":[1,2]}"#,
        &[r#"{"a":[1,2]}"#, r#"{"a":[[1,2]]}"#],
        &[r#"{"a":[2,1]}"#, r#"{"a":[1,2,3]}"#],
    ),
    (
        r#"{"a.0":1}"#,
        &[r#"{"a":[1]}"#, r#"{"a":{"0":1}}"#, r#"{"a":[{"0":1}]}"#],
        &[r#"{"a":[[1]]}"#, r#"{"a":[2,1]}"#],
    ),
    (
        r#"{"a.0.b":1}"#,
        &[r#"{"a":[{"b":1}]}"#, r#"{"a":[[{"b":1}]]}"#],
        &[r#"{"a":[{},{"b":1}]}"#],
    ),
    // Ranges stay within a class of types, and may be met by different elements.
    (
        r#"{"a":{"$gt":1}}"#,
        &[r#"{"a":2}"#, r#"{"a":[0,2]}"#],
        &[r#"{"a":"2"}"#, r#"{"a":true}"#, r#"{"a":[[2]]}"#, r#"{}"#],
    ),
    (
        r#"{"a":{"$gte":null}}"#,
        &[r#"{}"#, r#"{"a":null}"#],
        &[r#"{"a":1}"#],
    ),
    (
        r#"{"a":{"$gt":1,"$lt":3}}"#,
        &[r#"{"a":2}"#, r#"{"a":[0,5]}"#],
        &[r#"{"a":[5,6]}"#],
    ),
    (
        r#"{"a":{"$elemMatch":{"$gt":1,"$lt":3}}}"#,
        &[r#"{"a":[0,2]}"#],
        &[r#"{"a":[0,5]}"#, r#"{"a":2}"#],
    ),
    (
        r#"{"a":{"$elemMatch":{"b":1,"c":2}}}"#,
        &[r#"{"a":[{"b":1,"c":2}]}"#],
        &[r#"{"a":[{"b":1},{"c":2}]}"#],
    ),
    (
        r#"{"a":{"$elemMatch":{"0":1}}}"#,
        &[r#"{"a":[[1]]}"#],
        &[r#"{"a":[1]}"#],
    ),
    // Documents are equal with their members in order.
    (
        r#"{"a":{"b":1,"c":2}}"#,
        &[r#"{"a":{"b":1,"c":2}}"#],
        &[r#"{"a":{"c":2,"b":1}}"#, r#"{"a":{"b":1,"c":2,"d":3}}"#],
    ),
    // Lists.
    (
        r#"{"a":{"$in":[1,"x",null]}}"#,
        &[r#"{}"#, r#"{"a":[5,"x"]}"#, r#"{"a":1}"#],
        &[r#"{"a":2}"#],
    ),
    (r#"{"a":{"$in":[]}}"#, &[], &[r#"{}"#, r#"{"a":[]}"#]),
    (
        r#"{"a":{"$nin":[1]}}"#,
        &[r#"{}"#, r#"{"a":2}"#],
        &[r#"{"a":[1,2]}"#],
    ),
    (r#"{"a":{"$all":[]}}"#, &[], &[r#"{"a":[]}"#]),
    (
        r#"{"a":{"$all":[1,2]}}"#,
        &[r#"{"a":[2,1,3]}"#],
        &[r#"{"a":[1]}"#],
    ),
    (
        r#"{"a":{"$all":[[1]]}}"#,
        &[r#"{"a":[1]}"#, r#"{"a":[[1]]}"#],
        &[r#"{"a":1}"#],
    ),
    (
        r#"{"a":{"$all":[{"$elemMatch":{"b":1}},{"$elemMatch":{"b":2}}]}}"#,
        &[r#"{"a":[{"b":1},{"b":2}]}"#],
        &[r#"{"a":[{"b":1}]}"#],
    ),
    // Types, sizes, remainders, bits.
    (
        r#"{"a":{"$type":"array"}}"#,
        &[r#"{"a":[]}"#],
        &[r#"{"a":1}"#],
    ),
    (
        r#"{"a":{"$type":["string","number"]}}"#,
        &[r#"{"a":1.5}"#, r#"{"a":[true,"x"]}"#],
        &[r#"{"a":[]}"#, r#"{}"#],
    ),
    (r#"{"a":{"$type":10}}"#, &[r#"{"a":null}"#], &[r#"{}"#]),
    (
        r#"{"a":{"$size":2.0}}"#,
        &[r#"{"a":[1,[2]]}"#],
        &[r#"{"a":[[1,2]]}"#, r#"{"a":2}"#],
    ),
    (
        r#"{"a":{"$mod":[4.9,1.2]}}"#,
        &[r#"{"a":5}"#, r#"{"a":1.9}"#],
        &[r#"{"a":2}"#, r#"{"a":"5"}"#],
    ),
    (
        r#"{"a":{"$bitsAllSet":5}}"#,
        &[r#"{"a":7}"#, r#"{"a":-1}"#],
        &[r#"{"a":4}"#, r#"{"a":5.5}"#],
    ),
    (
        r#"{"a":{"$bitsAnyClear":[0,70]}}"#,
        &[r#"{"a":1}"#],
        &[r#"{"a":-1}"#],
    ),
    // Denial.
    (
        r#"{"a":{"$not":{"$gt":1}}}"#,
        &[r#"{}"#, r#"{"a":1}"#, r#"{"a":"x"}"#],
        &[r#"{"a":[0,2]}"#],
    ),
    (
        r#"{"$nor":[{"a":1},{"b":1}]}"#,
        &[r#"{}"#],
        &[r#"{"b":[1]}"#],
    ),
    (
        r#"{"$or":[{"a":1},{"b":1}],"c":1}"#,
        &[r#"{"b":1,"c":1}"#],
        &[r#"{"b":1}"#],
    ),
    // Patterns.
    (
        r#"{"a":{"$regex":"^A.c$","$options":"i"}}"#,
        &[r#"{"a":"abc"}"#, r#"{"a":["x","abc\n"]}"#],
        &[r#"{"a":"abcd"}"#, r#"{"a":1}"#],
    ),
    (
        r#"{"a":{"$regex":"b(?=c)"}}"#,
        &[r#"{"a":"abc"}"#],
        &[r#"{"a":"abd"}"#],
    ),
    (
        r#"{"a":{"$regex":"^\\d{2}[[:alpha:]]\\w$"}}"#,
        &[r#"{"a":"12ab"}"#],
        &[r#"{"a":"١٢ab"}"#],
    ),
    (
        r#"{"a":{"$not":{"$regex":"x"}}}"#,
        &[r#"{}"#, r#"{"a":1}"#],
        &[r#"{"a":"x"}"#],
    ),
    // References are values.
    (
        r#"{"a":{"$ref":"c","$id":1}}"#,
        &[r#"{"a":{"$ref":"c","$id":1}}"#],
        &[r#"{"a":1}"#],
    ),
    (r#"{}"#, &[r#"{}"#], &[]),
];

fn matches(filter: &str, document: &str) -> bool {
    let filter = Filter::parse(&object(filter), &Options::default()).expect(filter);
    filter.matches(&object(document)).expect("an answer")
}

#[test]
fn every_document_is_on_its_side() {
    for (filter, found, passed) in CASES {
        for document in *found {
            assert!(matches(filter, document), "{filter} finds {document}");
        }
        for document in *passed {
            assert!(!matches(filter, document), "{filter} passes {document}");
        }
    }
}

#[test]
fn mistakes_have_the_codes_that_drivers_know() {
    for (filter, code) in [
        (r#"{"$foo":1}"#, 2),
        (r#"{"a":{"$foo":1}}"#, 2),
        (r#"{"a":{"$gt":1,"b":2}}"#, 2),
        (r#"{"$and":[]}"#, 2),
        (r#"{"$or":[1]}"#, 2),
        (r#"{"a":{"$in":1}}"#, 2),
        (r#"{"a":{"$in":[{"$gt":1}]}}"#, 2),
        (r#"{"a":{"$all":[{"$gt":1}]}}"#, 2),
        (r#"{"a":{"$size":-1}}"#, 2),
        (r#"{"a":{"$size":1.5}}"#, 2),
        (r#"{"a":{"$mod":[0,1]}}"#, 2),
        (r#"{"a":{"$not":{}}}"#, 2),
        (r#"{"a":{"$not":1}}"#, 2),
        (r#"{"a":{"$type":"foo"}}"#, 2),
        (r#"{"a":{"$type":[]}}"#, 9),
        (r#"{"a":{"$bitsAllSet":-1}}"#, 9),
        (r#"{"a":{"$bitsAllSet":[-1]}}"#, 2),
        (r#"{"a":{"$regex":"("}}"#, 51091),
        (r#"{"a":{"$regex":"a","$options":"q"}}"#, 51108),
        (r#"{"a":{"$options":"i"}}"#, 2),
        (r#"{"a":{"$elemMatch":1}}"#, 2),
        (r#"{"a":{"$elemMatch":{"$expr":true}}}"#, 2),
        (r#"{"$where":"1"}"#, 115),
        (r#"{"$text":{"$search":"a"}}"#, 27),
    ] {
        let refused = Filter::parse(&object(filter), &Options::default()).expect_err(filter);
        assert_eq!(refused.code, code, "{filter}: {}", refused.message);
    }
}

#[test]
fn filters_nested_without_end_are_refused() {
    let mut filter = value(r#"{"a":1}"#);
    for _ in 0..1000 {
        let mut outer = Object::new();
        outer.push("$and", vec![filter]);
        filter = Value::Object(outer);
    }
    let filter = filter.into_object().expect("an object");
    assert!(Filter::parse(&filter, &Options::default()).is_err());
}

#[test]
fn the_element_that_matched_is_known() {
    for (filter, document, position) in [
        (r#"{"a":2}"#, r#"{"a":[1,2]}"#, Some(1)),
        (r#"{"a.b":2}"#, r#"{"a":[{"b":1},{"b":[0,2]}]}"#, Some(1)),
        (
            r#"{"a":{"$elemMatch":{"b":1}}}"#,
            r#"{"a":[{},{"b":1}]}"#,
            Some(1),
        ),
        (r#"{"a":2}"#, r#"{"a":2}"#, None),
        // The last condition asked decides, and they are asked by kind; of several ways to match, none does.
        (
            r#"{"a":{"$exists":true,"$regex":"b"}}"#,
            r#"{"a":["a","b"]}"#,
            Some(0),
        ),
        (r#"{"b":1,"a":1}"#, r#"{"a":[1],"b":[0,1]}"#, Some(1)),
        (r#"{"$or":[{"a":1},{"a":2}]}"#, r#"{"a":[1]}"#, None),
        (r#"{"$or":[{"a":1}]}"#, r#"{"a":[0,1]}"#, Some(1)),
        (r#"{"a":{"$not":{"$gt":5}}}"#, r#"{"a":[1]}"#, None),
    ] {
        let filter = Filter::parse(&object(filter), &Options::default()).expect(filter);
        let found = filter
            .match_with_position(&object(document))
            .expect("an answer");
        assert_eq!(found.expect("a match").position, position, "{document}");
    }
}

fn parsed(filter: &str) -> Filter {
    Filter::parse(&object(filter), &Options::default()).expect(filter)
}

#[test]
fn what_matches_lies_within_the_bounds() {
    let documents: Vec<Object> = [
        r#"{}"#,
        r#"{"a":null}"#,
        r#"{"a":1}"#,
        r#"{"a":2.5}"#,
        r#"{"a":"x"}"#,
        r#"{"a":"xy"}"#,
        r#"{"a":[1,5]}"#,
        r#"{"a":[]}"#,
        r#"{"a":[[1]]}"#,
        r#"{"a":{"b":1}}"#,
        r#"{"a":true}"#,
        r#"{"a":["x",9]}"#,
    ]
    .map(object)
    .into();
    for filter in [
        r#"{"a":1}"#,
        r#"{"a":null}"#,
        r#"{"a":{"$gt":1}}"#,
        r#"{"a":{"$gt":0,"$lt":3}}"#,
        r#"{"a":{"$in":[1,"x",[1,5]]}}"#,
        r#"{"a":{"$regex":"^x"}}"#,
        r#"{"a":{"$type":"number"}}"#,
        r#"{"a":[1,5]}"#,
        r#"{"a":{"$elemMatch":{"$gt":4,"$lt":6}}}"#,
        r#"{"$or":[{"a":1},{"a":"x"}]}"#,
        r#"{"a":{"$gte":null}}"#,
        r#"{"$and":[{"a":{"$gt":0}},{"a":{"$lt":9}}]}"#,
        r#"{"a":{"$lte":{"b":1}}}"#,
    ] {
        let filter_text = filter;
        let filter = parsed(filter);
        let bounds = filter.bounds("a", true).expect(filter_text);
        for document in &documents {
            let entries = match document.get("a") {
                None => vec![Value::Null],
                Some(Value::Array(elements)) => elements.clone(),
                Some(other) => vec![other.clone()],
            };
            let inside = entries
                .iter()
                .any(|entry| bounds.iter().any(|interval| interval.contains(entry)));
            let found = filter.matches(document).expect("an answer");
            assert!(
                !found || inside,
                "{filter_text} finds {}",
                common::text(document)
            );
        }
    }
}

#[test]
fn bounds_are_as_narrow_as_an_index_allows() {
    let range = parsed(r#"{"a":{"$gt":1,"$lt":3}}"#);
    let single = range.bounds("a", false).expect("bounds");
    assert_eq!(single.len(), 1);
    assert!(single.iter().all(
        |interval| interval.contains(&Value::Int32(2)) && !interval.contains(&Value::Int32(3))
    ));
    let many = range.bounds("a", true).expect("bounds");
    assert!(
        many.iter()
            .any(|interval| interval.contains(&Value::Int32(5))
                || interval.contains(&Value::Int32(0)))
    );
    assert!(parsed(r#"{"a":{"$ne":1}}"#).bounds("a", false).is_none());
    assert!(parsed(r#"{"b":1}"#).bounds("a", false).is_none());
    assert!(
        parsed(r#"{"a":{"$gt":5},"$and":[{"a":{"$lt":3}}]}"#)
            .bounds("a", false)
            .expect("bounds")
            .is_empty()
    );
    let inner = parsed(r#"{"a":{"$elemMatch":{"b":1}}}"#)
        .bounds("a.b", true)
        .expect("bounds");
    assert!(inner.iter().all(|interval| interval.as_point().is_some()));
}

#[test]
fn an_id_is_known_only_if_there_is_no_choice() {
    let known = |filter| parsed(filter).id_equality().cloned();
    assert!(known(r#"{"_id":1,"a":2}"#).is_some_and(|id| equal_bson(&id, &Value::Int32(1))));
    assert!(known(r#"{"$and":[{"_id":{"$eq":"x"}}]}"#).is_some());
    assert!(known(r#"{"_id":{"$in":[3]}}"#).is_some());
    for open in [
        r#"{"_id":{"$gt":1}}"#,
        r#"{"_id":null}"#,
        r#"{"_id":[1]}"#,
        r#"{"$or":[{"_id":1},{"_id":2}]}"#,
        r#"{"_id":{"$in":[1,2]}}"#,
    ] {
        assert!(known(open).is_none(), "{open}");
    }
}
