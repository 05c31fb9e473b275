//! Members that the commands on defined roles share.

use lapsedb_service::documents::Fault;
use lapsedb_service::logins::RoleName;
use lapsedb_service::logins::privilege::Privileges;
use lapsedb_value::Value;

use crate::call::Call;
use crate::codes;
use crate::commands::user_fields;
use crate::fields::Fields;

/// The role that a command names by its own name.
pub(crate) fn name(fields: &mut Fields, call: &Call<'_>) -> Result<RoleName, Fault> {
    let name = user_fields::name(fields, call)?;
    Ok(RoleName::new(&name, &call.database))
}

/// Privileges, if there are any.
pub(crate) fn privileges_if(fields: &mut Fields) -> Result<Option<Privileges>, Fault> {
    let Some(list) = fields.list("privileges")? else {
        return Ok(None);
    };
    let other = list.iter().position(|one| !matches!(one, Value::Object(_)));
    if let Some((at, other)) = other.and_then(|at| Some((at, list.get(at)?))) {
        return Err(fields.wrong(&format!("privileges.{at}"), other, "object"));
    }
    Privileges::read(&list).map(Some)
}

/// Privileges, which must be there.
pub(crate) fn privileges(fields: &mut Fields) -> Result<Privileges, Fault> {
    match privileges_if(fields)? {
        Some(privileges) => Ok(privileges),
        None => Err(fields.missing("privileges")),
    }
}

/// Roles, which must be there.
pub(crate) fn roles(fields: &mut Fields, call: &Call<'_>) -> Result<Vec<RoleName>, Fault> {
    match fields.any("roles") {
        Some(roles) => user_fields::roles(fields, roles, &call.database),
        None => Err(fields.missing("roles")),
    }
}

/// A role and privileges, of which there is at least one.
pub(crate) fn some_privileges(call: &mut Call<'_>) -> Result<(RoleName, Privileges), Fault> {
    let mut fields = Fields::of(call);
    let name = name(&mut fields, call)?;
    let privileges = privileges(&mut fields)?;
    fields.end()?;
    match privileges.is_empty() {
        true => Err(empty(call, "privileges")),
        false => Ok((name, privileges)),
    }
}

/// A name and roles, of which there is at least one.
pub(crate) fn some_roles(call: &mut Call<'_>) -> Result<(RoleName, Vec<RoleName>), Fault> {
    let mut fields = Fields::of(call);
    let name = name(&mut fields, call)?;
    let roles = roles(&mut fields, call)?;
    fields.end()?;
    match roles.is_empty() {
        true => Err(empty(call, "roles")),
        false => Ok((name, roles)),
    }
}

fn empty(call: &Call<'_>, member: &str) -> Fault {
    let message = format!(
        "{} command requires a non-empty \"{member}\" array",
        call.name
    );
    Fault::new(codes::BAD_VALUE, message)
}

/// Refuses databases that have no roles of their own.
pub(crate) fn check_database(database: &str) -> Result<(), Fault> {
    let text = match database {
        "local" => "Cannot create roles in the local database",
        "$external" => "Cannot create roles in the $external database",
        _ => return Ok(()),
    };
    Err(Fault::new(codes::BAD_VALUE, text))
}
