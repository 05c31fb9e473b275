//! HTTP requests of any shape on a small store in memory: each is answered, none panics or answers 500.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lapsedb_fuzz::http::converse(bytes));
