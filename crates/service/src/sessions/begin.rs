//! Puts a command into its session.

use crate::ctx::Ctx;
use crate::documents::Work;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::work::Place;
use crate::sessions::{Retry, Session, SessionId, State, Transaction};

/// What a command says of its session.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The session.
    pub session: Option<SessionId>,
    /// The number of its transaction or retryable write.
    pub number: Option<i64>,
    /// Begins a transaction.
    pub start: bool,
    /// Belongs to a transaction.
    pub in_transaction: bool,
    /// The number of its first statement.
    pub first_statement: i32,
    /// The numbers of all its statements.
    pub statements: Option<Vec<i32>>,
}

/// A command in its session: in a transaction, as a retryable write, or alone.
///
/// # Errors
/// When the transaction is not there, too old, committed, or begun already.
pub async fn begin(ctx: Ctx, asked: &Asked) -> Result<Work> {
    let (Some(id), Some(number)) = (&asked.session, asked.number) else {
        return Ok(Work::new(ctx));
    };
    let sessions = &ctx.service().documents_state().sessions;
    let mut session = sessions.session(id)?.lock_owned().await;
    session.end_if_idle();
    if number < session.number {
        return Err(too_old(number, session.number));
    }
    if !asked.in_transaction {
        if number > session.number {
            leave(&ctx, id, &mut session);
            session.number = number;
        }
        let retry = Retry::new(id.clone(), number, asked);
        let _held = session;
        return Ok(Work::new(ctx).placed(Place::Retryable { retry, _held }));
    }
    if asked.start {
        if number == session.number && session.transaction.is_some() {
            return Err(Fault::new(
                code::CONFLICTING_OPERATION_IN_PROGRESS,
                format!("Transaction {number} has already been started"),
            ));
        }
        leave(&ctx, id, &mut session);
        session.number = number;
        session.transaction = Some(Transaction::new(ctx.view().await?));
    }
    let now = ctx.service().clock().now();
    active(&mut session, number)?;
    if let Some(transaction) = &mut session.transaction {
        transaction.used = lapsedb_record::Clock::monotonic();
        if let Some(view) = &mut transaction.view {
            view.set_now(now);
        }
    }
    Ok(Work::new(ctx).placed(Place::Transaction(id.clone(), session)))
}

/// Refuses to go on in a transaction that is not under way.
fn active(session: &mut Session, number: i64) -> Result<()> {
    let state = match &session.transaction {
        Some(transaction) if number == session.number => transaction.state,
        Some(_) | None => {
            return Err(no_such(format!(
                "Given transaction number {number} does not match any in-progress transactions. The active transaction number is {}",
                session.number
            )));
        }
    };
    match state {
        State::Active => Ok(()),
        State::Aborted => Err(no_such(format!(
            "Transaction with {{ txnNumber: {number} }} has been aborted."
        ))),
        State::Committed => Err(Fault::new(
            code::TRANSACTION_COMMITTED,
            format!("Transaction with {{ txnNumber: {number} }} has been committed."),
        )),
    }
}

/// Gives up what a session was doing before something newer.
fn leave(ctx: &Ctx, id: &SessionId, session: &mut Session) {
    if let Some(mut old) = session.transaction.take() {
        old.abort();
        ctx.service().documents_state().sessions.release(id);
    }
}

pub(crate) fn no_such(message: impl Into<String>) -> Fault {
    Fault::new(code::NO_SUCH_TRANSACTION, message)
}

pub(crate) fn too_old(number: i64, newest: i64) -> Fault {
    Fault::new(
        code::TRANSACTION_TOO_OLD,
        format!(
            "Cannot start transaction with {{ txnNumber: {number} }} on session because a newer transaction with txnNumber {newest} has already started"
        ),
    )
}
