//! Shows users.

use lapsedb_service::documents::{self, Fault};
use lapsedb_service::logins::{self, Granted, RoleName, User};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::commands::create_user::shown_id;
use crate::commands::user_fields::member;
use crate::fields::Fields;

/// Which users are asked for.
enum Which {
    /// All of this database.
    Here,
    /// All there are.
    Everywhere,
    /// Those of these databases and names.
    Named(Vec<(String, String)>),
}

/// What is shown of them.
struct Shown {
    credentials: bool,
    custom_data: bool,
    privileges: bool,
    restrictions: bool,
}

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let which = which(fields.own(call), &call.database)?;
    let shown = Shown {
        credentials: fields.truth("showCredentials", false)?,
        custom_data: fields.truth("showCustomData", true)?,
        privileges: fields.truth("showPrivileges", false)?,
        restrictions: fields.truth("showAuthenticationRestrictions", false)?,
    };
    let filter = fields.document_if("filter")?;
    fields.end()?;
    let exact = matches!(which, Which::Named(_)) && filter.is_none();
    if (shown.privileges || shown.restrictions) && !exact {
        return Err(Fault::new(
            codes::ILLEGAL_OPERATION,
            "Privilege or restriction details require exact-match usersInfo queries",
        ));
    }
    let mut users = Vec::new();
    for user in find(call, which).await? {
        let granted = match shown.privileges || shown.restrictions {
            true => Some(logins::granted(&call.ctx(), &user.roles).await?),
            false => None,
        };
        let one = describe(&user, &shown, granted.as_ref());
        if documents::matches(filter.as_ref().unwrap_or(&Object::new()), &one)? {
            users.push(Value::Object(one));
        }
    }
    let mut reply = Object::with_capacity(1);
    reply.push("users", Value::Array(users));
    Ok(Answer::Plain(reply))
}

fn which(asked: Value, database: &str) -> Result<Which, Fault> {
    let refuse = |text: &str| Err(Fault::new(codes::BAD_VALUE, text));
    match &asked {
        Value::Array(several) if several.is_empty() => {
            refuse("$and/$or/$nor must be a nonempty array")
        }
        Value::Array(several) => {
            let names = several.iter().map(|one| named(one, database));
            Ok(Which::Named(names.collect::<Result<_, _>>()?))
        }
        Value::Object(all) if matches!(all.get("forAllDBs"), Some(Value::Bool(true))) => {
            Ok(Which::Everywhere)
        }
        Value::Object(_) | Value::String(_) => Ok(Which::Named(vec![named(&asked, database)?])),
        number if number.as_f64() == Some(1.0) => Ok(Which::Here),
        _ => refuse("usersInfo takes 1, a user, a list of users or {forAllDBs: true}"),
    }
}

fn named(value: &Value, database: &str) -> Result<(String, String), Fault> {
    let refuse = |text: String| Err(Fault::new(codes::BAD_VALUE, text));
    match value {
        Value::String(name) => Ok((database.to_owned(), name.to_string())),
        Value::Object(full) => {
            let unknown = full.keys().find(|key| *key != "user" && *key != "db");
            if let Some(unknown) = unknown {
                return refuse(format!(
                    "UserName contains an unknown field named: '{unknown}'"
                ));
            }
            let name = member(full, "UserName", "user")?;
            Ok((member(full, "UserName", "db")?.to_owned(), name.to_owned()))
        }
        _ => refuse("UserName must be either a string or an object".to_owned()),
    }
}

async fn find(call: &Call<'_>, which: Which) -> Result<Vec<User>, Fault> {
    let ctx = call.ctx();
    match which {
        Which::Here => logins::list(&ctx, Some(&call.database)).await,
        Which::Everywhere => logins::list(&ctx, None).await,
        Which::Named(names) => {
            let mut users: Vec<User> = Vec::new();
            for (database, name) in names {
                let known = |user: &User| user.database == database && user.name == name;
                if !users.iter().any(known) {
                    users.extend(logins::find(&ctx, &database, &name).await?);
                }
            }
            Ok(users)
        }
    }
}

fn describe(user: &User, shown: &Shown, granted: Option<&Granted>) -> Object {
    let roles: Vec<Value> = user.roles.iter().map(RoleName::shown).collect();
    let mut one = Object::with_capacity(12);
    one.push("_id", user.address());
    one.push("userId", shown_id(user));
    one.push("user", user.name.as_str());
    one.push("db", user.database.as_str());
    if shown.credentials {
        one.push("credentials", Value::Object(user.credentials.clone()));
    }
    one.push("roles", Value::Array(roles));
    if let (Some(data), true) = (&user.custom_data, shown.custom_data) {
        one.push("customData", Value::Object(data.clone()));
    }
    let mechanisms = user
        .credentials
        .keys()
        .map(|name| Value::from(name.as_str()));
    one.push("mechanisms", Value::Array(mechanisms.collect()));
    if shown.restrictions {
        one.push("authenticationRestrictions", Value::Array(Vec::new()));
    }
    if let Some(granted) = granted {
        let all = granted.roles.iter().map(RoleName::shown).collect();
        one.push("inheritedRoles", Value::Array(all));
        one.push(
            "inheritedPrivileges",
            Value::Array(granted.privileges.shown()),
        );
        one.push(
            "inheritedAuthenticationRestrictions",
            Value::Array(Vec::new()),
        );
    }
    one
}
