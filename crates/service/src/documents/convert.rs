//! Makes a collection one that holds only so much.

use lapsedb_store::{StoreError, Txn};
use lapsedb_value::{Object, Value};

use crate::attempts::Attempts;
use crate::documents::create::size_of;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::indexes::{WhichIndexes, drop_indexes};
use crate::documents::kept::{cap_of, options_of};
use crate::documents::look::find_collection;
use crate::documents::members::Members;
use crate::documents::modify::rewritten;
use crate::documents::namespace::Namespace;
use crate::documents::views;
use crate::documents::work::Work;
use crate::documents::writable::Writable;
use crate::documents::writing::Tries;

/// Documents removed in one commit.
const CHUNK_DOCUMENTS: usize = 500;

/// Caps a collection: it loses its indexes, and the oldest documents that do not fit. The others stay as they are.
///
/// # Errors
/// When the collection is not there, the size is wrong, or who asks may not.
pub async fn convert_to_capped(
    work: &mut Work,
    namespace: &Namespace,
    members: &Object,
) -> Result<()> {
    work.ctx.who.may_administer()?;
    let members = Members {
        context: "convertToCapped",
        of: members,
    };
    let Some(size) = size_of(&members, "size")? else {
        return Err(members.missing("size"));
    };
    let view = work.ctx.view().await?;
    views::refuse(&view, namespace)?;
    if find_collection(&view, namespace).is_none() {
        return Err(gone(namespace));
    }
    Writable::for_conversion(namespace)?;
    drop(view);
    drop_indexes(work, namespace, &WhichIndexes::All).await?;
    cap(work, namespace, size).await?;
    trim(work, namespace).await
}

async fn cap(work: &Work, namespace: &Namespace, size: Value) -> Result<()> {
    let mut attempts = Attempts::default();
    loop {
        let view = work.ctx.view().await?;
        let collection = find_collection(&view, namespace).ok_or_else(|| gone(namespace))?;
        let mut options = options_of(&collection).cloned().unwrap_or_default();
        options.insert("capped", true);
        options.insert("size", size.clone());
        options.remove("max");
        let change = rewritten(&collection, options);
        if attempts.commit(&work.ctx, &view, change).await?.is_some() {
            return Ok(());
        }
    }
}

/// Removes what is too much, the oldest first.
async fn trim(work: &Work, namespace: &Namespace) -> Result<()> {
    let mut tries = Tries::default();
    loop {
        work.in_time().await?;
        let view = work.ctx.view().await?;
        let collection = find_collection(&view, namespace).ok_or_else(|| gone(namespace))?;
        let Some(cap) = cap_of(&collection) else {
            return Ok(());
        };
        let mut txn = Txn::new(&view, &collection);
        let more = txn.trim(cap, CHUNK_DOCUMENTS).await?;
        if txn.is_empty() {
            return Ok(());
        }
        match txn.commit(work.ctx.service().store()).await {
            Ok(_) if !more => return Ok(()),
            Ok(_) => {}
            Err(StoreError::Retry) => tries.again().await?,
            Err(error) => return Err(error.into()),
        }
    }
}

fn gone(namespace: &Namespace) -> Fault {
    Fault::new(
        code::NAMESPACE_NOT_FOUND,
        format!("source collection {namespace} does not exist"),
    )
}
