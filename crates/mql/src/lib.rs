//! The language of MongoDB: filters, updates, projections, sorts and pipelines over values.
//!
//! Knows no storage, no protocol and no clock: documents and the time come in as arguments. Nothing here panics on input.

mod accumulators;
pub mod collation;
pub mod distinct;
pub mod error;
pub mod expressions;
pub mod filter;
pub mod pattern;
pub mod projection;
pub mod show;
pub mod sort;
pub mod stages;
pub mod text;
pub mod update;
pub mod validation;
mod values;

pub use accumulators::accumulator_names;
pub use error::{MqlError, Result};
