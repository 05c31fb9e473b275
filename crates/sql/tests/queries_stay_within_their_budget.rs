//! Nothing that a query computes holds more bytes than its budget has, whatever function or clause makes them. The tables name every
//! function there is: a new one without a row fails.

use std::collections::BTreeSet;
use std::sync::Arc;

use lapsedb_sql::functions::all;
use lapsedb_sql::{Env, Executor, Flow, Params, SqlError, bind, error, parse};
use lapsedb_testkit::peak;
use lapsedb_value::budget::Stop;
use lapsedb_value::{Budget, Object, Value};

/// Bytes of the budget of each case.
const BYTES_MAX: usize = 1 << 20;

/// Bytes that may be allocated beside what is counted: room that lists have left, and one text of the largest size.
const ALLOCATED_MAX: usize = 8 * BYTES_MAX;

/// How often a value is doubled.
const ROUNDS: usize = 18;

/// A value, and an expression over `x` that makes it about twice as large.
const DOUBLING: &[(&str, &str, &str)] = &[
    ("ARRAY_CONCAT", "[1]", "ARRAY_CONCAT(x, x)"),
    ("CONCAT", "'xxxxxxxx'", "CONCAT(x, x)"),
    ("RegexReplace", "'xxxxxxxx'", "RegexReplace(x, '^', x)"),
    (
        "RegexReplaceAll",
        "'xxxxxxxx'",
        "RegexReplaceAll(x, '^', x)",
    ),
    (
        "ObjectToArray",
        "{a: 1}",
        "{a: ObjectToArray({a: x, b: x})}",
    ),
    ("REPLACE", "'xxxxxxxx'", "REPLACE(x, 'x', 'xx')"),
    (
        "SetUnion",
        "[1]",
        "SetUnion(x, ARRAY(SELECT VALUE [e, ARRAY_LENGTH(x)] FROM e IN x))",
    ),
    ("StringJoin", "'xxxxxxxx'", "StringJoin([x, x], '')"),
    ("ToString", "'xxxxxxxx'", "ToString([x, x])"),
];

/// Expressions over one document that make much more than it holds.
const AT_ONCE: &[(&str, &str)] = &[
    ("RegexExtractAll", "RegexExtractAll(c.text, 'x')"),
    (
        "REPLICATE",
        "ARRAY(SELECT VALUE REPLICATE('x', 10000) FROM e IN c.list)",
    ),
    ("StringSplit", "StringSplit(c.text, 'x')"),
    (
        "StringToArray",
        "StringToArray(CONCAT('[1', REPLACE(c.text, 'x', ',1'), ']'))",
    ),
    (
        "StringToObject",
        "StringToObject(CONCAT('{\"a\":[1', REPLACE(c.text, 'x', ',1'), ']}'))",
    ),
];

/// Clauses that make or keep much of little.
const CLAUSES: &[&str] = &[
    "SELECT VALUE ARRAY(SELECT VALUE [a, b, d] FROM a IN c.list JOIN b IN c.list JOIN d IN c.list) FROM c",
    "SELECT a, b FROM c JOIN a IN c.list JOIN b IN c.list ORDER BY c.n",
    "SELECT DISTINCT a, b FROM c JOIN a IN c.list JOIN b IN c.list",
    "SELECT a, b, COUNT(1) AS n FROM c JOIN a IN c.list JOIN b IN c.list GROUP BY a, b",
    "SELECT VALUE ARRAY(SELECT VALUE c FROM a IN c.list) FROM c",
];

/// Functions whose value is at most a few times as large as what they are given.
fn is_not_larger(name: &str) -> bool {
    let families = [
        "ARRAY_",
        "ST_",
        "IS_",
        "Int",
        "GetCurrent",
        "FullText",
        "DateTime",
        "LAPSEDB_",
        "Contains",
        "Substring",
        "LastSubstring",
        "Set",
        "StringTo",
    ];
    let others = [
        "ABS",
        "ACOS",
        "Ago",
        "ASIN",
        "ATAN",
        "ATN2",
        "CEILING",
        "CHOOSE",
        "CONTAINS",
        "COS",
        "COT",
        "DAY",
        "DEGREES",
        "DocumentId",
        "ENDSWITH",
        "EXP",
        "FLOOR",
        "GenerateEmbeddings",
        "HASH",
        "IIF",
        "INDEX_OF",
        "LastIndexOf",
        "LEFT",
        "LENGTH",
        "LOG",
        "LOG10",
        "LOWER",
        "LTRIM",
        "MONTH",
        "Now",
        "NumberBin",
        "PI",
        "POWER",
        "RADIANS",
        "RAND",
        "RegexExtract",
        "REGEXMATCH",
        "REVERSE",
        "RIGHT",
        "ROUND",
        "RTRIM",
        "SIGN",
        "SIN",
        "SQRT",
        "SQUARE",
        "STARTSWITH",
        "STRINGEQUALS",
        "SUBSTRING",
        "TAN",
        "TicksToDateTime",
        "TimestampToDateTime",
        "TRIM",
        "TRUNC",
        "UPPER",
        "VectorDistance",
        "YEAR",
        "_FullTextScore",
        "_FullTextWordCount",
        "_VectorScore",
    ];
    others.contains(&name) || families.iter().any(|family| name.starts_with(family))
}

fn document(n: i32) -> Value {
    let mut document = Object::new();
    document.push("id", n.to_string());
    document.push("n", n);
    document.push("text", "x".repeat(BYTES_MAX / 4));
    document.push("list", (0..200).map(Value::Int32).collect::<Vec<_>>());
    Value::Object(document)
}

fn run(text: &str, budget: Budget, documents: i32) -> Result<(), SqlError> {
    let budget = Arc::new(budget);
    let bound = bind(&parse(text)?, &Params::new())?;
    let mut executor = Executor::new(&bound, Env::new(0).within(&budget));
    for n in 0..documents {
        let flow = executor.push(document(n))?;
        executor.take_rows();
        if flow == Flow::Done {
            break;
        }
    }
    executor.finish().map(drop)
}

fn runs_out(name: &str, text: &str) {
    let (bytes, outcome) = peak(|| run(text, Budget::new(BYTES_MAX), 8));
    let code = outcome.map_err(|error| error.code);
    assert_eq!(code, Err(error::TOO_MUCH_MEMORY), "{name}: {text:.200}");
    assert!(bytes < ALLOCATED_MAX, "{name} allocated {bytes} bytes");
}

#[test]
fn every_function_that_can_make_more_than_it_is_given_runs_out_of_budget() {
    let doubling = DOUBLING.iter().map(|(name, ..)| *name);
    let rows: BTreeSet<&str> = doubling
        .chain(AT_ONCE.iter().map(|(name, _)| *name))
        .collect();
    for function in all() {
        let known = rows.contains(function.name) || is_not_larger(function.name);
        assert!(known, "{} needs a row", function.name);
    }
    for (name, seed, body) in DOUBLING {
        // The seed comes from the document, so that nothing is computed before it is read.
        let mut value = format!("(IS_DEFINED(c.id) ? {seed} : 0)");
        for _ in 0..ROUNDS {
            value = format!("FIRST(SELECT VALUE {body} FROM x IN (SELECT VALUE [{value}]))");
        }
        runs_out(name, &format!("SELECT VALUE {value} FROM c"));
    }
    for (name, body) in AT_ONCE {
        runs_out(name, &format!("SELECT VALUE {body} FROM c"));
    }
}

#[test]
fn every_clause_that_makes_or_keeps_much_runs_out_of_budget() {
    for text in CLAUSES {
        runs_out("a clause", text);
    }
}

#[test]
fn what_streams_is_not_held() {
    for text in [
        "SELECT VALUE CONCAT(c.text, c.text) FROM c",
        "SELECT VALUE COUNT(1) FROM c JOIN a IN c.list JOIN b IN c.list",
        "SELECT TOP 1 VALUE c.n FROM c ORDER BY c.n",
    ] {
        assert_eq!(run(text, Budget::new(2 * BYTES_MAX), 64), Ok(()), "{text}");
    }
}

#[test]
fn joins_end_when_somebody_says_so() {
    let endless = "SELECT VALUE COUNT(1) FROM c JOIN a IN c.list JOIN b IN c.list JOIN d IN c.list JOIN e IN c.list";
    for (stop, code) in [
        (Stop::Time, error::INTERRUPTED),
        (Stop::Interrupted, error::STOPPED),
    ] {
        let budget = Budget::default();
        budget.set_probe(Arc::new(move || Some(stop)));
        assert_eq!(run(endless, budget, 1).unwrap_err().code, code);
    }
}

#[test]
fn patterns_have_a_size_and_their_searches_count() {
    let matching = |pattern: &str| {
        run(
            &format!("SELECT VALUE REGEXMATCH(c.text, '{pattern}') FROM c"),
            Budget::default(),
            1,
        )
    };
    assert_eq!(matching("x+y"), Ok(()));
    assert_eq!(matching("(x{1000}){1000}"), Ok(()), "too large: undefined");
    let searched = run(
        "SELECT VALUE REGEXMATCH(c.text, 'y') FROM c",
        Budget::default().with_steps_max(1),
        1,
    );
    assert_eq!(
        searched.unwrap_err().code,
        error::TOO_MUCH_WORK,
        "the search counts"
    );
}

/// Functions that are not called here: they stand in `ORDER BY RANK` only, or take literals.
const NOT_CALLED: [&str; 4] = ["Ago", "DateTimeAdd", "FullTextScore", "GenerateEmbeddings"];

/// Functions that look at the types of their arguments, at their lengths or at one member, and not through them.
const LOOKS_AT_TYPES: &[&str] = &[
    "ARRAY_LENGTH",
    "DocumentId",
    "IS_ARRAY",
    "IS_BOOL",
    "IS_DEFINED",
    "IS_FINITE_NUMBER",
    "IS_INTEGER",
    "IS_NULL",
    "IS_NUMBER",
    "IS_OBJECT",
    "IS_PRIMITIVE",
    "IS_STRING",
    "LAPSEDB_EXPIRES_AT",
    "LAPSEDB_SECONDS_LEFT",
];

#[test]
fn every_function_costs_what_it_goes_through() {
    let steps = |text: &str| {
        let budget = Arc::new(Budget::default());
        let bound = bind(&parse(text).unwrap(), &Params::new()).expect(text);
        let mut executor = Executor::new(&bound, Env::new(0).within(&budget));
        let mut large = Object::new();
        large.push("text", "x".repeat(1 << 20));
        large.push("list", vec![Value::from("x".repeat(100)); 10_000]);
        // An unusable argument is not an error.
        let _ = executor.push(Value::Object(large));
        budget.steps_done()
    };
    for function in all() {
        if NOT_CALLED.contains(&function.name) || function.min == 0 {
            continue;
        }
        let called = |arg: &str| {
            let args = vec![arg; usize::from(function.min)].join(", ");
            steps(&format!("SELECT VALUE {}({args}) FROM c", function.name))
        };
        for arg in ["c.text", "c.list"] {
            let (large, name) = (called(arg), function.name);
            if LOOKS_AT_TYPES.contains(&name) {
                assert!(large < 3000, "{name}({arg}) took {large} steps");
            } else {
                assert!(large >= 3000, "{name}({arg}) took {large} steps");
            }
        }
    }
}
