//! Removes a role that was defined.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::roles;

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::role_fields;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let name = role_fields::name(&mut fields, call)?;
    fields.end()?;
    roles::drop(&call.ctx(), &name).await?;
    Ok(Answer::ok())
}
