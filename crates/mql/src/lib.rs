//! The language of MongoDB: filters, updates, projections, sorts and pipelines over values.
//!
//! Knows no storage, no protocol and no clock: documents and the time come in as arguments. Nothing here panics on input.

mod error;

pub use error::{MqlError, Result};
