//! Ends what sessions do; those of who asks, if none is named.

use lapsedb_service::documents::Fault;
use lapsedb_service::sessions::{self, Which};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::end_sessions::named;
use crate::lsid;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let ids = named(call)?;
    let which = if ids.is_empty() {
        Which::Users(vec![lsid::user_digest(call.connection.login.as_ref())])
    } else {
        Which::Ids(ids)
    };
    sessions::kill_sessions(&call.ctx(), &which);
    Ok(Answer::ok())
}
