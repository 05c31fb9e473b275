//! Ends or prolongs sessions: a session that holds nothing needs neither.

use lapsedb_service::documents::Fault;

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(_call: &mut Call<'_>) -> Result<Answer, Fault> {
    Ok(Answer::ok())
}
