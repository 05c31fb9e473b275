//! Projections, sorts and distinct values: each case was checked against a real server.

use std::sync::Arc;

use crate::common::{object, text};
use lapsedb_mql::collation::Collation;
use lapsedb_mql::distinct::Distinct;
use lapsedb_mql::filter::{Filter, Options};
use lapsedb_mql::projection::Projection;
use lapsedb_mql::sort::Sort;
use lapsedb_mql::{MqlError, Result};
use lapsedb_value::{Object, Value};

const DOCUMENT: &str = r#"{"_id":1,"a":1,"r":[1,2,3],"q":[{"b":1,"c":2},{"b":2},5,[{"b":9}]],"o":{"x":1,"y":{"z":2}}}"#;

fn show(filter: &str, projection: &str) -> Result<String> {
    let options = Options::default();
    let filter = Filter::parse(&object(filter), &options)?;
    let projection = Projection::parse(&object(projection), &options)?;
    let document = object(DOCUMENT);
    let found = filter.match_with_position(&document)?.expect("a match");
    Ok(text(&projection.apply(document, found, None)?))
}

#[test]
fn fields_are_kept_dropped_and_computed() {
    for (projection, expected) in [
        (r#"{}"#, DOCUMENT),
        (
            r#"{"o":1,"a":1}"#,
            r#"{"_id":1,"a":1,"o":{"x":1,"y":{"z":2}}}"#,
        ),
        (r#"{"_id":0,"a":true}"#, r#"{"a":1}"#),
        (r#"{"q":0,"o":0,"r":0}"#, r#"{"_id":1,"a":1}"#),
        (r#"{"_id":1}"#, r#"{"_id":1}"#),
        (
            r#"{"q.b":1}"#,
            r#"{"_id":1,"q":[{"b":1},{"b":2},[{"b":9}]]}"#,
        ),
        (
            r#"{"q.b":0,"r":0,"o":0}"#,
            r#"{"_id":1,"a":1,"q":[{"c":2},{},5,[{}]]}"#,
        ),
        (r#"{"o":{"y":{"z":1}}}"#, r#"{"_id":1,"o":{"y":{"z":2}}}"#),
        (r#"{"n":"$o.x","a":1}"#, r#"{"_id":1,"a":1,"n":1}"#),
        (r#"{"n":"text"}"#, r#"{"_id":1,"n":"text"}"#),
        (
            r#"{"q.n":"$a"}"#,
            r#"{"_id":1,"q":[{"n":1},{"n":1},{"n":1},[{"n":1}]]}"#,
        ),
        (
            r#"{"r":{"$slice":-2},"a":1}"#,
            r#"{"_id":1,"a":1,"r":[2,3]}"#,
        ),
        (
            r#"{"r":{"$slice":[1,1]},"q":0,"o":0}"#,
            r#"{"_id":1,"a":1,"r":[2]}"#,
        ),
        (
            r#"{"q":{"$elemMatch":{"b":2}}}"#,
            r#"{"_id":1,"q":[{"b":2}]}"#,
        ),
        (
            r#"{"q":{"$elemMatch":{"b":7}},"a":1}"#,
            r#"{"_id":1,"a":1}"#,
        ),
        (
            r#"{"q":{"$elemMatch":{"b":2}},"o":0}"#,
            r#"{"_id":1,"a":1,"r":[1,2,3],"q":[{"b":2}]}"#,
        ),
    ] {
        assert_eq!(
            show("{}", projection).expect(projection),
            expected,
            "{projection}"
        );
    }
}

#[test]
fn the_element_that_matched_is_shown() {
    for (filter, projection, expected) in [
        (r#"{"r":2}"#, r#"{"r.$":1}"#, r#"{"_id":1,"r":[2]}"#),
        (
            r#"{"q.b":2}"#,
            r#"{"q.$":1,"a":1}"#,
            r#"{"_id":1,"a":1,"q":[{"b":2}]}"#,
        ),
        (r#"{"r":2}"#, r#"{"a.$":1}"#, r#"{"_id":1,"a":1}"#),
    ] {
        assert_eq!(
            show(filter, projection).expect(projection),
            expected,
            "{projection}"
        );
    }
}

#[test]
fn projections_that_contradict_themselves_are_refused() {
    for (projection, code) in [
        (r#"{"a":1,"r":0}"#, 31254),
        (r#"{"a":0,"r":1}"#, 31253),
        (r#"{"a":0,"n":"$a"}"#, 31310),
        (r#"{"a":1,"a.b":1}"#, 31249),
        (r#"{"a.b":1,"a":1}"#, 31250),
        (r#"{"o":{}}"#, 51270),
        (r#"{"":1}"#, 40352),
        (r#"{"a..b":1}"#, 15998),
        (r#"{"$a":1}"#, 16410),
        (r#"{"a":{"$foo":1}}"#, 31325),
        (r#"{"q.b":{"$elemMatch":{"x":1}}}"#, 31275),
        (r#"{"q":{"$elemMatch":5}}"#, 31274),
        (r#"{"r.$":1}"#, 51246),
        (r#"{"r.$":0}"#, 31395),
        (r#"{"r.$.x":1}"#, 31394),
        (r#"{"r.$":1,"q.$":1}"#, 31276),
        (r#"{"r.$":1,"q":{"$elemMatch":{"b":1}}}"#, 31255),
        (r#"{"s":{"$meta":"textScore"}}"#, 40218),
    ] {
        let refused = show("{}", projection).expect_err(projection);
        assert_eq!(refused.code, code, "{projection}: {}", refused.message);
    }
}

fn sorted(sort: &str, documents: &[&str]) -> Result<Vec<String>> {
    let mut documents: Vec<Object> = documents.iter().map(|text| object(text)).collect();
    Sort::parse(&object(sort))?.order(&mut documents)?;
    Ok(documents.iter().map(text).collect())
}

#[test]
fn arrays_sort_by_their_least_or_greatest_element() {
    for (sort, expected) in [
        (
            r#"{"a":1}"#,
            [
                r#"{"a":[]}"#,
                r#"{}"#,
                r#"{"a":[5,1]}"#,
                r#"{"a":2}"#,
                r#"{"a":"x"}"#,
            ],
        ),
        (
            r#"{"a":-1}"#,
            [
                r#"{"a":"x"}"#,
                r#"{"a":[5,1]}"#,
                r#"{"a":2}"#,
                r#"{}"#,
                r#"{"a":[]}"#,
            ],
        ),
    ] {
        let mut shuffled = expected;
        shuffled.reverse();
        assert_eq!(sorted(sort, &shuffled).expect(sort), expected);
    }
}

#[test]
fn arrays_side_by_side_cannot_be_sorted_by() {
    let code = |sort: &str, document: &str| {
        sorted(sort, &[document]).map_err(|error: MqlError| error.code)
    };
    assert_eq!(code(r#"{"a":1,"b":1}"#, r#"{"a":[1],"b":[2]}"#), Err(2));
    assert_eq!(code(r#"{"a.0":1,"b":1}"#, r#"{"a":[1],"b":[2]}"#), Err(2));
    assert_eq!(code(r#"{"a.0":1}"#, r#"{"a":[{"0":1}]}"#), Err(16746));
    assert!(code(r#"{"a.b":1,"a.c":1}"#, r#"{"a":[{"b":1,"c":2}]}"#).is_ok());
}

#[test]
fn text_sorts_by_its_collation() {
    let collation = Collation::parse(&object(r#"{"locale":"en","numericOrdering":true}"#))
        .expect("a collation");
    let sort = Sort::parse(&object(r#"{"a":1}"#))
        .expect("a sort")
        .with_collation(collation.map(Arc::new));
    let mut documents: Vec<Object> = ["b10", "B2", "a"]
        .map(|a| object(&format!(r#"{{"a":"{a}"}}"#)))
        .into();
    sort.order(&mut documents).expect("an order");
    let order: Vec<String> = documents.iter().map(text).collect();
    assert_eq!(order, [r#"{"a":"a"}"#, r#"{"a":"B2"}"#, r#"{"a":"b10"}"#]);
}

#[test]
fn distinct_values_come_once_and_in_order() {
    for (key, documents, expected) in [
        (
            "a",
            &[
                r#"{"a":2}"#,
                r#"{"a":[1,2.0,[3]]}"#,
                r#"{}"#,
                r#"{"a":null}"#,
            ][..],
            "[null,1,2,[3]]",
        ),
        (
            "a.b",
            &[r#"{"a":[{"b":1},{"b":[2]}]}"#, r#"{"a":{"b":0}}"#],
            "[0,1,2]",
        ),
        (
            "a.0",
            &[r#"{"a":[7,8]}"#, r#"{"a":[{"0":5}]}"#],
            r#"[7,{"0":5}]"#,
        ),
        ("a.b", &[r#"{"a":[[{"b":1}]]}"#], "[]"),
    ] {
        let mut distinct = Distinct::new(key, None);
        documents
            .iter()
            .for_each(|document| distinct.add(&object(document)));
        assert_eq!(
            Value::Array(distinct.into_values()).to_string(),
            expected,
            "{key}"
        );
    }
}
