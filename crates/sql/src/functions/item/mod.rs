//! Items.

pub(super) mod document_id;
pub(super) mod generate_embeddings;
pub(super) mod hash;
pub(super) mod lapsedb_expires_at;
pub(super) mod lapsedb_seconds_left;
