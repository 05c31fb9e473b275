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

/// Answers 200, or 503 with a reason.
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
        Question::Ready => reply::json(StatusCode::OK, [("status", Value::from("ready"))]),
        Question::Status => reply::json(
            StatusCode::OK,
            [
                ("status", Value::from("ready")),
                ("version", Value::from(env!("CARGO_PKG_VERSION"))),
                ("clockSuspect", Value::from(app.service.clock().suspect())),
                (
                    "virtualClock",
                    Value::from(app.service.clock().is_virtual()),
                ),
            ],
        ),
    }
}
