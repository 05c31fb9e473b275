//! Shows roles. There are no others than the built-in ones.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::RoleName;
use lapsedb_service::logins::role::{builtin_roles, privileges};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::user_fields::role_name;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let asked = fields.own(call);
    let details = fields.any("showPrivileges");
    let fragment = details.as_ref().and_then(Value::as_str) == Some("asUserFragment");
    let details = match details {
        None | Some(Value::Bool(false)) => false,
        Some(Value::Bool(true) | Value::String(_)) => true,
        Some(other) => return Err(fields.wrong("showPrivileges", &other, "bool")),
    };
    let builtin = fields.truth("showBuiltinRoles", false)?;
    fields.ignore(&["showAuthenticationRestrictions"]);
    fields.end()?;
    let database = &call.database;
    let (all, names) = match &asked {
        Value::Array(several) => {
            let names = several.iter().map(|one| role_name(one, database));
            (false, names.collect::<Result<Vec<_>, _>>()?)
        }
        number if number.as_f64() == Some(1.0) => (true, builtin_roles(database)),
        one => (false, vec![role_name(one, database)?]),
    };
    if all && fragment {
        return Err(Fault::new(
            codes::ILLEGAL_OPERATION,
            "Cannot get user fragment for all roles in a database",
        ));
    }
    let known = names.iter().filter(|name| name.builtin().is_some());
    if fragment {
        return Ok(Answer::Plain(as_fragment(known.collect())));
    }
    let shown = known.filter(|_| !all || builtin);
    let roles = shown.map(|name| describe(name, details)).collect();
    let mut reply = Object::with_capacity(1);
    reply.push("roles", Value::Array(roles));
    Ok(Answer::Plain(reply))
}

fn describe(name: &RoleName, details: bool) -> Value {
    let mut one = Object::with_capacity(7);
    one.push("db", name.database.as_str());
    one.push("role", name.role.as_str());
    one.push("roles", Value::Array(Vec::new()));
    let all = || Value::Array(privileges([name]).shown());
    if details {
        one.push("privileges", all());
    }
    one.push("inheritedRoles", Value::Array(Vec::new()));
    if details {
        one.push("inheritedPrivileges", all());
    }
    one.push("isBuiltin", true);
    Value::Object(one)
}

/// The roles as if one user had them all.
fn as_fragment(names: Vec<&RoleName>) -> Object {
    let roles: Vec<Value> = names.iter().map(|name| name.shown()).collect();
    let mut fragment = Object::with_capacity(3);
    fragment.push("roles", Value::Array(roles.clone()));
    fragment.push("inheritedRoles", Value::Array(roles));
    let all = privileges(names).shown();
    fragment.push("inheritedPrivileges", Value::Array(all));
    let mut reply = Object::with_capacity(1);
    reply.push("userFragment", Value::Object(fragment));
    reply
}
