//! Commits a transaction: all of it or nothing.

use std::sync::Arc;

use lapsedb_store::{Note, StoreError, View};
use lapsedb_value::Value;

use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::look::find_collection;
use crate::documents::{Namespace, Writing};
use crate::sessions::begin::{no_such, too_old};
use crate::sessions::retry::commit_note;
use crate::sessions::{Asked, Overlay, State, Transaction, write_conflict};

/// Commits the session's transaction. Committing it again succeeds again, also after a restart.
///
/// # Errors
/// When it is not there or was given up, or another has changed what it relied on.
pub async fn commit(ctx: &Ctx, asked: &Asked) -> Result<()> {
    let (Some(id), Some(number)) = (&asked.session, asked.number) else {
        return Err(Fault::new(
            code::INVALID_OPTIONS,
            "commitTransaction must be run within a transaction",
        ));
    };
    let state = ctx.service().documents_state();
    let mut session = state.sessions.session(id)?.lock_owned().await;
    session.end_if_idle();
    if number < session.number {
        return Err(too_old(number, session.number));
    }
    let note = ctx.view().await?.note(id).await?;
    let committed_before = note.as_ref().is_some_and(|note| {
        note.body.get("number").and_then(Value::as_i64) == Some(number)
            && note.body.get("committed").and_then(Value::as_bool) == Some(true)
    });
    if committed_before {
        return Ok(());
    }
    let current = session.number == number;
    let Some(transaction) = session.transaction.as_mut().filter(|_| current) else {
        return Err(no_such(format!(
            "Given transaction number {number} does not match any in-progress transactions."
        )));
    };
    match transaction.state {
        State::Committed => return Ok(()),
        State::Aborted => {
            return Err(no_such(format!(
                "Transaction with {{ txnNumber: {number} }} has been aborted."
            )));
        }
        State::Active => {}
    }
    let note = Note {
        session: id.clone(),
        body: commit_note(number),
        was: note.map(|note| note.lsn),
    };
    let done = attempt(ctx, transaction, &note).await;
    state.sessions.release(id);
    match done {
        Ok(()) => {
            transaction.state = State::Committed;
            transaction.view = None;
            Ok(())
        }
        Err(fault) => {
            transaction.abort();
            Err(fault)
        }
    }
}

async fn attempt(ctx: &Ctx, transaction: &Transaction, note: &Note) -> Result<()> {
    let Some(view) = &transaction.view else {
        return Err(no_such("The transaction has ended."));
    };
    let overlays = transaction.overlays();
    let mut txns = Vec::with_capacity(overlays.len());
    for (namespace, overlay) in &overlays {
        let collection = find_collection(view, namespace).ok_or_else(write_conflict)?;
        let mut writing = Writing::new(view, &collection, namespace);
        writing.replay(overlay).await?;
        txns.push(writing.into_txn());
    }
    if txns.is_empty() {
        return Ok(());
    }
    match ctx
        .service()
        .store()
        .commit_together(txns, Some(note))
        .await
    {
        Ok(done) => {
            ctx.service().documents_state().seen(done.lsn);
            look_for_dates(ctx, view, &overlays);
            Ok(())
        }
        Err(StoreError::Retry) => Err(write_conflict()),
        Err(error) => Err(error.into()),
    }
}

/// Tells of TTL indexes that find no date in what was written.
fn look_for_dates(ctx: &Ctx, view: &View, overlays: &[(Namespace, Arc<Overlay>)]) {
    let dateless = &ctx.service().documents_state().dateless;
    for (namespace, overlay) in overlays {
        let Some(collection) = find_collection(view, namespace) else {
            continue;
        };
        for change in overlay.changes() {
            if let Some(document) = &change.document {
                dateless.look(&collection, namespace, document);
            }
        }
    }
}

/// Whether a record has changed since a view was taken.
pub(crate) async fn changed_since(
    ctx: &Ctx,
    view: &View,
    collection: &lapsedb_store::Collection,
    keys: &[lapsedb_store::ItemKey],
) -> Result<bool> {
    let fresh = ctx.view().await?;
    for key in keys {
        let before = view.get(collection, key).await?;
        let now = fresh.get(collection, key).await?;
        let lsn =
            |item: &Option<lapsedb_store::LiveItem>| item.as_ref().map(|item| item.header().lsn);
        if lsn(&before) != lsn(&now) {
            return Ok(true);
        }
    }
    Ok(false)
}
