//! Refuses search indexes, as a mongod without Atlas does: by that tools tell «not available» from «broken».

use lapsedb_service::documents::{Fault, no_search};

use crate::answer::Answer;
use crate::call::Call;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    Err(no_search(call.command.name).into())
}
