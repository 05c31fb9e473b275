//! `$geoWithin`, `$geoIntersects`, `$near` and `$jsonSchema`: each case was checked against a real server.

use crate::common::{object, value};
use lapsedb_mql::filter::{Filter, Options};

const PLACES: [&str; 8] = [
    r#"{"_id":1,"p":{"type":"Point","coordinates":[0,0]}}"#,
    r#"{"_id":2,"p":[1,1]}"#,
    r#"{"_id":3,"p":{"x":5,"y":5}}"#,
    r#"{"_id":4,"p":{"type":"LineString","coordinates":[[0,0],[10,10]]}}"#,
    r#"{"_id":5,"p":[[0.5,0.5],[50,50]]}"#,
    r#"{"_id":6,"p":5}"#,
    r#"{"_id":7,"p":{"type":"Polygon","coordinates":[[[0,0],[0,2],[2,2],[2,0],[0,0]]]}}"#,
    r#"{"_id":8}"#,
];

fn ids(filter: &str, documents: &[&str]) -> Vec<i64> {
    let filter = Filter::parse(&object(filter), &Options::default()).expect(filter);
    let documents = documents.iter().map(|text| object(text));
    let found = documents.filter(|document| filter.matches(document).expect("an answer"));
    found
        .filter_map(|document| document.get("_id")?.as_i64())
        .collect()
}

#[test]
fn places_lie_in_areas() {
    let area = r#"{"type":"Polygon","coordinates":[[[-1,-1],[-1,6],[6,6],[6,-1],[-1,-1]]]}"#;
    let cases: &[(&str, String, &[i64])] = &[
        (
            "$geoWithin",
            format!(r#"{{"$geometry":{area}}}"#),
            &[1, 2, 3, 5, 7],
        ),
        (
            "$geoIntersects",
            format!(r#"{{"$geometry":{area}}}"#),
            &[1, 2, 3, 4, 5, 7],
        ),
        ("$geoWithin", r#"{"$box":[[0,0],[2,2]]}"#.into(), &[1, 2, 5]),
        (
            "$geoWithin",
            r#"{"$polygon":[[0,0],[0,6],[6,6],[6,0]]}"#.into(),
            &[1, 2, 3, 5],
        ),
        ("$geoWithin", r#"{"$center":[[0,0],2]}"#.into(), &[1, 2, 5]),
        (
            "$geoWithin",
            r#"{"$centerSphere":[[0,0],0.03]}"#.into(),
            &[1, 2, 5],
        ),
        (
            "$geoIntersects",
            r#"{"$geometry":{"type":"Point","coordinates":[1,1]}}"#.into(),
            &[2, 7],
        ),
        (
            "$geoIntersects",
            r#"{"$geometry":{"type":"LineString","coordinates":[[0,1],[1,0]]}}"#.into(),
            &[4, 7],
        ),
    ];
    for (operator, argument, expected) in cases {
        let filter = format!(r#"{{"p":{{"{operator}":{argument}}}}}"#);
        assert_eq!(ids(&filter, &PLACES), *expected, "{filter}");
    }
}

#[test]
fn distances_are_measured_on_the_sphere() {
    let filter = r#"{"p":{"$near":{"$geometry":{"type":"Point","coordinates":[0,0]},"$maxDistance":200000,"$minDistance":1000}}}"#;
    assert_eq!(ids(filter, &PLACES), [2, 5]);
    let filter = Filter::parse(&object(filter), &Options::default()).expect("a filter");
    let (path, near) = filter.near().expect("it sorts");
    assert_eq!(path.text(), "p");
    let distance = near.distance(&value("[1,0]")).expect("a distance");
    assert!((distance - 111_318.8).abs() < 1.0, "{distance}");
}

#[test]
fn places_that_are_none_are_refused() {
    for filter in [
        r#"{"p":{"$geoWithin":{"$foo":1}}}"#,
        r#"{"p":{"$geoWithin":5}}"#,
        r#"{"p":{"$geoWithin":{"$geometry":{"type":"Point","coordinates":[1,1]}}}}"#,
        r#"{"p":{"$geoIntersects":{"$box":[[0,0],[1,1]]}}}"#,
        r#"{"p":{"$geoWithin":{"$geometry":{"type":"Polygon","coordinates":[[[0,0],[1,1],[2,2]]]}}}}"#,
        r#"{"p":{"$geoIntersects":{"$geometry":{"type":"Point","coordinates":[0,91]}}}}"#,
    ] {
        assert_eq!(
            Filter::parse(&object(filter), &Options::default())
                .expect_err(filter)
                .code,
            2,
            "{filter}"
        );
    }
}

const SHAPES: [&str; 6] = [
    r#"{"_id":1,"a":1,"b":"x"}"#,
    r#"{"_id":2,"a":"s"}"#,
    r#"{"_id":3}"#,
    r#"{"_id":4,"a":[1,1]}"#,
    r#"{"_id":5,"a":{"c":1}}"#,
    r#"{"_id":6,"a":2.5}"#,
];

#[test]
fn schemas_ask_only_what_they_speak_of() {
    let cases: &[(&str, &[i64])] = &[
        (r#"{"required":["a"]}"#, &[1, 2, 4, 5, 6]),
        (r#"{"properties":{"a":{"bsonType":"int"}}}"#, &[1, 3]),
        (
            r#"{"properties":{"a":{"type":"number","minimum":2}}}"#,
            &[3, 6],
        ),
        (
            r#"{"properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}"#,
            &[2, 3, 4, 5, 6],
        ),
        (
            r#"{"properties":{"a":{"uniqueItems":true}}}"#,
            &[1, 2, 3, 5, 6],
        ),
        (
            r#"{"properties":{"a":{"items":[{}],"additionalItems":false}}}"#,
            &[1, 2, 3, 5, 6],
        ),
        (
            r#"{"additionalProperties":false,"properties":{"_id":{},"a":{}}}"#,
            &[2, 3, 4, 5, 6],
        ),
        (
            r#"{"patternProperties":{"^a":{"bsonType":"string"}}}"#,
            &[2, 3],
        ),
        (r#"{"minProperties":2,"maxProperties":2}"#, &[2, 4, 5, 6]),
        (r#"{"not":{"required":["a"]}}"#, &[3]),
        (
            r#"{"oneOf":[{"required":["a"]},{"required":["b"]}]}"#,
            &[2, 4, 5, 6],
        ),
        (
            r#"{"properties":{"a":{"enum":[1,"s",[1,1]]}}}"#,
            &[1, 2, 3, 4],
        ),
        (
            r#"{"properties":{"a":{"multipleOf":2.5}}}"#,
            &[2, 3, 4, 5, 6],
        ),
        (r#"{"properties":{"a":{"maxLength":0}}}"#, &[1, 3, 4, 5, 6]),
        (r#"{"dependencies":{"a":["b"]}}"#, &[1, 3]),
    ];
    for (schema, expected) in cases {
        assert_eq!(
            ids(&format!(r#"{{"$jsonSchema":{schema}}}"#), &SHAPES),
            *expected,
            "{schema}"
        );
    }
}

#[test]
fn schemas_with_mistakes_are_refused() {
    for (schema, code) in [
        (r#"{"foo":1}"#, 9),
        (r#"{"$ref":1}"#, 9),
        (r#"{"type":"integer"}"#, 9),
        (r#"{"bsonType":"foo"}"#, 2),
        (r#"{"required":[]}"#, 9),
        (r#"{"required":"a"}"#, 14),
        (r#"{"minimum":"x"}"#, 14),
        (r#"{"exclusiveMinimum":true}"#, 9),
        (r#"{"allOf":[]}"#, 2),
    ] {
        let filter = object(&format!(r#"{{"$jsonSchema":{schema}}}"#));
        assert_eq!(
            Filter::parse(&filter, &Options::default())
                .expect_err(schema)
                .code,
            code,
            "{schema}"
        );
    }
}
