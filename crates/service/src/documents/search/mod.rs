//! What only the keys of certain indexes answer: `$text` by words.

mod choose;
mod keys;
mod text;

pub(crate) use choose::choose;
pub(crate) use keys::key_makers;
pub(crate) use text::{all_specs, spec};

/// The field that stands for the words of a text index.
pub(crate) const FTS: &str = "_fts";
/// The field behind it.
pub(crate) const FTSX: &str = "_ftsx";
/// The option, seen by no client, that says that documents have entries: indexes of older stores have none.
pub(crate) const ENTRIES: &str = "entries";
