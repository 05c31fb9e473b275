//! The NoSQL door: REST bytes to verbs and back. Nothing is decided here.

mod answer;
pub mod auth;
mod batch;
mod body;
mod call;
mod checked;
mod envelope;
mod error;
mod format;
mod headers;
mod http_date;
mod hybrid_row;
mod query_metrics;
mod quota;
mod routes;
mod session;

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use lapsedb_service::documents::Gone;
use lapsedb_service::limits::BODY_BYTES_MAX;
use lapsedb_service::remote::Pace;
use lapsedb_service::{
    COUNTED_BYTES_MIN, Clock, Counting, Ctx, Error, Kind, Result, Service, Who, caught, in_turns,
    token,
};
use lapsedb_value::account::OnStop;

pub use answer::Answer;
use auth::{Caller, KeyRole, Keys, Signed};
pub use body::{Unread, read_body};
pub use call::Scheme;
pub use error::status;

use crate::call::Call;

/// Bytes of a request's head that are looked at as its path; longer ones are refused.
const PATH_BYTES_MAX: usize = 16 * 1024;

/// Whom a request comes from, as far as its connection tells.
#[derive(Clone)]
pub struct Client {
    /// How it came.
    pub scheme: Scheme,
    /// Says whether the client has gone.
    pub gone: Option<Gone>,
    /// Closes the connection, because its client does not read while memory is short.
    pub cut: Option<OnStop>,
}

impl From<Scheme> for Client {
    fn from(scheme: Scheme) -> Client {
        Client {
            scheme,
            gone: None,
            cut: None,
        }
    }
}

/// What a caller may do with the server itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everything.
    Full,
    /// Looking.
    ReadOnly,
    /// Nothing: why.
    Denied(String),
}

/// The door.
pub struct Door {
    service: Arc<Service>,
    keys: Keys,
    pace: Pace,
}

/// A response and what a meter wants to know of it.
pub struct Handled {
    /// What goes back.
    pub response: Response<Full<Bytes>>,
    /// What it cost, in request units.
    pub charge: f64,
    /// Whether the client has shown who it is, however the request went.
    pub authenticated: bool,
}

impl Door {
    /// A door to a service, for those who hold one of the keys.
    #[must_use]
    pub fn new(service: Arc<Service>, keys: Keys) -> Door {
        Door {
            service,
            keys,
            pace: Pace::default(),
        }
    }

    /// The same door, with another least rate for bodies.
    #[must_use]
    pub const fn with_pace(mut self, pace: Pace) -> Door {
        self.pace = pace;
        self
    }

    /// Answers a request. Never fails: what goes wrong is an answer too.
    pub async fn handle(&self, request: Request<Incoming>, client: impl Into<Client>) -> Handled {
        let client = client.into();
        let (mut parts, body) = request.into_parts();
        name_host(&mut parts);
        let activity = activity_id(&parts);
        // A defect in one request must not take the connection, let alone the server, with it.
        let authenticated = AtomicBool::new(false);
        let outcome = in_turns(caught(pin!(self.answer(
            &parts,
            body,
            &client,
            &authenticated
        ))))
        .await;
        let answer = match outcome {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                if matches!(
                    error.kind,
                    Kind::Internal | Kind::Unavailable | Kind::OutcomeUnknown
                ) {
                    tracing::error!(
                        path = parts.uri.path(),
                        message = error.message,
                        "request failed"
                    );
                }
                error::answer(
                    &error,
                    parts.uri.path(),
                    activity.to_str().unwrap_or_default(),
                )
            }
            Err(panicked) => {
                tracing::error!(path = parts.uri.path(), panic = %panicked, "a request panicked");
                let defect = Error::new(
                    Kind::Internal,
                    "The server met a defect while answering; its log says where.",
                );
                error::answer(
                    &defect,
                    parts.uri.path(),
                    activity.to_str().unwrap_or_default(),
                )
            }
        };
        let charge = answer.charge;
        let answer = match answer.body().len() >= COUNTED_BYTES_MIN {
            true => answer.counted(&Arc::new(self.service.budget()), client.cut),
            false => answer,
        };
        let response = answer.finish(activity);
        Handled {
            response,
            charge,
            authenticated: authenticated.into_inner(),
        }
    }

    /// Judges a caller of the server's own interface: the same signature, with empty resource type and link, or the key itself.
    #[must_use]
    pub fn admin_access(&self, parts: &Parts) -> Access {
        let text = |name: &str| {
            parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let authorization = text("authorization");
        if let Some(key) = authorization.and_then(|text| text.strip_prefix("Bearer ")) {
            return match self.keys.role_of_key(key.trim()) {
                Some(KeyRole::ReadWrite) => Access::Full,
                Some(KeyRole::ReadOnly) => Access::ReadOnly,
                None => Access::Denied("The bearer key is not a key of this account.".into()),
            };
        }
        let signed = Signed {
            method: parts.method.as_str(),
            path: "/",
            authorization,
            x_ms_date: text("x-ms-date"),
            date: text("date"),
        };
        match auth::authenticate(&self.keys, &signed, Clock::wall_now().secs().0) {
            Ok(Caller::Master(KeyRole::ReadWrite)) => Access::Full,
            Ok(Caller::Master(KeyRole::ReadOnly)) => Access::ReadOnly,
            Ok(Caller::Resource(_) | Caller::Identity(_)) => {
                Access::Denied("Only a key of the account opens this address.".into())
            }
            Err(denied) => Access::Denied(denied.message()),
        }
    }

    async fn answer(
        &self,
        parts: &Parts,
        mut body: Incoming,
        client: &Client,
        authenticated: &AtomicBool,
    ) -> Result<Answer> {
        if parts.uri.path().len() > PATH_BYTES_MAX {
            return Err(Error::bad_request(format!(
                "The address is longer than {PATH_BYTES_MAX} bytes."
            )));
        }
        refuse_direct_mode(parts)?;
        let address = address(&parts.uri);
        let who = self.who(parts, &address).await?;
        authenticated.store(true, Ordering::Relaxed);
        checked::check(&parts.headers)?;
        let counted = body.size_hint().exact();
        let counted = counted.is_none_or(|bytes| bytes >= COUNTED_BYTES_MIN as u64);
        let counting = counted.then(|| Counting::new(&self.service));
        let mut call = Call {
            method: &parts.method,
            segments: segments(&address)?,
            headers: &parts.headers,
            body: read_body(&mut body, BODY_BYTES_MAX, self.pace, counting.as_ref())
                .await
                .map_err(unread)?,
            scheme: client.scheme,
            ctx: Ctx::new(Arc::clone(&self.service), who)
                .while_connected(client.gone.clone())
                .received_within(
                    counting
                        .as_ref()
                        .map(|counting| Arc::clone(counting.budget())),
                ),
        };
        let seen = session::seen(&call)?;
        call.ctx.has_seen(seen);
        match routes::run(&call).await {
            Err(error)
                if error::has_log_position(&error.kind)
                    && session::follows_session(&call.segments) =>
            {
                Err(error.at(call.ctx.view().await?.lsn()))
            }
            result => result,
        }
    }

    /// Who asks.
    async fn who(&self, parts: &Parts, address: &str) -> Result<Who> {
        let signed = Signed {
            method: parts.method.as_str(),
            path: address,
            authorization: headers::text(&parts.headers, &http::header::AUTHORIZATION)?,
            x_ms_date: headers::text(&parts.headers, &headers::DATE)?,
            date: headers::text(&parts.headers, &http::header::DATE)?,
        };
        let now = Clock::wall_now();
        match auth::authenticate(&self.keys, &signed, now.secs().0) {
            Ok(Caller::Master(KeyRole::ReadWrite)) => Ok(Who::Master),
            Ok(Caller::Master(KeyRole::ReadOnly)) => Ok(Who::ReadOnly),
            Ok(Caller::Resource(token)) => {
                // On the heap: a request's state is as large as its largest branch, and few come with a token.
                let granted = Box::pin(token::verify(&self.service, &token, now));
                granted.await.map(Who::Token)
            }
            Ok(Caller::Identity(_)) => Err(Error::new(
                Kind::Unauthorized,
                "Identity tokens are not accepted here; sign with a key of the account, or use a resource token.",
            )),
            Err(denied) if denied.status() == 403 => Err(Error::forbidden(denied.message())),
            Err(denied) => Err(Error::new(Kind::Unauthorized, denied.message())),
        }
    }
}

/// Clients that begin in direct mode ask where the replicas are, before anything else and signed in a way of their own.
/// What they hear must tell their users what to change.
fn refuse_direct_mode(parts: &Parts) -> Result<()> {
    let mut segments = parts.uri.path().split('/').filter(|part| !part.is_empty());
    match segments.next() {
        Some("addresses") => Err(Error::bad_request(
            "Direct mode is not served; set ConnectionMode = ConnectionMode.Gateway",
        )),
        Some(_) | None => Ok(()),
    }
}

/// HTTP/2 names the host in the address instead of a header; whoever asks for it finds it in the header either way.
fn name_host(parts: &mut Parts) {
    if let Some(authority) = parts.uri.authority()
        && !parts.headers.contains_key(http::header::HOST)
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        parts.headers.insert(http::header::HOST, host);
    }
}

/// The request's own activity id, or a new one.
fn activity_id(parts: &Parts) -> HeaderValue {
    match parts.headers.get(headers::ACTIVITY_ID) {
        Some(value) if value.len() <= 64 && value.to_str().is_ok() => value.clone(),
        _ => HeaderValue::from_str(&new_activity()).unwrap_or(HeaderValue::from_static("")),
    }
}

/// A name that no other request has. It need not be secret, so it comes from the hasher's keys and not from the kernel.
fn new_activity() -> String {
    let random = || RandomState::new().build_hasher().finish();
    let bytes = (u128::from(random()) << 64) | u128::from(random());
    uuid::Builder::from_random_bytes(bytes.to_be_bytes())
        .into_uuid()
        .to_string()
}

/// What is answered to a request without its body.
fn unread(why: Unread) -> Error {
    match why {
        Unread::TooLong => lapsedb_service::items::body::too_large(),
        Unread::TooSlow => Error::new(Kind::TimedOut, Unread::SLOW),
        Unread::NoMemory(why) => Error::new(Kind::NoMemory, why),
        Unread::Broken(error) => {
            Error::bad_request(format!("The request's body cannot be read: {error}"))
        }
    }
}

/// What a request is about, still escaped: its path. Clients do not escape a question mark in the id of an item, and nothing about an
/// item is asked in the query of an address: so what stands behind it belongs to the id.
fn address(uri: &Uri) -> Cow<'_, str> {
    let Some(query) = uri.query() else {
        return Cow::Borrowed(uri.path());
    };
    let segments: Vec<_> = uri
        .path()
        .split('/')
        .filter(|name| !name.is_empty())
        .collect();
    match segments.as_slice() {
        ["dbs", _, "colls", _, "docs", _] => Cow::Owned(format!("{}?{query}", uri.path())),
        _ => Cow::Borrowed(uri.path()),
    }
}

/// A path's segments, each percent-decoded by itself; empty ones are dropped.
fn segments(path: &str) -> Result<Vec<Cow<'_, str>>> {
    let mut segments = Vec::with_capacity(8);
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        segments.push(decode(segment)?);
    }
    Ok(segments)
}

/// As the signature is checked, so is the address understood: by one function.
fn decode(segment: &str) -> Result<Cow<'_, str>> {
    let decoded = match auth::unescape(segment) {
        Cow::Borrowed(_) => return Ok(Cow::Borrowed(segment)),
        Cow::Owned(decoded) => decoded,
    };
    String::from_utf8(decoded)
        .map(Cow::Owned)
        .map_err(|_| Error::bad_request("The address is not UTF-8 once its escapes are decoded."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_item_goes_on_behind_a_question_mark() {
        for (uri, expected) in [
            (
                "/dbs/d/colls/c/docs/a?b=c%3F",
                "/dbs/d/colls/c/docs/a?b=c%3F",
            ),
            ("/dbs/d/colls/c/docs/a?", "/dbs/d/colls/c/docs/a?"),
            ("/dbs/d/colls/c/docs/a", "/dbs/d/colls/c/docs/a"),
            ("/dbs/d/colls/c/docs?b", "/dbs/d/colls/c/docs"),
            ("/dbs/d/colls/c?b", "/dbs/d/colls/c"),
            ("/?b", "/"),
        ] {
            assert_eq!(address(&uri.parse().unwrap()), expected, "{uri}");
        }
    }

    #[test]
    fn only_two_hexadecimal_digits_are_an_escape() {
        for (path, expected) in [
            ("/a%2Fb/%E4%BD%A0/", &["a/b", "你"][..]),
            ("//a//b", &["a", "b"]),
            ("/%+1/%-1/% 1", &["%+1", "%-1", "% 1"]),
            ("/%/%4/%zz/%%41", &["%", "%4", "%zz", "%A"]),
            ("/a+b", &["a+b"]),
        ] {
            assert_eq!(segments(path).unwrap(), expected, "{path}");
        }
        assert!(segments("/%ff").is_err());
    }
}
