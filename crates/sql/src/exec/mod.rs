//! Documents in, rows out.

mod aggregate;
mod executor;
mod finite;
mod group;
mod key;
mod output;
mod pipeline;
mod rank;
mod sort;

pub use executor::{Executor, Progress, Row};
pub(crate) use finite::is_finite;
pub(crate) use key::Key;
pub(crate) use output::PageOf;
pub(crate) use pipeline::Pipeline;
pub(crate) use sort::{push_tie, sort_key};
