//! The cases under `spec/`, on every engine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lapsedb_testkit::{Engine, run_folder};

#[test]
fn spec_ttl_in_memory() {
    run_folder("ttl", Engine::Memory).assert();
}

#[test]
fn spec_ttl_on_disk() {
    run_folder("ttl", Engine::Disk).assert();
}

#[test]
fn spec_http_in_memory() {
    run_folder("http", Engine::Memory).assert();
}

#[test]
fn spec_http_on_disk() {
    run_folder("http", Engine::Disk).assert();
}
