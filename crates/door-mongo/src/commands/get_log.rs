//! Shows the newest lines of the log: none are kept in memory, so there are none to show.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

const LOGS: [&str; 2] = ["global", "startupWarnings"];

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let asked = fields.own(call);
    fields.end()?;
    let mut reply = Object::with_capacity(2);
    match asked.as_str() {
        Some("*") => reply.push("names", Value::Array(LOGS.map(Value::from).to_vec())),
        Some(name) if LOGS.contains(&name) => {
            reply.push("totalLinesWritten", 0);
            reply.push("log", Value::Array(Vec::new()));
        }
        Some(name) => {
            return Err(Fault::new(96, format!("No log named '{name}'")));
        }
        None => {
            return Err(Fault::new(
                codes::TYPE_MISMATCH,
                "Argument to getLog must be of type String",
            ));
        }
    }
    Ok(Answer::Plain(reply))
}
