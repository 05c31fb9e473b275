//! Which part answers a request: health, metrics, the admin API, or the NoSQL door.

use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use lapsedb_door_cosmos::Scheme;
use lapsedb_record::Clock;

use crate::boot::App;
use crate::metrics::{Part, Verb};
use crate::reply::{self, Reply};
use crate::{admin, health};

/// Answers a request and counts it.
pub async fn answer(app: &App, request: Request<Incoming>, scheme: Scheme) -> Reply {
    let start = Clock::monotonic();
    let verb = Verb::of(request.method(), request.uri().path(), request.headers());
    let reply = match verb.part() {
        Part::Nosql => app.door.handle(request, scheme).await,
        Part::Open => open(app, request.method(), request.uri().path()).await,
        Part::Admin => admin::answer(app, request).await,
    };
    app.metrics.count(verb, &reply, start.elapsed());
    reply
}

/// What needs no authorisation.
async fn open(app: &App, method: &Method, path: &str) -> Reply {
    if method != Method::GET && method != Method::HEAD {
        return reply::not_allowed("GET, HEAD");
    }
    if let Some(question) = health::Question::of(path) {
        return health::answer(app, question);
    }
    match (path, &app.certificate) {
        ("/metrics", _) => {
            let text = app.metrics.text(&app.service).await;
            reply::bytes(
                StatusCode::OK,
                "text/plain; version=0.0.4; charset=utf-8",
                text,
            )
        }
        ("/_explorer/emulator.pem", Some(pem)) => {
            reply::bytes(StatusCode::OK, "application/x-pem-file", pem.clone())
        }
        _ => reply::error(StatusCode::NOT_FOUND, "there is nothing at this address"),
    }
}
