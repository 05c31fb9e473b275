//! Any text as a query: an error with a place in the text, or rows; never a panic, never without end.
#![no_main]

use lapsedb_sql::Params;
use lapsedb_value::json;

/// A document with every kind of value, so that functions meet what they do and do not expect.
const DOCUMENT: &[u8] = br#"{"id":"a","n":5,"f":-1.5,"s":"text","b":true,"z":null,"tags":["x","y",3],
    "o":{"p":{"q":1}},"t":"2026-11-15T12:00:00.0000000Z","loc":{"type":"Point","coordinates":[1,2]},"v":[0.1,0.2,0.3]}"#;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(document) = json::parse(DOCUMENT, &json::Limits::DEFAULT) else {
        return;
    };
    let _ = lapsedb_sql::parse_condition(text);
    match lapsedb_sql::run(
        text,
        &Params::new(),
        [document.clone(), document].into_iter(),
        1_794_700_000_000,
    ) {
        Ok(rows) => assert!(rows.iter().all(|row| !row.is_undefined())),
        Err(error) => assert!(error.start <= error.end, "{error:?}"),
    }
});
