//! Tells how the set is configured: one member.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::hello;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut member = Object::with_capacity(4);
    member.push("_id", 0);
    member.push("host", hello::host(call));
    member.push("arbiterOnly", false);
    member.push("priority", Value::Double(1.0));
    let mut config = Object::with_capacity(4);
    config.push("_id", hello::set_name(call));
    config.push("version", 1);
    config.push("term", 1);
    config.push("members", Value::Array(vec![Value::Object(member)]));
    let mut reply = Object::with_capacity(1);
    reply.push("config", Value::Object(config));
    Ok(Answer::Plain(reply))
}
