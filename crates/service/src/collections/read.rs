//! Reads a collection.

use lapsedb_store::Usage;

use crate::ctx::{Ctx, find_collection, find_database};
use crate::error::{Error, Result};
use crate::reply::{Conditions, Owner, Reply};
use crate::resource;
use crate::scripts::{self, ScriptKind};

/// A collection, and how much it holds if that was asked.
pub struct CollectionRead {
    /// The collection.
    pub reply: Reply,
    /// What it holds.
    pub usage: Option<CollectionUsage>,
    /// How far its index has been built for a changed policy: 100 when it is whole.
    pub index_progress: u8,
}

/// How much a collection holds at the instant of the request.
#[derive(Clone, Copy, Debug)]
pub struct CollectionUsage {
    /// Its items.
    pub items: Usage,
    /// Its stored procedures.
    pub stored_procedures: usize,
    /// Its triggers.
    pub triggers: usize,
    /// Its user-defined functions.
    pub functions: usize,
}

/// The collection of a name or rid.
///
/// # Errors
/// When it is not there, or who asks may not read it.
pub async fn read(
    ctx: &Ctx,
    (db, coll): (&str, &str),
    conditions: &Conditions,
    with_usage: bool,
) -> Result<CollectionRead> {
    let view = ctx.view().await?;
    let database = find_database(&view, db).ok_or_else(Error::owner_not_found)?;
    let collection = find_collection(&view, &database, coll).ok_or_else(Error::not_found)?;
    ctx.who.may_read_collection(&collection)?;
    let usage = if with_usage {
        Some(CollectionUsage {
            items: view.usage(&collection).await?,
            stored_procedures: scripts::count(&view, &collection, ScriptKind::StoredProcedure)
                .await?,
            triggers: scripts::count(&view, &collection, ScriptKind::Trigger).await?,
            functions: scripts::count(&view, &collection, ScriptKind::UserDefinedFunction).await?,
        })
    } else {
        None
    };
    let value = resource::collection_value(&collection);
    let owner = Owner::database(&database);
    Ok(CollectionRead {
        reply: Reply::read(&view, conditions, owner, collection.lsn, value),
        usage,
        index_progress: view.index_progress(&collection).await?,
    })
}
