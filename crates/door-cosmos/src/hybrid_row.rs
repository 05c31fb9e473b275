//! Batches in HybridRow, the binary form that the .NET client sends and insists on getting back.
//!
//! A stream of rows: a segment header, then for every operation a record header with a checksum, and its body.
//! All integers are little-endian; lengths and path tokens are in groups of seven bits, lowest first.

use std::fmt;

/// The first byte of every row, and so of every batch in this form.
pub const ROW_VERSION: u8 = 0x81;

const SEGMENT_SCHEMA: i32 = 2_147_473_648;
const RECORD_SCHEMA: i32 = 2_147_473_649;
const OPERATION_SCHEMA: i32 = 2_145_473_648;
const RESULT_SCHEMA: i32 = 2_145_473_649;

const SEGMENT_HEADER_BYTES: usize = 10;
const RECORD_HEADER_BYTES: usize = 13;

/// Columns of an operation; a token beyond them spells a path out.
const OPERATION_COLUMNS: u64 = 12;
/// The columns of an operation that have a presence bit, in order.
const HAS_OPERATION: u8 = 1 << 0;
const HAS_PARTITION_KEY: u8 = 1 << 2;
const HAS_EFFECTIVE_PARTITION_KEY: u8 = 1 << 3;
const HAS_ID: u8 = 1 << 4;
const HAS_BINARY_ID: u8 = 1 << 5;
const HAS_BODY: u8 = 1 << 6;
/// The bits of a result.
const HAS_STATUS_AND_SUB_STATUS: u8 = 0b11;
const HAS_ETAG: u8 = 1 << 2;
const HAS_RESULT_BODY: u8 = 1 << 3;

const TOKEN_INDEXING_DIRECTIVE: u64 = 8;
const TOKEN_IF_MATCH: u64 = 9;
const TOKEN_IF_NONE_MATCH: u64 = 10;
const TOKEN_MINIMAL_RETURN: u64 = 12;
const TOKEN_RETRY_AFTER: u8 = 5;
const TOKEN_REQUEST_CHARGE: u8 = 6;

const TYPE_NULL: u8 = 1;
const TYPE_FALSE: u8 = 2;
const TYPE_TRUE: u8 = 3;
const TYPE_INT32: u8 = 7;
const TYPE_UINT32: u8 = 11;
const TYPE_FLOAT64: u8 = 16;
const TYPE_UTF8: u8 = 20;
const TYPE_BINARY: u8 = 21;

/// Whether a request body is in this form.
pub fn is_hybrid_row(bytes: &[u8]) -> bool {
    bytes.first() == Some(&ROW_VERSION)
}

/// Why bytes are no batch, and about where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// What is wrong.
    pub reason: &'static str,
    /// How many bytes were still to be read.
    pub bytes_left: usize,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "The batch is not valid HybridRow: {} ({} bytes before its end).",
            self.reason, self.bytes_left
        )
    }
}

impl std::error::Error for BadRow {}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationType {
    /// Creates an item.
    Create,
    /// Changes parts of an item.
    Patch,
    /// Reads an item.
    Read,
    /// Deletes an item.
    Delete,
    /// Replaces an item.
    Replace,
    /// Creates or replaces an item.
    Upsert,
}

impl OperationType {
    /// The name that the JSON form of a batch uses.
    pub const fn name(self) -> &'static str {
        match self {
            OperationType::Create => "Create",
            OperationType::Patch => "Patch",
            OperationType::Read => "Read",
            OperationType::Delete => "Delete",
            OperationType::Replace => "Replace",
            OperationType::Upsert => "Upsert",
        }
    }

    fn from_code(code: i32) -> Option<Self> {
        match code {
            0 => Some(OperationType::Create),
            1 => Some(OperationType::Patch),
            2 => Some(OperationType::Read),
            4 => Some(OperationType::Delete),
            5 => Some(OperationType::Replace),
            20 => Some(OperationType::Upsert),
            _ => None,
        }
    }
}

/// One operation of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchOperation {
    /// What it does.
    pub operation: OperationType,
    /// The partition key as JSON text; only in bulk.
    pub partition_key: Option<String>,
    /// The item's id.
    pub id: Option<String>,
    /// The item, or for a patch the patch document.
    pub resource_body: Option<Vec<u8>>,
    /// How the item is to be indexed.
    pub indexing_directive: Option<String>,
    /// Only if the item has this etag.
    pub if_match: Option<String>,
    /// Only if the item does not have this etag.
    pub if_none_match: Option<String>,
    /// Whether the answer should leave the item out.
    pub minimal_return_preference: bool,
}

/// What an operation came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchResult {
    /// The status, as of a request of its own.
    pub status_code: u16,
    /// The sub-status.
    pub sub_status_code: u32,
    /// The item's etag.
    pub e_tag: Option<String>,
    /// The item.
    pub resource_body: Option<Vec<u8>>,
    /// When to try again, in milliseconds.
    pub retry_after_ms: Option<u32>,
    /// What it cost.
    pub request_charge: f64,
}

/// Reads a batch.
pub fn decode(bytes: &[u8]) -> Result<Vec<BatchOperation>, BadRow> {
    let mut stream = Reader(bytes);
    read_segment_header(&mut stream)?;
    let mut operations = Vec::new();
    while !stream.0.is_empty() {
        let body = read_record(&mut stream)?;
        operations.push(read_operation(Reader(body))?);
    }
    Ok(operations)
}

/// Writes the results of a batch.
pub fn encode(results: &[BatchResult]) -> Vec<u8> {
    let bodies: usize = results
        .iter()
        .map(|result| 96 + result.resource_body.as_deref().map_or(0, <[u8]>::len))
        .sum();
    let mut out = Vec::with_capacity(SEGMENT_HEADER_BYTES + bodies);
    write_segment_header(&mut out);
    let mut row = Vec::new();
    for result in results {
        row.clear();
        write_result(result, &mut row);
        write_record(&row, &mut out);
    }
    out
}

/// What is still to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bad<T>(&self, reason: &'static str) -> Result<T, BadRow> {
        Err(BadRow {
            reason,
            bytes_left: self.0.len(),
        })
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], BadRow> {
        match self.0.split_at_checked(len) {
            Some((taken, rest)) => {
                self.0 = rest;
                Ok(taken)
            }
            None => self.bad("it ends too early"),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BadRow> {
        match self.0.split_first_chunk::<N>() {
            Some((taken, rest)) => {
                self.0 = rest;
                Ok(*taken)
            }
            None => self.bad("it ends too early"),
        }
    }

    fn byte(&mut self) -> Result<u8, BadRow> {
        self.array().map(|[byte]| byte)
    }

    fn i32(&mut self) -> Result<i32, BadRow> {
        self.array().map(i32::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, BadRow> {
        self.array().map(u32::from_le_bytes)
    }

    fn varuint(&mut self) -> Result<u64, BadRow> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if (bits << shift) >> shift != bits {
                return self.bad("a number is too large");
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        self.bad("a number is too long")
    }

    fn binary(&mut self) -> Result<&'a [u8], BadRow> {
        match usize::try_from(self.varuint()?) {
            Ok(len) => self.take(len),
            Err(_) => self.bad("it ends too early"),
        }
    }

    fn utf8(&mut self) -> Result<&'a str, BadRow> {
        let bytes = self.binary()?;
        self.as_utf8(bytes)
    }

    fn as_utf8(&self, bytes: &'a [u8]) -> Result<&'a str, BadRow> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) => self.bad("a text is not UTF-8"),
        }
    }

    fn row_header(&mut self, schema: i32) -> Result<(), BadRow> {
        if self.byte()? != ROW_VERSION {
            return self.bad("a row has an unknown version");
        }
        if self.i32()? != schema {
            return self.bad("a row has an unexpected schema");
        }
        Ok(())
    }
}

fn read_segment_header(stream: &mut Reader<'_>) -> Result<(), BadRow> {
    stream.row_header(SEGMENT_SCHEMA)?;
    let _presence = stream.byte()?;
    // A longer header carries a comment or a schema, which we have no use for.
    let length = usize::try_from(stream.i32()?).unwrap_or(0);
    stream.take(length.saturating_sub(SEGMENT_HEADER_BYTES))?;
    Ok(())
}

fn read_record<'a>(stream: &mut Reader<'a>) -> Result<&'a [u8], BadRow> {
    stream.row_header(RECORD_SCHEMA)?;
    let Ok(length) = usize::try_from(stream.i32()?) else {
        return stream.bad("a record has a negative length");
    };
    let checksum = stream.u32()?;
    let body = stream.take(length)?;
    if crc32fast::hash(body) != checksum {
        return stream.bad("a record does not have its checksum");
    }
    Ok(body)
}

fn read_operation(mut row: Reader<'_>) -> Result<BatchOperation, BadRow> {
    row.row_header(OPERATION_SCHEMA)?;
    let presence = row.byte()?;
    let code = row.i32()?;
    let _resource_type = row.i32()?;
    if presence & HAS_OPERATION == 0 {
        return row.bad("an operation does not say what it does");
    }
    let Some(operation) = OperationType::from_code(code) else {
        return row.bad("an operation has an unknown type");
    };
    let has = |bit: u8| presence & bit != 0;
    let partition_key = if has(HAS_PARTITION_KEY) {
        Some(row.utf8()?.to_owned())
    } else {
        None
    };
    if has(HAS_EFFECTIVE_PARTITION_KEY) {
        row.binary()?;
    }
    let mut id = if has(HAS_ID) { Some(row.utf8()?) } else { None };
    if has(HAS_BINARY_ID) {
        let binary = row.binary()?;
        id = match id {
            Some(id) => Some(id),
            None => Some(row.as_utf8(binary)?),
        };
    }
    let resource_body = if has(HAS_BODY) {
        Some(row.binary()?.to_vec())
    } else {
        None
    };
    let mut result = BatchOperation {
        operation,
        partition_key,
        id: id.map(str::to_owned),
        resource_body,
        indexing_directive: None,
        if_match: None,
        if_none_match: None,
        minimal_return_preference: false,
    };
    while !row.0.is_empty() {
        read_sparse(&mut row, &mut result)?;
    }
    Ok(result)
}

/// A value of a field that is written only when it has one.
enum Sparse<'a> {
    Bool(bool),
    Text(&'a str),
    /// Of a kind that no field we look at has.
    Other,
}

/// Reads one such field; those we have no use for are passed over.
fn read_sparse(row: &mut Reader<'_>, operation: &mut BatchOperation) -> Result<(), BadRow> {
    let kind = row.byte()?;
    let token = row.varuint()?;
    if let Some(spelt) = token.checked_sub(OPERATION_COLUMNS + 1) {
        match usize::try_from(spelt) {
            Ok(len) => row.take(len)?,
            Err(_) => return row.bad("it ends too early"),
        };
    }
    let value = match kind {
        TYPE_NULL => Sparse::Other,
        TYPE_FALSE => Sparse::Bool(false),
        TYPE_TRUE => Sparse::Bool(true),
        TYPE_INT32 | TYPE_UINT32 => row.take(4).map(|_| Sparse::Other)?,
        TYPE_FLOAT64 => row.take(8).map(|_| Sparse::Other)?,
        TYPE_UTF8 => Sparse::Text(row.utf8()?),
        TYPE_BINARY => row.binary().map(|_| Sparse::Other)?,
        _ => return row.bad("a field has an unknown type"),
    };
    match (token, value) {
        (TOKEN_INDEXING_DIRECTIVE, Sparse::Text(text)) => {
            operation.indexing_directive = Some(text.to_owned())
        }
        (TOKEN_IF_MATCH, Sparse::Text(text)) => operation.if_match = Some(text.to_owned()),
        (TOKEN_IF_NONE_MATCH, Sparse::Text(text)) => {
            operation.if_none_match = Some(text.to_owned())
        }
        (TOKEN_MINIMAL_RETURN, Sparse::Bool(minimal)) => {
            operation.minimal_return_preference = minimal
        }
        (_, Sparse::Bool(_) | Sparse::Text(_) | Sparse::Other) => {}
    }
    Ok(())
}

fn write_row_header(schema: i32, out: &mut Vec<u8>) {
    out.push(ROW_VERSION);
    out.extend_from_slice(&schema.to_le_bytes());
}

fn write_segment_header(out: &mut Vec<u8>) {
    write_row_header(SEGMENT_SCHEMA, out);
    out.push(1);
    out.extend_from_slice(&(SEGMENT_HEADER_BYTES as i32).to_le_bytes());
}

fn write_record(body: &[u8], out: &mut Vec<u8>) {
    out.reserve(RECORD_HEADER_BYTES + body.len());
    write_row_header(RECORD_SCHEMA, out);
    // Bodies are bounded by the size of an item, far below what the length can say.
    out.extend_from_slice(&i32::try_from(body.len()).unwrap_or(i32::MAX).to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    out.extend_from_slice(body);
}

fn write_result(result: &BatchResult, out: &mut Vec<u8>) {
    write_row_header(RESULT_SCHEMA, out);
    let etag = result.e_tag.as_ref().map_or(0, |_| HAS_ETAG);
    let body = result.resource_body.as_ref().map_or(0, |_| HAS_RESULT_BODY);
    out.push(HAS_STATUS_AND_SUB_STATUS | etag | body);
    out.extend_from_slice(&i32::from(result.status_code).to_le_bytes());
    out.extend_from_slice(
        &i32::try_from(result.sub_status_code)
            .unwrap_or(0)
            .to_le_bytes(),
    );
    if let Some(etag) = &result.e_tag {
        write_binary(etag.as_bytes(), out);
    }
    if let Some(body) = &result.resource_body {
        write_binary(body, out);
    }
    if let Some(retry_after_ms) = result.retry_after_ms {
        out.extend_from_slice(&[TYPE_UINT32, TOKEN_RETRY_AFTER]);
        out.extend_from_slice(&retry_after_ms.to_le_bytes());
    }
    out.extend_from_slice(&[TYPE_FLOAT64, TOKEN_REQUEST_CHARGE]);
    out.extend_from_slice(&result.request_charge.to_le_bytes());
}

fn write_binary(bytes: &[u8], out: &mut Vec<u8>) {
    let mut len = bytes.len();
    while len >= 0x80 {
        out.push((len & 0x7F) as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
#[path = "hybrid_row_tests.rs"]
mod tests;
