//! Gives a transaction up.

use crate::ctx::Ctx;
use crate::documents::fault::Result;
use crate::sessions::begin::{aborted, committed, not_in_progress, to_end, unknown};
use crate::sessions::{Asked, State};

/// Gives the session's transaction up: nothing of it remains.
///
/// # Errors
/// When it is not there, was given up already, or is committed.
pub async fn abort(ctx: &Ctx, asked: &Asked) -> Result<()> {
    let (_, number, mut session) = to_end(ctx, asked, "abortTransaction").await?;
    let newest = session.number;
    let Some(transaction) = session.transaction.as_mut().filter(|_| newest == number) else {
        return Err(not_in_progress(number, newest));
    };
    match transaction.state {
        State::Committed => Err(committed(number)),
        State::Aborted => Err(aborted(number)),
        State::Unknown => Err(unknown(number)),
        State::Active => {
            transaction.abort();
            Ok(())
        }
    }
}

/// A command of a transaction has failed before it came to its session: the transaction ends, if it is under way.
pub async fn give_up(ctx: &Ctx, asked: &Asked) {
    let (Some(id), Some(number), true) = (&asked.session, asked.number, asked.in_transaction)
    else {
        return;
    };
    let now = ctx.service().clock().now();
    let sessions = &ctx.service().documents_state().sessions;
    let Ok(session) = sessions.session(id, now) else {
        return;
    };
    let mut session = session.lock_owned().await;
    let own = session.number == number;
    if let Some(transaction) = session.transaction.as_mut().filter(|_| own)
        && transaction.state == State::Active
    {
        transaction.abort();
    }
}

/// A command that was to end a transaction has broken off, and nobody knows whether the transaction was committed. The store
/// does: it is asked by who comes next, as after a restart.
pub async fn lose_track(ctx: &Ctx, asked: &Asked) {
    let (Some(id), Some(number)) = (&asked.session, asked.number) else {
        return;
    };
    let now = ctx.service().clock().now();
    let sessions = &ctx.service().documents_state().sessions;
    let Ok(session) = sessions.session(id, now) else {
        return;
    };
    let mut session = session.lock_owned().await;
    if session.number == number {
        session.transaction = None;
        session.recalled = false;
    }
}
