//! Commits a transaction: all of it or nothing.

use std::sync::Arc;

use lapsedb_store::{Note, StoreError, View};

use crate::changes::note::Origin;
use crate::ctx::Ctx;
use crate::documents::fault::Result;
use crate::documents::look::find_collection;
use crate::documents::make::{Planned, plan_made};
use crate::documents::writing::Tries;
use crate::documents::{Namespace, Writing};
use crate::sessions::begin::{aborted, no_such, not_in_progress, to_end, unknown};
use crate::sessions::retry::commit_note;
use crate::sessions::{Asked, Overlay, State, Transaction, write_conflict};

/// Commits the session's transaction. Committing it again succeeds again, also after a restart.
///
/// # Errors
/// When it is not there or was given up, or another has changed what it relied on.
pub async fn commit(ctx: &Ctx, asked: &Asked) -> Result<()> {
    let (id, number, mut session) = to_end(ctx, asked, "commitTransaction").await?;
    let newest = session.number;
    let Some(transaction) = session.transaction.as_mut().filter(|_| newest == number) else {
        return Err(not_in_progress(number, newest));
    };
    match transaction.state {
        State::Committed => return Ok(()),
        State::Aborted => return Err(aborted(number)),
        State::Unknown => return Err(unknown(number)),
        State::Active => {}
    }
    let session_key = id.bytes();
    let was = ctx.view().await?.note(&session_key).await?;
    let note = Note {
        session: session_key,
        body: commit_note(number),
        parts: Vec::new(),
        was: was.map(|note| note.lsn),
    };
    let origin = Origin {
        session: id.clone(),
        number,
    };
    let done = attempt(ctx, transaction, &note, &origin).await;
    transaction.end(match &done {
        Ok(()) => State::Committed,
        Err(fault) if fault.is_unknown() => State::Unknown,
        Err(_) => State::Aborted,
    });
    match done {
        Err(fault) if fault.is_unknown() => Err(unknown(number)),
        done => done,
    }
}

async fn attempt(
    ctx: &Ctx,
    transaction: &mut Transaction,
    note: &Note,
    origin: &Origin,
) -> Result<()> {
    let overlays = transaction.overlays();
    let made = transaction.all_made();
    let Some(view) = &mut transaction.view else {
        return Err(no_such("The transaction has ended."));
    };
    if overlays.is_empty() && made.is_empty() {
        return Ok(());
    }
    let mut tries = Tries::default();
    loop {
        let fresh = ctx.view().await?;
        // What is changed is judged by the time of the commit, not by that of the last statement.
        view.set_now(fresh.now());
        let planned = match made.as_slice() {
            [] => None,
            made => Some(plan_made(ctx, &fresh, made)?),
        };
        let mut txns = Vec::with_capacity(overlays.len());
        for (namespace, overlay) in &overlays {
            let collection = collection_of(view, planned.as_ref(), namespace);
            let collection = collection.ok_or_else(write_conflict)?;
            let mut writing = Writing::new(view, &collection, namespace);
            if collection.history.kept {
                writing.retell(overlay, origin).await?;
            } else {
                writing.replay(overlay).await?;
            }
            txns.push(writing.into_txn());
        }
        let catalog = planned.map(|planned| (&fresh, planned.change));
        let makes = catalog.is_some();
        let store = ctx.service().store();
        match store.commit_together(txns, Some(note), catalog).await {
            Ok(done) => {
                ctx.service().documents_state().seen(done.lsn);
                look_for_dates(ctx, view, &overlays);
                return Ok(());
            }
            // Somebody else has changed the catalog; what this transaction makes may still be free.
            Err(StoreError::Retry)
                if makes && ctx.view().await?.catalog().epoch != fresh.catalog().epoch =>
            {
                tries.again().await?;
            }
            Err(StoreError::Retry) => return Err(write_conflict()),
            Err(error) => return Err(error.into()),
        }
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

fn collection_of(
    view: &View,
    planned: Option<&Planned>,
    namespace: &Namespace,
) -> Option<std::sync::Arc<lapsedb_store::Collection>> {
    planned
        .and_then(|planned| planned.collections.get(namespace).cloned())
        .or_else(|| find_collection(view, namespace))
}
