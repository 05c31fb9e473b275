//! Inserts documents.

use std::sync::Arc;

use lapsedb_store::Collection;
use lapsedb_value::Object;
use lapsedb_value::budget::{Held, object_bytes};

use crate::documents::WRITES_MAX;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::incoming::Incoming;
use crate::documents::look::Look;
use crate::documents::namespace::Namespace;
use crate::documents::prepare::{prepare, stamped};
use crate::documents::work::Work;
use crate::documents::writable::Writable;
use crate::documents::writing::{Tries, WriteFault, Writing, Wrote};
use crate::error::Kind;

/// Documents of one commit: many share its fsync, few enough that a conflict costs little.
const CHUNK_DOCUMENTS: usize = 1000;
/// Bytes of documents as trees that are held for one commit, unless a single one takes more.
const CHUNK_BYTES: usize = 32 << 20;

/// What to insert.
#[derive(Clone, Debug)]
pub struct Insert {
    /// The documents.
    pub documents: Vec<Incoming>,
    /// Stop at the first that fails.
    pub ordered: bool,
}

/// Inserts documents, each by itself; those that fail are named.
///
/// # Errors
/// When there are none or too many, who asks may not, or the engine fails.
pub async fn insert(work: &mut Work, namespace: &Namespace, insert: Insert) -> Result<Wrote> {
    insert_into(work, Writable::for_documents(namespace)?, insert).await
}

/// Inserts documents into a collection that may be written to.
///
/// # Errors
/// As [`insert`].
pub(crate) async fn insert_into(
    work: &mut Work,
    target: Writable<'_>,
    insert: Insert,
) -> Result<Wrote> {
    work.ctx.who.may_write_at_all()?;
    if insert.documents.is_empty() || insert.documents.len() > WRITES_MAX {
        return Err(batch_size(insert.documents.len()));
    }
    let mut wrote = Wrote::default();
    let stamp = work.stamp_for_empty();
    let now = work.ctx.service().clock().now();
    let held = Held::new(work.received());
    let mut chunk = Vec::with_capacity(insert.documents.len().min(CHUNK_DOCUMENTS));
    let mut chunk_bytes = 0_usize;
    for (index, document) in insert.documents.into_iter().enumerate() {
        // What has been read already is counted by who has read it.
        let (bytes, bytes_held) = match &document {
            Incoming::Read(object) => (object_bytes(object), 0),
            Incoming::Raw(raw) => (raw.tree_bytes(), raw.tree_bytes()),
        };
        chunk_bytes = chunk_bytes.saturating_add(bytes);
        if chunk.len() >= CHUNK_DOCUMENTS || chunk_bytes > CHUNK_BYTES {
            let full = std::mem::take(&mut chunk);
            write_chunk(work, target, full, insert.ordered, &mut wrote).await?;
            held.clear();
            chunk_bytes = bytes;
            if insert.ordered && !wrote.faults.is_empty() {
                break;
            }
        }
        let prepared = held
            .add(bytes_held)
            .map_err(Fault::from)
            .and_then(|()| document.into_object())
            .and_then(|document| prepare(stamped(document, stamp), now));
        match prepared {
            Ok(document) => chunk.push((index, Arc::new(document))),
            Err(fault) if insert.ordered => {
                // Those before it are inserted, unless one of them fails first.
                let before = std::mem::take(&mut chunk);
                write_chunk(work, target, before, true, &mut wrote).await?;
                if wrote.faults.is_empty() {
                    wrote.faults.push(WriteFault { index, fault });
                }
                break;
            }
            Err(fault) => wrote.faults.push(WriteFault { index, fault }),
        }
    }
    write_chunk(work, target, chunk, insert.ordered, &mut wrote).await?;
    wrote.faults.sort_by_key(|fault| fault.index);
    Ok(wrote)
}

/// The answer to a command with too few or too many statements.
pub(crate) fn batch_size(count: usize) -> Fault {
    Fault::new(
        code::INVALID_LENGTH,
        format!("Write batch sizes must be between 1 and {WRITES_MAX}. Got {count} operations."),
    )
}

async fn write_chunk(
    work: &mut Work,
    target: Writable<'_>,
    chunk: Vec<(usize, Arc<Object>)>,
    ordered: bool,
    wrote: &mut Wrote,
) -> Result<()> {
    if chunk.is_empty() {
        return Ok(());
    }
    let mut tries = Tries::default();
    loop {
        let look = match Look::fresh(work, target.namespace()).await {
            Ok(look) => look,
            Err(Fault::Other(error)) if matches!(error.kind, Kind::Throttled { .. }) => {
                // What does not fit is named, each document if the others do not depend on it; earlier chunks stay applied.
                let named = if ordered { 1 } else { chunk.len() };
                for (index, _) in chunk.into_iter().take(named) {
                    let fault = error.clone().into();
                    wrote.faults.push(WriteFault { index, fault });
                }
                return Ok(());
            }
            Err(fault) if fault.code() == Some(code::COMMAND_NOT_SUPPORTED_ON_VIEW) => {
                for (index, _) in chunk {
                    let fault = fault.clone();
                    wrote.faults.push(WriteFault { index, fault });
                    if ordered {
                        break;
                    }
                }
                return Ok(());
            }
            Err(fault) => return Err(fault),
        };
        let Some(collection) = look.collection.clone() else {
            drop(look);
            work.make(target).await?;
            continue;
        };
        let done = attempt(work, &look, &collection, (target, &chunk, ordered)).await;
        let done = match done {
            Ok(Some(done)) => done,
            Ok(None) => {
                drop(look);
                work.in_time().await?;
                tries.again().await?;
                continue;
            }
            Err(fault) if fault.is_again() => {
                drop(look);
                work.in_time().await?;
                tries.again().await?;
                continue;
            }
            Err(fault) => return Err(fault),
        };
        wrote.n += done.n;
        wrote.faults.extend(done.faults);
        wrote.retried.extend(done.retried);
        return Ok(());
    }
}

/// One attempt; nothing if the store has changed under it.
async fn attempt(
    work: &Work,
    look: &Look<'_>,
    collection: &Arc<Collection>,
    (target, chunk, ordered): (Writable<'_>, &[(usize, Arc<Object>)], bool),
) -> Result<Option<Wrote>> {
    let mut writing = Writing::on(look, collection, target).await?;
    let retry = work.retry_in(&look.view).await?;
    let mut wrote = Wrote::default();
    let mut executed = Vec::new();
    for (index, document) in chunk {
        if let Some(retry) = &retry {
            let statement = retry.statement(*index);
            if retry.is_executed(statement) {
                wrote.n += 1;
                wrote.retried.push(statement);
                continue;
            }
            executed.push((statement, Object::new()));
        }
        match writing.insert(Arc::clone(document)).await {
            Ok(()) => wrote.n += 1,
            Err(fault @ Fault::Said { .. }) => {
                executed.pop();
                let index = *index;
                wrote.faults.push(WriteFault { index, fault });
                if ordered {
                    break;
                }
            }
            Err(fault @ Fault::Other(_)) => return Err(fault),
        }
    }
    let charge = writing.charge();
    if writing.commit(work, retry.as_ref(), &executed).await? {
        look.spend(&work.ctx, charge);
        return Ok(Some(wrote));
    }
    Ok(None)
}
