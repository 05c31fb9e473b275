//! Any bytes: an error or a value that survives its round trip, never a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(difference) = lapsedb_value::fuzz::bson(bytes) {
        panic!("{difference}");
    }
});
