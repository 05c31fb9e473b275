//! Starts the real server, talks to it as a client does, moves its clock, kills it, runs the cases under `spec/`, copies a store,
//! counts the memory of a test, and ends one that hangs.
//!
//! Sees the server only from outside: a process, its ready line, HTTP, the Mongo wire. Serves tests alone, so what it cannot do fails the
//! test on the spot, with a sentence.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says what it expects by failing"
)]

mod binary_json;
mod client;
mod container;
mod folder;
mod limit;
mod memory;
mod mongo;
mod random;
mod server;
mod sign;
mod spec;

pub use client::{Client, Reply, Request};
pub use container::Container;
pub use folder::copy_folder;
pub use limit::{TimeLimit, run, run_on_threads};
pub use memory::{CountingAllocator, peak};
pub use mongo::MongoClient;
pub use random::Random;
pub use server::{Engine, Options, Server, binary};
pub use sign::{EMULATOR_KEY, Signer, http_date};
pub use spec::{Report, run_folder, spec_root};
