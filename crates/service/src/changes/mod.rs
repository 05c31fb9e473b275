//! Change streams: what happens to documents, told as it happens.

mod document;
mod open;
mod stream;
mod token;

pub(crate) use open::open;
pub(crate) use stream::{Changes, Scope};
