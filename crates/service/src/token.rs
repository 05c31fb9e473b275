//! Resource tokens: what a permission lets its holder do, signed, until a second.
//!
//! Nothing is stored of a token: the signature says that we gave it out, and the text says what for.
//! Expiry is judged by the wall's time, as the dates of all signatures are.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use lapsedb_record::Millis;
use lapsedb_record::clock::format_iso;
use lapsedb_store::CollectionId;
use lapsedb_store::partition_key::PartitionKey;
use sha2::Sha256;

use crate::access::Grant;
use crate::error::{Error, Kind, Result};
use crate::limits::{TOKEN_SECS_DEFAULT, TOKEN_SECS_MAX, TOKEN_SECS_MIN};
use crate::service::Service;

/// What stands before the signature.
const PREFIX: &str = "type=resource&ver=1&sig=";
/// Signed in front of the content, so that no signature of anything else is one of a token.
const DOMAIN: &[u8] = b"lapsedb resource token\n";
/// The form of the content that this version writes.
const CONTENT_VERSION: &str = "1";
/// Longest text that is looked at, in bytes.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
const READ: &str = "r";
const WRITE: &str = "w";

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

/// A token for a grant that ends at a second.
#[must_use]
pub fn issue(key: &[u8], grant: &Grant, expiry_secs: u64) -> String {
    let content = content_of(grant, expiry_secs);
    let signature = STANDARD.encode(signer(key, content.as_bytes()).finalize().into_bytes());
    format!(
        "{PREFIX}{signature};{};",
        URL_SAFE_NO_PAD.encode(content.as_bytes())
    )
}

/// What a token grants at the wall's time, if this service gave it out and it has not ended.
///
/// # Errors
/// When it is not one of ours, or has expired.
pub fn verify(service: &Service, text: &str, wall_now: Millis) -> Result<Grant> {
    granted(&service.config().master_key, text, wall_now)
}

fn granted(key: &[u8], text: &str, wall_now: Millis) -> Result<Grant> {
    let (grant, expiry) = opened(key, text).ok_or_else(unknown)?;
    if wall_now.secs().0 < expiry {
        return Ok(grant);
    }
    Err(Error::forbidden(format!(
        "The authorization token is not valid at the current time. Please create another token and retry (token expiry time: {}, current server time: {}).",
        format_iso(Millis(expiry.saturating_mul(1000))),
        format_iso(wall_now),
    )))
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
fn opened(key: &[u8], text: &str) -> Option<(Grant, u64)> {
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

/// `version|expiry|database|collection|item|mode|partition key`, where 0 and an empty text stand for none.
fn content_of(grant: &Grant, expiry_secs: u64) -> String {
    let item = grant.item.map(|item| item.to_string()).unwrap_or_default();
    let partition = grant
        .partition
        .as_ref()
        .map(PartitionKey::to_json)
        .unwrap_or_default();
    format!(
        "{CONTENT_VERSION}|{expiry_secs}|{}|{}|{item}|{}|{partition}",
        grant.database,
        grant.collection.map_or(0, |cid| cid.0),
        if grant.write { WRITE } else { READ },
    )
}

fn read_content(content: &str) -> Option<(Grant, u64)> {
    let mut parts = content.splitn(7, '|');
    let mut next = || parts.next();
    if next()? != CONTENT_VERSION {
        return None;
    }
    let expiry = next()?.parse().ok()?;
    let database = next()?.parse().ok()?;
    let collection = match next()?.parse().ok()? {
        0 => None,
        number => Some(CollectionId(number)),
    };
    let item = match next()? {
        "" => None,
        text => Some(text.parse().ok()?),
    };
    let write = match next()? {
        WRITE => true,
        READ => false,
        _ => return None,
    };
    let partition = match next()? {
        "" => None,
        text => Some(PartitionKey::parse(text).ok()?),
    };
    let grant = Grant {
        database,
        collection,
        item,
        partition,
        write,
    };
    Some((grant, expiry))
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

    fn grants() -> Vec<Grant> {
        let plain = Grant {
            database: 1,
            collection: Some(CollectionId(2)),
            item: None,
            partition: None,
            write: true,
        };
        vec![
            plain.clone(),
            Grant {
                collection: None,
                write: false,
                ..plain.clone()
            },
            Grant {
                item: Some((1 << 60) - 1),
                ..plain.clone()
            },
            Grant {
                partition: Some(PartitionKey::parse("[\"a|b;\\\"\",1.5,null]").unwrap()),
                ..plain.clone()
            },
            Grant {
                partition: Some(PartitionKey::parse("[{}]").unwrap()),
                ..plain
            },
        ]
    }

    #[test]
    fn a_token_says_what_was_granted_until_it_ends() {
        for grant in grants() {
            let text = issue(KEY, &grant, EXPIRY);
            assert!(text.starts_with(PREFIX) && text.ends_with(';'), "{text}");
            assert!(text.bytes().all(|byte| byte.is_ascii_graphic()));
            assert_eq!(
                granted(KEY, &text, Millis(EXPIRY * 1000 - 1)).unwrap(),
                grant
            );
            let bare = text.strip_prefix(PREFIX).unwrap();
            assert_eq!(granted(KEY, bare, Millis(0)).unwrap(), grant);
            for late in [EXPIRY * 1000, EXPIRY * 1000 + 1, u64::MAX] {
                assert_eq!(
                    granted(KEY, &text, Millis(late)).unwrap_err().kind,
                    Kind::Forbidden
                );
            }
        }
    }

    #[test]
    fn no_altered_sign_passes() {
        for grant in grants() {
            let text = issue(KEY, &grant, EXPIRY);
            for at in PREFIX.len()..text.len() - 1 {
                for other in ["A", "9", ";", "="] {
                    let mut altered = text.clone();
                    altered.replace_range(at..=at, other);
                    if altered == text {
                        continue;
                    }
                    // The last sign of a base64 text has bits that mean nothing; what it grants must still be the same.
                    if let Ok(read) = granted(KEY, &altered, Millis(0)) {
                        assert_eq!(read, grant, "{altered}");
                    }
                }
            }
        }
    }

    #[test]
    fn another_keys_token_is_unknown() {
        let text = issue(KEY, &grants()[0], EXPIRY);
        for key in [&b""[..], b"other", &KEY[1..]] {
            assert_eq!(
                granted(key, &text, Millis(0)).unwrap_err().kind,
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
                granted(KEY, text, Millis(0)).unwrap_err().kind,
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
