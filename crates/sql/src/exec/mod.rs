//! Documents in, rows out.

mod aggregate;
mod executor;
mod group;
mod key;
mod pipeline;
mod rank;
mod sort;

pub use executor::{Executor, Progress};
pub(crate) use key::Key;
pub(crate) use pipeline::Pipeline;
