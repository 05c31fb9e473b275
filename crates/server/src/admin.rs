//! The admin API, `/_lapsedb/…`: the clock, and what time to live has done and will do.

#![allow(
    clippy::result_large_err,
    reason = "an answer is moved a few times per admin call, and these are rare"
)]

mod access;
mod clock;
mod duration;
mod query;
mod ttl;

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use lapsedb_door_cosmos::Unread;
use lapsedb_service::remote::Pace;
use lapsedb_service::{Ctx, Who};
use lapsedb_value::{Object, Value, json};

use crate::boot::App;
use crate::reply::{self, Reply};
use crate::slots::Slot;

/// The longest body of an admin call.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// Names an item's partition key, as in the NoSQL door.
const PARTITION_KEY: &str = "x-ms-documentdb-partitionkey";

/// The deepest nesting of such a body, which is one flat object.
const LIMITS: json::Limits = json::Limits {
    depth_max: 4,
    duplicates_refused: &["advance", "advanceMillis", "set", "trust", "defaultTtl"],
};

/// What an admin call answers: members of an object, or an error as an answer.
type Answer = Result<Reply, Reply>;

/// Answers an admin call.
pub async fn answer(app: &App, request: Request<Incoming>, slot: &Slot) -> Reply {
    match dispatch(app, request, slot).await {
        Ok(reply) | Err(reply) => reply,
    }
}

async fn dispatch(app: &App, request: Request<Incoming>, slot: &Slot) -> Answer {
    let (parts, body) = request.into_parts();
    let who = access::of(app, &parts)?;
    slot.know(true);
    let read = parts.method == Method::GET || parts.method == Method::HEAD;
    match who {
        Who::ReadOnly | Who::Token(_) if !read => {
            let message = "the read-only key may only GET";
            return Err(reply::error(StatusCode::FORBIDDEN, message));
        }
        Who::Master | Who::ReadOnly | Who::Token(_) => {}
    }
    let ctx = Ctx::new(Arc::clone(&app.service), who);
    let segments = segments(parts.uri.path())?;
    let path: Vec<&str> = segments.iter().map(String::as_str).skip(1).collect();
    match (path.as_slice(), parts.method.as_str()) {
        (["clock"], "GET" | "HEAD") => Ok(clock::show(app)),
        (["clock"], "POST") => clock::change(app, &object(body).await?).await,
        (["clock"], _) => Err(reply::not_allowed("GET, POST")),
        (["dbs", db, "colls", coll, "ttl", rest @ ..], method) => {
            let query = parts.uri.query().unwrap_or_default();
            ttl::answer(&ctx, (db, coll), rest, method, query, body).await
        }
        (["dbs", db, "colls", coll, "docs", id, "ttl"], "GET" | "HEAD") => {
            let query = parts.uri.query().unwrap_or_default();
            let header = parts.headers.get(PARTITION_KEY);
            let header = header.map(http::HeaderValue::as_bytes);
            ttl::item(&ctx, (db, coll), id, query, header).await
        }
        (["dbs", _, "colls", _, "docs", _, "ttl"], _) => Err(reply::not_allowed("GET")),
        _ => Err(nothing()),
    }
}

/// The segments of a path, each percent-decoded by itself; empty ones are dropped.
fn segments(path: &str) -> Result<Vec<String>, Reply> {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    let decoded: Option<Vec<String>> = segments.map(percent_decode).collect();
    decoded.ok_or_else(|| bad("the path is not percent-encoded UTF-8"))
}

fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let (high, low) = (hex(bytes.next()?)?, hex(bytes.next()?)?);
            out.push(high << 4 | low);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

async fn bytes(mut body: Incoming) -> Result<Bytes, Reply> {
    let read = lapsedb_door_cosmos::read_body(&mut body, BODY_BYTES_MAX, Pace::default(), None);
    read.await.map_err(|unread| match unread {
        Unread::TooLong => reply::error(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("the body is longer than {BODY_BYTES_MAX} bytes"),
        ),
        Unread::TooSlow => reply::error(StatusCode::REQUEST_TIMEOUT, Unread::SLOW),
        Unread::NoMemory(why) => reply::error(StatusCode::SERVICE_UNAVAILABLE, &why),
        Unread::Broken(error) => bad(&format!("the body did not arrive: {error}")),
    })
}

/// The body as an object.
async fn object(body: Incoming) -> Result<Object, Reply> {
    match json::parse(&bytes(body).await?, &LIMITS) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(bad("the body must be a JSON object")),
        Err(error) => Err(bad(&format!("the body is not JSON: {error}"))),
    }
}

fn nothing() -> Reply {
    reply::error(StatusCode::NOT_FOUND, "the admin API has no such address")
}

fn bad(message: &str) -> Reply {
    reply::error(StatusCode::BAD_REQUEST, message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn segments_are_decoded_one_by_one() {
        assert_eq!(
            segments("/_lapsedb//dbs/a%2Fb/colls/%E4%BD%A0/").unwrap(),
            ["_lapsedb", "dbs", "a/b", "colls", "你"]
        );
        for path in ["/%", "/%4", "/%zz", "/%ff", "/%+1"] {
            assert!(segments(path).is_err(), "{path}");
        }
    }
}
