//! What of a document is indexed, and under which bytes.

pub mod bson_key;
#[cfg(test)]
mod bson_key_tests;
pub(crate) mod build;
pub mod composite;
pub mod encode;
pub mod named;
pub mod order;
pub mod policy;
pub mod scan;
pub mod shape;
