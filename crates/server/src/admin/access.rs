//! Who may use the admin API: the holder of the master key; the holder of the read-only key may look.

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use lapsedb_door_cosmos::Access;
use lapsedb_service::Who;

use crate::boot::App;
use crate::reply::{self, Reply};

/// Who calls: by `Bearer <key>`, or by a Cosmos signature with empty resource type and link.
pub fn of(app: &App, parts: &Parts) -> Result<Who, Reply> {
    if !parts.headers.contains_key(AUTHORIZATION) {
        return Err(denied(
            "the header authorization is missing; send: Bearer <master key>",
        ));
    }
    match app.door.admin_access(parts) {
        Access::Full => Ok(Who::Master),
        Access::ReadOnly => Ok(Who::ReadOnly),
        Access::Denied(message) => Err(denied(&message)),
    }
}

fn denied(message: &str) -> Reply {
    let mut reply = reply::error(StatusCode::UNAUTHORIZED, message);
    let scheme = HeaderValue::from_static("Bearer");
    reply.headers_mut().insert(WWW_AUTHENTICATE, scheme);
    reply
}
