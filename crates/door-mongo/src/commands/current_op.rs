//! Lists what is under way: commands are short, none is listed.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    call.only_on_admin()?;
    let mut reply = Object::with_capacity(1);
    reply.push("inprog", Value::Array(Vec::new()));
    Ok(Answer::Plain(reply))
}
