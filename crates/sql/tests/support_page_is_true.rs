//! `docs/support/sql.md` is written from what the crate knows: every function of the service and every construct, with yes or
//! no. `UPDATE=1` writes it anew (`cargo run -p xtask -- gen` does that); without it, the test fails when the page is stale.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use lapsedb_sql::plan::AggregateKind;
use lapsedb_sql::{Keyword, Params, SqlError, bind, error, functions, parse};
use lapsedb_value::Value;

/// The functions that the service documents, by family.
const SERVICE: [(&str, &[&str]); 12] = [
    (
        "Aggregates",
        &[
            "AVG", "COUNT", "COUNTIF", "MAKELIST", "MAKESET", "MAX", "MIN", "SUM",
        ],
    ),
    (
        "Arrays",
        &[
            "ARRAY_AVG",
            "ARRAY_CONCAT",
            "ARRAY_CONTAINS",
            "ARRAY_CONTAINS_ALL",
            "ARRAY_CONTAINS_ANY",
            "ARRAY_LENGTH",
            "ARRAY_MAX",
            "ARRAY_MEDIAN",
            "ARRAY_MIN",
            "ARRAY_SLICE",
            "ARRAY_SUM",
            "CHOOSE",
            "ObjectToArray",
            "SetDifference",
            "SetEqual",
            "SetIntersect",
            "SetUnion",
        ],
    ),
    ("Conditional", &["IIF"]),
    (
        "Date and time",
        &[
            "Ago",
            "DateTimeAdd",
            "DateTimeBin",
            "DateTimeDiff",
            "DateTimeFormat",
            "DateTimeFromParts",
            "DateTimePart",
            "DateTimeToTicks",
            "DateTimeToTimestamp",
            "DAY",
            "GetCurrentDateTime",
            "GetCurrentDateTimeStatic",
            "GetCurrentTicks",
            "GetCurrentTicksStatic",
            "GetCurrentTimestamp",
            "GetCurrentTimestampStatic",
            "IS_DATETIME",
            "MONTH",
            "Now",
            "TicksToDateTime",
            "TimestampToDateTime",
            "YEAR",
        ],
    ),
    (
        "Full text",
        &[
            "FullTextContains",
            "FullTextContainsAll",
            "FullTextContainsAny",
            "FullTextScore",
            "RRF",
        ],
    ),
    ("Items", &["DocumentId", "GenerateEmbeddings", "HASH"]),
    (
        "Integers",
        &[
            "IntAdd",
            "IntBitAnd",
            "IntBitLeftShift",
            "IntBitNot",
            "IntBitOr",
            "IntBitRightShift",
            "IntBitXor",
            "IntDiv",
            "IntMod",
            "IntMul",
            "IntSub",
        ],
    ),
    (
        "Mathematics",
        &[
            "ABS",
            "ACOS",
            "ASIN",
            "ATAN",
            "ATN2",
            "CEILING",
            "COS",
            "COT",
            "DEGREES",
            "EXP",
            "FLOOR",
            "LOG",
            "LOG10",
            "NumberBin",
            "PI",
            "POWER",
            "RADIANS",
            "RAND",
            "ROUND",
            "SIGN",
            "SIN",
            "SQRT",
            "SQUARE",
            "TAN",
            "TRUNC",
        ],
    ),
    (
        "Spatial",
        &[
            "ST_AREA",
            "ST_DISTANCE",
            "ST_INTERSECTS",
            "ST_ISVALID",
            "ST_ISVALIDDETAILED",
            "ST_WITHIN",
        ],
    ),
    (
        "Strings",
        &[
            "CONCAT",
            "CONTAINS",
            "ContainsAllCi",
            "ContainsAllCs",
            "ContainsAnyCi",
            "ContainsAnyCs",
            "ENDSWITH",
            "INDEX_OF",
            "LastIndexOf",
            "LastSubstringAfter",
            "LastSubstringBefore",
            "LEFT",
            "LENGTH",
            "LOWER",
            "LTRIM",
            "RegexExtract",
            "RegexExtractAll",
            "RegexMatch",
            "RegexReplace",
            "RegexReplaceAll",
            "REPLACE",
            "REPLICATE",
            "REVERSE",
            "RIGHT",
            "RTRIM",
            "STARTSWITH",
            "StringEquals",
            "StringJoin",
            "StringSplit",
            "StringToArray",
            "StringToBoolean",
            "StringToNull",
            "StringToNumber",
            "StringToObject",
            "SUBSTRING",
            "SubstringAfter",
            "SubstringBefore",
            "ToString",
            "TRIM",
            "UPPER",
        ],
    ),
    (
        "Types",
        &[
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
        ],
    ),
    ("Vectors", &["GenerateEmbeddings", "VectorDistance"]),
];

/// What the language has, with a query that has it. Whether it works is found out by trying.
const CONSTRUCTS: [(&str, &str); 56] = [
    ("`SELECT *`", "SELECT * FROM c"),
    ("select list with names", "SELECT c.a, c.b.c AS d, 1 FROM c"),
    ("names in quotes", "SELECT c.a AS \"a b\", c.b 'c' FROM c"),
    ("a reserved word as a name", "SELECT c.value FROM c"),
    ("`SELECT VALUE`", "SELECT VALUE c.a FROM c"),
    ("`SELECT DISTINCT`", "SELECT DISTINCT c.a FROM c"),
    ("`TOP n`, also by parameter", "SELECT TOP @n * FROM c"),
    ("`FROM` with an alias", "SELECT * FROM root AS r"),
    ("`FROM` a part of the item", "SELECT * FROM c.children"),
    ("`FROM x IN`", "SELECT * FROM x IN c.children"),
    (
        "`JOIN`, several",
        "SELECT c.id, x, y FROM c JOIN x IN c.a JOIN y IN x.b",
    ),
    (
        "`JOIN` with a subquery",
        "SELECT c.id, s FROM c JOIN (SELECT VALUE x FROM x IN c.a WHERE x > 1) AS s",
    ),
    (
        "`FROM` a subquery",
        "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.a FROM c)",
    ),
    ("no `FROM`", "SELECT 1"),
    (
        "`WHERE`",
        "SELECT * FROM c WHERE c.a = 1 AND NOT (c.b < 2 OR c.d != null)",
    ),
    (
        "`IN`, `NOT IN`",
        "SELECT * FROM c WHERE c.a IN (1, 2) AND c.b NOT IN (3)",
    ),
    (
        "`BETWEEN`, `NOT BETWEEN`, alone or in parentheses",
        "SELECT * FROM c WHERE (c.a BETWEEN 1 AND 2) AND (c.b NOT BETWEEN 1 AND 2)",
    ),
    (
        "`BETWEEN` beside `AND`",
        "SELECT * FROM c WHERE c.a BETWEEN 1 AND 2 AND c.b = 1",
    ),
    (
        "`LIKE … ESCAPE`",
        "SELECT * FROM c WHERE c.a LIKE 'x!%%' ESCAPE '!' AND c.b NOT LIKE '[a-d]_'",
    ),
    (
        "`GROUP BY` one or more expressions",
        "SELECT c.a, LOWER(c.b) AS b, COUNT(1) AS n FROM c GROUP BY c.a, LOWER(c.b)",
    ),
    ("`ORDER BY` one path", "SELECT * FROM c ORDER BY c.a DESC"),
    (
        "`ORDER BY` several paths (needs a composite index)",
        "SELECT * FROM c ORDER BY c.a, c.b DESC",
    ),
    (
        "`ORDER BY VectorDistance(…)`",
        "SELECT TOP 5 * FROM c ORDER BY VectorDistance(c.v, [1, 2])",
    ),
    (
        "`ORDER BY ST_DISTANCE(…)`",
        "SELECT * FROM c ORDER BY ST_DISTANCE(c.p, {\"type\": \"Point\", \"coordinates\": [1, 2]})",
    ),
    (
        "`ORDER BY` any other expression",
        "SELECT * FROM c ORDER BY LOWER(c.a)",
    ),
    (
        "`ORDER BY` a path of a `JOIN`",
        "SELECT VALUE x FROM c JOIN x IN c.a ORDER BY x.b",
    ),
    (
        "an index that is computed: `c.a[c.b]`",
        "SELECT VALUE c.a[c.b] FROM c",
    ),
    (
        "`ORDER BY` a path that is grouped by",
        "SELECT c.a FROM c GROUP BY c.a ORDER BY c.a",
    ),
    (
        "expressions over aggregates",
        "SELECT SUM(c.a) / COUNT(1) AS mean FROM c",
    ),
    (
        "`ORDER BY RANK FullTextScore(…)`",
        "SELECT TOP 5 * FROM c ORDER BY RANK FullTextScore(c.t, 'a', 'b')",
    ),
    (
        "`ORDER BY RANK VectorDistance(…)`",
        "SELECT TOP 5 * FROM c ORDER BY RANK VectorDistance(c.v, [1, 2])",
    ),
    (
        "`ORDER BY RANK RRF(…)`, with weights",
        "SELECT TOP 5 * FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'a'), VectorDistance(c.v, [1, 2]), [2, 1])",
    ),
    ("`OFFSET … LIMIT`", "SELECT * FROM c OFFSET 10 LIMIT @n"),
    (
        "`TOP` together with `OFFSET … LIMIT`",
        "SELECT TOP 1 * FROM c OFFSET 1 LIMIT 1",
    ),
    (
        "scalar subquery",
        "SELECT (SELECT VALUE COUNT(1) FROM x IN c.a) AS n FROM c",
    ),
    (
        "scalar subquery that may have several rows",
        "SELECT (SELECT VALUE x FROM x IN c.a) AS x FROM c",
    ),
    ("`LET`", "SELECT VALUE (LET x = c.a IN x + 1) FROM c"),
    (
        "`EXISTS(…)`",
        "SELECT * FROM c WHERE EXISTS(SELECT VALUE x FROM x IN c.a WHERE x = 1)",
    ),
    (
        "`ARRAY(…)`",
        "SELECT ARRAY(SELECT VALUE x FROM x IN c.a) AS a FROM c",
    ),
    (
        "`ALL(…)`",
        "SELECT * FROM c WHERE ALL(SELECT VALUE x > 1 FROM x IN c.a)",
    ),
    (
        "`FIRST(…)`, `LAST(…)`",
        "SELECT FIRST(SELECT VALUE x FROM x IN c.a) AS f, LAST(SELECT VALUE x FROM x IN c.a) AS l FROM c",
    ),
    (
        "aggregates in subqueries",
        "SELECT (SELECT VALUE MAX(x) FROM x IN c.a) AS m FROM c",
    ),
    (
        "`ORDER BY` in a subquery",
        "SELECT ARRAY(SELECT VALUE x FROM x IN c.a ORDER BY x) AS a FROM c",
    ),
    (
        "`TOP` in a subquery",
        "SELECT ARRAY(SELECT TOP 1 VALUE x FROM x IN c.a) AS a FROM c",
    ),
    (
        "`OFFSET … LIMIT` in a subquery",
        "SELECT ARRAY(SELECT VALUE x FROM x IN c.a OFFSET 0 LIMIT 1) AS a FROM c",
    ),
    (
        "object and array literals",
        "SELECT VALUE {\"a\": c.a, b: [1, c.b]} FROM c",
    ),
    ("`+ - * / %`", "SELECT VALUE c.a + 1 - 2 * 3 / 4 % 5 FROM c"),
    ("`& | ^ ~`", "SELECT VALUE (c.a & 1) | (c.b ^ ~2) FROM c"),
    ("`||` of strings", "SELECT VALUE c.a || 'x' FROM c"),
    ("`??`", "SELECT VALUE c.a ?? 'x' FROM c"),
    ("`? :`", "SELECT VALUE c.a ? 1 : 2 FROM c"),
    ("parameters", "SELECT * FROM c WHERE c.a = @p"),
    (
        "quoted and escaped names",
        "SELECT c[\"a b\"], c['\\u00e9'] FROM c",
    ),
    ("comments to the end of a line", "SELECT * -- all\nFROM c"),
    ("comments in a line", "SELECT /* all */ * FROM c"),
    ("`udf.f(…)`", "SELECT VALUE udf.f(c.a) FROM c"),
];

/// Whether a construct works: yes, no, or not in every way a query is asked.
fn works(text: &str) -> String {
    let mut params = Params::new();
    params.set("@n", Value::number(3.0));
    params.set("@p", Value::number(1.0));
    let said = |error: SqlError| {
        let code = if error.code.is_empty() { "" } else { ": " };
        let text = format!("{}{code}{}", error.code, error.message);
        text.replace('|', "\\|")
    };
    let bound = match parse(text).and_then(|query| bind(&query, &params)) {
        Ok(bound) => bound,
        Err(error) => return format!("no: {}", said(error)),
    };
    match (bound.check_runs(), bound.check_plan()) {
        (Ok(()), Ok(())) => "yes".to_owned(),
        (Err(error), _) => format!("planned, and not run: {}", said(error)),
        (Ok(()), Err(error)) => format!("run, and not planned: {}", said(error)),
    }
}

fn has(name: &str) -> Option<String> {
    if let Some(function) = functions::find(name) {
        return Some(function.doc.to_owned());
    }
    AggregateKind::from_name(name).map(|_| "aggregate".to_owned())
}

fn page() -> String {
    let mut page = String::from(
        "# SQL: what works\n\nWritten by `cargo run -p xtask -- gen` from the tables of `crates/sql`; a test fails when it is stale.\n\
         \n## Constructs\n\n| construct | works |\n|---|---|\n",
    );
    for (name, text) in CONSTRUCTS {
        writeln!(page, "| {name} | {} |", works(text)).unwrap();
    }
    let mut known: Vec<&str> = Vec::new();
    for (family, names) in SERVICE {
        writeln!(
            page,
            "\n## {family}\n\n| function | works | what it does |\n|---|---|---|"
        )
        .unwrap();
        for name in names {
            known.push(name);
            match has(name) {
                Some(doc) => {
                    writeln!(page, "| `{name}` | yes | {} |", doc.replace('|', "\\|")).unwrap()
                }
                None => writeln!(page, "| `{name}` | no | |").unwrap(),
            }
        }
    }
    page.push_str("\n## Only here\n\n| function | what it does |\n|---|---|\n");
    for function in functions::all() {
        let is_known = |name: &&&str| name.eq_ignore_ascii_case(function.name);
        if known.iter().find(is_known).is_none() {
            writeln!(page, "| `{}` | {} |", function.name, function.doc).unwrap();
        }
    }
    writeln!(
        page,
        "\n## Reserved words\n\nIn any case: {}.\n\nIn exactly this case: {}.",
        Keyword::IN_ANY_CASE.join(", "),
        Keyword::AS_WRITTEN.join(", ")
    )
    .unwrap();
    page.push_str(
        "\n## Refusals\n\nBraces stand for what the query says.\n\n| code | text |\n|---|---|\n",
    );
    for (code, text) in error::ERRORS {
        writeln!(page, "| {code} | {} |", text.replace('|', "\\|")).unwrap();
    }
    page
}

/// Asked at run time: what was compiled in one clone may run in another.
fn file() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where this package is");
    Path::new(&package).join("../../docs/support/sql.md")
}

#[test]
fn the_support_page_says_what_the_crate_does() {
    let (file, page) = (file(), page());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &page).unwrap();
    }
    let stored = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        stored == page,
        "docs/support/sql.md is stale: cargo run -p xtask -- gen"
    );
}

#[test]
fn every_function_of_the_service_is_built() {
    let all = SERVICE.iter().flat_map(|(_, names)| names.iter());
    let missing: Vec<_> = all.filter(|name| has(name).is_none()).collect();
    assert_eq!(missing, Vec::<&&str>::new());
}
