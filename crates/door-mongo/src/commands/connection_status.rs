//! Says who is logged in.

use lapsedb_service::documents::Fault;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    let privileges = fields.truth("showPrivileges", false)?;
    fields.end()?;
    let (mut users, mut roles) = (Vec::new(), Vec::new());
    if let Some(login) = &call.connection.login {
        users.push(pair("user", &login.user, &login.database));
        roles.push(pair(
            "role",
            if login.read_only {
                "readAnyDatabase"
            } else {
                "root"
            },
            "admin",
        ));
    }
    let mut info = Object::with_capacity(3);
    info.push("authenticatedUsers", Value::Array(users));
    info.push("authenticatedUserRoles", Value::Array(roles));
    if privileges {
        info.push("authenticatedUserPrivileges", Value::Array(Vec::new()));
    }
    let mut reply = Object::with_capacity(1);
    reply.push("authInfo", Value::Object(info));
    Ok(Answer::Plain(reply))
}

fn pair(name: &str, value: &str, database: &str) -> Value {
    let mut pair = Object::with_capacity(2);
    pair.push(name, value);
    pair.push("db", database);
    Value::Object(pair)
}
