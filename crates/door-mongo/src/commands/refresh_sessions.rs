//! Prolongs sessions.

use lapsedb_service::documents::Fault;
use lapsedb_service::sessions;

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::end_sessions::named;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let ids = named(call)?;
    sessions::refresh_sessions(&call.ctx(), &ids)?;
    Ok(Answer::ok())
}
