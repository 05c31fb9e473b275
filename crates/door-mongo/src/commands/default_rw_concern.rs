//! Tells the concerns that hold where a client names none. They cannot be changed: one server has no weaker and no stronger ones.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

const READ_LEVEL: &str = "local";
const WRITE_MEMBERS: &str = "majority";

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    call.only_on_admin()?;
    let mut fields = Fields::of(call);
    fields.own(call);
    if call.name == "setDefaultRWConcern" {
        let read = fields.document_if("defaultReadConcern")?;
        let write = fields.document_if("defaultWriteConcern")?;
        let same = |concern: Option<Object>, member: &str, value: &str| {
            concern.is_none_or(|concern| concern.get(member).and_then(Value::as_str) == Some(value))
        };
        if !same(read, "level", READ_LEVEL) || !same(write, "w", WRITE_MEMBERS) {
            return Err(Fault::new(
                115,
                "the default concerns cannot be changed: name one with the command",
            ));
        }
    }
    fields.ignore(&["inMemory"]);
    fields.end()?;
    let mut write = Object::with_capacity(2);
    write.push("w", WRITE_MEMBERS);
    write.push("wtimeout", 0);
    let mut read = Object::with_capacity(1);
    read.push("level", READ_LEVEL);
    let mut reply = Object::with_capacity(4);
    reply.push("defaultReadConcern", Value::Object(read));
    reply.push("defaultWriteConcern", Value::Object(write));
    reply.push("defaultWriteConcernSource", "implicit");
    reply.push("defaultReadConcernSource", "implicit");
    Ok(Answer::Plain(reply))
}
