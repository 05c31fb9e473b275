//! One request as the routes see it: address, headers and body, read once.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method};
use lapsedb_service::limits::NESTING_LEVELS_MAX;
use lapsedb_service::{Ctx, Error, Result};
use lapsedb_value::json::JsonError;
use lapsedb_value::{Object, Value, cosmos_binary, json};

use crate::headers;

/// How a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// As it stands in a URL.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

/// A request whose signature has been accepted.
pub struct Call<'a> {
    /// GET, POST, …
    pub method: &'a Method,
    /// The path's segments, percent-decoded, empty ones dropped.
    pub segments: Vec<Cow<'a, str>>,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body.
    pub body: Bytes,
    /// How it came.
    pub scheme: Scheme,
    /// Who asks whom.
    pub ctx: Ctx,
}

/// What a posted document may look like: as deep as allowed, and `id` and `ttl` said once.
pub const DOCUMENT_LIMITS: json::Limits = json::Limits {
    depth_max: NESTING_LEVELS_MAX,
    duplicates_refused: &["id", "ttl", "defaultTtl"],
};

impl Call<'_> {
    /// A header's text.
    ///
    /// # Errors
    /// When it is not printable ASCII, or given more than once.
    pub fn text(&self, name: &HeaderName) -> Result<Option<&str>> {
        headers::text(self.headers, name)
    }

    /// A header's truth.
    ///
    /// # Errors
    /// When it is neither true nor false.
    pub fn flag(&self, name: &HeaderName) -> Result<bool> {
        headers::flag(self.headers, name)
    }

    /// A header's number.
    ///
    /// # Errors
    /// When it is not a whole number.
    pub fn number(&self, name: &HeaderName) -> Result<Option<i64>> {
        headers::number(self.headers, name)
    }

    /// The body as a value: JSON text, or Cosmos binary JSON.
    ///
    /// # Errors
    /// When it is neither.
    pub fn value(&self) -> Result<Value> {
        parse_body(&self.body)
    }

    /// The body as an object.
    ///
    /// # Errors
    /// When it is something else.
    pub fn object(&self) -> Result<Object> {
        match self.value()? {
            Value::Object(object) => Ok(object),
            _ => Err(Error::bad_request(
                "The request payload is invalid. Ensure to provide a valid request payload: a JSON object.",
            )),
        }
    }

    /// Whether the client wants no document back from a write.
    ///
    /// # Errors
    /// When a header is malformed.
    pub fn minimal(&self) -> Result<bool> {
        for preferences in headers::lines(self.headers, &headers::PREFER) {
            let mut preferences = preferences?.split(',');
            if preferences.any(|one| one.trim().eq_ignore_ascii_case("return=minimal")) {
                return Ok(true);
            }
        }
        Ok(self
            .text(&headers::CONTENT_RESPONSE)?
            .is_some_and(|value| value.trim().eq_ignore_ascii_case("false")))
    }

    /// Whether the POST is a query on a feed.
    ///
    /// # Errors
    /// When a header is malformed.
    pub fn is_query(&self) -> Result<bool> {
        if self.flag(&headers::IS_QUERY)? {
            return Ok(true);
        }
        let content_type = self.text(&http::header::CONTENT_TYPE)?;
        Ok(content_type.is_some_and(|value| {
            value
                .trim()
                .to_ascii_lowercase()
                .starts_with("application/query+json")
        }))
    }

    /// Page size: none if the server may choose.
    ///
    /// # Errors
    /// When the header is not a number, or 0, or below -1.
    pub fn page_size(&self) -> Result<Option<usize>> {
        match self.number(&headers::MAX_ITEM_COUNT)? {
            None | Some(-1) => Ok(None),
            Some(count) => match usize::try_from(count) {
                Ok(count) if count > 0 => Ok(Some(count)),
                _ => Err(Error::bad_request(format!(
                    "The header x-ms-max-item-count has the value '{count}'; a positive number or -1 is allowed."
                ))),
            },
        }
    }
}

/// A body as a value: JSON text, or Cosmos binary JSON, told apart by the first byte.
///
/// # Errors
/// When it is neither.
pub fn parse_body(body: &[u8]) -> Result<Value> {
    let parsed = if cosmos_binary::is_binary(body) {
        cosmos_binary::decode(body, &DOCUMENT_LIMITS)
    } else {
        json::parse(body, &DOCUMENT_LIMITS)
    };
    parsed.map_err(|error| invalid_payload(&error))
}

/// The answer to a body that is not what it should be.
pub fn invalid_payload(error: &JsonError) -> Error {
    Error::bad_request(format!(
        "The request payload is invalid. Ensure to provide a valid request payload: {error}"
    ))
}
