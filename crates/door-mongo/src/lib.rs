//! The Mongo door: wire bytes to verbs and back. Nothing is decided here.

pub mod wire;
