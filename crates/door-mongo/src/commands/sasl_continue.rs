//! Goes on with a login.

use lapsedb_service::documents::Fault;

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::sasl_start;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    let conversation = fields.integer("conversationId")?;
    let payload = sasl_start::payload(&mut fields)?;
    fields.end()?;
    let Some(session) = call
        .connection
        .sasl
        .take()
        .filter(|_| conversation == Some(1))
    else {
        return Err(Fault::new(
            codes::PROTOCOL_ERROR,
            "No SASL session state found",
        ));
    };
    let client = call.connection.peer.client.ip();
    let step = session.step(call.door, client, &payload)?;
    sasl_start::answer(call, step)
}
