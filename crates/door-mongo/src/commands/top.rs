//! Tells where time is spent: nowhere in particular.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    call.only_on_admin()?;
    let mut reply = Object::with_capacity(1);
    reply.push("totals", Value::Object(Object::new()));
    Ok(Answer::Plain(reply))
}
