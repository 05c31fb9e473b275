//! The old query: what older drivers greet with.

use lapsedb_value::{Object, Value};

use super::{Malformed, ReplyForm, parse, take_document, take_i32, take_text};

/// The reply carries a failure.
const QUERY_FAILURE: i32 = 2;
/// The server could wait for data.
const AWAIT_CAPABLE: i32 = 8;

/// A query in the old form.
#[derive(Clone, Debug)]
pub struct OpQuery {
    /// Database and collection; `$cmd` stands for a command.
    pub namespace: String,
    /// The command, unwrapped.
    pub body: Object,
}

impl OpQuery {
    pub(super) fn read(bytes: &[u8]) -> Result<OpQuery, Malformed> {
        Self::read_fields(bytes).map_err(|error| error.replied_to_as(ReplyForm::Old))
    }

    fn read_fields(mut bytes: &[u8]) -> Result<OpQuery, Malformed> {
        take_i32(&mut bytes)?;
        let namespace = take_text(&mut bytes)?.to_owned();
        take_i32(&mut bytes)?;
        take_i32(&mut bytes)?;
        let mut body = parse(take_document(&mut bytes)?)?;
        for wrapper in ["$query", "query"] {
            let wrapped = body.iter().next().is_some_and(|(name, _)| name == wrapper);
            if wrapped && let Some(Value::Object(inner)) = body.remove(wrapper) {
                body = inner;
            }
        }
        Ok(OpQuery { namespace, body })
    }

    /// The database, if this is a command.
    #[must_use]
    pub fn database(&self) -> Option<&str> {
        self.namespace.strip_suffix(".$cmd")
    }
}

/// Appends a reply with one document.
pub(super) fn write(failed: bool, document: &[u8], out: &mut Vec<u8>) {
    let flags = if failed { QUERY_FAILURE } else { AWAIT_CAPABLE };
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&0i64.to_le_bytes());
    out.extend_from_slice(&0i32.to_le_bytes());
    out.extend_from_slice(&1i32.to_le_bytes());
    out.extend_from_slice(document);
}
