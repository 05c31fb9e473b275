//! Effective partition keys: the hash that places a logical partition among the ranges.
//!
//! It must agree with the clients' own hashing bit for bit, because they send ranges of it back as filters.

use smallvec::SmallVec;

use super::{Component, Kind, PartitionKey, PartitionKeyDef, Version};

/// The bytes of an effective partition key; they sort as their hexadecimal text does.
pub type Epk = SmallVec<[u8; 16]>;

/// Bytes of one hashed component in version 2.
pub const EPK_V2_BYTES: usize = 16;
/// Longest bound a client may send, in bytes: three hashed levels or a version 1 key, and a little more.
pub const EPK_BOUND_BYTES_MAX: usize = 256;

/// Every effective partition key lies below this byte.
const EPK_END: u8 = 0xFF;
/// Version 1 hashes and keeps only so many characters of a string.
const V1_STRING_CHARS_MAX: usize = 100;
/// Version 1 keeps one byte more than this of a string, and then leaves the terminator out.
const V1_STRING_BYTES_MAX: usize = 100;
/// The two top bits are clear so that every key lies below [`EPK_END`].
const V2_TOP_MASK: u8 = 0x3F;

const TAG_UNDEFINED: u8 = 0x00;
const TAG_NULL: u8 = 0x01;
const TAG_FALSE: u8 = 0x02;
const TAG_TRUE: u8 = 0x03;
const TAG_NUMBER: u8 = 0x05;
const TAG_STRING: u8 = 0x08;

/// The effective partition key of a whole key, or the common beginning of all keys under a prefix.
pub fn epk_bytes(def: &PartitionKeyDef, key: &PartitionKey) -> Epk {
    match (def.kind, def.version) {
        (Kind::MultiHash, _) => {
            let mut out = Epk::new();
            for component in key.components() {
                out.extend_from_slice(&hash_v2(std::slice::from_ref(component)));
            }
            out
        }
        (Kind::Hash, Version::V2) => Epk::from_slice(&hash_v2(key.components())),
        (Kind::Hash, Version::V1) => hash_v1(key.components()),
    }
}

/// How many of the bytes are the effective partition key that they start with; `None` if they do not hold a whole one.
pub fn epk_len(def: &PartitionKeyDef, bytes: &[u8]) -> Option<usize> {
    match (def.kind, def.version) {
        (Kind::MultiHash, _) => {
            Some(EPK_V2_BYTES * def.paths.len()).filter(|len| bytes.len() >= *len)
        }
        (Kind::Hash, Version::V2) => Some(EPK_V2_BYTES).filter(|len| bytes.len() >= *len),
        (Kind::Hash, Version::V1) => {
            let hash = v1_component_len(bytes)?;
            Some(hash + v1_component_len(bytes.get(hash..)?)?)
        }
    }
}

fn hash_v2(components: &[Component]) -> [u8; EPK_V2_BYTES] {
    let mut input: SmallVec<[u8; 64]> = SmallVec::new();
    for component in components {
        push_hash_input(component, EPK_END, &mut input);
    }
    // Reading from a slice cannot fail, so the default never comes out.
    let hash = murmur3::murmur3_x64_128(&mut input.as_slice(), 0).unwrap_or_default();
    let mut bytes = hash.to_be_bytes();
    bytes[0] &= V2_TOP_MASK;
    bytes
}

fn hash_v1(components: &[Component]) -> Epk {
    let mut input: SmallVec<[u8; 128]> = SmallVec::new();
    for component in components {
        match component {
            Component::String(text) => {
                input.push(TAG_STRING);
                input.extend_from_slice(cut(text).as_bytes());
                input.push(0);
            }
            Component::Undefined
            | Component::Null
            | Component::Bool(_)
            | Component::Number(_)
            | Component::Integer(_) => {
                push_hash_input(component, 0, &mut input);
            }
        }
    }
    // Reading from a slice cannot fail, so the default never comes out.
    let hash = murmur3::murmur3_32(&mut input.as_slice(), 0).unwrap_or_default();
    let mut out = Epk::new();
    push_v1_number(f64::from(hash), &mut out);
    for component in components {
        match component {
            Component::Undefined => out.push(TAG_UNDEFINED),
            Component::Null => out.push(TAG_NULL),
            Component::Bool(false) => out.push(TAG_FALSE),
            Component::Bool(true) => out.push(TAG_TRUE),
            Component::Number(number) => push_v1_number(*number, &mut out),
            Component::Integer(number) => push_v1_number(*number as f64, &mut out),
            Component::String(text) => push_v1_string(cut(text), &mut out),
        }
    }
    out
}

/// The bytes that are hashed for one component.
fn push_hash_input<const N: usize>(
    component: &Component,
    terminator: u8,
    out: &mut SmallVec<[u8; N]>,
) {
    match component {
        Component::Undefined => out.push(TAG_UNDEFINED),
        Component::Null => out.push(TAG_NULL),
        Component::Bool(false) => out.push(TAG_FALSE),
        Component::Bool(true) => out.push(TAG_TRUE),
        Component::Number(number) => push_hash_number(*number, out),
        // Clients hash every number as a double.
        Component::Integer(number) => push_hash_number(*number as f64, out),
        Component::String(text) => {
            out.push(TAG_STRING);
            out.extend_from_slice(text.as_bytes());
            out.push(terminator);
        }
    }
}

fn push_hash_number<const N: usize>(number: f64, out: &mut SmallVec<[u8; N]>) {
    out.push(TAG_NUMBER);
    // Adding zero makes minus zero plain.
    out.extend_from_slice(&(number + 0.0).to_le_bytes());
}

/// The first characters of a string, all that version 1 looks at.
fn cut(text: &str) -> &str {
    match text.char_indices().nth(V1_STRING_CHARS_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// A number in version 1: the tag, eight bits, then seven bits a byte while bits are left.
fn push_v1_number(number: f64, out: &mut Epk) {
    let bits = (number + 0.0).to_bits();
    let mut rest = if bits >> 63 == 1 {
        bits.wrapping_neg()
    } else {
        bits | 1 << 63
    };
    out.push(TAG_NUMBER);
    out.push((rest >> 56) as u8);
    rest <<= 8;
    loop {
        let byte = (rest >> 56) as u8;
        rest <<= 7;
        if rest == 0 {
            out.push(byte & 0xFE);
            return;
        }
        out.push(byte | 1);
    }
}

fn push_v1_string(text: &str, out: &mut Epk) {
    out.push(TAG_STRING);
    let long = text.len() > V1_STRING_BYTES_MAX;
    let kept = if long {
        V1_STRING_BYTES_MAX + 1
    } else {
        text.len()
    };
    // UTF-8 has no byte 0xFF, so adding one never wraps.
    out.extend(text.bytes().take(kept).map(|byte| byte.wrapping_add(1)));
    if !long {
        out.push(0);
    }
}

/// The length of the version 1 component at the beginning of the bytes.
fn v1_component_len(bytes: &[u8]) -> Option<usize> {
    match *bytes.first()? {
        TAG_UNDEFINED | TAG_NULL | TAG_FALSE | TAG_TRUE => Some(1),
        TAG_NUMBER => bytes
            .iter()
            .skip(2)
            .position(|byte| byte & 1 == 0)
            .map(|last| last + 3),
        TAG_STRING => {
            let text = bytes.get(1..)?;
            let longest = V1_STRING_BYTES_MAX + 1;
            match text.iter().take(longest).position(|byte| *byte == 0) {
                Some(end) => Some(end + 2),
                None => Some(longest + 1).filter(|len| bytes.len() >= *len),
            }
        }
        _ => None,
    }
}

/// A range of effective partition keys: from the first bound up to, but without, the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpkRange {
    /// The least key inside.
    pub min: Epk,
    /// The least key above the range.
    pub max: Epk,
}

impl EpkRange {
    /// The range that holds every key.
    pub fn full() -> Self {
        EpkRange {
            min: Epk::new(),
            max: SmallVec::from_slice(&[EPK_END]),
        }
    }

    /// The range of all partitions under a key: of one partition for a whole key, of many for a prefix.
    pub fn of_key(def: &PartitionKeyDef, key: &PartitionKey) -> Self {
        let min = epk_bytes(def, key);
        let mut max = min.clone();
        // Nothing lies between a whole key and itself with a zero appended; under a prefix, nothing reaches its FF.
        let whole = key.components().len() >= def.paths.len();
        max.push(if whole { 0 } else { EPK_END });
        EpkRange { min, max }
    }

    /// Reads two bounds in hexadecimal; `None` if they are not such.
    pub fn parse(min: &str, max: &str) -> Option<Self> {
        Some(EpkRange {
            min: epk_from_hex(min)?,
            max: epk_from_hex(max)?,
        })
    }

    /// Whether a key lies inside.
    pub fn contains(&self, epk: &[u8]) -> bool {
        *self.min <= *epk && *epk < *self.max
    }

    /// Whether it holds at least about a sixty-fourth of the hashes: their first bytes lie below [`V2_TOP_MASK`].
    pub fn is_wide(&self) -> bool {
        let first = |bound: &Epk, none: u8| bound.first().copied().unwrap_or(none);
        first(&self.max, 0).saturating_sub(first(&self.min, 0)) >= 2
    }

    /// Whether it holds every key.
    pub fn is_full(&self) -> bool {
        self.min.is_empty() && *self.max >= [EPK_END][..]
    }

    /// Whether it can hold no key.
    pub fn is_empty(&self) -> bool {
        self.min >= self.max
    }

    /// What lies in both.
    pub fn intersect(&self, other: &EpkRange) -> EpkRange {
        EpkRange {
            min: self.min.clone().max(other.min.clone()),
            max: self.max.clone().min(other.max.clone()),
        }
    }
}

/// The upper-case hexadecimal text of a key or bound.
pub fn epk_to_hex(epk: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = String::with_capacity(2 * epk.len());
    for byte in epk {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 0xF)]));
    }
    text
}

/// Reads hexadecimal text in either case; `None` if it is none, of odd length or too long.
pub fn epk_from_hex(text: &str) -> Option<Epk> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(2) || text.len() > 2 * EPK_BOUND_BYTES_MAX {
        return None;
    }
    text.chunks_exact(2)
        .map(|pair| {
            let high = char::from(pair[0]).to_digit(16)?;
            let low = char::from(pair[1]).to_digit(16)?;
            u8::try_from(high << 4 | low).ok()
        })
        .collect()
}

#[cfg(test)]
#[path = "epk_tests.rs"]
mod tests;
