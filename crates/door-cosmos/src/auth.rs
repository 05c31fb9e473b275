//! Who asks: the `authorization` header, and the signature of a master key.
//!
//! Decides who a request comes from, never what it may do. Knows no clock: the time comes in as an argument.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::http_date;

/// The key that the emulator of the service publishes, and that stock samples use.
pub const EMULATOR_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
/// How far the date of a request may lie from the server's time, in seconds.
pub const CLOCK_SKEW_SECONDS_MAX: u64 = 15 * 60;
/// Longest `authorization` header that is looked at, in bytes; identity tokens are long.
pub const AUTHORIZATION_BYTES_MAX: usize = 16 * 1024;

const SIGNATURE_BYTES: usize = 32;

/// What a key allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRole {
    /// Reading and writing.
    ReadWrite,
    /// Reading only.
    ReadOnly,
}

/// The master keys of the server, made ready for signing.
#[derive(Clone, Default)]
pub struct Keys(Vec<(Hmac<Sha256>, KeyRole)>);

/// A key that is not base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadKey;

impl std::fmt::Display for BadKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a master key must be base64 text")
    }
}

impl std::error::Error for BadKey {}

impl Keys {
    /// No keys at all.
    pub fn new() -> Self {
        Keys::default()
    }

    /// Adds a key, given as base64.
    pub fn add(&mut self, key: &str, role: KeyRole) -> Result<(), BadKey> {
        let bytes = STANDARD.decode(key.trim()).map_err(|_| BadKey)?;
        if bytes.is_empty() {
            return Err(BadKey);
        }
        let state = Hmac::<Sha256>::new_from_slice(&bytes).map_err(|_| BadKey)?;
        self.0.push((state, role));
        Ok(())
    }

    /// The role of a key given as it is, in base64.
    pub fn role_of_key(&self, key: &str) -> Option<KeyRole> {
        // Comparing two signatures of one text compares the keys in constant time, whatever their lengths.
        const TEXT: &[u8] = b"lapsedb";
        let bytes = STANDARD.decode(key).ok()?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&bytes).ok()?;
        mac.update(TEXT);
        self.role_of(TEXT, &mac.finalize().into_bytes().into())
    }

    /// The role of the key that made the signature of the payload, if one did.
    fn role_of(&self, payload: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> Option<KeyRole> {
        self.0.iter().find_map(|(state, role)| {
            let mut mac = state.clone();
            mac.update(payload);
            let right = mac.finalize().into_bytes();
            bool::from(right.as_slice().ct_eq(signature)).then_some(*role)
        })
    }
}

/// The parts of a request that say who it comes from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signed<'a> {
    /// The verb, in any case.
    pub method: &'a str,
    /// The path as it came, still escaped.
    pub path: &'a str,
    /// The header `authorization`.
    pub authorization: Option<&'a str>,
    /// The header `x-ms-date`.
    pub x_ms_date: Option<&'a str>,
    /// The header `date`.
    pub date: Option<&'a str>,
}

/// Who a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Whoever holds a master key.
    Master(KeyRole),
    /// Whoever holds a permission: its token, decoded, still to be looked up.
    Resource(String),
    /// Whoever holds an identity token, still to be checked.
    Identity(String),
}

/// Why a request is turned away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// There is no `authorization` header.
    Missing,
    /// The header is not of the known form.
    Malformed,
    /// There is no date, or none that can be read.
    NoDate,
    /// No key makes this signature of the payload that was expected.
    WrongSignature {
        /// The payload, line by line.
        payload: String,
    },
    /// The date lies too far from the server's time.
    OutOfTime {
        /// The date of the request, in seconds since 1970.
        date: u64,
        /// The server's time, likewise.
        now: u64,
    },
}

impl Denied {
    /// The status of the answer.
    pub fn status(&self) -> u16 {
        match self {
            Denied::Missing
            | Denied::Malformed
            | Denied::NoDate
            | Denied::WrongSignature { .. } => 401,
            Denied::OutOfTime { .. } => 403,
        }
    }

    /// The message of the answer.
    pub fn message(&self) -> String {
        match self {
            Denied::Missing => {
                "Required Header authorization is missing. Ensure a valid Authorization token is passed.".to_owned()
            }
            // The wording is the service's own.
            Denied::Malformed => {
                "Authorization header doesn't confirm to the required format. Please verify and try again.".to_owned()
            }
            Denied::NoDate => {
                "The authorization token needs a valid date: either header x-ms-date or header date is required, in RFC 1123 format.".to_owned()
            }
            Denied::WrongSignature { payload } => format!(
                "The input authorization token can't serve the request. The wrong key is being used or the expected payload is not built as per the protocol. For more info: https://aka.ms/cosmosdb-tsg-unauthorized. Server used the following payload to sign: '{}'",
                payload.replace('\n', "\\n")
            ),
            Denied::OutOfTime { date, now } => format!(
                "The authorization token is not valid at the current time. Please create another token and retry (token start time: {}, token expiry time: {}, current server time: {}).",
                http_date::to_string(date.saturating_sub(CLOCK_SKEW_SECONDS_MAX)),
                http_date::to_string(date.saturating_add(CLOCK_SKEW_SECONDS_MAX)),
                http_date::to_string(*now)
            ),
        }
    }
}

/// Says who a request comes from. `now` is the wall's time in seconds since 1970.
pub fn authenticate(keys: &Keys, request: &Signed<'_>, now: u64) -> Result<Caller, Denied> {
    let header = request
        .authorization
        .filter(|text| !text.is_empty())
        .ok_or(Denied::Missing)?;
    if header.len() > AUTHORIZATION_BYTES_MAX {
        return Err(Denied::Malformed);
    }
    let decoded = unescape(header);
    let token = Token::parse(&decoded).ok_or(Denied::Malformed)?;
    match token.kind {
        Kind::Master => master(keys, request, token.signature, now).map(Caller::Master),
        Kind::Resource => Ok(Caller::Resource(text_of(&decoded))),
        Kind::Identity => Ok(Caller::Identity(text_of(token.signature))),
    }
}

fn master(
    keys: &Keys,
    request: &Signed<'_>,
    signature: &[u8],
    now: u64,
) -> Result<KeyRole, Denied> {
    let date = request
        .x_ms_date
        .or(request.date)
        .and_then(http_date::parse)
        .ok_or(Denied::NoDate)?;
    let signature = decode_signature(signature);
    let segments: Vec<Segment<'_>> = segments(request.path).map(Segment::new).collect();
    let mut payload = Vec::with_capacity(256);
    let mut right = None;
    let mut shown = None;
    for reading in READINGS {
        payload.clear();
        if !reading.write(&segments, request, &mut payload) {
            continue;
        }
        right = signature
            .as_ref()
            .and_then(|signature| keys.role_of(&payload, signature));
        if right.is_some() {
            break;
        }
        shown.get_or_insert_with(|| text_of(&payload));
    }
    let role = right.ok_or_else(|| Denied::WrongSignature {
        payload: shown.unwrap_or_default(),
    })?;
    if date.abs_diff(now) > CLOCK_SKEW_SECONDS_MAX {
        return Err(Denied::OutOfTime { date, now });
    }
    Ok(role)
}

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Master,
    Resource,
    Identity,
}

/// The header, taken apart.
struct Token<'a> {
    kind: Kind,
    signature: &'a [u8],
}

impl<'a> Token<'a> {
    /// Reads `type=…&ver=…&sig=…`; the signature is everything to the end, whatever signs it holds.
    fn parse(text: &'a [u8]) -> Option<Self> {
        let rest = strip(text, b"type=")?;
        let (kind, rest) = split(rest, b'&')?;
        let rest = strip(rest, b"ver=")?;
        let (_, rest) = split(rest, b'&')?;
        let signature = strip(rest, b"sig=").filter(|signature| !signature.is_empty())?;
        let kind = if kind.eq_ignore_ascii_case(b"master") {
            Kind::Master
        } else if kind.eq_ignore_ascii_case(b"resource") {
            Kind::Resource
        } else if kind.eq_ignore_ascii_case(b"aad") {
            Kind::Identity
        } else {
            return None;
        };
        Some(Token { kind, signature })
    }
}

fn strip<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (head, tail) = text.split_at_checked(name.len())?;
    head.eq_ignore_ascii_case(name).then_some(tail)
}

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == at)?;
    Some((&text[..end], &text[end + 1..]))
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn decode_signature(text: &[u8]) -> Option<[u8; SIGNATURE_BYTES]> {
    // The decoder asks for room for whole groups of three bytes.
    let mut bytes = [0; SIGNATURE_BYTES + 1];
    let len = STANDARD.decode_slice(text, &mut bytes).ok()?;
    bytes[..len].try_into().ok()
}

/// The segments of a path; empty ones do not count.
fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// Undoes percent escapes: `%` and two hexadecimal digits. What is not an escape stays as it is, a plus too.
pub(crate) fn unescape(text: &str) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    if !bytes.contains(&b'%') {
        return Cow::Borrowed(bytes);
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escaped = bytes
            .get(at + 1..at + 3)
            .filter(|_| *byte == b'%')
            .and_then(|pair| {
                let digit = |c: u8| char::from(c).to_digit(16);
                u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()
            });
        plain.push(escaped.unwrap_or(*byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    Cow::Owned(plain)
}

/// A segment of the path in both forms.
struct Segment<'a> {
    raw: &'a [u8],
    plain: Cow<'a, [u8]>,
}

impl<'a> Segment<'a> {
    fn new(raw: &'a str) -> Self {
        Segment {
            raw: raw.as_bytes(),
            plain: unescape(raw),
        }
    }
}

/// How a client may have understood the path when it signed it. The first is what nearly all do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// By names, without escapes.
    Names,
    /// By names, escaped as they are sent.
    RawNames,
    /// By resource id: the id of the addressed or owning resource alone, in lower case.
    ResourceId,
}

const READINGS: [Reading; 3] = [Reading::Names, Reading::RawNames, Reading::ResourceId];

impl Reading {
    /// Appends the text to be signed; says no if it would not differ from an earlier reading's.
    fn write(self, path: &[Segment<'_>], request: &Signed<'_>, out: &mut Vec<u8>) -> bool {
        let (kind, link) = kind_and_link(path);
        let differs = match self {
            Reading::Names => true,
            Reading::RawNames => link.iter().any(|segment| segment.raw != &*segment.plain),
            Reading::ResourceId => path
                .get(1)
                .is_some_and(|first| is_database_rid(&first.plain)),
        };
        if !differs {
            return false;
        }
        lower(request.method.as_bytes(), out);
        out.push(b'\n');
        lower(kind.map_or(&[], |kind| &*kind.plain), out);
        out.push(b'\n');
        self.write_link(kind, link, out);
        out.push(b'\n');
        let (first, second) = match request.x_ms_date {
            Some(date) => (date, ""),
            None => ("", request.date.unwrap_or_default()),
        };
        lower(first.as_bytes(), out);
        out.push(b'\n');
        lower(second.as_bytes(), out);
        out.push(b'\n');
        true
    }

    fn write_link(self, kind: Option<&Segment<'_>>, link: &[Segment<'_>], out: &mut Vec<u8>) {
        let is_offer = kind.is_some_and(|kind| kind.plain.eq_ignore_ascii_case(b"offers"));
        if is_offer || self == Reading::ResourceId {
            if let Some(last) = link.last() {
                lower(&last.plain, out);
            }
            return;
        }
        for (i, segment) in link.iter().enumerate() {
            if i > 0 {
                out.push(b'/');
            }
            match self {
                Reading::Names | Reading::ResourceId => out.extend_from_slice(&segment.plain),
                Reading::RawNames => out.extend_from_slice(segment.raw),
            }
        }
    }
}

/// The segment that names the kind of resource, and the segments that name the resource itself or its owner.
fn kind_and_link<'p, 'a>(path: &'p [Segment<'a>]) -> (Option<&'p Segment<'a>>, &'p [Segment<'a>]) {
    if let [.., colls, _, operations, operation] = path
        && *operations.plain == *b"operations"
        && *operation.plain == *b"partitionkeydelete"
    {
        return (Some(colls), &path[..path.len() - 2]);
    }
    match path {
        [] => (None, &[]),
        [.., last] if path.len() % 2 == 1 => (Some(last), &path[..path.len() - 1]),
        [.., kind, _] => (Some(kind), path),
        [_] => (None, &[]),
    }
}

/// Whether a text can be a database's resource id: four bytes in base64 with `-` for `/`.
fn is_database_rid(text: &[u8]) -> bool {
    text.len() == 8
        && text.ends_with(b"==")
        && text[..6]
            .iter()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-'))
}

fn lower(text: &[u8], out: &mut Vec<u8>) {
    out.extend(text.iter().map(u8::to_ascii_lowercase));
}

#[cfg(test)]
#[path = "auth_tests.rs"]
mod tests;
