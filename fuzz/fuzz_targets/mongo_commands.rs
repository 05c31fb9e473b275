//! Commands of any shape on a small store in memory: each is answered, none panics, hangs or takes the memory of others.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let commands = lapsedb_fuzz::commands::commands(bytes);
    lapsedb_fuzz::server::converse(&commands);
});
