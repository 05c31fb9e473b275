//! Ends what all sessions do, or those of some users.

use lapsedb_service::documents::Fault;
use lapsedb_service::sessions::{self, SessionId, Which};
use lapsedb_value::Value;

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    call.ctx().who.may_administer()?;
    let mut fields = Fields::of(call);
    let list = match fields.own(call) {
        Value::Array(list) => list,
        other => return Err(fields.wrong("killAllSessions", &other, "array")),
    };
    fields.end()?;
    let mut users = Vec::with_capacity(list.len());
    for one in &list {
        users.push(user("killAllSessions", one)?);
    }
    let which = if list.is_empty() {
        Which::All
    } else {
        Which::Users(users)
    };
    sessions::kill_sessions(&call.ctx(), &which);
    Ok(Answer::ok())
}

/// The digest of a user who is named with his database.
pub(super) fn user(context: &str, named: &Value) -> Result<[u8; 32], Fault> {
    let Value::Object(members) = named else {
        let fields = Fields::new(context, lapsedb_value::Object::new());
        return Err(fields.wrong("user", named, "object"));
    };
    let mut fields = Fields::new(context, members.clone());
    let user = fields.text("user")?.ok_or_else(|| fields.missing("user"))?;
    let database = fields.text("db")?.ok_or_else(|| fields.missing("db"))?;
    fields.end()?;
    Ok(SessionId::user(&user, &database))
}
