//! The engine clock: shows it, moves a virtual one, trusts a real one.

use std::sync::Arc;

use http::StatusCode;
use lapsedb_record::Millis;
use lapsedb_record::clock::{ClockError, format_iso, parse_iso};
use lapsedb_service::Service;
use lapsedb_value::{Object, Value};

use super::{Answer, bad, duration};
use crate::boot::App;
use crate::reply::{self, Reply};

const ALLOWED: &str = "the body must be one of {\"advance\":\"1h30m\"}, {\"advanceMillis\":1500}, {\"set\":\"2027-01-01T00:00:00Z\"}, {\"trust\":true}";

/// What a call asks of the clock.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Advance(u64),
    Set(Millis),
    Trust,
}

/// Shows the clock.
pub fn show(app: &App) -> Reply {
    let clock = app.service.clock();
    let now = clock.now();
    reply::json(
        StatusCode::OK,
        [
            ("now", Value::from(format_iso(now).as_str())),
            (
                "nowMillis",
                Value::from(i64::try_from(now.0).unwrap_or(i64::MAX)),
            ),
            ("virtual", Value::from(clock.is_virtual())),
            ("suspect", Value::from(clock.suspect())),
        ],
    )
}

/// Changes the clock, and answers when the change would survive a crash.
pub async fn change(app: &App, body: &Object) -> Answer {
    let change = parse(body).map_err(|message| bad(&message))?;
    let service = Arc::clone(&app.service);
    // A task of its own: a client that hangs up does not leave a move half made.
    let changed = tokio::spawn(async move { apply(&service, change).await }).await;
    let changed = changed.map_err(|_| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        reply::error(status, "the change of the clock was cut off")
    })?;
    let changed = changed.map_err(|error| reply::failure(&error))?;
    changed.map_err(|error| {
        let status = match error {
            ClockError::NotVirtual => StatusCode::FORBIDDEN,
            ClockError::NotWall | ClockError::Backwards { .. } | ClockError::TooFar => {
                StatusCode::BAD_REQUEST
            }
        };
        reply::error(status, &error.to_string())
    })?;
    Ok(show(app))
}

async fn apply(
    service: &Service,
    change: Change,
) -> Result<Result<Millis, ClockError>, lapsedb_service::Error> {
    match change {
        Change::Advance(ms) => service.move_clock(|clock| clock.plan_advance(ms)).await,
        Change::Set(to) => service.move_clock(|clock| clock.plan_set(to)).await,
        Change::Trust => {
            let trusted = service.clock().trust();
            if trusted.is_ok() {
                service.persist_clock().await?;
            }
            Ok(trusted)
        }
    }
}

fn parse(body: &Object) -> Result<Change, String> {
    let mut members = body.iter();
    let (Some((name, value)), None) = (members.next(), members.next()) else {
        return Err(ALLOWED.to_owned());
    };
    match (name.as_str(), value) {
        ("advance", Value::String(text)) => duration::parse(text)
            .map(Change::Advance)
            .ok_or_else(|| format!("'{text}' is not a duration; allowed: whole numbers with ms, s, m, h or d, such as 1h30m")),
        ("advanceMillis", number) => match number.as_i64().map(u64::try_from) {
            Some(Ok(ms)) => Ok(Change::Advance(ms)),
            Some(Err(_)) => Err("advanceMillis must not be negative; the clock cannot go back".to_owned()),
            None => Err("advanceMillis must be a whole number".to_owned()),
        },
        ("set", Value::String(text)) => parse_iso(text).map(Change::Set).ok_or_else(|| {
            format!("'{text}' is not a time; allowed: 1970-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z, with Z or an offset")
        }),
        ("trust", Value::Bool(true)) => Ok(Change::Trust),
        _ => Err(ALLOWED.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use lapsedb_value::json;

    use super::*;

    fn parsed(text: &str) -> Result<Change, String> {
        match json::parse(text.as_bytes(), &super::super::LIMITS).unwrap() {
            Value::Object(object) => parse(&object),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_change_is_read() {
        for (text, change) in [
            (r#"{"advance":"30d"}"#, Change::Advance(2_592_000_000)),
            (r#"{"advanceMillis":1500}"#, Change::Advance(1500)),
            (r#"{"advanceMillis":0}"#, Change::Advance(0)),
            (
                r#"{"set":"2027-01-01T00:00:00Z"}"#,
                Change::Set(Millis(1_798_761_600_000)),
            ),
            (r#"{"trust":true}"#, Change::Trust),
        ] {
            assert_eq!(parsed(text), Ok(change), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_a_hint() {
        for (text, says) in [
            ("{}", "advance"),
            (r#"{"advance":"1h","set":"2027-01-01T00:00:00Z"}"#, "one of"),
            (r#"{"advance":5}"#, "one of"),
            (r#"{"advance":"5"}"#, "1h30m"),
            (r#"{"advance":"-1h"}"#, "1h30m"),
            (r#"{"advanceMillis":-1}"#, "negative"),
            (r#"{"advanceMillis":1.5}"#, "whole number"),
            (r#"{"advanceMillis":"1"}"#, "whole number"),
            (r#"{"set":"tomorrow"}"#, "is not a time"),
            (r#"{"set":1}"#, "one of"),
            (r#"{"trust":false}"#, "one of"),
            (r#"{"other":1}"#, "one of"),
        ] {
            assert!(
                parsed(text).is_err_and(|message| message.contains(says)),
                "{text}"
            );
        }
    }
}
