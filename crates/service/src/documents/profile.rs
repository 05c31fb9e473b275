//! The collection that the database profiler records commands in. Clients may read it, make it and drop it, but not write to it.

use lapsedb_value::{Object, Value};

use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::insert::{Insert, insert_into};
use crate::documents::kept::cap_of;
use crate::documents::look::find_collection;
use crate::documents::make::make;
use crate::documents::work::Work;
use crate::documents::writable::{ProfileRecords, Writable};

/// Bytes of a database's records at most, as in MongoDB.
const COLLECTION_BYTES: i64 = 1024 * 1024;

/// Makes the collection that a database's commands are recorded in, if it is not there.
///
/// # Errors
/// When one is there that is not capped, so that it would grow without end, or the engine fails.
pub async fn make_profile(ctx: &Ctx, database: &str) -> Result<()> {
    let records = ProfileRecords::of(database)?;
    let target = Writable::for_profiler(&records);
    let mut options = Object::with_capacity(2);
    options.push("capped", true);
    options.push("size", Value::Int64(COLLECTION_BYTES));
    make(ctx, target, &options).await?;
    let view = ctx.view().await?;
    match find_collection(&view, &target) {
        Some(there) if cap_of(&there).is_none() => Err(Fault::new(
            code::NAMESPACE_EXISTS,
            format!("{} exists but isn't capped", *target),
        )),
        Some(_) | None => Ok(()),
    }
}

/// Writes records of a database's commands.
///
/// # Errors
/// As [`make_profile`].
pub async fn record_profile(work: &mut Work, database: &str, records: Vec<Object>) -> Result<()> {
    make_profile(&work.ctx, database).await?;
    let target = ProfileRecords::of(database)?;
    let insert = Insert {
        documents: records.into_iter().map(Into::into).collect(),
        ordered: false,
    };
    insert_into(work, Writable::for_profiler(&target), insert).await?;
    Ok(())
}

/// Whether a database has such a collection.
///
/// # Errors
/// When the engine fails.
pub async fn has_profile(ctx: &Ctx, database: &str) -> Result<bool> {
    let records = ProfileRecords::of(database)?;
    let view = ctx.view().await?;
    Ok(find_collection(&view, &Writable::for_profiler(&records)).is_some())
}
