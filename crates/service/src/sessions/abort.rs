//! Gives a transaction up.

use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::{Work, drop_collection};
use crate::sessions::begin::{no_such, too_old};
use crate::sessions::{Asked, State};

/// Gives the session's transaction up: nothing of it remains.
///
/// # Errors
/// When it is not there, was given up already, or is committed.
pub async fn abort(ctx: &Ctx, asked: &Asked) -> Result<()> {
    let (Some(id), Some(number)) = (&asked.session, asked.number) else {
        return Err(Fault::new(
            code::INVALID_OPTIONS,
            "abortTransaction must be run within a transaction",
        ));
    };
    let state = ctx.service().documents_state();
    let mut session = state.sessions.session(id)?.lock_owned().await;
    session.end_if_idle();
    if number < session.number {
        return Err(too_old(number, session.number));
    }
    let current = session.number == number;
    let Some(transaction) = session.transaction.as_mut().filter(|_| current) else {
        return Err(no_such(format!(
            "Given transaction number {number} does not match any in-progress transactions."
        )));
    };
    match transaction.state {
        State::Committed => Err(Fault::new(
            code::TRANSACTION_COMMITTED,
            format!("Transaction with {{ txnNumber: {number} }} has been committed."),
        )),
        State::Aborted => Err(no_such(format!(
            "Transaction with {{ txnNumber: {number} }} has been aborted."
        ))),
        State::Active => {
            transaction.abort();
            let made = std::mem::take(&mut transaction.made);
            state.sessions.release(id);
            unmake(ctx, &made).await
        }
    }
}

/// Drops collections that a transaction has made, if nobody else has written to them since.
pub(crate) async fn unmake(ctx: &Ctx, made: &[crate::documents::Namespace]) -> Result<()> {
    for namespace in made {
        let mut work = Work::new(ctx.clone());
        let everything = crate::documents::Count::default();
        if crate::documents::count(&mut work, namespace, &everything).await? == 0 {
            drop_collection(&mut work, namespace).await?;
        }
    }
    Ok(())
}
