//! Resource ids: base64 of the numbers of database, container and document.

/// Bytes before the number of the document.
const CONTAINER_BYTES: usize = 8;

/// The number of the document, which is little-endian at the end of its id.
pub(crate) fn document_number(rid: &str) -> Option<u64> {
    let bytes = decode(rid)?;
    let tail: [u8; 8] = bytes.get(CONTAINER_BYTES..)?.try_into().ok()?;
    Some(u64::from_le_bytes(tail))
}

/// Base64 with `-` for `/`, as resource ids have it.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut bits, mut count) = (0u32, 0);
    for symbol in text.trim_end_matches('=').bytes() {
        let value = match symbol {
            b'A'..=b'Z' => symbol - b'A',
            b'a'..=b'z' => symbol - b'a' + 26,
            b'0'..=b'9' => symbol - b'0' + 52,
            b'+' => 62,
            b'/' | b'-' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}
