//! Who may use the admin API: the holder of the master key; the holder of the read-only key may look.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::StatusCode;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::request::Parts;
use lapsedb_door_cosmos::Access;
use subtle::ConstantTimeEq;

use crate::boot::App;
use crate::reply::{self, Reply};

/// What the caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Everything.
    All,
    /// Look.
    Read,
}

/// What the caller of a request may do: by `Bearer <key>`, or by a Cosmos signature.
pub fn of(app: &App, parts: &Parts) -> Result<Right, Reply> {
    let Some(header) = parts.headers.get(AUTHORIZATION) else {
        return Err(denied(
            "the header authorization is missing; send: Bearer <master key>",
        ));
    };
    let Some(token) = bearer(header.as_bytes()) else {
        return match app.door.admin_access(parts) {
            Access::Full => Ok(Right::All),
            Access::ReadOnly => Ok(Right::Read),
            Access::Denied(message) => Err(denied(&message)),
        };
    };
    let key = STANDARD.decode(token).unwrap_or_default();
    if same(&key, &app.keys.master) {
        Ok(Right::All)
    } else if app
        .keys
        .read_only
        .as_ref()
        .is_some_and(|read_only| same(&key, read_only))
    {
        Ok(Right::Read)
    } else {
        Err(denied("the bearer token is not a key of this server"))
    }
}

fn bearer(header: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = header.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

/// Compares without telling by its duration how much was right.
fn same(given: &[u8], key: &[u8]) -> bool {
    !key.is_empty() && bool::from(given.ct_eq(key))
}

fn denied(message: &str) -> Reply {
    let mut reply = reply::error(StatusCode::UNAUTHORIZED, message);
    reply
        .headers_mut()
        .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_key_is_the_key() {
        assert!(same(b"key", b"key"));
        for given in [b"kez".as_slice(), b"ke", b"keyy", b""] {
            assert!(!same(given, b"key"));
        }
        assert!(!same(b"", b""));
    }

    #[test]
    fn the_scheme_is_read_in_any_case() {
        assert_eq!(bearer(b"Bearer abc="), Some(b"abc=".as_slice()));
        assert_eq!(bearer(b"bearer  abc= "), Some(b"abc=".as_slice()));
        assert_eq!(bearer(b"type%3Dmaster"), None);
        assert_eq!(bearer(b"Bear"), None);
    }
}
