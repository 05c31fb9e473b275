//! Permissions of a user: each lets the holder of its token at one resource.

mod create;
mod delete;
mod list;
mod read;
mod replace;
mod target;

use std::sync::Arc;

use lapsedb_record::Clock;
use lapsedb_store::keys::MetaKind;
use lapsedb_store::rid::{DatabaseRid, PermissionRid};
use lapsedb_store::{Database, View};
use lapsedb_value::{Object, Value};

pub use create::create;
pub use delete::delete;
pub use list::list;
pub use read::read;
pub use replace::replace;

use crate::access::Grant;
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::named::{Named, Shelf, owning_database};
use crate::reply::Owner;
use crate::resource::push_system;
use crate::token::{self, Permit};
use crate::users;

/// Properties of a permission that its user writes.
const SHOWN: [&str; 3] = ["permissionMode", "resource", "resourcePartitionKey"];

/// Where a user's permissions lie: under both numbers, so that a database's can be removed together.
pub(crate) fn shelf(database: u32, user: u32) -> Shelf {
    Shelf {
        kind: MetaKind::Permission,
        owner: u64::from(database) << 32 | u64::from(user),
    }
}

/// What the permission of a token grants now; nothing if it is not there any more.
pub(crate) async fn granted(view: &View, permit: &Permit) -> Result<Option<Grant>> {
    let shelf = shelf(permit.database, permit.user);
    let same = |named: &Named| named.number == permit.number;
    let by_name = shelf.find(view, &permit.id, None).await?.filter(same);
    let found = match by_name {
        Some(found) => Some(found),
        // It may have another name by now; and another one may have its name.
        None => shelf.all(view).await?.into_iter().find(same),
    };
    found.map(|named| target::grant_of(&named.body)).transpose()
}

/// The user whose permissions a request is about.
struct Holder {
    database: Arc<Database>,
    user: Named,
}

impl Holder {
    /// The user of an address.
    async fn find(view: &View, db: &str, user: &str) -> Result<Holder> {
        let database = owning_database(view, db)?;
        let user = users::USERS
            .find(view, &database, user)
            .await?
            .ok_or_else(Error::owner_not_found)?;
        Ok(Holder { database, user })
    }

    fn shelf(&self) -> Shelf {
        shelf(self.database.number, self.user.number)
    }

    fn owner(&self) -> Owner {
        Owner {
            path: format!("dbs/{}/users/{}", self.database.id, self.user.id),
            rid: users::rid(&self.database, &self.user),
        }
    }

    /// A permission of this user by name or rid.
    async fn permission(&self, view: &View, id: &str) -> Result<Named> {
        let number = PermissionRid::parse(id)
            .filter(|rid| rid.db == self.database.number && rid.user == self.user.number)
            .and_then(|rid| u32::try_from(rid.permission).ok());
        self.shelf()
            .find(view, id, number)
            .await?
            .ok_or_else(Error::not_found)
    }

    /// A permission as clients see it, with a fresh token.
    fn value(&self, ctx: &Ctx, permission: &Named, life_secs: u64) -> Value {
        let rid = PermissionRid {
            db: self.database.number,
            user: self.user.number,
            permission: u64::from(permission.number),
        }
        .text();
        let own = format!(
            "dbs/{}/users/{}/permissions/{rid}/",
            DatabaseRid(self.database.number).text(),
            users::rid(&self.database, &self.user),
        );
        let permit = Permit {
            database: self.database.number,
            user: self.user.number,
            number: permission.number,
            id: permission.id.clone(),
        };
        let expiry = Clock::wall_now().secs().0.saturating_add(life_secs);
        let token = token::issue(&ctx.service().config().master_key, &permit, expiry);
        let mut object = Object::new();
        object.push("id", Value::String(permission.id.clone()));
        for name in SHOWN {
            if let Some(value) = permission.body.get(name) {
                object.push(name, value.clone());
            }
        }
        push_system(&mut object, rid, own, permission.lsn, permission.written);
        object.push("_token", Value::from(token));
        Value::Object(object)
    }
}
