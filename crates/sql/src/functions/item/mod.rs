//! Items.

pub(super) mod document_id;
pub(super) mod hash;
