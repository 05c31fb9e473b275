//! Ends an operation as soon as it looks up; one that is no longer under way has ended by itself.

use lapsedb_service::documents::Fault;
use lapsedb_value::Object;

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    call.only_on_admin()?;
    let mut fields = Fields::of(call);
    fields.own(call);
    let operation = match fields.any("op") {
        Some(number) if number.is_number() => crate::fields::whole(&number),
        Some(other) => {
            return Err(Fault::new(
                codes::TYPE_MISMATCH,
                format!(
                    "Expected field \"op\" to have numeric type, but found {}",
                    crate::types::name(&other)
                ),
            ));
        }
        None => {
            return Err(Fault::new(
                codes::NO_SUCH_KEY,
                "Missing expected field \"op\"",
            ));
        }
    };
    fields.end()?;
    if let Ok(operation) = i32::try_from(operation) {
        let operations = &call.door.service.documents_state().operations;
        operations.halt(operation);
    }
    let mut reply = Object::with_capacity(1);
    reply.push("info", "attempting to kill op");
    Ok(Answer::Plain(reply))
}
