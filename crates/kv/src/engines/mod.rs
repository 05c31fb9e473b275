//! One file per engine.

pub mod memory;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
