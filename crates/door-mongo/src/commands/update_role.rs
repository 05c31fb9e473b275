//! Changes a role that was defined.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::roles::{self, Edit};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::{role_fields, user_fields};
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let name = role_fields::name(&mut fields, call)?;
    let privileges = role_fields::privileges_if(&mut fields)?;
    let roles = match fields.any("roles") {
        Some(roles) => Some(user_fields::roles(&fields, roles, &call.database)?),
        None => None,
    };
    user_fields::no_restrictions(&mut fields)?;
    fields.end()?;
    if privileges.is_none() && roles.is_none() {
        return Err(Fault::new(
            codes::BAD_VALUE,
            "Must specify at least one field to update in updateRole",
        ));
    }
    let edit = Edit::Replace { privileges, roles };
    roles::alter(&call.ctx(), &name, &edit).await?;
    Ok(Answer::ok())
}
