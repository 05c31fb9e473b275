//! Gives roles to a user.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::{self, RoleName};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::role_fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let (RoleName { role: user, .. }, roles) = role_fields::some_roles(call)?;
    logins::grant(&call.ctx(), &call.database, &user, &roles).await?;
    Ok(Answer::ok())
}
