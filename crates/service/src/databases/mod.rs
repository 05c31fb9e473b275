//! Databases: made, read, listed, deleted.

mod create;
mod delete;
mod list;
mod read;

use lapsedb_store::MetaChange;

pub use create::create;
pub use delete::delete;
pub use list::list;
pub use read::read;

use crate::{client_encryption_keys, users};

/// Removes what a database owns beside its collections, their offers and views: users, permissions, client encryption keys.
pub(crate) fn forget_children(change: &mut MetaChange, database: u32) {
    users::forget_all(change, database);
    client_encryption_keys::forget_all(change, database);
}
