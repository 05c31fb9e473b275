//! Resource tokens: they name a permission, signed, until a second.
//!
//! Nothing is stored of a token: the signature says that we gave it out, and the text for which permission. What it allows is what that
//! permission says at the time of each request, so a token ends with its permission and changes with it.
//! Expiry is judged by the wall's time, as the dates of all signatures are.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use lapsedb_record::Millis;
use lapsedb_record::clock::format_iso;
use lapsedb_value::Str;
use sha2::Sha256;

use crate::access::Grant;
use crate::error::{Error, Kind, Result};
use crate::limits::{TOKEN_SECS_DEFAULT, TOKEN_SECS_MAX, TOKEN_SECS_MIN};
use crate::service::Service;
use crate::users::permissions;

/// What stands before the signature.
const PREFIX: &str = "type=resource&ver=1&sig=";
/// Signed in front of the content, so that no signature of anything else is one of a token.
const DOMAIN: &[u8] = b"lapsedb resource token\n";
/// The form of the content that this version writes.
const CONTENT_VERSION: &str = "2";
/// Longest text that is looked at, in bytes.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// The permission that a token was given out for. Its number is never used again; its name finds it faster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Permit {
    /// The database of its user.
    pub(crate) database: u32,
    /// Its user.
    pub(crate) user: u32,
    /// Its number.
    pub(crate) number: u32,
    /// Its name when the token was given out.
    pub(crate) id: Str,
}

/// The life of a token in seconds: what the request says, or an hour.
///
/// # Errors
/// When the request says less than ten minutes or more than a day.
pub fn life(asked: Option<i64>) -> Result<u64> {
    let Some(asked) = asked else {
        return Ok(TOKEN_SECS_DEFAULT);
    };
    u64::try_from(asked)
        .ok()
        .filter(|secs| (TOKEN_SECS_MIN..=TOKEN_SECS_MAX).contains(secs))
        .ok_or_else(|| {
            Error::bad_request(format!(
                "The resource token's life of '{asked}' seconds is invalid; {TOKEN_SECS_MIN} to {TOKEN_SECS_MAX} are allowed."
            ))
        })
}

/// A token for a permission that ends at a second.
#[must_use]
pub(crate) fn issue(key: &[u8], permit: &Permit, expiry_secs: u64) -> String {
    let content = content_of(permit, expiry_secs);
    let signature = STANDARD.encode(signer(key, content.as_bytes()).finalize().into_bytes());
    format!(
        "{PREFIX}{signature};{};",
        URL_SAFE_NO_PAD.encode(content.as_bytes())
    )
}

/// What a token grants at the wall's time, if this service gave it out, and neither it nor its permission has ended.
///
/// # Errors
/// When it is not one of ours, has expired, or its permission is not there any more.
pub async fn verify(service: &Service, text: &str, wall_now: Millis) -> Result<Grant> {
    let permit = permitted(&service.config().master_key, text, wall_now)?;
    let view = service.store().view().await?;
    permissions::granted(&view, &permit)
        .await?
        .ok_or_else(ended)
}

fn permitted(key: &[u8], text: &str, wall_now: Millis) -> Result<Permit> {
    let (permit, expiry) = opened(key, text).ok_or_else(unknown)?;
    if wall_now.secs().0 < expiry {
        return Ok(permit);
    }
    Err(Error::forbidden(format!(
        "The authorization token is not valid at the current time. Please create another token and retry (token expiry time: {}, current server time: {}).",
        format_iso(Millis(expiry.saturating_mul(1000))),
        format_iso(wall_now),
    )))
}

fn ended() -> Error {
    Error::forbidden(
        "The authorization token is not valid any more: its permission has been deleted. Please use a token of another permission.",
    )
}

fn signer(key: &[u8], content: &[u8]) -> Hmac<Sha256> {
    // A key of any length is fine for HMAC; a key that could not be used would sign like the empty one, and never match.
    let mut signer = Hmac::<Sha256>::new_from_slice(key)
        .unwrap_or_else(|_| Hmac::new(&hmac::digest::Key::<Hmac<Sha256>>::default()));
    signer.update(DOMAIN);
    signer.update(content);
    signer
}

/// The content of a token whose signature is right.
fn opened(key: &[u8], text: &str) -> Option<(Permit, u64)> {
    if text.len() > TOKEN_BYTES_MAX {
        return None;
    }
    let rest = text.strip_prefix(PREFIX).unwrap_or(text);
    let (signature, rest) = rest.split_once(';')?;
    let content = rest.strip_suffix(';').unwrap_or(rest);
    let signature = STANDARD.decode(signature).ok()?;
    let content = URL_SAFE_NO_PAD.decode(content).ok()?;
    signer(key, &content).verify_slice(&signature).ok()?;
    read_content(std::str::from_utf8(&content).ok()?)
}

/// `version|expiry|database|user|number|name`; a name may hold any sign, so it is the last.
fn content_of(permit: &Permit, expiry_secs: u64) -> String {
    let Permit {
        database,
        user,
        number,
        id,
    } = permit;
    format!("{CONTENT_VERSION}|{expiry_secs}|{database}|{user}|{number}|{id}")
}

fn read_content(content: &str) -> Option<(Permit, u64)> {
    let mut parts = content.splitn(6, '|');
    let mut next = || parts.next();
    if next()? != CONTENT_VERSION {
        return None;
    }
    let expiry = next()?.parse().ok()?;
    let permit = Permit {
        database: next()?.parse().ok()?,
        user: next()?.parse().ok()?,
        number: next()?.parse().ok()?,
        id: Str::new(next()?),
    };
    Some((permit, expiry))
}

fn unknown() -> Error {
    Error::new(
        Kind::Unauthorized,
        "The input authorization token can't serve the request. The resource token was not given out by this account, or has been altered.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"0123456789abcdef";
    const EXPIRY: u64 = 2_000_000_000;

    fn permits() -> Vec<Permit> {
        let plain = Permit {
            database: 1,
            user: 2,
            number: 3,
            id: Str::new("p"),
        };
        let named = |id: &str| Permit {
            id: Str::new(id),
            ..plain.clone()
        };
        vec![
            plain.clone(),
            named("a|b;\"ü你"),
            named("||"),
            Permit {
                number: u32::MAX,
                ..plain
            },
        ]
    }

    #[test]
    fn a_token_names_its_permission_until_it_ends() {
        for permit in permits() {
            let text = issue(KEY, &permit, EXPIRY);
            assert!(text.starts_with(PREFIX) && text.ends_with(';'), "{text}");
            assert!(text.bytes().all(|byte| byte.is_ascii_graphic()));
            assert_eq!(
                permitted(KEY, &text, Millis(EXPIRY * 1000 - 1)).unwrap(),
                permit
            );
            let bare = text.strip_prefix(PREFIX).unwrap();
            assert_eq!(permitted(KEY, bare, Millis(0)).unwrap(), permit);
            for late in [EXPIRY * 1000, EXPIRY * 1000 + 1, u64::MAX] {
                assert_eq!(
                    permitted(KEY, &text, Millis(late)).unwrap_err().kind,
                    Kind::Forbidden
                );
            }
        }
    }

    #[test]
    fn no_altered_sign_passes() {
        for permit in permits() {
            let text = issue(KEY, &permit, EXPIRY);
            for at in PREFIX.len()..text.len() - 1 {
                for other in ["A", "9", ";", "="] {
                    let mut altered = text.clone();
                    altered.replace_range(at..=at, other);
                    if altered == text {
                        continue;
                    }
                    // The last sign of a base64 text has bits that mean nothing; what it grants must still be the same.
                    if let Ok(read) = permitted(KEY, &altered, Millis(0)) {
                        assert_eq!(read, permit, "{altered}");
                    }
                }
            }
        }
    }

    #[test]
    fn another_keys_token_is_unknown() {
        let text = issue(KEY, &permits()[0], EXPIRY);
        for key in [&b""[..], b"other", &KEY[1..]] {
            assert_eq!(
                permitted(key, &text, Millis(0)).unwrap_err().kind,
                Kind::Unauthorized
            );
        }
    }

    #[test]
    fn what_is_no_token_is_unknown() {
        let long = "a".repeat(TOKEN_BYTES_MAX + 1);
        for text in [
            "",
            ";",
            ";;",
            PREFIX,
            "abc;def;",
            "type=master&ver=1.0&sig=abc",
            &long,
        ] {
            assert_eq!(
                permitted(KEY, text, Millis(0)).unwrap_err().kind,
                Kind::Unauthorized
            );
        }
    }

    #[test]
    fn a_life_lies_between_ten_minutes_and_a_day() {
        assert_eq!(life(None).unwrap(), 3600);
        for good in [600, 601, 86_400] {
            assert_eq!(life(Some(good)).unwrap(), u64::try_from(good).unwrap());
        }
        for bad in [i64::MIN, -1, 0, 599, 86_401, i64::MAX] {
            assert_eq!(life(Some(bad)).unwrap_err().kind, Kind::BadRequest);
        }
    }
}
