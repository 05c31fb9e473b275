//! Queries made to exhaust the parser, the stack or the memory are refused.

use lapsedb_sql::{Params, SqlError, error, limits, run};
use lapsedb_value::{Object, Value};

/// A stack as small as a thread of the server may have.
const STACK_BYTES: usize = 1024 * 1024;

fn on_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}

fn query(text: &str) -> Result<Vec<Value>, SqlError> {
    let mut document = Object::new();
    document.insert("id", "1");
    document.insert("tags", vec![Value::Int32(1); 1_000]);
    run(text, &Params::new(), [Value::Object(document)], 0)
}

#[test]
fn nesting_is_limited_whatever_nests() {
    on_small_stack(|| {
        let forms: [(&str, &str, &str); 13] = [
            ("(", "1", ")"),
            ("[", "1", "]"),
            ("{a:", "1", "}"),
            ("- ", "1", ""),
            ("NOT ", "true", ""),
            ("ABS(", "1", ")"),
            ("(SELECT VALUE ", "1", ")"),
            ("ARRAY(SELECT VALUE ", "1", ")"),
            ("EXISTS(SELECT VALUE x FROM x IN (SELECT VALUE ", "1", "))"),
            ("c[", "1", "]"),
            ("true ? ", "1", " : 2"),
            ("1 ?? (", "1", ")"),
            ("1 IN (", "1", ")"),
        ];
        for (open, middle, close) in forms {
            for depth in [10, 30, 90, 300, 450, 600, 990, 1_000, 20_000] {
                let text = format!(
                    "SELECT VALUE {}{middle}{} FROM c",
                    open.repeat(depth),
                    close.repeat(depth)
                );
                match query(&text) {
                    Ok(_) => assert!(depth < limits::NESTING_MAX, "{open} {depth}"),
                    // What is computed may not stand in brackets, however flat; it is parsed and bound before that is known.
                    Err(error) if open == "c[" && error.code == "SC2990" => {
                        assert!(depth < limits::NESTING_MAX, "{open} {depth}");
                    }
                    // Where a level is a parenthesis and a query, half as many fit.
                    Err(error) => assert!(
                        error.code == error::TOO_COMPLEX && depth >= limits::NESTING_MAX / 4,
                        "{open} {depth}: {error}"
                    ),
                }
            }
        }
    });
}

#[test]
fn chains_are_limited() {
    on_small_stack(|| {
        for (first, link) in [("c", ".a"), ("c", "[0]"), ("1", " ?? 1")] {
            for length in [10, 300, 990, 1_010, 50_000] {
                let text = format!("SELECT VALUE {first}{} FROM c", link.repeat(length));
                match query(&text) {
                    Ok(_) => assert!(length < usize::from(limits::HEIGHT_MAX), "{link} {length}"),
                    Err(error) => assert!(
                        error.code == error::TOO_COMPLEX && length > 990,
                        "{link} {length}: {error}"
                    ),
                }
            }
        }
        // Operators of one level are one node, however many they are.
        for (first, link) in [("1", " + 1"), ("c.n", " || 'a'"), ("1", " = 1")] {
            let text = format!("SELECT VALUE {first}{} FROM c", link.repeat(50_000));
            assert!(query(&text).is_ok(), "{link}");
        }
        for (length, fine) in [(900, true), (1_000, false), (50_000, false)] {
            let path = format!("SELECT VALUE 1 FROM c{}", ".a".repeat(length));
            assert_eq!(query(&path).is_ok(), fine, "{length}");
        }
    });
}

#[test]
fn the_highest_trees_are_bound_evaluated_and_dropped() {
    on_small_stack(|| {
        // Each level is a subquery in a chain in a call: the most stack per level.
        let mut text = "c.id".to_owned();
        for _ in 0..130 {
            text = format!("(SELECT VALUE [CONCAT('', {text} || '')][0] FROM c WHERE true)");
        }
        assert_eq!(
            query(&format!("SELECT VALUE {text} FROM c")).unwrap().len(),
            1
        );
        let mut deep = "c.tags[0]".to_owned();
        for level in 0..200 {
            deep = format!(
                "(SELECT VALUE SUM(x{level} + {deep}) FROM x{level} IN c.tags WHERE false)"
            );
        }
        let rows = query(&format!("SELECT VALUE {deep} FROM c")).unwrap();
        assert_eq!(rows[0].as_i64(), Some(0));
    });
}

#[test]
fn values_that_subqueries_put_into_one_another_have_a_depth() {
    on_small_stack(|| {
        for (levels, subqueries) in [(300, 2), (300, 90), (900, 3), (10, 300)] {
            let literal =
                |name: &str| format!("{}{name}{}", "[".repeat(levels), "]".repeat(levels));
            let from = format!("(SELECT VALUE {} FROM ", literal("c"));
            let text = format!(
                "SELECT VALUE c = c FROM {}c{}",
                from.repeat(subqueries),
                ") c".repeat(subqueries)
            );
            check_depth(&text, levels * subqueries);
            let mut text = "c.id".to_owned();
            for n in 0..subqueries.min(100) {
                let outer = format!("x{}", n + 1);
                text = format!("(LET x{n} = {} IN [x{n} = x{n}, {text}])", literal(&outer));
            }
            let text = format!(
                "SELECT VALUE (LET x{} = c IN {text}) FROM c",
                subqueries.min(100)
            );
            // The innermost names are of what is around them.
            let _ = query(&text);
        }
    });
}

fn check_depth(text: &str, levels: usize) {
    match query(text) {
        Ok(_) => assert!(
            levels <= 2 * usize::from(limits::VALUE_LEVELS_MAX),
            "{levels}"
        ),
        Err(error) => {
            let refused = error.code == error::TOO_COMPLEX || error.code == error::TOO_MUCH_WORK;
            assert!(
                refused && levels > usize::from(limits::VALUE_LEVELS_MAX),
                "{levels}: {error}"
            );
        }
    }
}

#[test]
fn copies_of_what_a_query_names_often_are_limited() {
    let mut params = Params::new();
    params.set("@p", Value::Array(vec![Value::Int32(1); 100_000]));
    let named = |count: usize| format!("SELECT VALUE [{}1] FROM c", "@p, ".repeat(count));
    assert!(run(&named(2), &params, [Value::Object(Object::new())], 0).is_ok());
    let error = run(&named(10_000), &params, [Value::Object(Object::new())], 0).unwrap_err();
    assert_eq!(error.code, error::TOO_MUCH_WORK);
    let text = format!(
        "SELECT VALUE (LET x = @p IN [{}1]) FROM c",
        "SUM(x[0]), ".repeat(10_000)
    );
    let error = run(&text, &params, [Value::Object(Object::new())], 0).unwrap_err();
    assert_eq!(error.code, error::TOO_MUCH_WORK);
}

#[test]
fn ands_ors_and_text_are_limited() {
    for (word, most) in [
        (" AND true", limits::ANDS_MAX),
        (" OR false", limits::ORS_MAX),
    ] {
        assert!(query(&format!("SELECT VALUE true{}", word.repeat(most))).is_ok());
        let error = query(&format!("SELECT VALUE true{}", word.repeat(most + 1))).unwrap_err();
        assert_eq!(error.code, error::TOO_COMPLEX);
    }
    let long = format!("SELECT VALUE '{}'", "a".repeat(limits::TEXT_BYTES_MAX));
    assert_eq!(query(&long).unwrap_err().code, error::TOO_COMPLEX);
    let many = format!(
        "SELECT {}",
        (0..20_000)
            .map(|n| format!("MIN(c.a{n}) AS a{n}"))
            .collect::<Vec<_>>()
            .join(",")
    );
    on_small_stack(move || assert_eq!(query(&format!("{many} FROM c")).unwrap().len(), 1));
}

#[test]
fn a_value_cannot_be_doubled_without_end() {
    for (double, start) in [("CONCAT(x, x)", "'aaaaaaaa'"), ("x || x", "'aaaaaaaa'")] {
        let mut text = format!("SELECT VALUE {start}");
        for _ in 0..40 {
            text = format!("SELECT VALUE {double} FROM ({text}) AS x");
        }
        // A string beyond the limit is undefined, and an undefined row is none.
        assert!(query(&text).unwrap().is_empty(), "{double}");
    }
    for double in ["[x, x]", "ARRAY_CONCAT([x], [x])", "{a: x, b: x}"] {
        let mut text = "SELECT VALUE 1".to_owned();
        for _ in 0..40 {
            text = format!("SELECT VALUE {double} FROM ({text}) AS x");
        }
        assert_eq!(
            query(&text).unwrap_err().code,
            error::TOO_MUCH_WORK,
            "{double}"
        );
    }
}

#[test]
fn a_cross_product_of_one_document_ends() {
    let text = "SELECT VALUE COUNT(1) FROM c JOIN a IN c.tags JOIN b IN c.tags JOIN d IN c.tags JOIN e IN c.tags";
    assert_eq!(query(text).unwrap_err().code, error::TOO_MUCH_WORK);
}

#[test]
fn a_blocking_query_cannot_hold_everything() {
    let big = "x".repeat(100_000);
    let documents = |count: usize| {
        let big = big.clone();
        (0..count).map(move |n| {
            let mut document = Object::new();
            document.insert("id", n.to_string());
            document.insert("big", big.as_str());
            Value::Object(document)
        })
    };
    for text in [
        "SELECT * FROM c ORDER BY c.id",
        "SELECT DISTINCT * FROM c",
        "SELECT VALUE MAKELIST(c) FROM c",
        "SELECT c.id, c.big FROM c GROUP BY c.id, c.big",
    ] {
        let error = run(text, &Params::new(), documents(4_000), 0).unwrap_err();
        assert_eq!(error.code, error::TOO_MUCH_MEMORY, "{text}");
    }
    // What is kept for one row is forgotten with it.
    let text =
        "SELECT VALUE (SELECT VALUE COUNT(1) FROM (SELECT VALUE MAKELIST(c.big)) AS l) FROM c";
    assert_eq!(
        run(text, &Params::new(), documents(4_000), 0)
            .unwrap()
            .len(),
        4_000
    );
    let top = "SELECT TOP 1 * FROM c ORDER BY c.id";
    assert_eq!(
        run(top, &Params::new(), documents(4_000), 0).unwrap().len(),
        1
    );
}
