//! Fetches the next batch of a cursor.

use crate::cursors::{Batch, Room};
use crate::documents::fault::{Fault, Result, code};
use crate::documents::{Look, Namespace, Work};

/// Code of a cursor that another request is fetching from right now.
const CURSOR_IN_USE: i32 = 12_051;

/// What to fetch.
#[derive(Clone, Debug)]
pub struct GetMore {
    /// The cursor.
    pub cursor: i64,
    /// How many documents at most.
    pub batch_size: Option<usize>,
}

/// The next batch, in a view of its own time.
///
/// # Errors
/// When the cursor is not there, or another collection's, or in use, or the engine fails.
pub async fn get_more(work: &mut Work, namespace: &Namespace, more: &GetMore) -> Result<Batch> {
    let cursors = &work.ctx.service().documents_state().cursors;
    let found = cursors.find(more.cursor)?;
    let Ok(mut cursor) = found.try_lock() else {
        return Err(Fault::new(
            CURSOR_IN_USE,
            format!("cursor id {} is already in use", more.cursor),
        ));
    };
    if !work.ctx.shares_with(cursor.owner.as_deref()) {
        return Err(Fault::new(
            code::UNAUTHORIZED,
            format!(
                "cursor id {} was not created by the authenticated user",
                more.cursor
            ),
        ));
    }
    if cursor.namespace != *namespace {
        return Err(Fault::new(
            code::UNAUTHORIZED,
            format!(
                "Requested getMore on namespace '{namespace}', but cursor belongs to a different namespace {}",
                cursor.namespace
            ),
        ));
    }
    if work.limit().is_some() && !cursor.feed.waits() && !work.in_transaction() {
        return Err(Fault::new(
            code::BAD_VALUE,
            "cannot set maxTimeMS on getMore command for a non-awaitData cursor",
        ));
    }
    let look = Look::fresh(work, namespace).await?;
    let mut room = Room::new(more.batch_size);
    let ended = match cursor.feed.next(work, &look, &mut room).await {
        Ok(ended) => ended,
        Err(fault) => {
            cursors.remove(more.cursor);
            return Err(fault);
        }
    };
    if ended {
        cursors.remove(more.cursor);
    }
    Ok(Batch {
        cursor: if ended { 0 } else { more.cursor },
        namespace: namespace.clone(),
        documents: room.into_documents(),
        resume_token: cursor.feed.resume_token(),
    })
}
