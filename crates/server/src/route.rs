//! Which part answers a request: health, metrics, the admin API, or the NoSQL door.

use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use lapsedb_door_cosmos::Client;
use lapsedb_record::Clock;

use crate::boot::App;
use crate::metrics::{Part, Verb};
use crate::reply::{self, Reply};
use crate::slots::Slot;
use crate::{admin, cors, health};

/// Answers a request and counts it.
pub async fn answer(app: &App, request: Request<Incoming>, client: Client, slot: &Slot) -> Reply {
    let start = Clock::monotonic();
    let verb = Verb::of(request.method(), request.uri().path(), request.headers());
    let (reply, charge) = judge(app, request, client, (verb, slot)).await;
    app.metrics
        .count(verb, reply.status(), charge, start.elapsed());
    reply
}

/// Asks first where the request comes from: what is refused here reaches no part of the server.
async fn judge(
    app: &App,
    request: Request<Incoming>,
    client: Client,
    (verb, slot): (Verb, &Slot),
) -> (Reply, f64) {
    if let Some(message) = app.origins.refusal(&request) {
        return (reply::error(StatusCode::FORBIDDEN, message), 0.0);
    }
    let Some(origin) = app.origins.admitted(request.headers()) else {
        return dispatch(app, request, client, (verb, slot)).await;
    };
    if let Some(reply) = cors::preflight(&request, &origin) {
        return (reply, 0.0);
    }
    let (mut reply, charge) = dispatch(app, request, client, (verb, slot)).await;
    cors::allow(reply.headers_mut(), origin);
    (reply, charge)
}

async fn dispatch(
    app: &App,
    request: Request<Incoming>,
    client: Client,
    (verb, slot): (Verb, &Slot),
) -> (Reply, f64) {
    match verb.part() {
        Part::Nosql => {
            let handled = app.door.handle(request, client).await;
            // Once is enough: a connection on which somebody has signed a request is no stranger's.
            if handled.authenticated {
                slot.know(true);
            }
            (handled.response, handled.charge)
        }
        Part::Open => (open(app, request.method(), request.uri().path()).await, 0.0),
        Part::Admin => (admin::answer(app, request, slot).await, 0.0),
    }
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
        ("/metrics", _) => match app.metrics.text(&app.service).await {
            Ok(text) => reply::bytes(
                StatusCode::OK,
                "text/plain; version=0.0.4; charset=utf-8",
                text,
            ),
            Err(error) => reply::failure(&error),
        },
        ("/_explorer/emulator.pem", Some(pem)) => {
            reply::bytes(StatusCode::OK, "application/x-pem-file", pem.clone())
        }
        _ => reply::error(StatusCode::NOT_FOUND, "there is nothing at this address"),
    }
}
