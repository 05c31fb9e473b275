//! Ends that a role inherits from others.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::roles::{self, Edit};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::role_fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let (name, roles) = role_fields::some_roles(call)?;
    roles::alter(&call.ctx(), &name, &Edit::RevokeRoles(roles)).await?;
    Ok(Answer::ok())
}
