//! Queries put together from the whole grammar: they parse, what they print parses to the same, and both give the same rows.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(difference) = lapsedb_sql::fuzz::grammar(bytes) {
        panic!("{difference}");
    }
});
