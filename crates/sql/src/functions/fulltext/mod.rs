//! Full text.

pub(super) mod full_text_contains;
pub(super) mod full_text_contains_all;
pub(super) mod full_text_contains_any;
pub(super) mod full_text_score;
pub(super) mod rrf;
