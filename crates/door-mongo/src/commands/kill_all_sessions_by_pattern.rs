//! Ends what sessions do that fit a pattern: a session, a user's digest, or users by name.

use lapsedb_service::documents::Fault;
use lapsedb_service::sessions::{self, SessionId, Which};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::kill_all_sessions::user;
use crate::fields::Fields;
use crate::lsid;

const NAME: &str = "killAllSessionsByPattern";

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    call.ctx().who.may_administer()?;
    let mut fields = Fields::of(call);
    let list = match fields.own(call) {
        Value::Array(list) => list,
        other => return Err(fields.wrong(NAME, &other, "array")),
    };
    fields.end()?;
    let own = lsid::user_digest(call.connection.login.as_ref());
    let mut all = Vec::with_capacity(list.len());
    for pattern in &list {
        match pattern {
            Value::Object(pattern) => all.push(which(pattern, own)?),
            other => {
                let fields = Fields::new(NAME, Object::new());
                return Err(fields.wrong("patterns", other, "object"));
            }
        }
    }
    if all.is_empty() {
        all.push(Which::All);
    }
    for which in &all {
        sessions::kill_sessions(&call.ctx(), which);
    }
    Ok(Answer::ok())
}

fn which(pattern: &Object, own: [u8; 32]) -> Result<Which, Fault> {
    let mut fields = Fields::new(NAME, pattern.clone());
    let (session, digest, users) = (fields.any("lsid"), fields.any("uid"), fields.list("users")?);
    fields.end()?;
    match (session, digest, users) {
        (None, None, None) => Ok(Which::All),
        (Some(session), None, None) => Ok(Which::Ids(vec![any_session(&session, own)?])),
        (None, Some(uid), None) => Ok(Which::Users(vec![whose(&uid)?])),
        (None, None, Some(users)) => {
            let users: Result<Vec<_>, Fault> = users.iter().map(|one| user(NAME, one)).collect();
            Ok(Which::Users(users?))
        }
        _ => Err(Fault::new(
            codes::FAILED_TO_PARSE,
            "a pattern names a session, a digest or users, and only one of these",
        )),
    }
}

/// A session of anybody.
fn any_session(lsid: &Value, own: [u8; 32]) -> Result<SessionId, Fault> {
    let user = match lsid.get("uid") {
        Value::Undefined => own,
        uid => whose(uid)?,
    };
    lsid::read(lsid, lsid::Owner::only(user))
}

fn whose(uid: &Value) -> Result<[u8; 32], Fault> {
    let digest = match uid {
        Value::Binary { bytes, .. } => <[u8; 32]>::try_from(bytes.as_slice()).ok(),
        _ => None,
    };
    digest.ok_or_else(|| Fault::new(codes::BAD_VALUE, "uid must be a digest of 32 bytes"))
}
