//! Begins a session.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(_call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut id = Object::with_capacity(1);
    id.push(
        "id",
        Value::Binary {
            subtype: 4,
            bytes: uuid::Uuid::new_v4().as_bytes().to_vec(),
        },
    );
    let mut reply = Object::with_capacity(2);
    reply.push("id", Value::Object(id));
    reply.push("timeoutMinutes", 30);
    Ok(Answer::Plain(reply))
}
