//! Queries of the corpus with some of their words changed: most are nearly right. An error with a place in the text, or rows.
#![no_main]

use std::sync::LazyLock;

use lapsedb_value::json;

const FILES: [&str; 22] = [
    include_str!("../../spec/sql/corpus/clauses_group_by.jsonl"),
    include_str!("../../spec/sql/corpus/clauses_order_by.jsonl"),
    include_str!("../../spec/sql/corpus/clauses_others.jsonl"),
    include_str!("../../spec/sql/corpus/clauses_where.jsonl"),
    include_str!("../../spec/sql/corpus/errors_functions.jsonl"),
    include_str!("../../spec/sql/corpus/errors_meaning.jsonl"),
    include_str!("../../spec/sql/corpus/errors_syntax_clauses.jsonl"),
    include_str!("../../spec/sql/corpus/errors_syntax_value.jsonl"),
    include_str!("../../spec/sql/corpus/functions_aggregates.jsonl"),
    include_str!("../../spec/sql/corpus/functions_arrays.jsonl"),
    include_str!("../../spec/sql/corpus/functions_dates.jsonl"),
    include_str!("../../spec/sql/corpus/functions_geometry.jsonl"),
    include_str!("../../spec/sql/corpus/functions_integers.jsonl"),
    include_str!("../../spec/sql/corpus/functions_math.jsonl"),
    include_str!("../../spec/sql/corpus/functions_others.jsonl"),
    include_str!("../../spec/sql/corpus/functions_search.jsonl"),
    include_str!("../../spec/sql/corpus/functions_strings.jsonl"),
    include_str!("../../spec/sql/corpus/functions_types.jsonl"),
    include_str!("../../spec/sql/corpus/names.jsonl"),
    include_str!("../../spec/sql/corpus/operators_like.jsonl"),
    include_str!("../../spec/sql/corpus/operators_values.jsonl"),
    include_str!("../../spec/sql/corpus/subqueries.jsonl"),
];

static QUERIES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let lines = FILES.iter().flat_map(|file| file.split_terminator('\n'));
    lines
        .filter_map(|line| json::parse(line.as_bytes(), &json::Limits::DEFAULT).ok())
        .filter_map(|row| row.get("query").as_str().map(str::to_owned))
        .collect()
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let [high, low, changes @ ..] = bytes else {
        return;
    };
    let at = usize::from(u16::from_be_bytes([*high, *low])) % QUERIES.len();
    if let Err(difference) = lapsedb_sql::fuzz::changed(&QUERIES[at], changes) {
        panic!("{difference}");
    }
});
