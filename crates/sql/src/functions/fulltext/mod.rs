//! Full text.

pub(crate) mod bm25;
pub(super) mod common_words;
pub(super) mod contains;
pub(super) mod score;
