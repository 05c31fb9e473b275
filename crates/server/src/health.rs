//! Is it there, does it work: for load balancers, containers and people.

use http::StatusCode;
use lapsedb_value::Value;

use crate::boot::App;
use crate::reply::{self, Reply};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Does the process answer.
    Alive,
    /// Does it take requests.
    Ready,
    /// The same, with figures.
    Status,
}

impl Question {
    /// The question of a path, if it is one.
    pub fn of(path: &str) -> Option<Question> {
        match path {
            "/alive" | "/livez" => Some(Question::Alive),
            "/ready" | "/readyz" => Some(Question::Ready),
            "/status" | "/healthz" => Some(Question::Status),
            _ => None,
        }
    }
}

/// Answers 200, or 503 with a reason: where writes are refused, all of them or those that add data. A damaged table is no such reason, because
/// everything but what it holds goes on; it is named in the answer.
pub fn answer(app: &App, question: Question) -> Reply {
    let reason = if app.stopping() {
        Some("the server is stopping".to_owned())
    } else {
        app.service.writing_halted()
    };
    match question {
        Question::Alive => reply::json(StatusCode::OK, [("status", Value::from("alive"))]),
        Question::Ready | Question::Status if reason.is_some() => reply::json(
            StatusCode::SERVICE_UNAVAILABLE,
            [
                ("status", Value::from("unavailable")),
                ("reason", Value::from(reason.unwrap_or_default())),
            ],
        ),
        Question::Ready => reply::json(StatusCode::OK, ready(app)),
        Question::Status => reply::json(
            StatusCode::OK,
            ready(app).chain([
                ("version", Value::from(env!("CARGO_PKG_VERSION"))),
                ("clockSuspect", Value::from(app.service.clock().suspect())),
                (
                    "virtualClock",
                    Value::from(app.service.clock().is_virtual()),
                ),
            ]),
        ),
    }
}

/// That requests are taken, and what of the stored data is damaged, if anything is.
fn ready(app: &App) -> impl Iterator<Item = (&'static str, Value)> {
    let damage = app.service.damage();
    let damage =
        (!damage.is_empty()).then(|| Value::Array(damage.into_iter().map(Value::from).collect()));
    [("status", Value::from("ready"))]
        .into_iter()
        .chain(damage.map(|damage| ("damage", damage)))
}
