//! Tells that nothing is profiled.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::whole;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let level = call.body.remove(&call.name).as_ref().map_or(-1, whole);
    if level > 0 {
        return Err(Fault::new(115, "profiling is not supported"));
    }
    let mut reply = Object::with_capacity(3);
    reply.push("was", 0);
    reply.push("slowms", 100);
    reply.push("sampleRate", Value::Double(1.0));
    Ok(Answer::Plain(reply))
}
