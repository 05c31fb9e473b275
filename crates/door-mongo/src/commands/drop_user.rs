//! Removes a user.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins;

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::user_fields;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let name = user_fields::name(&mut fields, call)?;
    fields.end()?;
    logins::drop(&call.ctx(), &call.database, &name).await?;
    Ok(Answer::ok())
}
