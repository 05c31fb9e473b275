//! Lists the databases.

use lapsedb_service::documents::{self, Fault};
use lapsedb_service::logins::action::Action;
use lapsedb_service::logins::privilege::Target;
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    let name_only = fields.truth("nameOnly", false)?;
    let filter = fields.document("filter")?;
    let only_own = fields.truth("authorizedDatabases", true)?;
    fields.end()?;
    if call.database != "admin" {
        return Err(Fault::new(
            codes::UNAUTHORIZED,
            "listDatabases may only be run against the admin database.",
        ));
    }
    let access = call.enforced();
    let sees_all = access.is_none_or(|own| own.allow(Action::ListDatabases, &Target::Cluster));
    if !(sees_all || only_own) {
        return Err(Fault::new(
            codes::UNAUTHORIZED,
            "Insufficient permissions to list all databases",
        ));
    }
    let access = access.filter(|_| !sees_all).cloned();
    let mut total = 0;
    let mut shown = Vec::new();
    // Without sizes nothing is counted, unless the filter asks for them.
    let counted = !(name_only && filter.keys().all(|name| name == "name"));
    for database in documents::list_databases(&mut call.work(), counted).await? {
        let bytes = database.bytes.unwrap_or(0);
        if access
            .as_ref()
            .is_some_and(|own| !own.know_database(&database.name))
        {
            continue;
        }
        let mut one = Object::with_capacity(3);
        one.push("name", database.name);
        one.push("sizeOnDisk", Value::Int64(size(bytes)));
        one.push("empty", false);
        if !documents::matches(&filter, &one)? {
            continue;
        }
        total += bytes;
        if name_only {
            one.retain(|name, _| name == "name");
        }
        shown.push(Value::Object(one));
    }
    let mut reply = Object::with_capacity(3);
    reply.push("databases", Value::Array(shown));
    if !name_only {
        reply.push("totalSize", Value::Int64(size(total)));
        reply.push("totalSizeMb", Value::Int64(size(total / (1024 * 1024))));
    }
    Ok(Answer::Plain(reply))
}

fn size(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
