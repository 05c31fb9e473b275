//! Changes a user.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::{self, Change};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::user_fields::{self, Password};
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let name = user_fields::name(&mut fields, call)?;
    let password = Password::take(&mut fields)?;
    let custom_data = fields.document_if("customData")?;
    let roles = match fields.any("roles") {
        Some(roles) => Some(user_fields::roles(&fields, roles, &call.database)?),
        None => None,
    };
    user_fields::no_restrictions(&mut fields)?;
    fields.end()?;
    let change = Change {
        credentials: if password.is_given() {
            Some(password.credentials(&name).await?)
        } else {
            None
        },
        mechanisms: password.mechanisms(),
        roles,
        custom_data,
    };
    if change.credentials.is_none()
        && change.mechanisms.is_none()
        && change.roles.is_none()
        && change.custom_data.is_none()
    {
        return Err(Fault::new(
            codes::BAD_VALUE,
            "Must specify at least one field to update in updateUser",
        ));
    }
    logins::alter(&call.ctx(), &call.database, &name, &change).await?;
    Ok(Answer::ok())
}
