//! Says who is logged in.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::RoleName;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    let privileges = fields.truth("showPrivileges", false)?;
    fields.end()?;
    let (mut users, mut roles, mut allowed) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(login) = &call.connection.login {
        let mut user = Object::with_capacity(2);
        user.push("user", login.user.as_str());
        user.push("db", login.database.as_str());
        users.push(Value::Object(user));
        roles = login.roles().iter().map(RoleName::shown).collect();
        allowed = login.privileges().shown();
    }
    let mut info = Object::with_capacity(3);
    info.push("authenticatedUsers", Value::Array(users));
    info.push("authenticatedUserRoles", Value::Array(roles));
    if privileges {
        info.push("authenticatedUserPrivileges", Value::Array(allowed));
    }
    let mut reply = Object::with_capacity(1);
    reply.push("authInfo", Value::Object(info));
    Ok(Answer::Plain(reply))
}
