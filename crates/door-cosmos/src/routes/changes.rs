//! The change feed: `GET …/docs` with `A-IM`.

use http::StatusCode;
use http::header::{ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH};
use lapsedb_service::ctx::Scope;
use lapsedb_service::items::changes::{self, ChangesPage, Request, Start};
use lapsedb_service::{Error, Result, Secs, resource};

use crate::answer::Answer;
use crate::call::Call;
use crate::format::{Format, Subject};
use crate::routes::{items, versions};
use crate::{envelope, headers, http_date};

/// What changed, page by page, in the mode that the request asks for; 304 and where the reader stands if that is nothing.
///
/// # Errors
/// As the verbs say, and when there is no such mode.
pub async fn feed(call: &Call<'_>, db: &str, coll: &str) -> Result<Answer> {
    let mode = call.text(&headers::A_IM)?.unwrap_or_default().trim();
    if mode.eq_ignore_ascii_case("Incremental Feed") {
        latest(call, db, coll).await
    } else if mode.eq_ignore_ascii_case("Full-Fidelity Feed") {
        versions::feed(call, db, coll).await
    } else {
        Err(Error::bad_request(format!(
            "The header A-IM has the value '{mode}'; Incremental Feed and Full-Fidelity Feed are allowed."
        )))
    }
}

/// The latest version of what changed.
async fn latest(call: &Call<'_>, db: &str, coll: &str) -> Result<Answer> {
    let request = Request {
        selection: items::selection(call)?,
        start: start(call)?,
        since: since(call)?,
        items_max: call.page_size()?,
    };
    let intended = call.text(&headers::INTENDED_COLLECTION_RID)?;
    let page = changes::changes(&call.ctx, (db, coll), intended, &request).await?;
    let body = match page.items.len() {
        0 => None,
        _ => {
            let wrapped = call
                .text(&headers::CHANGE_FEED_WIRE_FORMAT)?
                .is_some_and(|version| !version.trim().is_empty());
            Some(body(&page, wrapped)?)
        }
    };
    let count = page.items.len();
    Ok(answer(call, &page.scope, body, count, page.next, page.charge).await)
}

/// A page of either mode: its body, or 304, and where the reader now stands.
pub(super) async fn answer(
    call: &Call<'_>,
    scope: &Scope,
    body: Option<Vec<u8>>,
    count: usize,
    next: u64,
    charge: f64,
) -> Answer {
    let mut answer = match body {
        None => Answer::empty(StatusCode::NOT_MODIFIED, charge),
        Some(body) => {
            let body = Format::wanted(call.headers, Subject::Feed).of_text(body);
            Answer::json(StatusCode::OK, charge, body)
        }
    };
    answer.set_number(headers::ITEM_COUNT, count as u64);
    answer.set(ETAG, &format!("\"{next}\""));
    let lsn = scope.view.lsn();
    items::owner(call, &mut answer, &scope.database, &scope.collection, lsn).await;
    answer
}

/// Where the reader stands: `*` is now, a cursor is the quoted number of a commit. It is a place in the log of the whole
/// container, in whatever part and mode it was answered.
pub(super) fn start(call: &Call<'_>) -> Result<Start> {
    let cursor = call.text(&IF_NONE_MATCH)?.map(str::trim);
    refuse_continuation(call, cursor.unwrap_or_default())?;
    let Some(text) = cursor else {
        return Ok(Start::Beginning);
    };
    let digits = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(text);
    match digits {
        "" => Ok(Start::Beginning),
        "*" => Ok(Start::Now),
        // A sign is no part of a number here, though Rust would take it.
        _ if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits
            .parse()
            .map(Start::After)
            .map_err(|_| no_cursor(text)),
        _ => Err(no_cursor(text)),
    }
}

/// A change feed goes on where `If-None-Match` says. A token of a feed or a query would be ignored, and the reader would begin
/// again without noticing; some clients send the cursor in both headers.
fn refuse_continuation(call: &Call<'_>, cursor: &str) -> Result<()> {
    match call.text(&headers::CONTINUATION)?.map(str::trim) {
        None | Some("") => Ok(()),
        Some(token) if token == cursor => Ok(()),
        Some(token) => Err(Error::bad_request(format!(
            "The header x-ms-continuation has the value '{token}'; a change feed is continued by its etag in the header If-None-Match."
        ))),
    }
}

fn no_cursor(text: &str) -> Error {
    Error::bad_request(format!(
        "The header If-None-Match has the value '{text}', which is no cursor of the change feed; * or an etag it has answered is allowed."
    ))
}

pub(super) fn since(call: &Call<'_>) -> Result<Option<Secs>> {
    match call.text(&IF_MODIFIED_SINCE)?.map(str::trim) {
        None | Some("") => Ok(None),
        Some(text) => http_date::parse(text).map(|second| Some(Secs(second))).ok_or_else(|| {
            Error::bad_request(format!(
                "The header If-Modified-Since has the value '{text}'; a date such as 'Sun, 15 Nov 2026 17:51:40 GMT' is allowed."
            ))
        }),
    }
}

fn body(page: &ChangesPage, wrapped: bool) -> Result<Vec<u8>> {
    let collection = &page.scope.collection;
    let mut body = envelope::open(&resource::collection_rid(collection), "Documents");
    for (at, (_, item)) in page.items.iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        let header = item.header();
        if wrapped {
            body.extend_from_slice(b"{\"current\":");
        }
        resource::write_changed_item(collection, header, item.body(), &mut body)?;
        if wrapped {
            let (lsn, second) = (header.lsn, header.written.0);
            let metadata = format!(",\"metadata\":{{\"lsn\":{lsn},\"crts\":{second}}}}}");
            body.extend_from_slice(metadata.as_bytes());
        }
    }
    envelope::close(&mut body, page.items.len());
    Ok(body)
}
