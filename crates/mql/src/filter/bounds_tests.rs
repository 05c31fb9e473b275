//! Every document that matches has an index entry within the bounds: all of a small space.

use lapsedb_value::{Object, Str, json};

use super::*;
use crate::filter::Options;
use crate::sort::keys::keys;

const VALUES: &[&str] = &[
    "null",
    "0",
    "1",
    "2.5",
    "\"x\"",
    "\"xy\"",
    "true",
    "[]",
    "[1]",
    "[1,2]",
    "[[1]]",
    "[[1,2],3]",
    "[[]]",
    "{}",
    "[null]",
    "[\"x\",null]",
    "{\"b\":1}",
    "{\"b\":null}",
    "{\"b\":[1,2]}",
    "{\"b\":[]}",
    "{\"b\":[[1]]}",
    "{\"b\":{\"c\":1}}",
    "[{\"b\":1},{\"b\":2}]",
    "[{\"b\":[]}]",
    "[{}]",
    "[{\"b\":null}]",
    "[1,{\"b\":1}]",
    "[[{\"b\":1}]]",
    "{\"b\":[{\"c\":1}]}",
    "[{\"b\":[1,2]},{\"b\":\"x\"}]",
    "[{\"b\":{\"c\":1}},{\"b\":{\"c\":2}}]",
    "{\"b\":[{\"c\":1},{\"c\":[2]}]}",
];

const CONDITIONS: &[&str] = &[
    "1",
    "null",
    "\"x\"",
    "[1,2]",
    "[]",
    "[[1]]",
    "{\"b\":1}",
    "true",
    "{\"$gt\":0}",
    "{\"$gte\":1}",
    "{\"$lt\":2}",
    "{\"$lte\":1}",
    "{\"$gt\":0,\"$lt\":2}",
    "{\"$gt\":1,\"$lt\":1}",
    "{\"$gte\":null}",
    "{\"$gt\":null}",
    "{\"$gt\":\"a\"}",
    "{\"$in\":[1,\"x\"]}",
    "{\"$in\":[null,[1]]}",
    "{\"$in\":[]}",
    "{\"$regex\":\"^x\"}",
    "{\"$regex\":\"y\"}",
    "{\"$type\":\"number\"}",
    "{\"$type\":\"array\"}",
    "{\"$type\":\"null\"}",
    "{\"$all\":[1,2]}",
    "{\"$all\":[]}",
    "{\"$elemMatch\":{\"$gt\":0,\"$lt\":2}}",
    "{\"$elemMatch\":{\"b\":1}}",
    "{\"$elemMatch\":{\"b\":{\"$gt\":0}}}",
    "{\"$not\":{\"$gt\":1}}",
    "{\"$exists\":true}",
    "{\"$exists\":false}",
    "{\"$gt\":{\"b\":0}}",
    "{\"$gte\":[1]}",
    "{\"$size\":1}",
    "{\"$mod\":[2,1]}",
    "{\"$ne\":1}",
];

const PATHS: &[&str] = &["a", "a.b", "a.b.c"];

fn object(text: &str) -> Object {
    let value = json::parse(text.as_bytes(), &json::Limits::DEFAULT).unwrap();
    value.into_object().unwrap()
}

fn documents() -> Vec<Object> {
    let with = VALUES
        .iter()
        .map(|value| object(&format!("{{\"a\":{value}}}")));
    std::iter::once(Object::new()).chain(with).collect()
}

/// What holds for one path of an index and one document.
fn check(filter: &Filter, text: &str, path: &str, document: &Object) {
    let steps: Vec<Str> = path.split('.').map(Str::new).collect();
    let entries = keys(&[&steps], document).unwrap();
    let entries: Vec<&Value> = entries
        .iter()
        .filter_map(|key| key.first().copied())
        .collect();
    if !filter.matches(document).unwrap() {
        return;
    }
    // An index over documents without arrays has one entry for each.
    let arrays = json::to_string(&Value::Object(document.clone())).contains('[');
    for multikey in [true, false] {
        if arrays && !multikey {
            continue;
        }
        if let Some(bounds) = filter.bounds(path, multikey) {
            let inside = entries
                .iter()
                .any(|entry| bounds.iter().any(|interval| interval.contains(entry)));
            assert!(
                inside,
                "{text} on {path}: {}",
                Value::Object(document.clone())
            );
        }
    }
}

#[test]
fn an_index_read_within_the_bounds_finds_every_match() {
    let documents = documents();
    let single = PATHS.iter().flat_map(|path| {
        CONDITIONS
            .iter()
            .map(move |condition| format!("{{\"{path}\":{condition}}}"))
    });
    let either = CONDITIONS
        .iter()
        .map(|condition| format!("{{\"$or\":[{{\"a\":{condition}}},{{\"a\":1}}]}}"));
    let both = CONDITIONS
        .iter()
        .map(|condition| format!("{{\"$and\":[{{\"a\":{condition}}},{{\"a\":{{\"$gt\":0}}}}]}}"));
    for text in single.chain(either).chain(both) {
        let filter = Filter::parse(&object(&text), &Options::default()).unwrap();
        for path in PATHS {
            for document in &documents {
                check(&filter, &text, path, document);
            }
        }
    }
}
