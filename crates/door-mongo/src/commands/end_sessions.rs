//! Forgets sessions: their transactions have never happened.

use lapsedb_service::documents::Fault;
use lapsedb_service::sessions::{self, SessionId, Which};
use lapsedb_value::Value;

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;
use crate::lsid;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let ids = named(call)?;
    sessions::end_sessions(&call.ctx(), &Which::Ids(ids));
    Ok(Answer::ok())
}

/// The sessions that a command names.
pub(super) fn named(call: &mut Call<'_>) -> Result<Vec<SessionId>, Fault> {
    let mut fields = Fields::of(call);
    let name = call.name.clone();
    let list = match fields.own(call) {
        Value::Array(list) => list,
        other => return Err(fields.wrong(&name, &other, "array")),
    };
    fields.end()?;
    let owner = call.session_owner();
    list.iter().map(|one| lsid::read(one, owner)).collect()
}
