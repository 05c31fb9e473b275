//! The sixteen bytes before every message.

use super::{Malformed, malformed};

/// Bytes of a header.
pub const HEADER_BYTES: usize = 16;
/// Bytes of a whole message at most.
pub const MESSAGE_BYTES_MAX: usize = 48_000_000;

/// What stands before a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the message behind the header.
    pub payload_bytes: usize,
    /// The client's number for it.
    pub request_id: i32,
    /// What it answers; nothing, from a client.
    pub response_to: i32,
    /// What kind of message it is.
    pub op_code: i32,
    /// Bytes that the whole message may have, unpacked too.
    pub message_bytes_max: usize,
}

impl Header {
    /// Reads a header; the whole message may have so many bytes.
    ///
    /// # Errors
    /// When the length cannot be.
    pub fn read(bytes: &[u8; HEADER_BYTES], message_bytes_max: usize) -> Result<Header, Malformed> {
        let number = |at: usize| {
            let four = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
            four.map_or(0, |four| i32::from_le_bytes(*four))
        };
        let length = usize::try_from(number(0)).unwrap_or(0);
        if length < HEADER_BYTES || length > message_bytes_max {
            return malformed(format!(
                "a message says it has {} bytes; allowed: {HEADER_BYTES} to {message_bytes_max}",
                number(0)
            ));
        }
        Ok(Header {
            payload_bytes: length - HEADER_BYTES,
            request_id: number(4),
            response_to: number(8),
            op_code: number(12),
            message_bytes_max,
        })
    }

    /// The bytes it was read from, which a checksum covers too.
    pub(super) fn raw(&self) -> Option<[u8; HEADER_BYTES]> {
        let length = i32::try_from(self.payload_bytes + HEADER_BYTES).ok()?;
        let mut raw = [0; HEADER_BYTES];
        let numbers = [length, self.request_id, self.response_to, self.op_code];
        for (place, number) in raw.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        Some(raw)
    }
}

/// A header and what follows it, as one piece.
pub(super) fn whole(id: i32, response_to: i32, op_code: i32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
    bytes.resize(HEADER_BYTES, 0);
    bytes.extend_from_slice(body);
    fill(id, response_to, op_code, &mut bytes);
    bytes
}

/// Writes the header of a message into the room before it.
pub(super) fn fill(id: i32, response_to: i32, op_code: i32, message: &mut [u8]) {
    // Replies are bounded far below what the number holds.
    let length = i32::try_from(message.len()).unwrap_or(i32::MAX);
    let numbers = [length, id, response_to, op_code];
    for (place, number) in message.chunks_exact_mut(4).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}
