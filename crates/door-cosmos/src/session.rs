//! Session tokens: how far a client has seen the log, as requests say it, and how far the log has come, as answers do.

use std::borrow::Cow;

use http::Method;
use lapsedb_service::{Error, Result};

use crate::call::Call;
use crate::headers;

/// The id of the one partition key range there is.
pub const RANGE: &str = "0";

/// The newest commit that a request says its client has seen; 0 if any state of the collection will do.
///
/// Writes are made wherever the log has come to, and so are reads that ask for less than a session: of their tokens
/// only the form is checked.
///
/// # Errors
/// When the token is none.
pub fn seen(call: &Call<'_>) -> Result<u64> {
    if !follows_session(&call.segments) {
        return Ok(0);
    }
    let token = match call.text(&headers::SESSION_TOKEN)?.map(str::trim) {
        None | Some("") => return Ok(0),
        Some(token) => token,
    };
    let lsn = parse(token).ok_or_else(|| {
        Error::bad_request(format!("The session token provided '{token}' is invalid."))
    })?;
    let level = call.text(&headers::CONSISTENCY_LEVEL)?;
    let by_session = level.is_none_or(|level| {
        let level = level.trim();
        level.is_empty() || level.eq_ignore_ascii_case("Session")
    });
    Ok(if by_session && reads(call)? { lsn } else { 0 })
}

/// Whether an address lies within a collection. Collections themselves and their ranges belong to no session.
#[must_use]
pub fn follows_session(segments: &[Cow<'_, str>]) -> bool {
    match segments {
        [dbs, _, colls, _, kind, ..] => dbs == "dbs" && colls == "colls" && kind != "pkranges",
        _ => false,
    }
}

/// Whether a request may read. Which batches do is known by their operations alone: `items::run` looks.
fn reads(call: &Call<'_>) -> Result<bool> {
    if *call.method == Method::GET {
        return Ok(true);
    }
    if *call.method != Method::POST || call.flag(&headers::IS_QUERY_PLAN)? {
        return Ok(false);
    }
    Ok(call.is_query()? || call.flag(&headers::IS_BATCH)?)
}

/// The newest commit of a token: `range:token`, several joined by commas. Of ranges that are not there nothing is asked.
fn parse(text: &str) -> Option<u64> {
    let mut newest = 0;
    for part in text.split(',') {
        let (range, token) = part.trim().split_once(':')?;
        let lsn = parse_one(token)?;
        if range.is_empty() {
            return None;
        }
        if range == RANGE {
            newest = newest.max(u64::try_from(lsn).unwrap_or(0));
        }
    }
    Some(newest)
}

/// A token of one range: `version#lsn`, behind which each region may say how far it has come, or the number alone.
fn parse_one(token: &str) -> Option<i64> {
    let mut parts = token.split('#');
    let first = number(parts.next()?)?;
    let Some(second) = parts.next() else {
        return Some(first);
    };
    let lsn = number(second)?;
    for part in parts {
        let (region, local) = part.split_once('=')?;
        number(region)?;
        number(local)?;
    }
    Some(lsn)
}

/// A number with or without a minus sign: Rust would take a plus sign too.
fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_every_form_are_read() {
        for (text, lsn) in [
            ("0:-1#5", 5),
            ("0:1#100#1=20#2=5#3=30", 100),
            ("0:1#100#1=20", 100),
            ("0:7", 7),
            ("0:-1", 0),
            ("0:-1#-1", 0),
            ("1:-1#99", 0),
            ("0:-1#5,1:-1#99", 5),
            ("0:-1#5, 0:-1#6", 6),
            ("M:-1#9223372036854775807", 0),
            ("0:-1#9223372036854775807", i64::MAX as u64),
        ] {
            assert_eq!(parse(text), Some(lsn), "{text}");
        }
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for text in [
            "invalidtoken",
            "0",
            "0:",
            ":-1#5",
            "0:-1#",
            "0:-1#x",
            "0:#5",
            "0:+1#5",
            "0:--1#5",
            "0:-1#5,",
            "0:-1#5,nonsense",
            "0:-1#5#1",
            "0:-1#5#1=",
            "0:-1#5#a=1",
            "0:-1#99999999999999999999",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_what_lies_in_a_collection_follows_a_session() {
        let follows = |path: &str| {
            let segments: Vec<_> = path.split('/').map(Cow::Borrowed).collect();
            follows_session(&segments)
        };
        for path in [
            "dbs/d/colls/c/docs",
            "dbs/d/colls/c/docs/a",
            "dbs/d/colls/c/sprocs/s",
        ] {
            assert!(follows(path), "{path}");
        }
        for path in [
            "dbs",
            "dbs/d/colls/c",
            "dbs/d/users/u/permissions",
            "dbs/d/colls/c/pkranges",
            "offers/o",
        ] {
            assert!(!follows(path), "{path}");
        }
    }
}
