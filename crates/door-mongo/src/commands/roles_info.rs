//! Shows roles, those that are built in and those that were defined.

use lapsedb_service::documents::{Fault, shell};
use lapsedb_service::logins::role::{Builtin, builtin_roles};
use lapsedb_service::logins::roles::{self, Role};
use lapsedb_service::logins::{Granted, RoleName, granted};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::user_fields::role_name;
use crate::fields::Fields;

/// What is shown of roles.
struct Shown {
    privileges: bool,
    restrictions: bool,
}

/// A role that is there.
enum Known {
    Builtin(RoleName, Builtin),
    Defined(Role),
}

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let asked = fields.own(call);
    let details = fields.any("showPrivileges");
    let fragment = details.as_ref().and_then(Value::as_str) == Some("asUserFragment");
    let privileges = match details {
        None | Some(Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        Some(_) if fragment => true,
        Some(other) => {
            let text = shell::text(&other);
            return Err(Fault::new(
                codes::BAD_VALUE,
                format!(
                    "Failed to parse 'showPrivileges'. 'showPrivileges' should either be a boolean or the string 'asUserFragment', given: showPrivileges: {text}"
                ),
            ));
        }
    };
    let builtin = fields.truth("showBuiltinRoles", false)?;
    let shown = Shown {
        privileges,
        restrictions: fields.truth("showAuthenticationRestrictions", false)?,
    };
    fields.end()?;
    let database = &call.database;
    let named = match &asked {
        Value::Array(several) => several.iter().map(|one| role_name(one, database)).collect(),
        number if number.as_f64() == Some(1.0) => {
            if fragment {
                return Err(Fault::new(
                    codes::ILLEGAL_OPERATION,
                    "Cannot get user fragment for all roles in a database",
                ));
            }
            return all(call, &shown, builtin).await;
        }
        one => role_name(one, database).map(|name| vec![name]),
    };
    let names: Vec<RoleName> = named?;
    if fragment {
        return as_fragment(call, &names).await;
    }
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        if let Some(builtin) = name.builtin() {
            found.push(Known::Builtin(name, builtin));
        } else if let Some(role) = roles::find(&call.ctx(), &name).await? {
            found.push(Known::Defined(role));
        }
    }
    describe_all(call, &found, &shown).await
}

/// All roles of a database.
async fn all(call: &Call<'_>, shown: &Shown, builtin: bool) -> Result<Answer, Fault> {
    let mut found = Vec::new();
    if builtin {
        let named = |name: RoleName| Some(Known::Builtin(name.clone(), name.builtin()?));
        found.extend(builtin_roles(&call.database).into_iter().filter_map(named));
    }
    let defined = roles::list(&call.ctx(), &call.database).await?;
    found.extend(defined.into_iter().map(Known::Defined));
    describe_all(call, &found, shown).await
}

async fn describe_all(call: &Call<'_>, found: &[Known], shown: &Shown) -> Result<Answer, Fault> {
    let mut described = Vec::with_capacity(found.len());
    for role in found {
        described.push(Value::Object(match role {
            Known::Builtin(name, builtin) => describe_builtin(name, *builtin, shown),
            Known::Defined(role) => {
                let inherited = granted(&call.ctx(), &role.roles).await?;
                describe(role, inherited, shown)
            }
        }));
    }
    let mut reply = Object::with_capacity(1);
    reply.push("roles", Value::Array(described));
    Ok(Answer::Plain(reply))
}

fn describe_builtin(name: &RoleName, builtin: Builtin, shown: &Shown) -> Object {
    let mut one = Object::with_capacity(7);
    one.push("db", name.database.as_str());
    one.push("role", name.role.as_str());
    one.push("roles", Value::Array(Vec::new()));
    let all = || Value::Array(builtin.privileges(&name.database).shown());
    if shown.privileges {
        one.push("privileges", all());
    }
    one.push("inheritedRoles", Value::Array(Vec::new()));
    if shown.privileges {
        one.push("inheritedPrivileges", all());
    }
    one.push("isBuiltin", true);
    one
}

fn describe(role: &Role, inherited: Granted, shown: &Shown) -> Object {
    let RoleName {
        role: name,
        database,
    } = &role.name;
    let names = |roles: &[RoleName]| Value::Array(roles.iter().map(RoleName::shown).collect());
    let mut one = Object::with_capacity(10);
    one.push("_id", format!("{database}.{name}"));
    one.push("role", name.as_str());
    one.push("db", database.as_str());
    if shown.privileges {
        one.push("privileges", Value::Array(role.privileges.shown()));
    }
    one.push("roles", names(&role.roles));
    if shown.restrictions {
        one.push("authenticationRestrictions", Value::Array(Vec::new()));
    }
    one.push("inheritedRoles", names(&inherited.roles));
    if shown.privileges {
        let mut all = inherited.privileges;
        all.add_all(&role.privileges);
        one.push("inheritedPrivileges", Value::Array(all.shown()));
    }
    if shown.restrictions {
        one.push(
            "inheritedAuthenticationRestrictions",
            Value::Array(Vec::new()),
        );
    }
    one.push("isBuiltin", false);
    one
}

/// The roles as if one user had them all.
async fn as_fragment(call: &Call<'_>, names: &[RoleName]) -> Result<Answer, Fault> {
    let granted = granted(&call.ctx(), names).await?;
    let known = names.iter().filter(|name| granted.roles.contains(name));
    let direct = known.map(RoleName::shown).collect();
    let all = granted.roles.iter().map(RoleName::shown).collect();
    let mut fragment = Object::with_capacity(3);
    fragment.push("roles", Value::Array(direct));
    fragment.push("inheritedRoles", Value::Array(all));
    fragment.push(
        "inheritedPrivileges",
        Value::Array(granted.privileges.shown()),
    );
    let mut reply = Object::with_capacity(1);
    reply.push("userFragment", Value::Object(fragment));
    Ok(Answer::Plain(reply))
}
