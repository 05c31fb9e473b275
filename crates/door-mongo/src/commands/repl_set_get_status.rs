//! Tells of the set: it has one member, which is this server.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::hello;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut member = Object::with_capacity(6);
    member.push("_id", 0);
    member.push("name", hello::host(call));
    member.push("health", Value::Double(1.0));
    member.push("state", 1);
    member.push("stateStr", "PRIMARY");
    member.push("self", true);
    let mut reply = Object::with_capacity(5);
    reply.push("set", hello::set_name(call));
    reply.push("date", hello::now(call));
    reply.push("myState", 1);
    reply.push("term", Value::Int64(1));
    reply.push("members", Value::Array(vec![Value::Object(member)]));
    Ok(Answer::Plain(reply))
}
