//! What has no finite result is a number within a query: it is compared, sorted and grouped. No row shows it.

use lapsedb_query::encode::value_bytes;
use lapsedb_query::plan::{Bounds, Condition};
use lapsedb_sql::{Bound, Env, Executor, Params, PartitionFilter, bind, parse};
use lapsedb_value::path::Path;
use lapsedb_value::{Object, Value, json};

/// The path that is indexed, as the number of its index.
const INDEX: u64 = 1;

fn bound(query: &str) -> Bound {
    bind(&parse(query).unwrap(), &Params::new()).unwrap()
}

fn document(value: &Value) -> Value {
    let mut document = Object::new();
    document.push("a", value.clone());
    Value::Object(document)
}

fn rows(query: &str, documents: &[Value]) -> Vec<Value> {
    let bound = bound(query);
    let mut executor = Executor::new(&bound, Env::new(0));
    let mut rows = Vec::new();
    for document in documents {
        executor.push(document.clone()).unwrap();
        rows.append(&mut executor.take_rows());
    }
    rows.append(&mut executor.finish().unwrap());
    rows
}

/// Whether a document with this value at the indexed path can fulfil a condition.
fn admits(condition: &Condition, value: &Value) -> bool {
    let bytes = value_bytes(value).to_vec();
    match condition {
        Condition::Always => true,
        Condition::Never | Condition::Lacks(_) => false,
        Condition::Seek(seek) => seek.bounds.iter().any(|bounds| match bounds {
            Bounds::Value(wanted) => *wanted == bytes,
            Bounds::Range(from, to) => *from <= bytes && bytes < *to,
        }),
        Condition::All(all) => all.iter().all(|one| admits(one, value)),
        Condition::Any(any) => any.iter().any(|one| admits(one, value)),
    }
}

const NUMBERS: [f64; 11] = [
    f64::NAN,
    f64::NEG_INFINITY,
    f64::MIN,
    -9_223_372_036_854_775_808.0,
    -1.5,
    0.0,
    1.0,
    9_007_199_254_740_992.0,
    9_223_372_036_854_775_808.0,
    f64::MAX,
    f64::INFINITY,
];

const CONSTANTS: [&str; 9] = [
    "NaN",
    "-NaN",
    "Infinity",
    "-Infinity",
    "1/0",
    "0/0",
    "-1/0",
    "9223372036854775808",
    "1",
];

#[test]
fn an_index_finds_what_a_scan_finds() {
    let mut values: Vec<Value> = NUMBERS.into_iter().map(Value::Double).collect();
    values.extend([Value::Int64(i64::MAX), Value::Null, Value::from("1")]);
    let documents: Vec<Value> = values.iter().map(document).collect();
    let indexed = Path::parse_pointer("/a").unwrap();
    let mut filters: Vec<String> = Vec::new();
    for n in CONSTANTS {
        for op in ["=", "!=", "<", "<=", ">", ">="] {
            filters.extend([format!("c.a {op} {n}"), format!("{n} {op} c.a")]);
        }
        for m in CONSTANTS {
            filters.extend([
                format!("c.a BETWEEN {n} AND {m}"),
                format!("c.a NOT BETWEEN {n} AND {m}"),
                format!("c.a IN ({n}, {m})"),
                format!("c.a IN ({n}, {m}, 2, 3, 4, 5, 6, 7, 8)"),
            ]);
        }
    }
    filters.extend(["IS_NUMBER", "IS_FINITE_NUMBER", "IS_INTEGER"].map(|f| format!("{f}(c.a)")));
    for filter in filters {
        let query = format!("SELECT * FROM c WHERE {filter}");
        let bound = bound(&query);
        let condition = bound.condition(&|path| (*path == indexed).then_some(INDEX));
        let executor = Executor::new(&bound, Env::new(0));
        for (value, document) in values.iter().zip(&documents) {
            let kept = executor.keeps(document).unwrap();
            assert!(!kept || admits(&condition, value), "{filter}: {value:?}");
        }
    }
}

#[test]
fn comparisons_with_nan_are_false() {
    for n in ["NaN", "0/0", "SQRT(-1)", "Infinity - Infinity"] {
        for m in ["NaN", "1", "Infinity", "-Infinity"] {
            let query = format!(
                "SELECT VALUE [({n}) = {m}, ({n}) < {m}, {m} >= ({n}), ({n}) != {m}, ({n}) BETWEEN {m} AND {m}, ({n}) IN ({m})]"
            );
            let rows = rows(&query, &[]);
            let text: Vec<String> = rows.iter().map(json::to_string).collect();
            assert_eq!(text, ["[false,false,false,true,false,false]"], "{query}");
        }
    }
}

#[test]
fn no_row_shows_them() {
    let documents: Vec<Value> = [0, 1, 2].map(|n| document(&Value::Int32(n))).into();
    for (query, expected) in [
        ("SELECT VALUE 1 / c.a FROM c", "[1,0.5]"),
        (
            "SELECT 1 / c.a AS x, c.a FROM c",
            r#"[{"a":0},{"x":1,"a":1},{"x":0.5,"a":2}]"#,
        ),
        (
            "SELECT VALUE [c.a, [1 / c.a], {x: -1 / c.a}] FROM c WHERE c.a = 0",
            "[[0,[],{}]]",
        ),
        (
            "SELECT VALUE x FROM c JOIN x IN (SELECT VALUE [1 / c.a, 2])",
            "[2,1,2,0.5,2]",
        ),
        (
            "SELECT VALUE x FROM (SELECT VALUE 1 / c.a FROM c) x",
            "[1,0.5]",
        ),
        (
            "SELECT VALUE x > 1 FROM (SELECT VALUE 1 / c.a FROM c) x",
            "[true,false,false]",
        ),
        (
            "SELECT VALUE (SELECT VALUE 1 / c.a) > 1 FROM c",
            "[true,false,false]",
        ),
        ("SELECT TOP 2 VALUE 1 / c.a FROM c", "[1,0.5]"),
        ("SELECT VALUE 1 / c.a FROM c OFFSET 1 LIMIT 5", "[0.5]"),
        (
            "SELECT DISTINCT VALUE {x: 0 / c.a} FROM c",
            r#"[{},{"x":0}]"#,
        ),
        ("SELECT VALUE 1 / c.a FROM c ORDER BY c.a DESC", "[0.5,1]"),
        ("SELECT VALUE SUM(1 / c.a) FROM c", "[]"),
        (
            "SELECT SUM(1 / c.a) AS s, MIN(1 / c.a) AS l, MAX(1 / c.a) AS h, COUNT(1 / c.a) AS n FROM c",
            r#"[{"l":0.5,"n":3}]"#,
        ),
        ("SELECT VALUE AVG(c.a * 1e308) FROM c", "[]"),
        ("SELECT VALUE SUM(c.a * 1e308) FROM c", "[]"),
        (
            "SELECT VALUE (SELECT VALUE SUM(x) FROM x IN (SELECT VALUE [1e308, 1e308])) > 1 FROM c WHERE c.a = 0",
            "[true]",
        ),
        (
            "SELECT VALUE ARRAY(SELECT VALUE 1 / c.a) FROM c",
            "[[],[1],[0.5]]",
        ),
        ("SELECT VALUE NaN", "[]"),
        (
            "SELECT VALUE [1, NaN, Infinity, -Infinity, {a: NaN}]",
            "[[1,{}]]",
        ),
        ("SELECT VALUE ARRAY_LENGTH([1, NaN, Infinity])", "[3]"),
    ] {
        let shown = Value::Array(rows(query, &documents));
        assert_eq!(json::to_string(&shown), expected, "{query}");
    }
}

#[test]
fn they_fix_no_partition() {
    let paths = [Path::parse_pointer("/pk").unwrap()];
    for (filter, nothing) in [
        ("c.pk = NaN", true),
        ("c.pk IN (NaN, 0 / 0)", true),
        ("c.pk = 1 / 0", false),
        ("c.pk IN (1, Infinity)", false),
    ] {
        let found = bound(&format!("SELECT * FROM c WHERE {filter}")).partition_filter(&paths);
        match found {
            PartitionFilter::Nothing => assert!(nothing, "{filter}"),
            PartitionFilter::Everything => assert!(!nothing, "{filter}"),
            PartitionFilter::Keys(keys) => panic!("{filter}: {keys:?}"),
        }
    }
}

#[test]
fn groups_and_sorting_treat_them_as_values() {
    let documents: Vec<Value> = [0, 1, 0, 2].map(|n| document(&Value::Int32(n))).into();
    let query =
        "SELECT VALUE x.n FROM (SELECT 0 / c.a AS x, COUNT(1) AS n FROM c GROUP BY 0 / c.a) x";
    let counts = Value::Array(rows(query, &documents));
    assert_eq!(json::to_string(&counts), "[2,2]");
}
