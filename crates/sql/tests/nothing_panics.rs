//! Whatever the text and whatever the documents, there are rows or there is an error.

use lapsedb_sql::{Env, Executor, Params, bind, functions, parse, parse_condition};
use lapsedb_value::{Object, Value};
use proptest::collection::vec;
use proptest::prelude::*;

const TOKENS: [&str; 79] = [
    "SELECT",
    "VALUE",
    "FROM",
    "WHERE",
    "c",
    "t",
    "x",
    "JOIN",
    "IN",
    "AS",
    "GROUP",
    "BY",
    "ORDER",
    "ASC",
    "DESC",
    "TOP",
    "DISTINCT",
    "OFFSET",
    "LIMIT",
    "AND",
    "OR",
    "NOT",
    "BETWEEN",
    "LIKE",
    "ESCAPE",
    "EXISTS",
    "ARRAY",
    "ALL",
    "FIRST",
    "udf",
    "RANK",
    "COUNT",
    "SUM",
    "ABS",
    "CONCAT",
    "true",
    "null",
    "undefined",
    "NaN",
    "Infinity",
    "9223372036854775808",
    "1",
    "0",
    "2.5",
    "-",
    "+",
    "*",
    "/",
    "%",
    "~",
    "&",
    "|",
    "^",
    "||",
    "<<",
    ">>",
    ">>>",
    "<",
    "<=",
    ">",
    ">=",
    "=",
    "!=",
    "<>",
    "?",
    "??",
    ":",
    ",",
    ".",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'a%'",
    "\"b\"",
    "@p",
    "--",
];

/// Documents with every kind of value, some of them where queries look.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Undefined),
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(Value::Int32),
        any::<i64>().prop_map(Value::Int64),
        any::<f64>()
            .prop_filter("finite", |n| n.is_finite())
            .prop_map(Value::number),
        "\\PC{0,8}".prop_map(Value::from),
        prop_oneof![
            Just("2020-02-29T01:02:03Z"),
            Just("yyyy"),
            Just("dd"),
            Just("(a+)+$"),
            Just("😀é")
        ]
        .prop_map(Value::from),
        any::<i64>().prop_map(Value::Date),
        any::<[u8; 12]>().prop_map(Value::ObjectId),
        Just(Value::MinKey),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            vec(
                (
                    prop_oneof![Just("a"), Just("b"), Just("type"), Just("coordinates")],
                    inner
                ),
                0..4
            )
            .prop_map(|members| {
                let mut object = Object::new();
                for (name, value) in members {
                    object.insert(name, value);
                }
                Value::Object(object)
            }),
        ]
    })
}

/// Expressions that parse, over everything the language has.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("c".to_owned()),
        Just("c.a".to_owned()),
        Just("c.b".to_owned()),
        Just("c.a[0]".to_owned()),
        Just("undefined".to_owned()),
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("1e308".to_owned()),
        Just("-1".to_owned()),
        Just("0.5".to_owned()),
        Just("'%a_[b'".to_owned()),
        Just("'2020-02-29'".to_owned()),
        Just("{\"type\":\"Polygon\",\"coordinates\":[[[0,0],[1,0],[1,1],[0,0]]]}".to_owned()),
        Just("{\"type\":\"Point\",\"coordinates\":[179,-90]}".to_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        let operators = prop_oneof![
            Just("+"),
            Just("-"),
            Just("*"),
            Just("/"),
            Just("%"),
            Just("<<"),
            Just(">>"),
            Just(">>>"),
            Just("<"),
            Just(">="),
            Just("="),
            Just("!="),
            Just("&"),
            Just("|"),
            Just("^"),
            Just("||"),
            Just("AND"),
            Just("OR"),
            Just("??"),
            Just("LIKE"),
        ];
        let function =
            (0..functions::all().len(), vec(inner.clone(), 0..5)).prop_map(|(at, mut args)| {
                let function = &functions::all()[at];
                let most = function
                    .max
                    .map_or(args.len().max(usize::from(function.min)), usize::from);
                args.truncate(most);
                while args.len() < usize::from(function.min) {
                    args.push("c.a".to_owned());
                }
                format!("{}({})", function.name, args.join(","))
            });
        prop_oneof![
            (inner.clone(), operators, inner.clone())
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} BETWEEN {b} AND {c})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} NOT IN ({b}, 1))")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{x: {a}, y: {b}}}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            inner
                .clone()
                .prop_map(|a| format!("ARRAY(SELECT VALUE [x, {a}] FROM x IN c.a)")),
            inner
                .clone()
                .prop_map(|a| format!("(SELECT VALUE MAX({a}) FROM x IN c.a WHERE x != 1)")),
            inner
                .clone()
                .prop_map(|a| format!("EXISTS(SELECT VALUE 1 FROM x IN c.a WHERE x < {a})")),
            inner.prop_map(|a| format!("(NOT -~{a})")),
            function.clone(),
            function.clone(),
            function,
        ]
    })
}

fn run_all(text: &str, documents: &[Value]) {
    let params: Params = [("p", Value::Int32(1))].into_iter().collect();
    let Ok(query) = parse(text) else { return };
    let Ok(bound) = bind(&query, &params) else {
        return;
    };
    let mut executor = Executor::new(&bound, Env::new(1_600_000_000_000));
    for document in documents {
        if executor.push(document.clone()).is_err() {
            return;
        }
    }
    let rows = executor.finish().unwrap_or_default();
    assert!(
        !rows.iter().any(Value::is_undefined),
        "an undefined row came out"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn on_random_text(text in "\\PC{0,60}") {
        run_all(&text, &[]);
        run_all(&format!("SELECT VALUE {text} FROM c"), &[Value::Null]);
        let _ = parse_condition(&text);
    }

    #[test]
    fn on_a_soup_of_tokens(words in vec(0..TOKENS.len(), 0..30), documents in vec(value(), 0..3)) {
        let text = words.iter().map(|at| TOKENS[*at]).collect::<Vec<_>>().join(" ");
        run_all(&text, &documents);
        run_all(&format!("SELECT {text} FROM c"), &documents);
        run_all(&format!("SELECT * FROM c WHERE {text}"), &documents);
        let _ = parse_condition(&format!("FROM c WHERE {text}"));
    }

    #[test]
    fn on_random_expressions(expr in expression(), documents in vec(value(), 1..4)) {
        let documents: Vec<Value> = documents
            .into_iter()
            .map(|value| {
                let mut object = Object::new();
                object.insert("a", value.clone());
                object.insert("b", value);
                Value::Object(object)
            })
            .collect();
        let text = format!("SELECT VALUE {expr} FROM c");
        prop_assert!(parse(&text).is_ok(), "{}", text);
        run_all(&text, &documents);
        run_all(&format!("SELECT DISTINCT {expr} FROM c WHERE {expr} OR true"), &documents);
        run_all(&format!("SELECT COUNT(1), MAX(c.a) FROM c GROUP BY {expr}"), &documents);
    }
}
