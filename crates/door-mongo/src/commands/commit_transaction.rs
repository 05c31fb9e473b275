//! Commits a transaction.

use lapsedb_service::documents::Fault;
use lapsedb_service::sessions;

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    fields.ignore(&["recoveryToken"]);
    fields.end()?;
    if call.database != "admin" {
        let message = format!("{} may only be run against the admin database.", call.name);
        return Err(Fault::new(codes::UNAUTHORIZED, message));
    }
    sessions::commit(&call.ctx(), &call.generic.session).await?;
    call.panic_point();
    Ok(Answer::ok())
}
