//! Ends a login.

use lapsedb_service::documents::Fault;

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    fields.end()?;
    call.connection.login = None;
    call.connection.sasl = None;
    Ok(Answer::ok())
}
