//! Updates: each case was checked against a real server.

use std::sync::Arc;

use crate::common::{object, text, value};
use lapsedb_mql::expressions::Env;
use lapsedb_mql::filter::{Filter, Options};
use lapsedb_mql::update::{Described, Update, Updated};
use lapsedb_mql::{MqlError, Result};
use lapsedb_value::{Object, Value};

const NOW: i64 = 1_600_000_000_000;

fn options() -> Options {
    Options {
        env: Arc::new(Env::new(NOW, 1)),
        ..Options::default()
    }
}

fn run(document: &str, filter: &str, update: &str, array_filters: &[&str]) -> Result<Updated> {
    let filters: Vec<Object> = array_filters.iter().map(|text| object(text)).collect();
    let update = Update::parse(&value(update), &filters, &options())?;
    let filter = Filter::parse(&object(filter), &options())?;
    let document = object(document);
    let found = filter.match_with_position(&document)?.expect("a match");
    update.apply(&document, found)
}

/// A document, an update, and what it becomes; nothing if it is not modified.
const CASES: &[(&str, &str, Option<&str>)] = &[
    (
        r#"{"_id":1}"#,
        r#"{"$set":{"b.c":1,"a":2,"10":1,"9":1}}"#,
        Some(r#"{"_id":1,"9":1,"10":1,"a":2,"b":{"c":1}}"#),
    ),
    (
        r#"{"_id":1,"a":{"x":1}}"#,
        r#"{"$set":{"a.y":2}}"#,
        Some(r#"{"_id":1,"a":{"x":1,"y":2}}"#),
    ),
    (
        r#"{"_id":1}"#,
        r#"{"$set":{"a.0":9}}"#,
        Some(r#"{"_id":1,"a":{"0":9}}"#),
    ),
    (
        r#"{"_id":1,"a":[1]}"#,
        r#"{"$set":{"a.3":9}}"#,
        Some(r#"{"_id":1,"a":[1,null,null,9]}"#),
    ),
    (r#"{"_id":1,"a":1}"#, r#"{"$set":{"a":1}}"#, None),
    (r#"{"_id":1,"a":1}"#, r#"{"$set":{}}"#, None),
    (r#"{"_id":1,"a":1}"#, r#"{"$set":{"_id":1}}"#, None),
    (
        r#"{"_id":1,"a":1,"b":2}"#,
        r#"{"$unset":{"a":1,"x.y":1}}"#,
        Some(r#"{"_id":1,"b":2}"#),
    ),
    (
        r#"{"_id":1,"a":[1,2]}"#,
        r#"{"$unset":{"a.0":1}}"#,
        Some(r#"{"_id":1,"a":[null,2]}"#),
    ),
    (r#"{"_id":1,"a":"s"}"#, r#"{"$unset":{"a.b":1}}"#, None),
    (
        r#"{"_id":1,"a":1}"#,
        r#"{"$inc":{"a":2,"b":5}}"#,
        Some(r#"{"_id":1,"a":3,"b":5}"#),
    ),
    (r#"{"_id":1,"a":1}"#, r#"{"$inc":{"a":0}}"#, None),
    (
        r#"{"_id":1,"a":2147483647}"#,
        r#"{"$inc":{"a":1}}"#,
        Some(r#"{"_id":1,"a":2147483648}"#),
    ),
    (
        r#"{"_id":1,"a":3}"#,
        r#"{"$mul":{"a":2,"b":5}}"#,
        Some(r#"{"_id":1,"a":6,"b":0}"#),
    ),
    (
        r#"{"_id":1,"a":5}"#,
        r#"{"$min":{"a":3,"b":1}}"#,
        Some(r#"{"_id":1,"a":3,"b":1}"#),
    ),
    (r#"{"_id":1,"a":5}"#, r#"{"$min":{"a":"x"}}"#, None),
    (
        r#"{"_id":1,"a":5}"#,
        r#"{"$max":{"a":"x"}}"#,
        Some(r#"{"_id":1,"a":"x"}"#),
    ),
    (
        r#"{"_id":1,"a":1,"b":2}"#,
        r#"{"$rename":{"a":"c"}}"#,
        Some(r#"{"_id":1,"b":2,"c":1}"#),
    ),
    (
        r#"{"_id":1,"a":1,"b":2}"#,
        r#"{"$rename":{"a":"b"}}"#,
        Some(r#"{"_id":1,"b":1}"#),
    ),
    (r#"{"_id":1,"b":2}"#, r#"{"$rename":{"a":"b"}}"#, None),
    (
        r#"{"_id":1,"o":{"x":1}}"#,
        r#"{"$rename":{"o.x":"x"}}"#,
        Some(r#"{"_id":1,"o":{},"x":1}"#),
    ),
    (
        r#"{"_id":1,"a":[1]}"#,
        r#"{"$push":{"a":[2],"b":3}}"#,
        Some(r#"{"_id":1,"a":[1,[2]],"b":[3]}"#),
    ),
    (
        r#"{"_id":1,"a":[1,2,3]}"#,
        r#"{"$push":{"a":{"$each":[0,9],"$position":1,"$slice":-3,"$sort":1}}}"#,
        Some(r#"{"_id":1,"a":[2,3,9]}"#),
    ),
    (
        r#"{"_id":1,"a":[{"b":2},{"b":1},5]}"#,
        r#"{"$push":{"a":{"$each":[],"$sort":{"b":1}}}}"#,
        Some(r#"{"_id":1,"a":[5,{"b":1},{"b":2}]}"#),
    ),
    (
        r#"{"_id":1,"a":[1,2]}"#,
        r#"{"$push":{"a":{"$each":[7],"$position":-1}}}"#,
        Some(r#"{"_id":1,"a":[1,7,2]}"#),
    ),
    (
        r#"{"_id":1,"a":[1]}"#,
        r#"{"$push":{"a":{"$position":0}}}"#,
        Some(r#"{"_id":1,"a":[1,{"$position":0}]}"#),
    ),
    (
        r#"{"_id":1,"a":[1]}"#,
        r#"{"$addToSet":{"a":{"$each":[1.0,2,2]}}}"#,
        Some(r#"{"_id":1,"a":[1,2]}"#),
    ),
    (r#"{"_id":1,"a":[1]}"#, r#"{"$addToSet":{"a":1}}"#, None),
    (
        r#"{"_id":1}"#,
        r#"{"$addToSet":{"a":{"$each":[]}}}"#,
        Some(r#"{"_id":1,"a":[]}"#),
    ),
    (
        r#"{"_id":1,"a":[1,2,3]}"#,
        r#"{"$pull":{"a":{"$gt":1}}}"#,
        Some(r#"{"_id":1,"a":[1]}"#),
    ),
    (
        r#"{"_id":1,"a":[{"b":1,"c":1},{"b":2},1]}"#,
        r#"{"$pull":{"a":{"b":1}}}"#,
        Some(r#"{"_id":1,"a":[{"b":2},1]}"#),
    ),
    (
        r#"{"_id":1,"a":[1,[1],[2]]}"#,
        r#"{"$pull":{"a":[1]}}"#,
        Some(r#"{"_id":1,"a":[1,[2]]}"#),
    ),
    (
        r#"{"_id":1,"a":[1,2,1]}"#,
        r#"{"$pullAll":{"a":[1.0,5]}}"#,
        Some(r#"{"_id":1,"a":[2]}"#),
    ),
    (
        r#"{"_id":1}"#,
        r#"{"$pull":{"a":1},"$pop":{"b":1},"$pullAll":{"c":[1]}}"#,
        None,
    ),
    (
        r#"{"_id":1,"a":[1,2,3]}"#,
        r#"{"$pop":{"a":-1}}"#,
        Some(r#"{"_id":1,"a":[2,3]}"#),
    ),
    (r#"{"_id":1,"a":[]}"#, r#"{"$pop":{"a":1}}"#, None),
    (
        r#"{"_id":1,"a":5}"#,
        r#"{"$bit":{"a":{"and":4,"or":3},"b":{"xor":6}}}"#,
        Some(r#"{"_id":1,"a":7,"b":6}"#),
    ),
    (r#"{"_id":1,"a":5}"#, r#"{"$setOnInsert":{"b":1}}"#, None),
    (
        r#"{"_id":1,"a":[{"b":1},{"b":2}]}"#,
        r#"{"$set":{"a.$[].b":5}}"#,
        Some(r#"{"_id":1,"a":[{"b":5},{"b":5}]}"#),
    ),
    (
        r#"{"_id":1,"a":1}"#,
        r#"{"$currentDate":{"a":true}}"#,
        Some(r#"{"_id":1,"a":{"$date":"2020-09-13T12:26:40Z"}}"#),
    ),
    (
        r#"{"_id":1,"a":1}"#,
        r#"{"b":2}"#,
        Some(r#"{"_id":1,"b":2}"#),
    ),
    (r#"{"_id":1,"a":1}"#, r#"{"_id":1,"a":1}"#, None),
    (
        r#"{"_id":1,"a":1}"#,
        r#"[{"$set":{"b":"$a"}},{"$unset":"a"}]"#,
        Some(r#"{"_id":1,"b":1}"#),
    ),
    (r#"{"_id":1,"a":1}"#, r#"[{"$set":{"a":1}}]"#, None),
    (
        r#"{"_id":1,"o":{"x":2}}"#,
        r#"[{"$replaceWith":"$o"}]"#,
        Some(r#"{"_id":1,"x":2}"#),
    ),
];

#[test]
fn documents_become_what_they_should() {
    for (document, update, expected) in CASES {
        let updated = run(document, "{}", update, &[]).expect(update);
        assert_eq!(
            updated.modified,
            expected.is_some(),
            "{update} on {document}"
        );
        assert_eq!(
            text(&updated.document),
            expected.unwrap_or(document).to_string(),
            "{update} on {document}"
        );
    }
}

#[test]
fn positions_come_from_the_filter_and_from_array_filters() {
    let cases: &[(&str, &str, &str, &[&str], &str)] = &[
        (
            r#"{"a":[1,2,3]}"#,
            r#"{"a":2}"#,
            r#"{"$set":{"a.$":9}}"#,
            &[],
            r#"{"a":[1,9,3]}"#,
        ),
        (
            r#"{"a":[{"b":1},{"b":2}]}"#,
            r#"{"a.b":2}"#,
            r#"{"$inc":{"a.$.b":5}}"#,
            &[],
            r#"{"a":[{"b":1},{"b":7}]}"#,
        ),
        (
            r#"{"a":[1,2,3]}"#,
            "{}",
            r#"{"$set":{"a.$[x]":0}}"#,
            &[r#"{"x":{"$gte":2}}"#],
            r#"{"a":[1,0,0]}"#,
        ),
        (
            r#"{"a":[{"b":[1,5]},{"b":[7]}]}"#,
            "{}",
            r#"{"$set":{"a.$[].b.$[y]":0}}"#,
            &[r#"{"y":{"$gt":4}}"#],
            r#"{"a":[{"b":[1,0]},{"b":[0]}]}"#,
        ),
        (
            r#"{"a":[{"b":1,"c":1},{"b":2}]}"#,
            "{}",
            r#"{"$unset":{"a.$[e].c":1},"$set":{"a.$[e].d":3}}"#,
            &[r#"{"e.b":1}"#],
            r#"{"a":[{"b":1,"d":3},{"b":2}]}"#,
        ),
        (
            r#"{"a":[1,2]}"#,
            r#"{"a":1}"#,
            r#"{"$set":{"a.$":9,"a.1":8}}"#,
            &[],
            r#"{"a":[9,8]}"#,
        ),
    ];
    for (document, filter, update, filters, expected) in cases {
        let updated = run(document, filter, update, filters).expect(update);
        assert_eq!(text(&updated.document), *expected, "{update}");
    }
}

fn refusal(document: &str, update: &str, filters: &[&str]) -> MqlError {
    run(document, "{}", update, filters).expect_err(update)
}

#[test]
fn mistakes_have_the_codes_that_drivers_know() {
    let document = r#"{"_id":1,"a":1,"s":"x","n":null,"r":[1,2,3],"big":9223372036854775807}"#;
    for (update, code) in [
        (r#"{"$set":{"s.x":1}}"#, 28),
        (r#"{"$set":{"r.x":1}}"#, 28),
        (r#"{"$pop":{"s.x":1}}"#, 28),
        (r#"{"$set":{"r.1500010":1}}"#, 34),
        (r#"{"$set":{"_id":2}}"#, 66),
        (r#"{"$unset":{"_id":1}}"#, 66),
        (r#"{"$rename":{"a":"_id"}}"#, 66),
        (r#"{"_id":2}"#, 66),
        (r#"{"$set":{"":1}}"#, 56),
        (r#"{"$set":{"a..b":1}}"#, 56),
        (r#"{"$set":{"$a":1}}"#, 52),
        (r#"{"a":1,"$b":1}"#, 52),
        (r#"{"$set":{"a":1,"a.b":2}}"#, 40),
        (r#"{"$set":{"a":1},"$inc":{"a":1}}"#, 40),
        (r#"{"$set":{"r.$[]":1,"r.0":2}}"#, 40),
        (r#"{"$set":1}"#, 9),
        (r#"{"$foo":{"a":1}}"#, 9),
        (r#"{"$set":{"a":1},"b":2}"#, 9),
        (r#"{"$inc":{"s":1}}"#, 14),
        (r#"{"$inc":{"n":1}}"#, 14),
        (r#"{"$inc":{"a":"x"}}"#, 14),
        (r#"{"$rename":{"a":"a"}}"#, 2),
        (r#"{"$rename":{"r.0":"z"}}"#, 2),
        (r#"{"$rename":{"a":"r.0"}}"#, 2),
        (r#"{"$push":{"a":1}}"#, 2),
        (r#"{"$push":{"r":{"$each":1}}}"#, 2),
        (r#"{"$addToSet":{"a":1}}"#, 2),
        (r#"{"$addToSet":{"r":{"$each":1}}}"#, 14),
        (r#"{"$pull":{"a":1}}"#, 2),
        (r#"{"$pop":{"r":2}}"#, 9),
        (r#"{"$pop":{"a":1}}"#, 14),
        (r#"{"$bit":{"a":{"or":1.5}}}"#, 2),
        (r#"{"$currentDate":{"a":1}}"#, 2),
        (r#"{"$set":{"r.$":1}}"#, 2),
        (r#"{"$set":{"a.$[]":1}}"#, 2),
        (r#"{"$set":{"zz.$[]":1}}"#, 2),
        (r#"{"$set":{"r.$[x]":1}}"#, 2),
        (r#"{"$set":{"$.a":1}}"#, 2),
        (r#"{"$set":{"r.$.$":1}}"#, 2),
        (r#"[{"$set":{"_id":2}}]"#, 66),
        (r#"[{"$match":{}}]"#, 72),
        (r#"[{"$foo":1}]"#, 40324),
    ] {
        let refused = refusal(document, update, &[]);
        assert_eq!(refused.code, code, "{update}: {}", refused.message);
    }
    for (filters, code) in [
        (&[r#"{"x":1}"#, r#"{"y":1}"#][..], 9),
        (&[r#"{"x":1}"#, r#"{"x":2}"#], 9),
        (&[r#"{"x":1,"y":2}"#], 9),
        (&[r#"{}"#], 9),
        (&[r#"{"X":1}"#], 2),
    ] {
        assert_eq!(
            refusal(document, r#"{"$set":{"r.$[x]":1}}"#, filters).code,
            code,
            "{filters:?}"
        );
    }
}

#[test]
fn sums_beyond_64_bits_are_refused() {
    let mut document = Object::new();
    document.push("_id", Value::Int32(1));
    document.push("a", Value::Int64(i64::MAX));
    let update = Update::parse(&value(r#"{"$inc":{"a":1}}"#), &[], &options()).expect("an update");
    let found = Filter::everything()
        .match_with_position(&document)
        .expect("an answer")
        .expect("a match");
    let refused = update.apply(&document, found).expect_err("an overflow");
    assert_eq!(refused.code, 2);
    assert_eq!(
        refused.message,
        "Failed to apply $inc operations to current value ((NumberLong)9223372036854775807) for document {_id: 1}"
    );
}

#[test]
fn kinds_of_number_are_kept_and_widened() {
    let mut document = Object::new();
    for (name, number) in [
        ("i", Value::Int32(1)),
        ("l", Value::Int64(1)),
        ("d", Value::Double(1.0)),
    ] {
        document.push(name, number);
    }
    let mut increments = Object::new();
    for (name, number) in [
        ("i", Value::Int64(1)),
        ("l", Value::Double(1.0)),
        ("d", Value::Int32(1)),
        ("new", Value::Int64(3)),
    ] {
        increments.push(name, number);
    }
    let mut update = Object::new();
    update.push("$inc", increments);
    let update = Update::parse(&Value::Object(update), &[], &options()).expect("an update");
    let found = Filter::everything()
        .match_with_position(&document)
        .expect("an answer")
        .expect("a match");
    let updated = update.apply(&document, found).expect("a document").document;
    assert!(matches!(updated.get("i"), Some(Value::Int64(2))));
    assert!(matches!(updated.get("l"), Some(Value::Double(_))));
    assert!(matches!(updated.get("d"), Some(Value::Double(_))));
    assert!(matches!(updated.get("new"), Some(Value::Int64(3))));
}

#[test]
fn upserts_begin_with_what_the_filter_equals() {
    for (filter, update, expected) in [
        (
            r#"{"b":1,"a":2,"_id":1}"#,
            r#"{"$set":{"z":1}}"#,
            r#"{"_id":1,"a":2,"b":1,"z":1}"#,
        ),
        (
            r#"{"n.o":1,"n.a":2}"#,
            r#"{"$set":{"c":2}}"#,
            r#"{"_id":"new","n":{"a":2,"o":1},"c":2}"#,
        ),
        (
            r#"{"$or":[{"a":1}],"$and":[{"b":{"$in":[2]}}],"c":{"$all":[3]}}"#,
            r#"{"$set":{"d":4}}"#,
            r#"{"_id":"new","a":1,"b":2,"c":3,"d":4}"#,
        ),
        (
            r#"{"a":{"$gt":4},"b":{"$in":[1,2]}}"#,
            r#"{"$set":{"z":1}}"#,
            r#"{"_id":"new","z":1}"#,
        ),
        (r#"{"a":1}"#, r#"{"$set":{"_id":9}}"#, r#"{"_id":9,"a":1}"#),
        (
            r#"{"_id":1,"a":1}"#,
            r#"{"$inc":{"a":5},"$setOnInsert":{"s":1}}"#,
            r#"{"_id":1,"a":6,"s":1}"#,
        ),
        (r#"{"_id":1,"a":5}"#, r#"{"b":1}"#, r#"{"_id":1,"b":1}"#),
        (r#"{"a":5}"#, r#"{"b":1}"#, r#"{"_id":"new","b":1}"#),
        (
            r#"{"_id.x":1}"#,
            r#"{"$set":{"z":1}}"#,
            r#"{"_id":{"x":1},"z":1}"#,
        ),
    ] {
        let update = Update::parse(&value(update), &[], &options()).expect(update);
        let made = update
            .upsert(&object(filter), Value::from("new"))
            .expect(filter);
        assert_eq!(text(&made), expected, "{filter}");
    }
}

#[test]
fn upserts_that_contradict_themselves_are_refused() {
    for (filter, update, code) in [
        (r#"{"a":1,"a.b":2}"#, r#"{"$set":{"z":1}}"#, 54),
        (r#"{"$and":[{"a":1},{"a":2}]}"#, r#"{"$set":{"z":1}}"#, 54),
        (r#"{"_id":1}"#, r#"{"$set":{"_id":2}}"#, 66),
        (r#"{"_id":1}"#, r#"{"_id":2}"#, 66),
        (r#"{"_id":[1]}"#, r#"{"$set":{"z":1}}"#, 53),
        (r#"{"a":1}"#, r#"{"$set":{"a.b":1}}"#, 28),
    ] {
        let update = Update::parse(&value(update), &[], &options()).expect(update);
        let refused = update
            .upsert(&object(filter), Value::from("new"))
            .expect_err(filter);
        assert_eq!(refused.code, code, "{filter}: {}", refused.message);
    }
}

#[test]
fn change_streams_are_told_what_changed() {
    for (document, update, expected) in [
        (
            r#"{"a":1}"#,
            r#"{"$set":{"a":2,"b.c":1},"$unset":{"x":1}}"#,
            r#"{"updatedFields":{"a":2,"b":{"c":1}},"removedFields":[],"truncatedArrays":[]}"#,
        ),
        (
            r#"{"a":[1]}"#,
            r#"{"$push":{"a":2}}"#,
            r#"{"updatedFields":{"a.1":2},"removedFields":[],"truncatedArrays":[]}"#,
        ),
        (
            r#"{"a":[1,2]}"#,
            r#"{"$pop":{"a":1}}"#,
            r#"{"updatedFields":{"a":[1]},"removedFields":[],"truncatedArrays":[]}"#,
        ),
        (
            r#"{"a":{"b":1,"c":2}}"#,
            r#"{"$unset":{"a.b":1}}"#,
            r#"{"updatedFields":{},"removedFields":["a.b"],"truncatedArrays":[]}"#,
        ),
        (
            r#"{"a":1}"#,
            r#"{"$rename":{"a":"b"}}"#,
            r#"{"updatedFields":{"b":1},"removedFields":["a"],"truncatedArrays":[]}"#,
        ),
    ] {
        let updated = run(document, "{}", update, &[]).expect(update);
        let Described::Fields(description) = updated.described else {
            panic!("no fields are told of {update}");
        };
        assert_eq!(text(&description.to_object(false)), expected, "{update}");
    }
}
