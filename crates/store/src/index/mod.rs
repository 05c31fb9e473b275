//! What of a document is indexed, and under which bytes.

pub mod encode;
pub mod order;
pub mod policy;
pub mod scan;
pub mod shape;
