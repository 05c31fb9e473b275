//! What time to live has done to a collection and will do: figures, preview, forecast, purge.

use http::StatusCode;
use hyper::body::Incoming;
use lapsedb_record::clock::format_iso;
use lapsedb_service::{Ctx, ttl};
use lapsedb_value::Value;

use super::Answer;
use crate::reply;

/// Answers a call below `/_lapsedb/dbs/{db}/colls/{coll}/ttl`.
pub async fn answer(
    ctx: &Ctx,
    at: (&str, &str),
    rest: &[&str],
    method: &str,
    _query: &str,
    _body: Incoming,
) -> Answer {
    match (rest, method) {
        ([], "GET" | "HEAD") => report(ctx, at).await,
        (["purge"], "POST") => purge(ctx, at).await,
        (["preview"], "POST") | (["forecast"], "GET" | "HEAD") => {
            let message = "this build has neither preview nor forecast";
            Err(reply::error(StatusCode::NOT_IMPLEMENTED, message))
        }
        ([] | ["forecast"], _) => Err(reply::not_allowed("GET")),
        (["preview" | "purge"], _) => Err(reply::not_allowed("POST")),
        _ => Err(super::nothing()),
    }
}

async fn report(ctx: &Ctx, (db, coll): (&str, &str)) -> Answer {
    let report = ttl::ttl_report(ctx, db, coll).await;
    let report = report.map_err(|error| reply::failure(&error))?;
    let next = report
        .next_expiry
        .map_or(Value::Null, |next| Value::from(format_iso(next).as_str()));
    let purge = reply::object([
        ("paused", Value::from(report.purge_paused)),
        ("lagSeconds", count(report.purge_lag_secs)),
    ]);
    Ok(reply::json(
        StatusCode::OK,
        [
            (
                "defaultTtl",
                report.default_ttl.map_or(Value::Null, Value::from),
            ),
            ("live", tally(report.live.items, report.live.bytes)),
            ("expired", tally(report.expired.items, report.expired.bytes)),
            ("nextExpiry", next),
            ("purge", purge),
        ],
    ))
}

async fn purge(ctx: &Ctx, (db, coll): (&str, &str)) -> Answer {
    let purged = ttl::purge_now(ctx, db, coll).await;
    let purged = purged.map_err(|error| reply::failure(&error))?;
    let members = [("purged", tally(purged.items, purged.bytes))];
    Ok(reply::json(StatusCode::OK, members))
}

fn tally(items: u64, bytes: u64) -> Value {
    reply::object([("items", count(items)), ("bytes", count(bytes))])
}

fn count(number: u64) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}
