//! Takes roles from a user.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins;

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::grant_roles_to_user;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let (name, roles) = grant_roles_to_user::read(call)?;
    logins::revoke(&call.ctx(), &call.database, &name, &roles).await?;
    Ok(Answer::ok())
}
