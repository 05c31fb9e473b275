//! Documents of exactly one kibibyte.

use super::bson::Doc;
use crate::item::Random;

/// What one document weighs.
pub const DOCUMENT_BYTES: usize = 1024;
/// Groups that documents fall into.
pub const GROUPS: i32 = 100;
/// What a document weighs without its payload.
const REST_BYTES: usize = 57;

/// A document and its bytes.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its `_id`.
    pub id: [u8; 12],
    /// A number without an order.
    pub rank: i32,
    /// Its bytes: they must come back as they are.
    pub bytes: Vec<u8>,
}

impl Document {
    /// The document number `count` of `worker` in the turn `turn_id`: no two have the same `_id`.
    pub fn new(turn_id: usize, worker: usize, count: u64) -> Self {
        let mut id = [0; 12];
        id[..4].copy_from_slice(&(turn_id as u32).to_be_bytes());
        id[4..7].copy_from_slice(&(worker as u32).to_be_bytes()[1..]);
        id[7..].copy_from_slice(&count.to_be_bytes()[3..]);
        let seed = ((turn_id as u64) << 40) ^ ((worker as u64) << 32) ^ count;
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let rank = i32::try_from(random.next() >> 34).unwrap_or(0);
        let group = i32::try_from(count % GROUPS as u64).unwrap_or(0);
        let mut payload = String::with_capacity(DOCUMENT_BYTES);
        while payload.len() < DOCUMENT_BYTES - REST_BYTES {
            // Half of the letters vary, so that the store's compression finds text and not noise.
            payload.push('e');
            payload.push(random.letter());
        }
        payload.truncate(DOCUMENT_BYTES - REST_BYTES);
        let bytes = Doc::new()
            .object_id("_id", &id)
            .int("rank", rank)
            .int("group", group)
            .text("payload", &payload)
            .finish();
        Self { id, rank, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_weighs_one_kibibyte_and_is_like_no_other() {
        let mut seen = std::collections::HashSet::new();
        for (turn, worker, count) in [(0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1)] {
            let document = Document::new(turn, worker, count);
            assert_eq!(document.bytes.len(), DOCUMENT_BYTES);
            assert!(seen.insert(document.id));
        }
    }
}
