//! What a continuation token continues. A place in one sequence of items, rows or resources means nothing in another, so every token
//! bears a mark of its sequence, and is refused where the mark is another one.

use lapsedb_store::{Collection, ItemRange};

use crate::error::Error;
use crate::reply::Owner;

/// The basis and the prime of FNV-1a with 32 bits. Nobody has to be kept from forging a mark: tokens open nothing.
const FNV_BASIS: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;

/// A mark of a sequence: the same for the same sequence, in every run of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(u32);

impl Mark {
    /// Of a feed of catalog resources: whose they are, and what they are called on the wire.
    pub(crate) fn of_resources(owner: &Owner, kind: &str) -> Mark {
        Mark(FNV_BASIS)
            .and(owner.rid.as_bytes())
            .and(kind.as_bytes())
    }

    /// Of a part of a collection's items. A collection that is made anew under the same name is another one.
    pub(crate) fn of_items(collection: &Collection, range: &ItemRange) -> Mark {
        let mark = Mark(FNV_BASIS).and(&collection.cid.0.to_be_bytes());
        let mut levels = Vec::new();
        match range {
            ItemRange::Everything => mark,
            ItemRange::Partition(key) => {
                key.encode_levels(&mut levels);
                mark.and(b"p").and(&levels)
            }
            ItemRange::Prefix(key) => {
                key.encode_levels(&mut levels);
                mark.and(b"b").and(&levels)
            }
            ItemRange::Epk(range) => mark.and(b"e").and(&range.min).and(&range.max),
            // Requests name no spans.
            ItemRange::Spans(_) => mark.and(b"s"),
        }
    }

    /// Of rows that are made of these items, in the order that a part of the query's text says.
    pub(crate) fn in_sequence(self, sequence: &[u16]) -> Mark {
        let bytes: Vec<u8> = sequence
            .iter()
            .flat_map(|unit| unit.to_be_bytes())
            .collect();
        self.and(b"q").and(&bytes)
    }

    /// The mark as a number, for tokens.
    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    /// A resume point with the mark before it.
    pub(crate) fn write(self, place: &[u8]) -> Vec<u8> {
        [&self.0.to_be_bytes()[..], place].concat()
    }

    /// The resume point behind the mark; none if the mark is another one.
    pub(crate) fn read(self, token: &[u8]) -> Option<&[u8]> {
        token.strip_prefix(&self.0.to_be_bytes())
    }

    /// The mark of more: each part with its length, so that none runs into the next.
    fn and(self, part: &[u8]) -> Mark {
        let length = (part.len() as u64).to_be_bytes();
        let bytes = length.iter().chain(part);
        Mark(bytes.fold(self.0, |hash, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(FNV_PRIME)
        }))
    }
}

/// The answer to a token that is none, or that continues something else.
#[must_use]
pub fn invalid_token() -> Error {
    Error::bad_request(
        "Invalid Continuation Token: it is none of this server's, or was given for another container, another partition key or range, or another query. Send it with the request that it was given for, or begin without one.",
    )
}
