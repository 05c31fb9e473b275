//! The Mongo door: wire bytes to verbs and back. Nothing is decided here.

mod answer;
mod auth;
mod awaiting;
mod call;
#[cfg(test)]
mod call_tests;
mod codes;
mod commands;
mod compression;
mod connection;
mod door;
mod error;
mod fail_points;
mod fields;
mod generic;
mod labels;
mod lsid;
mod machine;
mod noted;
mod notes;
mod profiling;
mod read_concern;
mod registry;
mod request;
#[cfg(test)]
mod reserved_names_tests;
#[cfg(test)]
mod testing;
mod transactional_writes;
mod transactions;
mod transfer;
mod types;
mod unwinding;
pub mod wire;
mod write_concern;

pub use connection::{Patience, Peer};
pub use door::{Counted, Door, Settings};
pub use registry::support_page;
