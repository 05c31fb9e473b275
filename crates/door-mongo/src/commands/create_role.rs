//! Defines a role.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::roles::{self, Role};

use crate::answer::Answer;
use crate::call::Call;
use crate::commands::{role_fields, user_fields};
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let name = role_fields::name(&mut fields, call)?;
    let privileges = role_fields::privileges(&mut fields)?;
    let roles = role_fields::roles(&mut fields, call)?;
    user_fields::no_restrictions(&mut fields)?;
    fields.end()?;
    role_fields::check_database(&call.database)?;
    let role = Role {
        name,
        privileges,
        roles,
    };
    roles::create(&call.ctx(), &role).await?;
    Ok(Answer::ok())
}
