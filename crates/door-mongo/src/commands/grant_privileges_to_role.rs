//! Gives privileges to a role.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::roles::{self, Edit};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::role_fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let (name, privileges) = role_fields::some_privileges(call)?;
    roles::alter(&call.ctx(), &name, &Edit::GrantPrivileges(privileges)).await?;
    Ok(Answer::ok())
}
