//! From a path to the verb: by position, never by searching for a keyword, since a database may be called `colls`.

pub mod account;
pub mod changes;
pub mod client_encryption_keys;
pub mod collections;
pub mod conflicts;
pub mod databases;
pub mod feed;
pub mod items;
pub mod offers;
pub mod permissions;
pub mod ranges;
pub mod resource;
pub mod scripts;
pub mod users;
mod versions;

use lapsedb_service::scripts::ScriptKind;
use lapsedb_service::{Error, Kind, Result};

use crate::answer::Answer;
use crate::call::Call;

/// Answers a request.
///
/// # Errors
/// As the verb says.
pub async fn run(call: &Call<'_>) -> Result<Answer> {
    let segments: Vec<&str> = call.segments.iter().map(AsRef::as_ref).collect();
    match segments.as_slice() {
        ["dbs", db, "colls", coll, "docs", id] => items::one(call, db, coll, id).await,
        // All others lie on the heap: a request's state is as large as its largest branch, and reads should not carry it.
        _ => Box::pin(run_other(call, &segments)).await,
    }
}

async fn run_other(call: &Call<'_>, segments: &[&str]) -> Result<Answer> {
    match segments {
        [] => account::read(call),
        ["dbs"] => databases::feed(call).await,
        ["dbs", db] => databases::one(call, db).await,
        ["dbs", db, "colls"] => collections::feed(call, db).await,
        ["dbs", db, "colls", coll] => collections::one(call, db, coll).await,
        ["dbs", db, "colls", coll, "docs"] => items::feed(call, db, coll).await,
        ["dbs", db, "colls", coll, "pkranges"] => ranges::feed(call, db, coll).await,
        ["dbs", db, "colls", coll, "conflicts"] => conflicts::feed(call, db, coll).await,
        ["dbs", db, "colls", coll, "conflicts", _] => conflicts::one(call, db, coll).await,
        ["dbs", db, "colls", coll, "operations", "partitionkeydelete"] => {
            items::delete_partition(call, db, coll).await
        }
        [
            "dbs",
            db,
            "colls",
            coll,
            kind @ ("sprocs" | "triggers" | "udfs"),
        ] => scripts::feed(call, db, coll, script_kind(kind)).await,
        [
            "dbs",
            db,
            "colls",
            coll,
            kind @ ("sprocs" | "triggers" | "udfs"),
            id,
        ] => scripts::one(call, db, coll, script_kind(kind), id).await,
        ["dbs", db, "clientencryptionkeys"] => client_encryption_keys::feed(call, db).await,
        ["dbs", db, "clientencryptionkeys", key] => {
            client_encryption_keys::one(call, db, key).await
        }
        ["dbs", db, "users"] => users::feed(call, db).await,
        ["dbs", db, "users", user] => users::one(call, db, user).await,
        ["dbs", db, "users", user, "permissions"] => permissions::feed(call, db, user).await,
        ["dbs", db, "users", user, "permissions", id] => permissions::one(call, db, user, id).await,
        ["offers"] => offers::feed(call).await,
        ["offers", rid] => offers::one(call, rid).await,
        _ => Err(Error::new(
            Kind::NotFound,
            format!("There is nothing at the address '/{}'.", segments.join("/")),
        )),
    }
}

fn script_kind(segment: &str) -> ScriptKind {
    match segment {
        "sprocs" => ScriptKind::StoredProcedure,
        "triggers" => ScriptKind::Trigger,
        _ => ScriptKind::UserDefinedFunction,
    }
}

/// The answer to a method that an address does not have.
#[must_use]
pub fn method_not_allowed(call: &Call<'_>) -> Error {
    Error::new(
        Kind::MethodNotAllowed,
        format!(
            "The method {} is not allowed at '/{}'.",
            call.method,
            call.segments.join("/")
        ),
    )
}
