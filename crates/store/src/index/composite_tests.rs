#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cmp::Ordering;

use lapsedb_value::{json, order};

use super::*;

fn policy(composites: &str) -> IndexPolicy {
    let text = format!(r#"{{"compositeIndexes":{composites}}}"#);
    IndexPolicy::parse(&json::parse(text.as_bytes(), &json::Limits::default()).unwrap()).unwrap()
}

fn one(composite: &str) -> Vec<CompositePath> {
    policy(&format!("[{composite}]")).composites.remove(0)
}

fn item(text: &str) -> Object {
    json::parse(text.as_bytes(), &json::Limits::default())
        .unwrap()
        .as_object()
        .unwrap()
        .clone()
}

/// Values of all kinds whose order the index keeps.
const VALUES: [&str; 16] = [
    "",
    "null",
    "false",
    "true",
    "-9007199254740993",
    "-7.5",
    "0",
    "12",
    "9007199254740992",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    r#""""#,
    r#""a""#,
    r#""a\u0000b""#,
    r#""ab""#,
];

fn items() -> Vec<Object> {
    let member = |name: &str, value: &str| match value {
        "" => String::new(),
        value => format!(r#","{name}":{value}"#),
    };
    let pairs = VALUES
        .iter()
        .flat_map(|a| VALUES.iter().map(move |b| (a, b)));
    pairs
        .map(|(a, b)| {
            item(&format!(
                r#"{{"id":"x"{}{}}}"#,
                member("a", a),
                member("b", b)
            ))
        })
        .collect()
}

#[test]
fn entries_sort_as_the_items_do_in_every_mix_of_directions() {
    let items = items();
    for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let name = |descending| ["ascending", "descending"][descending];
        let paths = one(&format!(
            r#"[{{"path":"/a","order":"{}"}},{{"path":"/b","order":"{}"}}]"#,
            name(a),
            name(b)
        ));
        for left in &items {
            for right in &items {
                let by = |name: &str, descending: usize| {
                    let value = |item: &Object| item.get(name).cloned().unwrap_or(Value::Undefined);
                    let found = order::compare_sql(&value(left), &value(right));
                    if descending == 1 {
                        found.reverse()
                    } else {
                        found
                    }
                };
                let expected = by("a", a).then(by("b", b));
                let found = composite_bytes(&paths, left).cmp(&composite_bytes(&paths, right));
                assert_eq!(found, expected, "{left:?} {right:?} {a} {b}");
            }
        }
    }
}

#[test]
fn an_item_without_the_paths_has_an_entry_below_all_others() {
    let paths = one(r#"[{"path":"/a"},{"path":"/b/c"}]"#);
    let none = composite_bytes(&paths, &item(r#"{"id":"x"}"#));
    let null = composite_bytes(&paths, &item(r#"{"id":"x","a":null,"b":{"c":null}}"#));
    assert_eq!(none.cmp(&null), Ordering::Less);
    assert_eq!(
        terms(&policy(r#"[[{"path":"/a"},{"path":"/b"}]]"#), &item("{}")).len(),
        1
    );
}

#[test]
fn the_number_of_an_index_tells_its_paths_and_directions_apart() {
    let texts = [
        r#"[{"path":"/a"},{"path":"/b"}]"#,
        r#"[{"path":"/b"},{"path":"/a"}]"#,
        r#"[{"path":"/a"},{"path":"/b","order":"descending"}]"#,
        r#"[{"path":"/a","order":"descending"},{"path":"/b"}]"#,
        r#"[{"path":"/a/b"},{"path":"/c"}]"#,
        r#"[{"path":"/a"},{"path":"/b/c"}]"#,
        r#"[{"path":"/a"},{"path":"/b"},{"path":"/c"}]"#,
    ];
    let mut ids: Vec<u64> = texts
        .iter()
        .map(|text| composite_id(&one(text)).0)
        .collect();
    ids.push(PathId::ROOT.member("a").member("b").0);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), texts.len() + 1);
    // Stored on disk: a change would lose every composite index.
    assert_eq!(composite_id(&one(texts[0])).0, 12_442_578_579_793_421_601);
}

#[test]
fn an_equality_on_the_first_paths_is_a_prefix() {
    let paths = one(r#"[{"path":"/a","order":"descending"},{"path":"/b"}]"#);
    for item in items() {
        let whole = composite_bytes(&paths, &item);
        let first = item.get("a").unwrap_or(Value::undefined());
        assert!(whole.starts_with(&composite_prefix(&paths, [first])));
    }
}

#[test]
fn an_order_is_served_forward_or_backward_or_not() {
    let index = one(r#"[{"path":"/a"},{"path":"/b","order":"descending"}]"#);
    let both = one(r#"[{"path":"/a","order":"descending"},{"path":"/b"}]"#);
    let half = one(r#"[{"path":"/a"},{"path":"/b"}]"#);
    let other = one(r#"[{"path":"/b","order":"descending"},{"path":"/a"}]"#);
    let longer = one(r#"[{"path":"/a"},{"path":"/b","order":"descending"},{"path":"/c"}]"#);
    assert_eq!(direction_of(&index, &index), Some(Direction::Forward));
    assert_eq!(direction_of(&index, &both), Some(Direction::Backward));
    for wanted in [half, other, longer] {
        assert_eq!(direction_of(&index, &wanted), None);
    }
}

#[test]
fn an_index_over_a_system_property_or_of_no_mode_has_no_entries() {
    let with_ts = policy(r#"[[{"path":"/a"},{"path":"/_ts"}]]"#);
    assert_eq!(terms(&with_ts, &item(r#"{"a":1}"#)), []);
    let text = r#"{"indexingMode":"none","automatic":false,"compositeIndexes":[[{"path":"/a"},{"path":"/b"}]]}"#;
    let none = IndexPolicy::parse(&json::parse(text.as_bytes(), &json::Limits::default()).unwrap())
        .unwrap();
    assert_eq!(terms(&none, &item(r#"{"a":1}"#)), []);
}
