//! Users of a database, and their permissions.

mod create;
mod delete;
mod list;
pub mod permissions;
mod read;
mod replace;

use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::rid::{DatabaseRid, UserRid};
use lapsedb_store::{Database, MetaChange};
use lapsedb_value::{Object, Str, Value};

pub use create::create;
pub use delete::delete;
pub use list::list;
pub use read::read;
pub use replace::replace;

use crate::named::{InDatabase, Named, Shelf};
use crate::resource::push_system;

/// Bytes of a permission's key that name its database: the kind's letter and the number.
const DATABASE_PREFIX_BYTES: usize = 5;

/// Where a database's users lie.
pub(crate) fn shelf(database: &Database) -> Shelf {
    Shelf {
        kind: MetaKind::User,
        owner: u64::from(database.number),
    }
}

/// Removes all users of a database and all their permissions.
pub(crate) fn forget_all(change: &mut MetaChange, database: u32) {
    change.delete_prefix(keys::meta_owned(MetaKind::User, u64::from(database)));
    let mut prefix = permissions::shelf(database, 0).prefix();
    prefix.truncate(DATABASE_PREFIX_BYTES);
    change.delete_prefix(prefix);
}

/// A user's `_rid`.
fn rid(database: &Database, user: &Named) -> Str {
    UserRid {
        db: database.number,
        user: user.number,
    }
    .text()
}

/// A user as clients see it.
fn user_value(database: &Database, user: &Named) -> Value {
    let rid = rid(database, user);
    let own = format!("dbs/{}/users/{rid}/", DatabaseRid(database.number).text());
    let mut object = Object::new();
    object.push("id", Value::String(user.id.clone()));
    push_system(&mut object, rid, own, user.lsn, user.written);
    object.push("_permissions", Value::from("permissions/"));
    Value::Object(object)
}

/// Users as resources of their database.
const USERS: InDatabase = InDatabase {
    name: "User",
    shelf,
    number: |database, id| {
        UserRid::parse(id)
            .filter(|rid| rid.db == database.number)
            .map(|rid| rid.user)
    },
    value: user_value,
};
