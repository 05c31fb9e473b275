//! Gives roles to a user.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::{self, RoleName};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::user_fields;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let (name, roles) = read(call)?;
    logins::grant(&call.ctx(), &call.database, &name, &roles).await?;
    Ok(Answer::ok())
}

/// A user and roles, of which there is at least one.
pub(crate) fn read(call: &mut Call<'_>) -> Result<(String, Vec<RoleName>), Fault> {
    let mut fields = Fields::of(call);
    let name = user_fields::name(&mut fields, call)?;
    let roles = match fields.any("roles") {
        Some(roles) => user_fields::roles(&fields, roles, &call.database)?,
        None => return Err(fields.missing("roles")),
    };
    fields.end()?;
    if roles.is_empty() {
        return Err(Fault::new(
            codes::BAD_VALUE,
            format!("{} command requires a non-empty \"roles\" array", call.name),
        ));
    }
    Ok((name, roles))
}
