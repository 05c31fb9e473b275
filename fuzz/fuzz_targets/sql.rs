//! Any text as a query: an error with a place in the text, or rows, and what it prints gives the same ones; never a panic, never
//! without end.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(difference) = lapsedb_sql::fuzz::text(text) {
        panic!("{difference}");
    }
});
