//! Tells where time is spent, by collection.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    call.only_on_admin()?;
    let mut fields = Fields::of(call);
    fields.own(call);
    fields.end()?;
    let uses = &call.door.service.documents_state().operations.uses;
    let mut reply = Object::with_capacity(1);
    reply.push("totals", Value::Object(uses.shown()));
    Ok(Answer::Plain(reply))
}
