//! The message of today: one document, and sequences of documents beside it.

use bytes::Bytes;
use lapsedb_service::documents::RawDocument;
use lapsedb_service::operations;
use lapsedb_value::Object;

use super::crc32c::checksum;
use super::{
    Admit, HEADER_BYTES, Malformed, ReplyForm, admitted, malformed, parse, refused, take_document,
    take_i32, take_text,
};

const CHECKSUM_PRESENT: u32 = 1;
const MORE_TO_COME: u32 = 1 << 1;
const EXHAUST_ALLOWED: u32 = 1 << 16;
/// Bits below this one must be understood; those above may be passed over.
const REQUIRED_BITS: u32 = 0xFFFF;

const KIND_BODY: u8 = 0;
const KIND_SEQUENCE: u8 = 1;
/// Bytes of the checksum at the end.
const CHECKSUM_BYTES: usize = 4;
/// Sequences of one message at most: no command has more than two.
const SEQUENCES_MAX: usize = 16;

/// Bytes of a sequence whose documents are not read before they are needed: as trees they can take thirty times the room.
const RAW_BYTES_MIN: usize = 256 * 1024;

/// Documents that came beside a command.
#[derive(Clone, Debug)]
pub enum Sequence {
    /// Read already.
    Read(Vec<Object>),
    /// Checked, and as they came.
    Raw(Vec<RawDocument>),
}

impl Sequence {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Sequence::Read(documents) => documents.len(),
            Sequence::Raw(documents) => documents.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A command as it came.
#[derive(Clone, Debug)]
pub struct OpMsg {
    /// The command itself.
    pub body: Object,
    /// Arrays of the command that came beside it.
    pub sequences: Vec<(String, Sequence)>,
    /// The client wants no answer.
    pub more_to_come: bool,
    /// The client would take several answers.
    pub exhaust_allowed: bool,
    /// The command's bytes, as they are shown to who asks what is under way.
    pub shown: Box<[u8]>,
}

impl OpMsg {
    /// Reads the message behind a header; a compressed one has no header of its own, and no checksum that covers it.
    pub(super) fn read(
        header: Option<[u8; HEADER_BYTES]>,
        bytes: &[u8],
        admit: Admit<'_>,
    ) -> Result<OpMsg, Malformed> {
        let mut rest = bytes;
        let flags = take_i32(&mut rest)?.cast_unsigned();
        let unknown = flags & REQUIRED_BITS & !(CHECKSUM_PRESENT | MORE_TO_COME);
        if unknown != 0 {
            return malformed(format!("the message has unknown flags {unknown:#x}"));
        }
        if flags & CHECKSUM_PRESENT != 0 {
            rest = checked(header, bytes, rest)?;
        }
        let more_to_come = flags & MORE_TO_COME != 0;
        let (body, shown, sequences) =
            sections(rest, admit).map_err(|error| error.replied_to_as(awaited_reply(bytes)))?;
        Ok(OpMsg {
            body,
            sequences,
            more_to_come,
            exhaust_allowed: flags & EXHAUST_ALLOWED != 0,
            shown,
        })
    }
}

type Sections = (Object, Box<[u8]>, Vec<(String, Sequence)>);

fn sections(mut rest: &[u8], admit: Admit<'_>) -> Result<Sections, Malformed> {
    let mut body = None;
    let mut sequences = Vec::new();
    while let Some((kind, section)) = rest.split_first() {
        rest = section;
        match *kind {
            KIND_BODY if body.is_none() => {
                let bytes = take_document(&mut rest)?;
                admitted(bytes, admit)?;
                let parsed = parse(bytes)?;
                body = Some((operations::shown(bytes, &parsed), parsed));
            }
            KIND_BODY => return malformed("the message has two bodies"),
            KIND_SEQUENCE if sequences.len() < SEQUENCES_MAX => {
                sequences.push(sequence(&mut rest)?);
            }
            KIND_SEQUENCE => return malformed("the message has too many sequences"),
            other => return malformed(format!("the message has a section of kind {other}")),
        }
    }
    let Some((shown, body)) = body else {
        return malformed("the message has no body");
    };
    Ok((body, shown, sequences))
}

/// The sections without the checksum behind them, if it is right.
fn checked<'a>(
    header: Option<[u8; HEADER_BYTES]>,
    bytes: &[u8],
    rest: &'a [u8],
) -> Result<&'a [u8], Malformed> {
    let Some((sections, said)) = rest.split_last_chunk::<CHECKSUM_BYTES>() else {
        return malformed("the message ends before its checksum");
    };
    if let Some(header) = header {
        let covered = bytes
            .get(..bytes.len() - CHECKSUM_BYTES)
            .unwrap_or_default();
        if checksum(&[&header, covered]) != u32::from_le_bytes(*said) {
            return malformed("the message's checksum is wrong");
        }
    }
    Ok(sections)
}

fn sequence(rest: &mut &[u8]) -> Result<(String, Sequence), Malformed> {
    let before = rest.len();
    let said = take_i32(rest)?;
    let Some(mut section) = usize::try_from(said)
        .ok()
        .and_then(|size| size.checked_sub(before - rest.len()))
        .and_then(|size| rest.get(..size))
    else {
        return malformed("a sequence in the message has a wrong length");
    };
    *rest = rest.get(section.len()..).unwrap_or_default();
    let name = take_text(&mut section)?.to_owned();
    if section.len() >= RAW_BYTES_MIN {
        return Ok((name, Sequence::Raw(raw_documents(section)?)));
    }
    let mut documents = Vec::new();
    while !section.is_empty() {
        documents.push(parse(take_document(&mut section)?)?);
    }
    Ok((name, Sequence::Read(documents)))
}

/// The documents of a section, which keep one copy of it.
fn raw_documents(section: &[u8]) -> Result<Vec<RawDocument>, Malformed> {
    let section = Bytes::copy_from_slice(section);
    let mut rest = section.as_ref();
    let mut documents = Vec::new();
    while !rest.is_empty() {
        let bytes = section.slice_ref(take_document(&mut rest)?);
        documents.push(RawDocument::new(bytes).or_else(refused)?);
    }
    Ok(documents)
}

/// The reply that the client of a message that begins so waits for.
pub(super) fn awaited_reply(bytes: &[u8]) -> ReplyForm {
    match bytes.first_chunk::<4>() {
        Some(flags) if u32::from_le_bytes(*flags) & MORE_TO_COME != 0 => ReplyForm::Nothing,
        Some(_) | None => ReplyForm::Msg,
    }
}

/// The flags of a reply.
pub(super) const fn flags(more: bool) -> u32 {
    if more { MORE_TO_COME } else { 0 }
}
