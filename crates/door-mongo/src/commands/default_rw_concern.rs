//! Tells the concerns that hold where a client names none.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(_call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut write = Object::with_capacity(2);
    write.push("w", "majority");
    write.push("wtimeout", 0);
    let mut read = Object::with_capacity(1);
    read.push("level", "local");
    let mut reply = Object::with_capacity(2);
    reply.push("defaultReadConcern", Value::Object(read));
    reply.push("defaultWriteConcern", Value::Object(write));
    Ok(Answer::Plain(reply))
}
