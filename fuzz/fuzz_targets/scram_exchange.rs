//! Logins of any shape without the password: each step is answered, none panics, none logs in.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lapsedb_fuzz::scram::converse(bytes));
