//! Partition keys: what a container says its key is, and the key of one item.
//!
//! Knows no ranges' places and no storage; `epk` hashes, this file reads, extracts and encodes.

mod definition;
mod epk;

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

use lapsedb_value::number::to_f64_exact;
use lapsedb_value::path::{Path, PathError, Segment};
use lapsedb_value::{Object, Str, Value, json};
use smallvec::SmallVec;

use crate::index::bson_key::{from_sortable, sortable};

pub use definition::DefinitionError;
pub use epk::{
    EPK_BOUND_BYTES_MAX, EPK_V2_BYTES, Epk, EpkRange, epk_bytes, epk_from_hex, epk_len, epk_to_hex,
};

/// Most levels of a hierarchical key.
pub const PARTITION_KEY_LEVELS_MAX: usize = 3;
/// Most bytes of all strings of a key together. The hash of version 1 looks at the first hundred characters only, but
/// keys that differ behind them are different keys.
pub const PARTITION_KEY_BYTES_MAX: usize = 2048;
/// Longest header text that is looked at: every byte of the longest key escaped, and the brackets.
pub const PARTITION_KEY_HEADER_BYTES_MAX: usize = 6 * PARTITION_KEY_BYTES_MAX + 64;

/// How a container hashes its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One path, one hash.
    Hash,
    /// A hierarchy: every level is hashed by itself.
    MultiHash,
}

/// Which of the two hash functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 32 bits, and the value itself behind them.
    V1,
    /// 128 bits.
    V2,
}

/// What a container says its partition key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionKeyDef {
    /// Where the components lie in an item, from the top level down.
    pub paths: Vec<Path>,
    /// How they are hashed together.
    pub kind: Kind,
    /// With which function.
    pub version: Version,
    /// Whether the server chose the path, for a container made without one.
    pub system_key: bool,
}

/// One level of a partition key.
#[derive(Clone, Debug)]
pub enum Component {
    /// The item has no such property, or an array or object there.
    Undefined,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number that is a double, integers too; minus zero is zero.
    Number(f64),
    /// An integer that no double is: other partitions than those of its neighbours, though it hashes as the nearest double.
    Integer(i64),
    /// Any text.
    String(Str),
}

/// The partition key of an item, or a prefix of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PartitionKey(SmallVec<[Component; 1]>);

/// Why a text is not a partition key of this container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionKeyError {
    /// It is not a JSON array of scalars.
    Malformed,
    /// It has more levels than the container.
    TooMany,
    /// It has fewer levels than the container, where a whole key is needed.
    TooFew,
    /// Its strings are longer than this many bytes.
    TooLong(usize),
}

impl fmt::Display for PartitionKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartitionKeyError::Malformed => f.write_str("Partition key provided in the header is invalid."),
            PartitionKeyError::TooMany => f.write_str(
                "The partition key supplied in x-ms-partitionkey header has more components than defined in the collection.",
            ),
            // The doubled article is the service's own.
            PartitionKeyError::TooFew => f.write_str(
                "The partition key supplied in x-ms-partitionkey header has fewer components than defined in the the collection.",
            ),
            PartitionKeyError::TooLong(max) => {
                write!(f, "Partition key value is too long; it may have at most {max} bytes.")
            }
        }
    }
}

impl std::error::Error for PartitionKeyError {}

impl PartitionKeyDef {
    /// A definition from the texts of its paths; the caller has checked their number.
    pub fn new(paths: &[&str], kind: Kind, version: Version) -> Result<Self, PathError> {
        let paths = paths
            .iter()
            .map(|text| Path::parse_pointer(text))
            .collect::<Result<_, _>>()?;
        Ok(PartitionKeyDef {
            paths,
            kind,
            version,
            system_key: false,
        })
    }

    /// The key of an item.
    pub fn extract(&self, item: &Object) -> PartitionKey {
        PartitionKey(
            self.paths
                .iter()
                .map(|path| component_at(item, path))
                .collect(),
        )
    }

    /// A key as a client gave it, if it names one logical partition of this container.
    ///
    /// An empty key ("none") names the items that have no key at all.
    pub fn whole(&self, key: PartitionKey) -> Result<PartitionKey, PartitionKeyError> {
        let key = self.prefix(key)?;
        if key.0.is_empty() {
            return Ok(PartitionKey(
                self.paths.iter().map(|_| Component::Undefined).collect(),
            ));
        }
        if key.0.len() < self.paths.len() {
            return Err(PartitionKeyError::TooFew);
        }
        Ok(key)
    }

    /// A key as a client gave it, if it names one or, in a hierarchy, many logical partitions.
    pub fn prefix(&self, key: PartitionKey) -> Result<PartitionKey, PartitionKeyError> {
        if key.0.len() > self.paths.len() {
            return Err(PartitionKeyError::TooMany);
        }
        self.check_size(&key)?;
        Ok(key)
    }

    /// Refuses a key whose strings are too long.
    pub fn check_size(&self, key: &PartitionKey) -> Result<(), PartitionKeyError> {
        let bytes: usize = key.0.iter().map(Component::text_len).sum();
        if bytes > PARTITION_KEY_BYTES_MAX {
            Err(PartitionKeyError::TooLong(PARTITION_KEY_BYTES_MAX))
        } else {
            Ok(())
        }
    }
}

fn component_at(item: &Object, path: &Path) -> Component {
    let mut segments = path.segments().iter();
    let Some(Segment::Member(first)) = segments.next() else {
        return Component::Undefined;
    };
    let Some(mut value) = item.get(first) else {
        return Component::Undefined;
    };
    for segment in segments {
        match segment {
            Segment::Member(name) => value = value.get(name),
            Segment::Elements => return Component::Undefined,
        }
    }
    Component::of(value)
}

impl Component {
    /// The component that a value in an item makes.
    ///
    /// An object id counts as its hexadecimal text, so that documents made through Mongo spread over partitions
    /// and can be addressed by text; the other kinds that only BSON knows look like objects and count as undefined.
    pub fn of(value: &Value) -> Component {
        match value {
            Value::Null => Component::Null,
            Value::Bool(truth) => Component::Bool(*truth),
            Value::Int32(n) => Component::Number(f64::from(*n)),
            Value::Int64(n) => to_f64_exact(*n).map_or(Component::Integer(*n), Component::Number),
            // Adding zero makes minus zero plain.
            Value::Double(n) => Component::Number(n + 0.0),
            Value::String(text) => Component::String(text.clone()),
            Value::ObjectId(id) => {
                Component::String(Str::from(epk_to_hex(id).to_ascii_lowercase()))
            }
            Value::Undefined
            | Value::Array(_)
            | Value::Object(_)
            | Value::Date(_)
            | Value::Binary { .. }
            | Value::Decimal128(_)
            | Value::Timestamp(_)
            | Value::Regex { .. }
            | Value::Code(_)
            | Value::CodeWithScope { .. }
            | Value::Symbol(_)
            | Value::DbPointer { .. }
            | Value::MinKey
            | Value::MaxKey => Component::Undefined,
        }
    }

    /// The value that the component stands for.
    pub fn to_value(&self) -> Value {
        match self {
            Component::Undefined => Value::Undefined,
            Component::Null => Value::Null,
            Component::Bool(truth) => Value::Bool(*truth),
            Component::Number(number) => Value::number(*number),
            Component::Integer(number) => Value::Int64(*number),
            Component::String(text) => Value::String(text.clone()),
        }
    }

    fn text_len(&self) -> usize {
        match self {
            Component::String(text) => text.len(),
            Component::Undefined
            | Component::Null
            | Component::Bool(_)
            | Component::Number(_)
            | Component::Integer(_) => 0,
        }
    }

    /// What makes a number the same number: its bits, with one zero.
    fn number_bits(number: f64) -> u64 {
        (number + 0.0).to_bits()
    }
}

impl PartialEq for Component {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Component::Undefined, Component::Undefined) | (Component::Null, Component::Null) => {
                true
            }
            (Component::Bool(a), Component::Bool(b)) => a == b,
            (Component::Number(a), Component::Number(b)) => {
                Self::number_bits(*a) == Self::number_bits(*b)
            }
            (Component::Integer(a), Component::Integer(b)) => a == b,
            (Component::String(a), Component::String(b)) => a == b,
            (
                Component::Undefined
                | Component::Null
                | Component::Bool(_)
                | Component::Number(_)
                | Component::Integer(_)
                | Component::String(_),
                _,
            ) => false,
        }
    }
}

impl Eq for Component {}

impl Hash for Component {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Component::Undefined | Component::Null => {}
            Component::Bool(truth) => truth.hash(state),
            Component::Number(number) => Self::number_bits(*number).hash(state),
            Component::Integer(number) => number.hash(state),
            Component::String(text) => text.hash(state),
        }
    }
}

impl PartitionKey {
    /// A key from its levels.
    pub fn new(components: impl IntoIterator<Item = Component>) -> Self {
        PartitionKey(components.into_iter().collect())
    }

    /// The levels.
    pub fn components(&self) -> &[Component] {
        &self.0
    }

    /// Reads the header form: a JSON array of scalars, where `{}` stands for undefined.
    pub fn parse(text: &str) -> Result<Self, PartitionKeyError> {
        if let Some(plain) = plain_string(text) {
            return Ok(PartitionKey(SmallVec::from_buf([Component::String(
                Str::new(plain),
            )])));
        }
        if text.len() > PARTITION_KEY_HEADER_BYTES_MAX {
            return Err(PartitionKeyError::TooLong(PARTITION_KEY_BYTES_MAX));
        }
        let limits = json::Limits {
            depth_max: 2,
            duplicates_refused: &[],
        };
        let parsed =
            json::parse(text.as_bytes(), &limits).map_err(|_| PartitionKeyError::Malformed)?;
        Self::from_value(&parsed)
    }

    /// Reads the same form when it comes as a value inside a document.
    pub fn from_value(value: &Value) -> Result<Self, PartitionKeyError> {
        let elements = value.as_array().ok_or(PartitionKeyError::Malformed)?;
        if elements.len() > PARTITION_KEY_LEVELS_MAX {
            return Err(PartitionKeyError::TooMany);
        }
        elements
            .iter()
            .map(|element| match Component::of(element) {
                Component::Undefined
                    if element.as_object().is_none_or(|object| !object.is_empty()) =>
                {
                    Err(PartitionKeyError::Malformed)
                }
                component => Ok(component),
            })
            .collect::<Result<_, _>>()
            .map(PartitionKey)
    }

    /// Appends the header form.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (i, component) in self.0.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            match component {
                Component::Undefined => out.extend_from_slice(b"{}"),
                Component::Null
                | Component::Bool(_)
                | Component::Number(_)
                | Component::Integer(_) => {
                    json::write(&component.to_value(), out);
                }
                Component::String(text) => json::write_str(text, out),
            }
        }
        out.push(b']');
    }

    /// The header form.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        self.write_json(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Appends the form used inside storage keys: different keys have different bytes, and no key's bytes begin
    /// another's.
    pub fn encode_key(&self, out: &mut Vec<u8>) {
        self.encode_levels(out);
        out.push(KEY_END);
    }

    /// The same without its end: the storage keys of all keys under this prefix begin with it, and of no others.
    pub fn encode_levels(&self, out: &mut Vec<u8>) {
        for component in &self.0 {
            match component {
                Component::Undefined => out.push(KEY_UNDEFINED),
                Component::Null => out.push(KEY_NULL),
                Component::Bool(false) => out.push(KEY_FALSE),
                Component::Bool(true) => out.push(KEY_TRUE),
                Component::Number(number) => {
                    out.push(KEY_NUMBER);
                    out.extend_from_slice(&ordered_bits(*number).to_be_bytes());
                }
                Component::Integer(number) => {
                    out.push(KEY_INTEGER);
                    out.extend_from_slice(&sortable(*number).to_be_bytes());
                }
                Component::String(text) => push_key_string(text.as_bytes(), out),
            }
        }
    }

    /// The key with every number as the nearest double. So Mongo-owned documents are kept, whose ids beside the key are
    /// exact.
    #[must_use]
    pub fn rounded(&self) -> Cow<'_, PartitionKey> {
        let is_integer = |component: &Component| matches!(component, Component::Integer(_));
        if !self.0.iter().any(is_integer) {
            return Cow::Borrowed(self);
        }
        let round = |component: &Component| match component {
            Component::Integer(number) => Component::Number(*number as f64),
            Component::Undefined
            | Component::Null
            | Component::Bool(_)
            | Component::Number(_)
            | Component::String(_) => component.clone(),
        };
        Cow::Owned(PartitionKey(self.0.iter().map(round).collect()))
    }

    /// Reads what [`PartitionKey::encode_key`] wrote at the beginning of the bytes, and says how many bytes it took.
    pub fn decode_key(bytes: &[u8]) -> Option<(PartitionKey, usize)> {
        let mut components = SmallVec::new();
        let mut at = 0;
        loop {
            let tag = *bytes.get(at)?;
            at += 1;
            let component = match tag {
                KEY_END => return Some((PartitionKey(components), at)),
                KEY_UNDEFINED => Component::Undefined,
                KEY_NULL => Component::Null,
                KEY_FALSE => Component::Bool(false),
                KEY_TRUE => Component::Bool(true),
                KEY_NUMBER => {
                    let raw: [u8; 8] = bytes.get(at..at + 8)?.try_into().ok()?;
                    at += 8;
                    Component::Number(from_ordered_bits(u64::from_be_bytes(raw)))
                }
                KEY_INTEGER => {
                    let raw: [u8; 8] = bytes.get(at..at + 8)?.try_into().ok()?;
                    at += 8;
                    Component::Integer(from_sortable(u64::from_be_bytes(raw)))
                }
                KEY_STRING => {
                    let (text, len) = take_key_string(bytes.get(at..)?)?;
                    at += len;
                    Component::String(text)
                }
                _ => return None,
            };
            components.push(component);
        }
    }
}

const KEY_UNDEFINED: u8 = 0x00;
const KEY_NULL: u8 = 0x01;
const KEY_FALSE: u8 = 0x02;
const KEY_TRUE: u8 = 0x03;
const KEY_NUMBER: u8 = 0x05;
const KEY_INTEGER: u8 = 0x06;
const KEY_STRING: u8 = 0x08;
const KEY_END: u8 = 0x0F;

const STRING_END: u8 = 0x00;
const STRING_ESCAPE: u8 = 0x01;

/// The text between the quotes of `["…"]`, if it is so plain that nothing needs to be decoded: nearly always.
fn plain_string(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("[\"")?.strip_suffix("\"]")?;
    let plain = inner
        .bytes()
        .all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
    plain.then_some(inner)
}

/// Bits that sort as unsigned integers the way the numbers sort.
fn ordered_bits(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

fn from_ordered_bits(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 {
        bits & !(1 << 63)
    } else {
        !bits
    })
}

fn push_key_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(KEY_STRING);
    for byte in text {
        if *byte <= STRING_ESCAPE {
            out.push(STRING_ESCAPE);
            out.push(byte + 1);
        } else {
            out.push(*byte);
        }
    }
    out.push(STRING_END);
}

fn take_key_string(bytes: &[u8]) -> Option<(Str, usize)> {
    let end = bytes.iter().position(|byte| *byte == STRING_END)?;
    let escaped = &bytes[..end];
    if !escaped.contains(&STRING_ESCAPE) {
        return Some((Str::from_utf8(escaped).ok()?, end + 1));
    }
    let mut text = Vec::with_capacity(escaped.len());
    let mut rest = escaped.iter();
    while let Some(byte) = rest.next() {
        match *byte {
            STRING_ESCAPE => match rest.next()? {
                plus_one @ (1 | 2) => text.push(plus_one - 1),
                _ => return None,
            },
            plain => text.push(plain),
        }
    }
    Some((Str::from_utf8(&text).ok()?, end + 1))
}

#[cfg(test)]
#[path = "partition_key/tests.rs"]
mod tests;
