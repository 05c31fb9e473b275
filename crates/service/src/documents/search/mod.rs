//! What only the keys of certain indexes answer: `$text` by words, `$near` and its like by the cells of places.

mod choose;
mod keys;
mod places;
mod text;

pub(crate) use choose::{choose, narrow, near_enough, nearest_first};
pub(crate) use keys::key_makers;
pub(crate) use places::near_field;
pub(crate) use text::{all_specs, spec};

/// The field that stands for the words of a text index.
pub(crate) const FTS: &str = "_fts";
/// The field behind it.
pub(crate) const FTSX: &str = "_ftsx";
/// The option, seen by no client, that says that documents have entries: indexes of older stores have none.
pub(crate) const ENTRIES: &str = "entries";
/// Entries that hold words or cells.
pub(crate) const PLAIN_ENTRIES: i32 = 1;
/// Entries of words with how much each counts in its document: a unique index tells them apart by both.
pub(crate) const SCORED_ENTRIES: i32 = 2;
/// Between which numbers the places of a `2d` index lie, where it does not say.
pub(crate) const PLANE_MIN: f64 = -180.0;
/// See [`PLANE_MIN`].
pub(crate) const PLANE_MAX: f64 = 180.0;
