//! What of a document is indexed, and under which bytes.

pub mod encode;
pub mod policy;
