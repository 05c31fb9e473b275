//! Tells what the server is built with: no JavaScript.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(_call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut reply = Object::with_capacity(1);
    reply.push("oidMachine", Value::Int64(i64::from(std::process::id())));
    Ok(Answer::Plain(reply))
}
