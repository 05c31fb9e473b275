//! Makes a user.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::{self, User};
use lapsedb_value::Value;

use crate::answer::Answer;
use crate::auth;
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
        Some(roles) => user_fields::roles(&fields, roles, &call.database)?,
        None => return Err(fields.missing("roles")),
    };
    user_fields::no_restrictions(&mut fields)?;
    fields.end()?;
    user_fields::check_database(&call.database)?;
    if auth::is_account(&name) {
        return Err(Fault::new(
            codes::USER_EXISTS,
            format!(
                "User \"{name}@{}\" already exists: it belongs to the account",
                call.database
            ),
        ));
    }
    let user = User {
        credentials: password.needed()?.credentials(&name).await?,
        name,
        database: call.database.clone(),
        id: *uuid::Uuid::new_v4().as_bytes(),
        roles,
        custom_data,
    };
    logins::create(&call.ctx(), &user).await?;
    Ok(Answer::ok())
}

/// A user's id as clients see it.
pub(crate) fn shown_id(user: &User) -> Value {
    Value::Binary {
        subtype: 4,
        bytes: user.id.to_vec(),
    }
}
