//! As much of BSON as the load needs: documents written member by member, and members found in an answer's bytes.

use anyhow::{Context, Result, bail};

const DOUBLE: u8 = 0x01;
const STRING: u8 = 0x02;
const DOCUMENT: u8 = 0x03;
const ARRAY: u8 = 0x04;
const BINARY: u8 = 0x05;
const OBJECT_ID: u8 = 0x07;
const BOOL: u8 = 0x08;
const NULL: u8 = 0x0A;
const INT32: u8 = 0x10;
const TIMESTAMP: u8 = 0x11;
const DATE: u8 = 0x09;
const INT64: u8 = 0x12;

/// The subtype of a UUID.
const UUID: u8 = 4;

/// A document being written.
#[derive(Clone, Debug)]
pub struct Doc(Vec<u8>);

impl Doc {
    /// An empty one.
    pub fn new() -> Self {
        Self(vec![0; 4])
    }

    fn member(&mut self, kind: u8, name: &str) -> &mut Vec<u8> {
        self.0.push(kind);
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(0);
        &mut self.0
    }

    /// With a text.
    pub fn text(mut self, name: &str, text: &str) -> Self {
        let out = self.member(STRING, name);
        out.extend_from_slice(&length(text.len() + 1));
        out.extend_from_slice(text.as_bytes());
        out.push(0);
        self
    }

    /// With a 32-bit integer.
    pub fn int(mut self, name: &str, number: i32) -> Self {
        let out = self.member(INT32, name);
        out.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// With a 64-bit integer.
    pub fn long(mut self, name: &str, number: i64) -> Self {
        let out = self.member(INT64, name);
        out.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// With a truth.
    pub fn truth(mut self, name: &str, truth: bool) -> Self {
        self.member(BOOL, name).push(u8::from(truth));
        self
    }

    /// With an object id.
    pub fn object_id(mut self, name: &str, id: &[u8; 12]) -> Self {
        self.member(OBJECT_ID, name).extend_from_slice(id);
        self
    }

    /// With a UUID.
    pub fn uuid(mut self, name: &str, id: &[u8; 16]) -> Self {
        let out = self.member(BINARY, name);
        out.extend_from_slice(&length(id.len()));
        out.push(UUID);
        out.extend_from_slice(id);
        self
    }

    /// With a document inside.
    pub fn document(mut self, name: &str, inside: Doc) -> Self {
        let inside = inside.finish();
        self.member(DOCUMENT, name).extend_from_slice(&inside);
        self
    }

    /// With a document that is bytes already.
    pub fn raw(mut self, name: &str, inside: &[u8]) -> Self {
        self.member(DOCUMENT, name).extend_from_slice(inside);
        self
    }

    /// With a list of documents.
    pub fn list(mut self, name: &str, elements: Vec<Doc>) -> Self {
        let mut inside = Doc::new();
        for (at, element) in elements.into_iter().enumerate() {
            inside = inside.document(&at.to_string(), element);
        }
        let inside = inside.finish();
        self.member(ARRAY, name).extend_from_slice(&inside);
        self
    }

    /// Its bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.0.push(0);
        let whole = length(self.0.len());
        self.0[..4].copy_from_slice(&whole);
        self.0
    }
}

fn length(bytes: usize) -> [u8; 4] {
    i32::try_from(bytes).unwrap_or(i32::MAX).to_le_bytes()
}

/// The members of a document, one after the other.
pub struct Members<'a> {
    rest: &'a [u8],
}

/// The members of a document's bytes.
pub fn members(document: &[u8]) -> Members<'_> {
    Members {
        rest: document.get(4..).unwrap_or_default(),
    }
}

/// A member's kind and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    kind: u8,
    bytes: &'a [u8],
}

impl<'a> Members<'a> {
    /// The next one; none at the end.
    pub fn next(&mut self) -> Result<Option<(&'a [u8], Member<'a>)>> {
        let (&kind, rest) = self.rest.split_first().context("a document has no end")?;
        if kind == 0 {
            return Ok(None);
        }
        let end = rest.iter().position(|&byte| byte == 0);
        let end = end.context("a name has no end")?;
        let (name, value) = (&rest[..end], &rest[end + 1..]);
        let size = size(kind, value)?;
        if size > value.len() {
            bail!("a member goes beyond its document");
        }
        let (bytes, rest) = value.split_at(size);
        self.rest = rest;
        Ok(Some((name, Member { kind, bytes })))
    }
}

fn size(kind: u8, value: &[u8]) -> Result<usize> {
    let said = || -> Result<usize> {
        let length = value.first_chunk::<4>().context("a length is cut off")?;
        Ok(usize::try_from(i32::from_le_bytes(*length))?)
    };
    Ok(match kind {
        DOUBLE | DATE | TIMESTAMP | INT64 => 8,
        STRING => 4 + said()?,
        DOCUMENT | ARRAY => said()?,
        BINARY => 5 + said()?,
        OBJECT_ID => 12,
        BOOL => 1,
        NULL => 0,
        INT32 => 4,
        other => bail!("an answer has a member of kind {other}"),
    })
}

/// A member of a document by its path.
pub fn find<'a>(document: &'a [u8], path: &[&str]) -> Result<Option<Member<'a>>> {
    let Some((first, rest)) = path.split_first() else {
        return Ok(None);
    };
    let mut all = members(document);
    while let Some((name, member)) = all.next()? {
        if name == first.as_bytes() {
            return match rest {
                [] => Ok(Some(member)),
                rest => find(member.bytes, rest),
            };
        }
    }
    Ok(None)
}

impl<'a> Member<'a> {
    /// A document or a list.
    pub fn as_document(self) -> Option<&'a [u8]> {
        [DOCUMENT, ARRAY].contains(&self.kind).then_some(self.bytes)
    }

    /// A text.
    pub fn as_text(self) -> Option<&'a str> {
        let text = (self.kind == STRING).then_some(self.bytes)?;
        std::str::from_utf8(text.get(4..text.len() - 1)?).ok()
    }

    /// A number of any kind, if it is whole.
    pub fn as_i64(self) -> Option<i64> {
        match self.kind {
            INT32 => Some(i64::from(i32::from_le_bytes(*self.bytes.first_chunk()?))),
            INT64 => Some(i64::from_le_bytes(*self.bytes.first_chunk()?)),
            DOUBLE => {
                let number = f64::from_le_bytes(*self.bytes.first_chunk()?);
                let whole = number as i64;
                (whole as f64 == number).then_some(whole)
            }
            BOOL => Some(i64::from(*self.bytes.first()?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_found_again() {
        let inside = Doc::new().text("t", "word").truth("b", true);
        let list = vec![Doc::new().int("n", 7), Doc::new().int("n", 8)];
        let bytes = Doc::new()
            .int("i", -5)
            .long("l", 1 << 40)
            .object_id("o", &[7; 12])
            .uuid("u", &[9; 16])
            .document("d", inside)
            .list("a", list)
            .finish();
        assert_eq!(bytes[..4], length(bytes.len()));
        let number = |path: &[&str]| find(&bytes, path).unwrap().and_then(Member::as_i64);
        assert_eq!(number(&["i"]), Some(-5));
        assert_eq!(number(&["l"]), Some(1 << 40));
        assert_eq!(number(&["d", "b"]), Some(1));
        assert_eq!(number(&["a", "1", "n"]), Some(8));
        assert_eq!(number(&["a", "2", "n"]), None);
        let text = find(&bytes, &["d", "t"]).unwrap().unwrap();
        assert_eq!(text.as_text(), Some("word"));
    }

    #[test]
    fn a_document_that_is_cut_off_is_no_document() {
        let bytes = Doc::new().text("t", "word").finish();
        for length in 4..bytes.len() {
            assert!(find(&bytes[..length], &["x"]).is_err(), "{length}");
        }
    }
}
