//! A message inside a message, compressed. What it claims to unpack to is checked before anything is allocated.

use std::borrow::Cow;
use std::io::{Read, Write};

use super::{HEADER_BYTES, Malformed, malformed, take_i32};

/// The level at which replies are packed with zstd: its fastest ordinary one.
const ZSTD_LEVEL: i32 = 1;

/// How a message is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressor {
    /// Not at all.
    Noop,
    /// Snappy.
    Snappy,
    /// Zlib.
    Zlib,
    /// Zstandard.
    Zstd,
}

impl Compressor {
    /// Those a client may ask for by name.
    pub const NAMED: [(&'static str, Compressor); 3] = [
        ("snappy", Compressor::Snappy),
        ("zlib", Compressor::Zlib),
        ("zstd", Compressor::Zstd),
    ];

    fn numbered(number: u8) -> Option<Compressor> {
        [
            Compressor::Noop,
            Compressor::Snappy,
            Compressor::Zlib,
            Compressor::Zstd,
        ]
        .into_iter()
        .find(|known| known.number() == number)
    }

    const fn number(self) -> u8 {
        match self {
            Compressor::Noop => 0,
            Compressor::Snappy => 1,
            Compressor::Zlib => 2,
            Compressor::Zstd => 3,
        }
    }

    fn unpack(self, packed: &[u8], size: usize) -> Option<Vec<u8>> {
        // One byte more than claimed is asked for, so that a message that unpacks to more is seen.
        let limit = u64::try_from(size).ok()?.checked_add(1)?;
        let mut out = Vec::with_capacity(size);
        match self {
            Compressor::Noop => out.extend_from_slice(packed),
            Compressor::Snappy => {
                if snap::raw::decompress_len(packed).ok()? != size {
                    return None;
                }
                out = snap::raw::Decoder::new().decompress_vec(packed).ok()?;
            }
            Compressor::Zlib => {
                let mut reader = flate2::read::ZlibDecoder::new(packed).take(limit);
                reader.read_to_end(&mut out).ok()?;
            }
            Compressor::Zstd => {
                let mut reader = zstd::stream::read::Decoder::new(packed).ok()?.take(limit);
                reader.read_to_end(&mut out).ok()?;
            }
        }
        (out.len() == size).then_some(out)
    }

    fn pack(self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self {
            Compressor::Noop => None,
            Compressor::Snappy => snap::raw::Encoder::new().compress_vec(bytes).ok(),
            Compressor::Zlib => {
                let level = flate2::Compression::fast();
                let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), level);
                writer.write_all(bytes).ok()?;
                writer.finish().ok()
            }
            Compressor::Zstd => zstd::stream::encode_all(bytes, ZSTD_LEVEL).ok(),
        }
    }
}

/// Unpacks: the operation inside, how it was packed, and its bytes.
pub(super) fn read(
    mut payload: &[u8],
    message_bytes_max: usize,
) -> Result<(i32, Compressor, Vec<u8>), Malformed> {
    let op_code = take_i32(&mut payload)?;
    let size = take_i32(&mut payload)?;
    let Some((number, packed)) = payload.split_first() else {
        return malformed("a compressed message is too short");
    };
    let Some(compressor) = Compressor::numbered(*number) else {
        return malformed(format!(
            "a message is compressed in the unknown way {number}"
        ));
    };
    let size = match usize::try_from(size) {
        Ok(size) if size <= message_bytes_max.saturating_sub(HEADER_BYTES) => size,
        Ok(_) | Err(_) => {
            return malformed(format!(
                "a compressed message says it unpacks to {size} bytes"
            ));
        }
    };
    match compressor.unpack(packed, size) {
        Some(bytes) => Ok((op_code, compressor, bytes)),
        None => malformed("a compressed message does not unpack to what it says"),
    }
}

/// Packs a message; one that cannot be packed goes as it is.
pub(super) fn write(op_code: i32, compressor: Compressor, bytes: &[u8]) -> Vec<u8> {
    let (compressor, packed) = match compressor.pack(bytes) {
        Some(packed) => (compressor, Cow::Owned(packed)),
        None => (Compressor::Noop, Cow::Borrowed(bytes)),
    };
    let mut out = Vec::with_capacity(9 + packed.len());
    out.extend_from_slice(&op_code.to_le_bytes());
    out.extend_from_slice(&i32::try_from(bytes.len()).unwrap_or(i32::MAX).to_le_bytes());
    out.push(compressor.number());
    out.extend_from_slice(&packed);
    out
}
