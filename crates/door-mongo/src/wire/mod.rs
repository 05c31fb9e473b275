//! Messages as bytes: pure functions, no socket. Whatever is not exactly as it should be is refused as a whole.

mod crc32c;
mod frame;
mod op_compressed;
mod op_msg;
mod op_query;

use std::fmt;

use lapsedb_service::documents::RawDocument;
use lapsedb_value::bson::{self, BsonError, BsonErrorKind, DEPTH_MAX};
use lapsedb_value::budget::{Stop, object_bytes};

use crate::codes;

pub use frame::{HEADER_BYTES, Header, MESSAGE_BYTES_MAX};
pub use op_compressed::Compressor;
pub use op_msg::{OpMsg, Sequence};
pub use op_query::OpQuery;

/// Bytes of one document in a message: the largest that can be stored, and what a command needs around it.
pub const DOCUMENT_BYTES_MAX: usize = 16 * 1024 * 1024 + 16 * 1024;

/// A reply to an old query.
pub const OP_REPLY: i32 = 1;
/// An old query, which only greets.
pub const OP_QUERY: i32 = 2004;
/// Another message, compressed.
pub const OP_COMPRESSED: i32 = 2012;
/// A command or its reply.
pub const OP_MSG: i32 = 2013;

/// Why a message is not one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// What is wrong.
    pub text: String,
    /// The frame was whole, but what it held is not allowed: so it is answered. All else closes the connection.
    pub refusal: Option<Refusal>,
}

/// How a whole frame is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The number clients match on.
    pub code: i32,
    /// The reply its client waits for.
    pub reply: ReplyForm,
}

/// The reply that the client of a message waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyForm {
    /// None.
    Nothing,
    /// An `OP_MSG`.
    Msg,
    /// An `OP_REPLY`, as the answer to an `OP_QUERY`.
    Old,
}

impl Malformed {
    /// The same, refused in the form that the client waits for.
    pub(crate) fn replied_to_as(mut self, reply: ReplyForm) -> Malformed {
        if let Some(refusal) = &mut self.refusal {
            refusal.reply = reply;
        }
        self
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Malformed {}

pub(crate) fn malformed<T>(text: impl Into<String>) -> Result<T, Malformed> {
    Err(Malformed {
        text: text.into(),
        refusal: None,
    })
}

fn refuse<T>(code: i32, text: impl Into<String>) -> Result<T, Malformed> {
    let refusal = Refusal {
        code,
        reply: ReplyForm::Msg,
    };
    Err(Malformed {
        text: text.into(),
        refusal: Some(refusal),
    })
}

/// A message from a client.
#[derive(Clone, Debug)]
pub enum Message {
    /// A command.
    Msg(OpMsg),
    /// A greeting in the old form.
    Query(OpQuery),
}

/// A message as it came: the answer goes back in the same compression.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// The number the reply answers.
    pub request_id: i32,
    /// How it was compressed.
    pub compressor: Option<Compressor>,
    /// What it says.
    pub message: Message,
    /// How long it was on the wire.
    pub bytes: usize,
    /// How long it is unpacked, without its header.
    pub unpacked: usize,
}

/// Bytes of a document that is not read before there is room for it as a tree.
const ADMITTED_BYTES_MIN: usize = 64 * 1024;

/// Says whether there is room for so many bytes more.
pub type Admit<'a> = &'a dyn Fn(usize) -> Result<(), Stop>;

/// Reads the bytes behind a header. A large document is read once `admit` has found room for it.
///
/// # Errors
/// When they are not a message that is still in use, or there is no room.
pub fn read(header: &Header, payload: &[u8], admit: Admit<'_>) -> Result<Incoming, Malformed> {
    if header.op_code != OP_COMPRESSED {
        return Ok(Incoming {
            request_id: header.request_id,
            compressor: None,
            message: message(header.op_code, header.raw(), payload, admit)?,
            bytes: HEADER_BYTES + payload.len(),
            unpacked: payload.len(),
        });
    }
    let (op_code, compressor, bytes) = op_compressed::read(payload, header.message_bytes_max)?;
    Ok(Incoming {
        request_id: header.request_id,
        compressor: Some(compressor),
        message: message(op_code, None, &bytes, admit)?,
        bytes: HEADER_BYTES + payload.len(),
        unpacked: bytes.len(),
    })
}

/// Bytes that a message has besides those that came, once it is unpacked, as it says itself.
#[must_use]
pub fn unpacked_bytes(header: &Header, payload: &[u8]) -> usize {
    if header.op_code != OP_COMPRESSED {
        return payload.len();
    }
    let size = payload.get(4..8).and_then(|size| size.first_chunk::<4>());
    let size = size.map_or(0, |size| i32::from_le_bytes(*size));
    // The bytes as they were packed, and what is read from them.
    usize::try_from(size)
        .unwrap_or(0)
        .min(header.message_bytes_max)
        .saturating_mul(2)
}

/// The reply that the client of a message waits for, as far as can be told from its beginning.
#[must_use]
pub fn awaited_reply(header: &Header, payload: &[u8]) -> ReplyForm {
    match header.op_code {
        OP_QUERY => ReplyForm::Old,
        OP_MSG => op_msg::awaited_reply(payload),
        _ => ReplyForm::Msg,
    }
}

impl Incoming {
    /// Bytes that it takes now that it has been read.
    #[must_use]
    pub fn tree_bytes(&self) -> usize {
        if self.bytes < ADMITTED_BYTES_MIN && self.compressor.is_none() {
            return self.bytes;
        }
        match &self.message {
            Message::Msg(msg) => {
                let beside = msg.sequences.iter().map(|(_, sequence)| match sequence {
                    Sequence::Read(documents) => documents.iter().map(object_bytes).sum::<usize>(),
                    Sequence::Raw(documents) => documents.iter().map(RawDocument::raw_bytes).sum(),
                });
                object_bytes(&msg.body) + beside.sum::<usize>()
            }
            Message::Query(query) => object_bytes(&query.body),
        }
    }

    /// The reply its client waits for.
    #[must_use]
    pub const fn awaited_reply(&self) -> ReplyForm {
        match &self.message {
            Message::Msg(msg) if msg.more_to_come => ReplyForm::Nothing,
            Message::Msg(_) => ReplyForm::Msg,
            Message::Query(_) => ReplyForm::Old,
        }
    }
}

fn message(
    op_code: i32,
    raw: Option<[u8; HEADER_BYTES]>,
    bytes: &[u8],
    admit: Admit<'_>,
) -> Result<Message, Malformed> {
    match op_code {
        OP_MSG => Ok(Message::Msg(OpMsg::read(raw, bytes, admit)?)),
        OP_QUERY => Ok(Message::Query(OpQuery::read(bytes)?)),
        _ => malformed(format!(
            "the message has the operation {op_code}, which is not served"
        )),
    }
}

/// Bytes before a reply's document: a header, flags, and the kind of the only section, which is zero.
pub const REPLY_ROOM: usize = HEADER_BYTES + 5;
/// Bytes before what is compressed: the header, the opcode and the length of what it was, and the number of the compressor.
pub const COMPRESSED_HEADER_BYTES: usize = HEADER_BYTES + 9;

/// A whole reply to a command, ready to be written at once; `more` follow it unasked. Before the document there is room for what the wire puts there.
#[must_use]
pub fn reply(
    request_id: i32,
    reply_id: i32,
    compressor: Option<Compressor>,
    more: bool,
    mut document: Vec<u8>,
) -> Vec<u8> {
    debug_assert!(document.iter().take(REPLY_ROOM).all(|byte| *byte == 0));
    if let Some(flags) = document.get_mut(HEADER_BYTES..HEADER_BYTES + 4) {
        flags.copy_from_slice(&op_msg::flags(more).to_le_bytes());
    }
    match compressor {
        None => {
            frame::fill(reply_id, request_id, OP_MSG, &mut document);
            document
        }
        Some(compressor) => {
            let body = document.get(HEADER_BYTES..).unwrap_or_default();
            let packed = op_compressed::write(OP_MSG, compressor, body);
            frame::whole(reply_id, request_id, OP_COMPRESSED, &packed)
        }
    }
}

/// A whole reply to an old query, from a document with the same room before it.
#[must_use]
pub fn old_reply(request_id: i32, reply_id: i32, failed: bool, document: Vec<u8>) -> Vec<u8> {
    let document = document.get(REPLY_ROOM..).unwrap_or_default();
    let mut body = Vec::with_capacity(20 + document.len());
    op_query::write(failed, document, &mut body);
    frame::whole(reply_id, request_id, OP_REPLY, &body)
}

/// Takes a little-endian number from the front of some bytes.
pub(crate) fn take_i32(bytes: &mut &[u8]) -> Result<i32, Malformed> {
    match bytes.split_first_chunk::<4>() {
        Some((number, rest)) => {
            *bytes = rest;
            Ok(i32::from_le_bytes(*number))
        }
        None => malformed("the message ends in the middle of a number"),
    }
}

/// Takes a text that ends at a NUL from the front of some bytes.
pub(crate) fn take_text<'a>(bytes: &mut &'a [u8]) -> Result<&'a str, Malformed> {
    let Some(end) = bytes.iter().position(|byte| *byte == 0) else {
        return malformed("a name in the message has no end");
    };
    let (text, rest) = bytes.split_at(end);
    *bytes = rest.get(1..).unwrap_or_default();
    // The name has its end, so what follows is found: only this request is refused.
    std::str::from_utf8(text).or_else(|_| {
        refuse(
            codes::INVALID_BSON,
            "A name in the message is not valid UTF-8.",
        )
    })
}

/// Takes one BSON document's bytes from the front of some bytes.
pub(crate) fn take_document<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], Malformed> {
    let length = bytes
        .first_chunk::<4>()
        .and_then(|length| usize::try_from(i32::from_le_bytes(*length)).ok())
        .filter(|length| (5..=bytes.len()).contains(length));
    match length {
        Some(length) if length > DOCUMENT_BYTES_MAX => refuse(
            codes::OBJECT_TOO_LARGE,
            format!(
                "BSONObj size: {length} (0x{length:X}) is invalid. Size must be between 0 and {DOCUMENT_BYTES_MAX}(16MB)"
            ),
        ),
        Some(length) => {
            let (document, rest) = bytes.split_at(length);
            *bytes = rest;
            Ok(document)
        }
        None => malformed("a document in the message has a wrong length"),
    }
}

/// Reads a document's bytes.
pub(crate) fn parse(bytes: &[u8]) -> Result<lapsedb_value::Object, Malformed> {
    bson::read_document(bytes).or_else(refused)
}

/// Goes on if there is room for a document as a tree.
pub(crate) fn admitted(bytes: &[u8], admit: Admit<'_>) -> Result<(), Malformed> {
    if bytes.len() < ADMITTED_BYTES_MIN {
        return Ok(());
    }
    let tree_bytes = bson::check_document(bytes).or_else(refused)?;
    admit(tree_bytes).or_else(|stop| refuse(codes::EXCEEDED_MEMORY_LIMIT, stop.to_string()))
}

/// How bytes are refused that are not a document.
pub(crate) fn refused<T>(error: BsonError) -> Result<T, Malformed> {
    match error.kind {
        BsonErrorKind::TooDeep => refuse(
            codes::OVERFLOW,
            format!("BSONObj exceeds maximum nested object depth: {DEPTH_MAX}"),
        ),
        // The frame is whole, so only what it asks for is refused. Texts are UTF-8 here; MongoDB would keep the bytes as they are.
        BsonErrorKind::InvalidUtf8 => refuse(codes::INVALID_BSON, error.to_string()),
        _ => malformed(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
