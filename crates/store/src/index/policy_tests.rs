//! Which path wins, what is filled in, what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lapsedb_value::json;

use super::*;

fn parse(text: &str) -> Result<IndexPolicy, PolicyError> {
    IndexPolicy::parse(&json::parse(text.as_bytes(), &json::Limits::DEFAULT).unwrap())
}

fn echo(text: &str) -> String {
    json::to_string(&Value::Object(parse(text).unwrap().to_object()))
}

fn path(text: &str) -> Path {
    Path::parse_policy(text).unwrap().0
}

const DEFAULT: &str = r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]}"#;

#[test]
fn what_is_left_out_is_filled_in() {
    for text in [
        "null",
        "{}",
        r#"{"indexingMode":"Consistent"}"#,
        r#"{"automatic":true,"includedPaths":null}"#,
        r#"{"includedPaths":[{"path":"/*","indexes":[{"kind":"Range","dataType":"String","precision":-1}]}]}"#,
        r#"{"includedPaths":[{"path":"/"}]}"#,
        r#"{"includedPaths":[{"path":"/*"},{"path":"/*"}],"excludedPaths":[]}"#,
        DEFAULT,
    ] {
        assert_eq!(echo(text), DEFAULT, "{text}");
    }
    let built = json::to_string(&Value::Object(IndexPolicy::default().to_object()));
    assert_eq!(built, DEFAULT);
}

#[test]
fn a_policy_is_shown_as_it_is_understood() {
    assert_eq!(
        echo(r#"{"indexingMode":"Lazy","excludedPaths":[{"path":"/a/*"}]}"#),
        r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/a/*"},{"path":"/\"_etag\"/?"}]}"#
    );
    assert_eq!(
        echo(r#"{"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]}"#),
        r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]}"#
    );
    assert_eq!(
        echo(r#"{"indexingMode":"NONE"}"#),
        r#"{"indexingMode":"none","automatic":false,"includedPaths":[],"excludedPaths":[]}"#
    );
    let unquoted = r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/_etag/?"},{"path":"/a/*"}]}"#;
    assert_eq!(echo(unquoted), unquoted);
    let rich = r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}],"compositeIndexes":[[{"path":"/a","order":"ascending"},{"path":"/b","order":"descending"}]],"spatialIndexes":[{"path":"/loc/*","types":["Point","Polygon"]}],"vectorIndexes":[{"path":"/v","type":"quantizedFlat"}],"fullTextIndexes":[{"path":"/t"}]}"#;
    assert_eq!(echo(rich), rich);
    let policy = parse(rich).unwrap();
    assert_eq!(policy.composites[0][1].order, Order::Descending);
    assert_eq!(policy.spatial[0].types, ["Point", "Polygon"]);
}

#[test]
fn what_was_shown_reads_back_as_the_same_policy() {
    for text in [
        DEFAULT,
        r#"{"indexingMode":"none"}"#,
        r#"{"excludedPaths":[{"path":"/a/*"}]}"#,
    ] {
        assert_eq!(echo(&echo(text)), echo(text));
    }
}

#[test]
fn the_most_precise_path_wins() {
    let policy = parse(
        r#"{"includedPaths":[{"path":"/*"},{"path":"/a/b/*"},{"path":"/x/?"},{"path":"/tags/[]/name/?"},{"path":"/\"odd-name\"/?"}],
            "excludedPaths":[{"path":"/a/*"},{"path":"/a/b/c/?"},{"path":"/x/*"},{"path":"/tags/*"}]}"#,
    )
    .unwrap();
    for (at, indexed) in [
        ("/other", true),
        ("/other/deep/[]/x", true),
        ("/a", false),
        ("/a/z", false),
        ("/a/b", true),
        ("/a/b/c", false),
        ("/a/b/c/d", true),
        ("/a/[]", false),
        ("/x", true),
        ("/x/y", false),
        ("/tags", false),
        ("/tags/[]", false),
        ("/tags/[]/name", true),
        ("/tags/[]/other", false),
        ("/tags/name", false),
        ("/\"odd-name\"", true),
        ("/_etag", false),
        ("/_etag/x", true),
    ] {
        assert_eq!(policy.indexes(&path(at)), indexed, "{at}");
    }
}

#[test]
fn excluding_the_root_leaves_only_what_is_included() {
    let policy =
        parse(r#"{"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]}"#).unwrap();
    assert!(policy.indexes(&path("/a")));
    assert!(!policy.indexes(&path("/a/b")));
    assert!(!policy.indexes(&path("/b")));
    assert!(policy.cursor().member("b").barren());
    assert!(!policy.cursor().member("a").barren());
}

#[test]
fn without_automatic_or_mode_nothing_counts_as_indexed() {
    for text in [
        r#"{"automatic":false}"#,
        r#"{"indexingMode":"none","automatic":false}"#,
    ] {
        let policy = parse(text).unwrap();
        assert!(!policy.is_complete());
        assert!(!policy.indexes(&path("/a")));
    }
}

#[test]
fn bad_policies_are_refused() {
    for text in [
        "1",
        "[]",
        "\"consistent\"",
        r#"{"indexingMode":"eager"}"#,
        r#"{"indexingMode":1}"#,
        r#"{"automatic":"yes"}"#,
        r#"{"indexingMode":"none","automatic":true}"#,
        r#"{"includedPaths":{}}"#,
        r#"{"includedPaths":["/*"]}"#,
        r#"{"includedPaths":[{"path":1}]}"#,
        r#"{"includedPaths":[{}]}"#,
        r#"{"includedPaths":[]}"#,
        r#"{"includedPaths":[{"path":"/a/?"}]}"#,
        r#"{"includedPaths":[{"path":"/*"},{"path":"/a"}]}"#,
        r#"{"includedPaths":[{"path":"/*"},{"path":"a/?"}]}"#,
        r#"{"includedPaths":[{"path":"/*"},{"path":""}]}"#,
        r#"{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/*"}]}"#,
        r#"{"includedPaths":[{"path":"/*"},{"path":"/a/?"}],"excludedPaths":[{"path":"/a/?"}]}"#,
        r#"{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/a/*/b/?"}]}"#,
        r#"{"compositeIndexes":{}}"#,
        r#"{"compositeIndexes":[[{"path":"/a"}]]}"#,
        r#"{"compositeIndexes":[[{"path":"/a"},{"path":"/b","order":"up"}]]}"#,
        r#"{"compositeIndexes":[[{"path":"/a"},{"path":"/b/*"}]]}"#,
        r#"{"compositeIndexes":[[{"path":"/a"},{"path":"/b/[]/c"}]]}"#,
        r#"{"compositeIndexes":[[{"path":"/a"},{"path":"/1"},{"path":"/2"},{"path":"/3"},{"path":"/4"},{"path":"/5"},{"path":"/6"},{"path":"/7"},{"path":"/8"}]]}"#,
        r#"{"spatialIndexes":[{"path":"/loc/*","types":["Circle"]}]}"#,
        r#"{"spatialIndexes":[{"types":["Point"]}]}"#,
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn there_may_be_so_many_paths_and_no_more() {
    let policy = |paths: usize| {
        let list: Vec<String> = (0..paths)
            .map(|i| format!(r#"{{"path":"/p{i}/?"}}"#))
            .collect();
        parse(&format!(
            r#"{{"includedPaths":[{{"path":"/*"}}],"excludedPaths":[{}]}}"#,
            list.join(",")
        ))
    };
    // The root and the etag's path take two places.
    assert!(policy(INDEX_PATHS_MAX - 2).is_ok());
    assert!(policy(INDEX_PATHS_MAX - 1).is_err());
    assert!(policy(INDEX_PATHS_MAX + 1).is_err());
}
