//! Lists the commands.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::registry::{COMMANDS, Login};

pub(crate) async fn run(_call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut all = Object::with_capacity(COMMANDS.len());
    for command in COMMANDS {
        let mut one = Object::with_capacity(2);
        one.push("help", command.about);
        one.push("requiresAuth", command.login == Login::Needed);
        all.push(command.name, Value::Object(one));
    }
    let mut reply = Object::with_capacity(1);
    reply.push("commands", Value::Object(all));
    Ok(Answer::Plain(reply))
}
