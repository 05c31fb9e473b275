//! What time to live has done to a collection and will do: figures, preview, forecast, purge.

use http::StatusCode;
use hyper::body::Incoming;
use lapsedb_record::clock::format_iso;
use lapsedb_service::{Error, Kind};
use lapsedb_value::Value;

use super::{Answer, bad};
use crate::boot::App;
use crate::reply::{self, Reply};

/// Answers a call below `/_lapsedb/dbs/{db}/colls/{coll}/ttl`.
pub async fn answer(
    app: &App,
    (db, coll): (&str, &str),
    rest: &[&str],
    method: &str,
    query: &str,
    body: Incoming,
) -> Answer {
    match (rest, method) {
        ([], "GET" | "HEAD") => report(app, db, coll).await,
        ([], _) => Err(reply::not_allowed("GET")),
        (["preview"], "POST") => preview(app, db, coll, body).await,
        (["forecast"], "GET" | "HEAD") => forecast(app, db, coll, query).await,
        (["purge"], "POST") => purge(app, db, coll).await,
        (["preview" | "purge"], _) => Err(reply::not_allowed("POST")),
        (["forecast"], _) => Err(reply::not_allowed("GET")),
        _ => Err(reply::error(
            StatusCode::NOT_FOUND,
            "the admin API has no such address",
        )),
    }
}

async fn report(_app: &App, _db: &str, _coll: &str) -> Answer {
    Err(bad("todo"))
}
async fn preview(_app: &App, _db: &str, _coll: &str, _body: Incoming) -> Answer {
    Err(bad("todo"))
}
async fn forecast(_app: &App, _db: &str, _coll: &str, _query: &str) -> Answer {
    Err(bad("todo"))
}
async fn purge(_app: &App, _db: &str, _coll: &str) -> Answer {
    Err(bad("todo"))
}
