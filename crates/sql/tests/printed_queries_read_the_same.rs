//! A syntax tree prints to a text that parses to the same tree, and in the service's own shape.

use lapsedb_sql::fuzz::tree;
use lapsedb_sql::parse;

use crate::corpus::{self, Verdict};

/// The text of the tree that a text parses to.
fn printed(text: &str) -> Option<String> {
    parse(text).ok().map(|query| query.to_string())
}

#[test]
fn every_query_of_the_corpus_prints_to_a_text_of_the_same_tree() {
    let mut count = 0;
    for fact in corpus::facts() {
        let Ok(query) = parse(&fact.question.text) else {
            continue;
        };
        let first = query.to_string();
        match parse(&first) {
            Ok(again) => {
                assert_eq!(first, again.to_string(), "{}", fact.question.text);
                assert_eq!(tree(&query), tree(&again), "{}", fact.question.text);
            }
            // Parentheses nest deeper than the operators without them did.
            Err(error) => {
                let is_deep = first.contains(&"(".repeat(90));
                assert!(is_deep, "{}: {first}: {error}", fact.question.text);
            }
        }
        count += usize::from(!matches!(fact.verdict, Verdict::Refused(_)));
    }
    assert!(count > 4_000, "only {count} queries were printed");
}

/// Only what the tree does not keep differs: a name in brackets that needs none, and the text of rounded numbers.
#[test]
fn the_texts_in_query_plans_print_as_they_are() {
    let mut count = 0;
    for plan in corpus::plans() {
        for text in plan.rewritten.iter().map(|text| corpus::filled(text)) {
            let kept = !text.contains("[\"") && !text.contains("e+") && !text.contains("e-");
            let Some(printed) = printed(&text).filter(|_| kept) else {
                continue;
            };
            // The client's condition brings parentheses of its own.
            assert_eq!(printed, text.replace("(true)", "true"));
            count += 1;
        }
    }
    assert!(count > 200, "only {count} texts were compared");
}

#[test]
fn numbers_keep_their_kind() {
    for text in [
        "1",
        "1.0",
        "1e3",
        "0x10",
        "9007199254740992.0",
        "1e300",
        "0.1",
        "9223372036854775808",
    ] {
        let query = parse(&format!("SELECT VALUE {text} + 1")).unwrap();
        let again = parse(&query.to_string()).unwrap();
        assert_eq!(tree(&query), tree(&again), "{text}: {query}");
    }
}

#[test]
fn names_are_quoted_where_they_must_be() {
    let cases = [
        (
            "SELECT c['a'], c[\"a b\"], c['it\\'s'], c['1']",
            "SELECT c.a, c[\"a b\"], c[\"it's\"], c[\"1\"]",
        ),
        (
            "SELECT c['value'], c['select'] FROM c",
            "SELECT c[\"value\"], c[\"select\"]\nFROM c",
        ),
        (
            "SELECT VALUE {a: 1, 'b c': 2}.a",
            "SELECT VALUE {\"a\": 1, \"b c\": 2}.a",
        ),
        ("SELECT VALUE (1).a", "SELECT VALUE (1).a"),
        (
            "SELECT VALUE c[0][@p]['x'] FROM c",
            "SELECT VALUE c[0][@p].x\nFROM c",
        ),
        (
            "SELECT VALUE x FROM x IN c['a b'][0].d",
            "SELECT VALUE x\nFROM x IN c[\"a b\"][0].d",
        ),
        (
            "SELECT 1 FROM c.a x JOIN y IN x.b",
            "SELECT 1\nFROM c.a AS x\nJOIN y IN x.b",
        ),
    ];
    for (text, wanted) in cases {
        assert_eq!(printed(text).as_deref(), Some(wanted), "{text}");
    }
}

#[test]
fn operators_stand_in_parentheses() {
    let cases = [
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("1 <> 2", "(1 != 2)"),
        ("- ~ + NOT 1", "(- (~ (+ (NOT 1))))"),
        ("a AND b AND c", "((a AND b) AND c)"),
        ("a OR b OR c OR d", "(((a OR b) OR c) OR d)"),
        ("a NOT IN (1, 'b')", "(a NOT IN (1, \"b\"))"),
        ("a NOT BETWEEN 1 AND 2", "(a NOT BETWEEN 1 AND 2)"),
        (
            "a LIKE '100!%' ESCAPE '!'",
            "(a LIKE \"100!%\" ESCAPE \"!\")",
        ),
        ("a ? b : c", "(a ? b : c)"),
        (
            "udf.f(a, (SELECT VALUE 1))",
            "udf.f(a, (\n    SELECT VALUE 1\n))",
        ),
        ("EXISTS(SELECT 1)", "EXISTS(\n    SELECT 1\n)"),
        ("ARRAY(SELECT 1)", "ARRAY(\n        SELECT 1\n    )"),
        ("'\\u0041\\n\"😀'", "\"A\\n\\\"😀\""),
        ("0x1F", "31"),
        ("1e300", "1e+300"),
        ("undefined", "undefined"),
        ("a + b - c", "((a + b) - c)"),
        ("(LET x = 1 IN x)", "(LET x = 1 IN x)"),
        (
            "(LET x = a + 1 IN x * 2 + 1 = 3 AND y)",
            "(LET x = (a + 1) IN x * 2 + 1 = 3 AND y)",
        ),
        (
            "(LET x = a IN (1) IN (x + 1) * 2)",
            "(LET x = a IN (1) IN ((x + 1) * 2))",
        ),
        (
            "(LET x = a OR b LIKE c IN (x))",
            "(LET x = a OR b LIKE c IN x)",
        ),
    ];
    for (text, wanted) in cases {
        let printed = printed(&format!("SELECT VALUE {text}"));
        let wanted = format!("SELECT VALUE {wanted}");
        assert_eq!(printed, Some(wanted), "{text}");
    }
}
