//! What feeds and queries have in common on the wire: the envelope and item continuations.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lapsedb_service::continuation::invalid_token;
use lapsedb_service::{Error, Result};
use lapsedb_value::{Value, cosmos_binary, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::format::Format;
use crate::headers;

/// Version and kind of an item continuation.
const ITEMS_TOKEN: &str = "L2~";

/// Begins an envelope.
#[must_use]
pub fn open(owner_rid: &str, array: &str) -> Vec<u8> {
    let mut body = Vec::with_capacity(1024);
    body.extend_from_slice(b"{\"_rid\":");
    json::write_str(owner_rid, &mut body);
    body.extend_from_slice(b",\"");
    body.extend_from_slice(array.as_bytes());
    body.extend_from_slice(b"\":[");
    body
}

/// An envelope around the rows of a query.
#[must_use]
pub fn rows(format: Format, owner_rid: &str, rows: &[Value]) -> Vec<u8> {
    match format {
        Format::Text => {
            let mut body = open(owner_rid, "Documents");
            for (at, row) in rows.iter().enumerate() {
                if at > 0 {
                    body.push(b',');
                }
                json::write(row, &mut body);
            }
            close(&mut body, rows.len());
            body
        }
        Format::Binary => {
            let mut body = cosmos_binary::begin(1024);
            let envelope = cosmos_binary::open_object(&mut body);
            cosmos_binary::write_str("_rid", &mut body);
            cosmos_binary::write_str(owner_rid, &mut body);
            cosmos_binary::write_str("Documents", &mut body);
            let documents = cosmos_binary::open_array(&mut body);
            for row in rows {
                cosmos_binary::write(row, &mut body);
            }
            documents.close(rows.len(), &mut body);
            cosmos_binary::write_str("_count", &mut body);
            let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
            cosmos_binary::write(&Value::from(count), &mut body);
            envelope.close(3, &mut body);
            body
        }
    }
}

/// Ends an envelope.
pub fn close(body: &mut Vec<u8>, count: usize) {
    body.extend_from_slice(format!("],\"_count\":{count}}}").as_bytes());
}

/// Where an item feed goes on, from the request's continuation.
///
/// # Errors
/// When the token is not one of ours.
pub fn items_resume(call: &Call<'_>) -> Result<Option<Vec<u8>>> {
    match call.text(&headers::CONTINUATION)? {
        None | Some("") => Ok(None),
        Some(token) => token
            .strip_prefix(ITEMS_TOKEN)
            .and_then(|text| URL_SAFE_NO_PAD.decode(text).ok())
            .filter(|resume| !resume.is_empty())
            .map(Some)
            .ok_or_else(invalid_token),
    }
}

/// Says where the next page begins.
///
/// # Errors
/// When the request allows no room for it at all.
pub fn set_continuation(call: &Call<'_>, answer: &mut Answer, token: &str) -> Result<()> {
    // A limit that some token fits is a wish: a query that cannot go on would be worse than a longer header, and one SDK asks for
    // 1 KB whatever the query is.
    if call.number(&headers::CONTINUATION_LIMIT_KB)? == Some(0) {
        return Err(Error::bad_request(format!(
            "The continuation token limit specified is not large enough: the token takes {} bytes. Raise the limit in {}, or take more items in a page.",
            token.len(),
            headers::CONTINUATION_LIMIT_KB,
        )));
    }
    answer.set(headers::CONTINUATION, token);
    Ok(())
}

/// The continuation of an item feed.
#[must_use]
pub fn items_token(resume: &[u8]) -> String {
    format!("{ITEMS_TOKEN}{}", URL_SAFE_NO_PAD.encode(resume))
}
