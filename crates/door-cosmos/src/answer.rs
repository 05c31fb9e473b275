//! What goes back: status, headers, body.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use lapsedb_service::resource;
use lapsedb_value::account::{OnStop, WhenStopped};
use lapsedb_value::budget::Held;
use lapsedb_value::{Budget, Value, json, number};

use crate::headers;

/// The API version we speak.
pub const API_VERSION: HeaderValue = HeaderValue::from_static("2020-07-15");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const SCHEMA: HeaderValue = HeaderValue::from_static("1.19");
const SERVER: HeaderValue =
    HeaderValue::from_static(concat!("lapsedb/", env!("CARGO_PKG_VERSION")));

/// An answer in the making.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// What it cost.
    pub charge: f64,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    /// An answer without a body.
    #[must_use]
    pub fn empty(status: StatusCode, charge: f64) -> Answer {
        Answer {
            status,
            charge,
            headers: HeaderMap::with_capacity(24),
            body: Bytes::new(),
        }
    }

    /// An answer whose body is JSON, as text or in its binary form.
    #[must_use]
    pub fn json(status: StatusCode, charge: f64, body: Vec<u8>) -> Answer {
        let mut answer = Answer::empty(status, charge);
        answer.headers.insert(CONTENT_TYPE, JSON);
        answer.body = Bytes::from(body);
        answer
    }

    /// An answer whose body is a value.
    #[must_use]
    pub fn value(status: StatusCode, charge: f64, value: &Value) -> Answer {
        let mut body = Vec::with_capacity(1024);
        json::write(value, &mut body);
        let mut answer = Answer::json(status, charge, body);
        if let Some(etag) = value.get("_etag").as_str() {
            answer.set(ETAG, etag);
        }
        answer
    }

    /// An answer whose body is of another kind.
    #[must_use]
    pub fn bytes(
        status: StatusCode,
        charge: f64,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Answer {
        let mut answer = Answer::json(status, charge, body);
        answer
            .headers
            .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        answer
    }

    /// Sets a header. A value that cannot stand in a header is left out: it can only be a name the client itself sent.
    pub fn set(&mut self, name: HeaderName, value: &str) -> &mut Answer {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Sets a header to a value that is made already.
    pub fn set_value(&mut self, name: HeaderName, value: HeaderValue) -> &mut Answer {
        self.headers.insert(name, value);
        self
    }

    /// Takes a header away.
    pub fn unset(&mut self, name: &HeaderName) -> &mut Answer {
        self.headers.remove(name);
        self
    }

    /// Sets a header to bytes that become its value without a copy.
    pub fn set_bytes(&mut self, name: HeaderName, value: Vec<u8>) -> &mut Answer {
        if let Ok(value) = HeaderValue::from_maybe_shared(Bytes::from(value)) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Sets a header to a number.
    pub fn set_number(&mut self, name: HeaderName, number: u64) -> &mut Answer {
        self.headers.insert(name, HeaderValue::from(number));
        self
    }

    /// Sets the etag of a commit.
    pub fn set_etag(&mut self, lsn: u64) -> &mut Answer {
        self.set(ETAG, &resource::etag(lsn))
    }

    /// Sets the headers that let clients follow a session: the owner by name and by rid, and how far the log has come.
    pub fn session(&mut self, owner: &str, owner_rid: &str, lsn: u64) -> &mut Answer {
        if owner.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
            self.set(headers::ALT_CONTENT_PATH, owner);
        } else {
            self.set(headers::ALT_CONTENT_PATH, &percent_encode(owner));
        }
        self.set(headers::CONTENT_PATH, owner_rid);
        self.log_position(lsn)
    }

    /// Sets how far the log has come: the session token and its numbers.
    pub fn log_position(&mut self, lsn: u64) -> &mut Answer {
        let number = HeaderValue::from(lsn);
        for name in [
            headers::LSN,
            headers::GLOBAL_COMMITTED_LSN,
            headers::QUORUM_ACKED_LSN,
            headers::LLSN,
            headers::QUORUM_ACKED_LLSN,
        ] {
            self.headers.insert(name, number.clone());
        }
        self.set_bytes(headers::SESSION_TOKEN, session_token(lsn))
    }

    /// The same with its body counted until it has been written, or the connection is cut.
    #[must_use]
    pub fn counted(mut self, budget: &Arc<Budget>, cut: Option<OnStop>) -> Answer {
        let held = Held::new(budget);
        held.put(self.body.len());
        self.body = Bytes::from_owner(CountedBody {
            bytes: self.body,
            _held: held,
            _when_stopped: cut.map(|cut| budget.when_stopped(cut)),
        });
        self
    }

    /// The finished response.
    #[must_use]
    pub fn finish(mut self, activity: HeaderValue) -> Response<Full<Bytes>> {
        let charge = charge_text(self.charge);
        self.set_bytes(headers::REQUEST_CHARGE, charge);
        self.headers.insert(headers::ACTIVITY_ID, activity);
        self.headers.insert(headers::VERSION, API_VERSION);
        self.headers.insert(headers::SCHEMA_VERSION, SCHEMA);
        self.headers.insert(headers::GATEWAY_VERSION, SERVER);
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }

    /// The body so far.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }
}

/// A body that is counted as long as a part of it is needed.
struct CountedBody {
    bytes: Bytes,
    _held: Held,
    _when_stopped: Option<WhenStopped>,
}

impl AsRef<[u8]> for CountedBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// How far a session has come: `0:-1#<lsn>`.
fn session_token(lsn: u64) -> Vec<u8> {
    let mut text = Vec::with_capacity(24);
    text.extend_from_slice(b"0:-1#");
    number::write_u64(lsn, &mut text);
    text
}

/// A charge with two decimals, put together by hand: every answer has one, and formatting a float costs more than the rest.
fn charge_text(charge: f64) -> Vec<u8> {
    let mut text = Vec::with_capacity(16);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates, and no charge is negative"
    )]
    let hundredths = (charge * 100.0).round() as u64;
    number::write_u64(hundredths / 100, &mut text);
    text.push(b'.');
    if hundredths % 100 < 10 {
        text.push(b'0');
    }
    number::write_u64(hundredths % 100, &mut text);
    text
}

/// Percent-encodes what cannot stand in a header.
fn percent_encode(text: &str) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(text.len() * 3);
    for byte in text.bytes() {
        if (0x21..0x7f).contains(&byte) && byte != b'%' {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
