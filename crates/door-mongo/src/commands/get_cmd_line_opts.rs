//! Tells how the server was started, as far as this door may say.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(_call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut reply = Object::with_capacity(2);
    reply.push("argv", Value::Array(vec![Value::from("lapsedb")]));
    reply.push("parsed", Value::Object(Object::new()));
    Ok(Answer::Plain(reply))
}
