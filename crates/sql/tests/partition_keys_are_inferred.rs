//! A filter tells which partitions can hold what it keeps.

use lapsedb_sql::{Params, PartitionFilter, bind, parse};
use lapsedb_value::path::Path;
use lapsedb_value::{Value, json};

/// The filter of a query on the given key paths, as text.
fn infer(paths: &[&str], query: &str) -> String {
    let params: Params = [("@p", Value::from("v"))].into_iter().collect();
    let bound = bind(&parse(query).unwrap(), &params).unwrap();
    let paths: Vec<Path> = paths
        .iter()
        .map(|path| Path::parse_pointer(path).unwrap())
        .collect();
    match bound.partition_filter(&paths) {
        PartitionFilter::Everything => "everything".to_owned(),
        PartitionFilter::Nothing => "nothing".to_owned(),
        PartitionFilter::Keys(keys) => keys
            .iter()
            .map(|key| {
                let values = key.iter().map(|value| match value {
                    Value::Undefined => "undefined".to_owned(),
                    value => json::to_string(value),
                });
                values.collect::<Vec<_>>().join("/")
            })
            .collect::<Vec<_>>()
            .join(" "),
    }
}

#[test]
fn with_one_level() {
    let cases = [
        ("SELECT * FROM c", "everything"),
        ("SELECT * FROM c WHERE c.pk = 'a'", "\"a\""),
        ("SELECT * FROM c WHERE 'a' = c.pk", "\"a\""),
        ("SELECT * FROM c WHERE c[\"pk\"] = @p", "\"v\""),
        ("SELECT * FROM root r WHERE r.pk = 1 AND r.x = 2", "1"),
        ("SELECT * FROM c WHERE c.pk IN ('a', 2, 'a')", "\"a\" 2"),
        (
            "SELECT * FROM c WHERE c.pk = 'a' OR c.pk = 'b'",
            "\"a\" \"b\"",
        ),
        (
            "SELECT * FROM c WHERE c.pk = 'a' OR c.x = 'b'",
            "everything",
        ),
        (
            "SELECT * FROM c WHERE (c.pk = 'a' OR c.pk = 'b') AND c.pk = 'b'",
            "\"b\"",
        ),
        ("SELECT * FROM c WHERE c.pk = 'a' AND c.pk = 'b'", "nothing"),
        ("SELECT * FROM c WHERE false", "nothing"),
        ("SELECT * FROM c WHERE true", "everything"),
        ("SELECT * FROM c WHERE c.pk = 'a' OR false", "\"a\""),
        ("SELECT * FROM c WHERE c.pk", "true"),
        ("SELECT * FROM c WHERE NOT c.pk", "false"),
        ("SELECT * FROM c WHERE c.pk = null", "null"),
        ("SELECT * FROM c WHERE c.pk = [1]", "undefined"),
        ("SELECT * FROM c WHERE c.pk = {}", "undefined"),
        ("SELECT * FROM c WHERE c.pk != 'a'", "everything"),
        ("SELECT * FROM c WHERE NOT (c.pk = 'a')", "everything"),
        ("SELECT * FROM c WHERE c.pk NOT IN ('a')", "everything"),
        ("SELECT * FROM c WHERE c.pk > 'a'", "everything"),
        ("SELECT * FROM c WHERE c.pk = c.x", "everything"),
        ("SELECT * FROM c WHERE LOWER(c.pk) = 'a'", "everything"),
        ("SELECT * FROM c WHERE c.pk = LOWER('A')", "\"a\""),
        ("SELECT * FROM c WHERE c.x.pk = 'a'", "everything"),
        (
            "SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.pk = 'a'",
            "\"a\"",
        ),
        (
            "SELECT VALUE t FROM c JOIN t IN c.tags WHERE t.pk = 'a'",
            "everything",
        ),
        ("SELECT * FROM c.sub WHERE sub.pk = 'a'", "everything"),
        (
            "SELECT * FROM c WHERE EXISTS(SELECT VALUE 1 FROM d IN c.x WHERE c.pk = 'a')",
            "everything",
        ),
        (
            "SELECT * FROM (SELECT VALUE c FROM c) AS s WHERE s.pk = 'a'",
            "\"a\"",
        ),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'a'", "\"a\""),
    ];
    for (query, expected) in cases {
        assert_eq!(infer(&["/pk"], query), expected, "{query}");
    }
    assert_eq!(infer(&["/a/b"], "SELECT * FROM c.a WHERE a.b = 1"), "1");
}

#[test]
fn with_three_levels() {
    let paths = ["/t", "/u", "/s"];
    let cases = [
        (
            "SELECT * FROM c WHERE c.t = 1 AND c.u = 2 AND c.s = 3",
            "1/2/3",
        ),
        ("SELECT * FROM c WHERE c.t = 1 AND c.u = 2", "1/2"),
        ("SELECT * FROM c WHERE c.t = 1", "1"),
        ("SELECT * FROM c WHERE c.t = 1 AND c.s = 3", "1"),
        ("SELECT * FROM c WHERE c.u = 2", "everything"),
        (
            "SELECT * FROM c WHERE c.t IN (1, 2) AND c.u IN (3, 4)",
            "1/3 1/4 2/3 2/4",
        ),
        (
            "SELECT * FROM c WHERE (c.t = 1 AND c.u = 2) OR (c.t = 3 AND c.u = 4)",
            "1/2 3/4",
        ),
        (
            "SELECT * FROM c WHERE (c.t = 1 AND c.u = 2) OR c.t = 3",
            "1/2 3",
        ),
        (
            "SELECT * FROM c WHERE c.t = 1 AND (c.u = 2 OR c.u = 3) AND c.u = 3",
            "1/3",
        ),
    ];
    for (query, expected) in cases {
        assert_eq!(infer(&paths, query), expected, "{query}");
    }
}

#[test]
fn a_filter_with_too_many_points_is_no_filter() {
    let many = (0..100)
        .map(|n| n.to_string())
        .collect::<Vec<_>>()
        .join(",");
    let query =
        format!("SELECT * FROM c WHERE c.t IN ({many}) AND c.u IN ({many}) AND c.s IN ({many})");
    let keys = infer(&["/t", "/u", "/s"], &query);
    // Whatever is given up, what remains is still a condition that holds.
    assert!(
        keys == "everything" || keys.split(' ').count() <= 2_000,
        "{keys}"
    );
}
