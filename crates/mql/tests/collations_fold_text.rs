//! Text compared as a language does.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::common::object;
use lapsedb_mql::collation::Collation;
use lapsedb_mql::filter::{Filter, Options};
use lapsedb_value::Value;

fn collation(spec: &str) -> Collation {
    Collation::parse(&object(spec))
        .expect(spec)
        .expect("not simple")
}

fn compare(spec: &str, a: &str, b: &str) -> Ordering {
    let collation = collation(spec);
    collation.key(a).as_bytes().cmp(collation.key(b).as_bytes())
}

#[test]
fn strength_says_what_counts() {
    let en = |strength: u8| format!(r#"{{"locale":"en","strength":{strength}}}"#);
    assert_eq!(compare(&en(1), "Resume", "résumé"), Ordering::Equal);
    assert_eq!(compare(&en(2), "resume", "RESUME"), Ordering::Equal);
    assert_eq!(compare(&en(2), "resume", "résumé"), Ordering::Less);
    assert_eq!(compare(&en(3), "a", "A"), Ordering::Less);
    assert_eq!(compare(&en(3), "A", "b"), Ordering::Less);
    assert_eq!(compare(&en(3), "a b", "ab"), Ordering::Less);
    assert_eq!(compare(&en(3), "_", "1"), Ordering::Less);
    assert_eq!(compare(&en(3), "9", "a"), Ordering::Less);
    assert_eq!(
        compare(r#"{"locale":"en","strength":1,"caseLevel":true}"#, "é", "E"),
        Ordering::Less
    );
    assert_eq!(
        compare(r#"{"locale":"en","caseFirst":"upper"}"#, "A", "a"),
        Ordering::Less
    );
}

#[test]
fn digits_may_count_by_their_value() {
    let numeric = r#"{"locale":"en","numericOrdering":true}"#;
    assert_eq!(compare(numeric, "a2", "a10"), Ordering::Less);
    assert_eq!(
        compare(r#"{"locale":"en"}"#, "a2", "a10"),
        Ordering::Greater
    );
    assert_eq!(
        compare(
            r#"{"locale":"en","alternate":"shifted","strength":1}"#,
            "a-b",
            "ab"
        ),
        Ordering::Equal
    );
}

#[test]
fn filters_compare_by_their_collation() {
    let options = Options {
        collation: Some(Arc::new(collation(r#"{"locale":"en","strength":2}"#))),
        ..Options::default()
    };
    let finds = |filter: &str, document: &str| {
        let filter = Filter::parse(&object(filter), &options).expect(filter);
        filter.matches(&object(document)).expect("an answer")
    };
    assert!(finds(r#"{"a":"ABC"}"#, r#"{"a":"abc"}"#));
    assert!(finds(r#"{"a":{"$in":["x","ABC"]}}"#, r#"{"a":["abc"]}"#));
    assert!(finds(r#"{"a":{"b":"ABC"}}"#, r#"{"a":{"b":"abc"}}"#));
    assert!(finds(r#"{"a":{"$lt":"B"}}"#, r#"{"a":"a"}"#));
    assert!(!finds(r#"{"a":{"$regex":"ABC"}}"#, r#"{"a":"abc"}"#));
}

#[test]
fn unknown_locales_and_options_are_refused() {
    for (spec, code) in [
        (r#"{"locale":"xx"}"#, 2),
        (r#"{"strength":1}"#, 40414),
        (r#"{"locale":"en","strength":9}"#, 2),
        (r#"{"locale":"en","foo":1}"#, 40415),
        (r#"{"locale":"en","caseLevel":1}"#, 14),
    ] {
        assert_eq!(
            Collation::parse(&object(spec)).expect_err(spec).code,
            code,
            "{spec}"
        );
    }
    assert!(
        Collation::parse(&object(r#"{"locale":"simple"}"#))
            .expect("simple")
            .is_none()
    );
    let shown = Value::Object(collation(r#"{"locale":"fr"}"#).to_object()).to_string();
    assert!(
        shown.starts_with(r#"{"locale":"fr","caseLevel":false,"caseFirst":"off","strength":3"#),
        "{shown}"
    );
}

#[test]
fn expressions_compare_by_it() {
    let options = |spec: &str| Options {
        collation: Some(Arc::new(collation(spec))),
        ..Options::default()
    };
    let fits = |options: &Options, expression: &str| {
        let filter = object(&format!(r#"{{"$expr":{expression}}}"#));
        let filter = Filter::parse(&filter, options).expect(expression);
        let document = object(r#"{"s":"Résumé","n":"a10","l":["x","B"],"o":{"k":"A"}}"#);
        filter.matches(&document).expect(expression)
    };
    let (first, digits) = (
        options(r#"{"locale":"en","strength":1}"#),
        options(r#"{"locale":"en","numericOrdering":true}"#),
    );
    for expression in [
        r#"{"$eq":["$s","resume"]}"#,
        r#"{"$lt":["$s","Z"]}"#,
        r#"{"$in":["b","$l"]}"#,
        r#"{"$eq":["$o",{"k":"a"}]}"#,
        r#"{"$setIsSubset":[["b"],"$l"]}"#,
        r#"{"$setEquals":[["X","b"],"$l"]}"#,
        r#"{"$eq":[{"$indexOfArray":["$l","b"]},1]}"#,
        r#"{"$not":{"$ne":["RESUME","$s"]}}"#,
    ] {
        assert!(fits(&first, expression), "{expression}");
        assert!(!fits(&Options::default(), expression) || expression.contains("$lt"));
    }
    assert!(fits(&digits, r#"{"$gt":["$n","a9"]}"#));
    assert!(!fits(&Options::default(), r#"{"$gt":["$n","a9"]}"#));
}
