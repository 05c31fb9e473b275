//! Tells the client its own address.

use lapsedb_service::documents::Fault;
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut reply = Object::with_capacity(1);
    reply.push("you", call.connection.peer.client.to_string());
    Ok(Answer::Plain(reply))
}
