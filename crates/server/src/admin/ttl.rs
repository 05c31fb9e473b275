//! What time to live has done to a collection and will do: figures, preview, forecast, purge.

use http::StatusCode;
use hyper::body::Incoming;
use lapsedb_record::clock::format_iso;
use lapsedb_service::ttl::{self, Purged, Tally, Width};
use lapsedb_service::{Ctx, Millis, PartitionKey};
use lapsedb_value::{Object, Value};

use super::query::Query;
use super::{Answer, bad};
use crate::reply;

const PREVIEW_ALLOWED: &str =
    "the body must be {\"defaultTtl\":n} and nothing else, n being the seconds, -1 or null";

/// Answers a call below `/_lapsedb/dbs/{db}/colls/{coll}/ttl`.
pub async fn answer(
    ctx: &Ctx,
    at: (&str, &str),
    rest: &[&str],
    method: &str,
    query: &str,
    body: Incoming,
) -> Answer {
    match (rest, method) {
        ([], "GET" | "HEAD") => report(ctx, at).await,
        (["forecast"], "GET" | "HEAD") => forecast(ctx, at, query).await,
        (["preview"], "POST") => preview(ctx, at, &super::object(body).await?).await,
        (["purge"], "POST") => purge(ctx, at).await,
        (["recount"], "POST") => recount(ctx, at).await,
        ([] | ["forecast"], _) => Err(reply::not_allowed("GET")),
        (["preview" | "purge" | "recount"], _) => Err(reply::not_allowed("POST")),
        _ => Err(super::nothing()),
    }
}

/// Answers `/_lapsedb/dbs/{db}/colls/{coll}/docs/{id}/ttl`: how long an item has to live.
pub async fn item(
    ctx: &Ctx,
    at: (&str, &str),
    id: &str,
    query: &str,
    header: Option<&[u8]>,
) -> Answer {
    let query = Query::parse(query, &["partitionKey"]).map_err(|message| bad(&message))?;
    let header = header.map(String::from_utf8_lossy);
    let partition = match (query.get("partitionKey"), header.as_deref()) {
        (Some(_), Some(_)) => {
            return Err(bad(
                "the partition key must come once: as header or as parameter",
            ));
        }
        (Some(text), None) | (None, Some(text)) => {
            let parsed = PartitionKey::parse(text);
            Some(parsed.map_err(|error| bad(&error.to_string()))?)
        }
        (None, None) => None,
    };
    let life = ttl::item_life(ctx, at, partition.as_ref(), id).await;
    let life = life.map_err(|error| reply::failure(&error))?;
    Ok(reply::json(
        StatusCode::OK,
        [
            ("ttl", life.ttl.map_or(Value::Null, Value::from)),
            ("expiresAt", life.expires_at.map_or(Value::Null, time)),
            ("secondsLeft", life.seconds_left.map_or(Value::Null, count)),
        ],
    ))
}

async fn preview(ctx: &Ctx, at: (&str, &str), body: &Object) -> Answer {
    let mut members = body.iter();
    let (Some(("defaultTtl", value)), None) = (
        members.next().map(|(name, value)| (name.as_str(), value)),
        members.next(),
    ) else {
        return Err(bad(PREVIEW_ALLOWED));
    };
    let preview = ttl::preview(ctx, at, value).await;
    let preview = preview.map_err(|error| reply::failure(&error))?;
    Ok(reply::json(
        StatusCode::OK,
        [
            ("expiresAtOnce", tally(preview.at_once)),
            ("expiresLater", tally(preview.later)),
            ("neverExpires", tally(preview.never)),
        ],
    ))
}

async fn forecast(ctx: &Ctx, at: (&str, &str), query: &str) -> Answer {
    let query = Query::parse(query, &["by", "buckets"]).map_err(|message| bad(&message))?;
    let width = match query.get("by") {
        Some("minute") => Width::Minute,
        Some("hour") | None => Width::Hour,
        Some("day") => Width::Day,
        Some(_) => return Err(bad("by must be minute, hour or day")),
    };
    // What is no number is as little allowed as 0, and gets the same answer.
    let number = |text: &str| text.parse::<u16>().map_or(0, u64::from);
    let buckets = query.get("buckets").map(number);
    let forecast = ttl::forecast(ctx, at, width, buckets).await;
    let forecast = forecast.map_err(|error| reply::failure(&error))?;
    let buckets = forecast.buckets.into_iter().map(|(from, sum)| {
        reply::object([
            ("from", time(from)),
            ("items", count(sum.items)),
            ("bytes", count(sum.bytes)),
        ])
    });
    Ok(reply::json(
        StatusCode::OK,
        [
            ("buckets", Value::Array(buckets.collect())),
            ("after", tally(forecast.after)),
            ("never", tally(forecast.never)),
        ],
    ))
}

async fn recount(ctx: &Ctx, (db, coll): (&str, &str)) -> Answer {
    let counted = ttl::recount(ctx, db, coll).await;
    let counted = counted.map_err(|error| reply::failure(&error))?;
    Ok(reply::json(
        StatusCode::OK,
        [
            ("live", tally(counted.live)),
            ("expired", tally(counted.expired)),
            ("bucketsWrong", count(counted.buckets_wrong)),
        ],
    ))
}

async fn report(ctx: &Ctx, (db, coll): (&str, &str)) -> Answer {
    let report = ttl::ttl_report(ctx, db, coll).await;
    let report = report.map_err(|error| reply::failure(&error))?;
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
            ("live", tally(report.live)),
            ("expired", tally(report.expired)),
            ("nextExpiry", report.next_expiry.map_or(Value::Null, time)),
            ("purge", purge),
        ],
    ))
}

async fn purge(ctx: &Ctx, (db, coll): (&str, &str)) -> Answer {
    let purged = ttl::purge_now(ctx, db, coll).await;
    let purged = purged.map_err(|error| reply::failure(&error))?;
    let Purged { items, bytes } = purged.purged;
    let mut members = vec![("purged", tally(Tally { items, bytes }))];
    if let Some((sum, why)) = purged.left {
        let left = [
            ("items", count(sum.items)),
            ("bytes", count(sum.bytes)),
            ("reason", Value::from(why.as_str())),
        ];
        members.push(("left", reply::object(left)));
    }
    Ok(reply::json(StatusCode::OK, members))
}

fn tally(sum: Tally) -> Value {
    reply::object([("items", count(sum.items)), ("bytes", count(sum.bytes))])
}

fn time(at: Millis) -> Value {
    Value::from(format_iso(at).as_str())
}

fn count(number: u64) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}
