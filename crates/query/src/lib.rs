//! One algebra for both languages: which entries of which index an answer is read from, in which order, and where a page of it
//! ends. Knows no query text and no protocol.

pub mod exec;
pub mod page;
pub mod plan;
pub mod planner;

pub use lapsedb_store::index::{encode, order};
