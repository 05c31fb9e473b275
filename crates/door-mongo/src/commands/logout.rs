//! Ends a login.

use lapsedb_service::documents::Fault;

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    call.connection.login = None;
    call.connection.sasl = None;
    Ok(Answer::ok())
}
