//! Puts a command into its session.

use lapsedb_value::{Object, Value};
use tokio::sync::OwnedMutexGuard;

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
    /// Which state of the store it reads, if not simply the newest.
    pub read_at: Option<ReadAt>,
}

/// A state of the store that several commands read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAt {
    /// The newest; it is kept for those who come back to it.
    Newest,
    /// That of a time stamp.
    Time(u64),
}

/// A command in its session: in a transaction, as a retryable write, or alone.
///
/// # Errors
/// When the transaction is not there, too old, committed, or begun already, or the state it reads is not kept.
pub async fn begin(ctx: Ctx, asked: &Asked) -> Result<Work> {
    let now = ctx.service().clock().now();
    let state = ctx.service().documents_state();
    let sessions = &state.sessions;
    let (Some(id), Some(number)) = (&asked.session, asked.number) else {
        if let Some(id) = &asked.session {
            sessions.touch(id, now);
        }
        let kept = match asked.read_at {
            Some(at) => Some(state.snapshots.find(&ctx, at).await?),
            None => None,
        };
        return Ok(Work::new(ctx).reading(kept).of(asked.session.clone()));
    };
    let mut session = sessions.session(id, now)?.lock_owned().await;
    session.end_if_over(now, sessions.lifetime_ms());
    session.recall(&ctx, id).await?;
    if number < session.number {
        return Err(too_old(number, session.number));
    }
    if !asked.in_transaction {
        if number == session.number && session.transaction.is_some() {
            return Err(Fault::new(
                code::INCOMPLETE_TRANSACTION_HISTORY,
                "Cannot retry a retryable write that has been converted into a transaction",
            ));
        }
        if number > session.number {
            session.transaction = None;
            session.number = number;
        }
        let retry = Retry::new(id.clone(), number, asked);
        let _held = session;
        return Ok(Work::new(ctx).placed(Place::Retryable { retry, _held }));
    }
    if asked.start {
        if number == session.number {
            return Err(Fault::new(
                code::CONFLICTING_OPERATION_IN_PROGRESS,
                format!("Transaction {number} has already been started"),
            ));
        }
        let view = match asked.read_at {
            Some(ReadAt::Time(_)) => state.snapshots.view(&ctx, asked.read_at).await?,
            Some(ReadAt::Newest) | None => ctx.view().await?,
        };
        session.number = number;
        let claims = ctx.service().store().claims().claimant();
        let budget = ctx.service().budget();
        let transaction = Transaction::new(view, claims, budget, &session.doomed);
        session.transaction = Some(transaction);
    }
    active(&session, number)?;
    if let Some(Transaction {
        view: Some(view), ..
    }) = &mut session.transaction
    {
        view.set_now(now);
    }
    Ok(Work::new(ctx).placed(Place::Transaction(id.clone(), session)))
}

impl Session {
    /// Looks up, once, what the session did in an earlier life of the process; and again, once the store can tell, whether a transaction was
    /// committed during which the engine failed.
    pub(crate) async fn recall(&mut self, ctx: &Ctx, id: &SessionId) -> Result<()> {
        let is_unknown = |transaction: &&mut Transaction| transaction.state == State::Unknown;
        let can_tell = self.transaction.as_mut().filter(is_unknown).is_some()
            && ctx.service().store().outcomes_are_known();
        if self.recalled && !can_tell {
            return Ok(());
        }
        if let Some(note) = ctx.view().await?.note(&id.bytes()).await? {
            let number = note.body.get("number").and_then(Value::as_i64);
            self.number = self.number.max(number.unwrap_or(-1));
            if note.body.get("committed").and_then(Value::as_bool) == Some(true)
                && number == Some(self.number)
            {
                self.transaction = Some(Transaction::committed());
            }
        }
        if can_tell && let Some(transaction) = self.transaction.as_mut().filter(is_unknown) {
            transaction.abort();
        }
        self.recalled = true;
        Ok(())
    }
}

/// Refuses to go on in a transaction that is not under way.
fn active(session: &Session, number: i64) -> Result<()> {
    let state = match &session.transaction {
        Some(transaction) if number == session.number => transaction.state,
        Some(_) | None => return Err(not_in_progress(number, session.number)),
    };
    match state {
        State::Active => Ok(()),
        State::Aborted => Err(aborted(number)),
        State::Committed => Err(committed(number)),
        State::Unknown => Err(unknown(number)),
    }
}

pub(crate) fn no_such(message: impl Into<String>) -> Fault {
    Fault::new(code::NO_SUCH_TRANSACTION, message)
}

pub(crate) fn not_in_progress(number: i64, newest: i64) -> Fault {
    no_such(format!(
        "Given transaction number {number} does not match any in-progress transactions. The active transaction number is {newest}"
    ))
}

pub(crate) fn aborted(number: i64) -> Fault {
    no_such(format!(
        "Transaction with {{ txnNumber: {number} }} has been aborted."
    ))
}

pub(crate) fn committed(number: i64) -> Fault {
    Fault::new(
        code::TRANSACTION_COMMITTED,
        format!("Transaction with {{ txnNumber: {number} }} has been committed."),
    )
}

/// The engine failed while it committed the transaction. Once the engine writes again, or after the next start, it is committed or not there,
/// and drivers that see this label send the commit again until they know.
pub(crate) fn unknown(number: i64) -> Fault {
    let mut info = Object::with_capacity(1);
    let label = Value::from("UnknownTransactionCommitResult");
    info.push("errorLabels", Value::Array(vec![label]));
    Fault::with(
        code::WRITE_CONCERN_FAILED,
        format!(
            "It is not known whether the transaction with {{ txnNumber: {number} }} was committed: the storage engine failed meanwhile"
        ),
        info,
    )
}

pub(crate) fn too_old(number: i64, newest: i64) -> Fault {
    Fault::new(
        code::TRANSACTION_TOO_OLD,
        format!(
            "Cannot start transaction with {{ txnNumber: {number} }} on session because a newer transaction with txnNumber {newest} has already started"
        ),
    )
}

/// The session whose transaction a command ends, and which one it means.
pub(crate) async fn to_end<'a>(
    ctx: &Ctx,
    asked: &'a Asked,
    command: &str,
) -> Result<(&'a SessionId, i64, OwnedMutexGuard<Session>)> {
    let (Some(id), Some(number)) = (&asked.session, asked.number) else {
        return Err(outside(command));
    };
    let now = ctx.service().clock().now();
    let sessions = &ctx.service().documents_state().sessions;
    let mut session = sessions.session(id, now)?.lock_owned().await;
    session.end_if_over(now, sessions.lifetime_ms());
    session.recall(ctx, id).await?;
    if number < session.number {
        return Err(too_old(number, session.number));
    }
    Ok((id, number, session))
}

/// The answer to an end of a transaction that is in none.
fn outside(command: &str) -> Fault {
    Fault::new(
        code::COMMAND_FAILED,
        format!("{command} must be run within a transaction"),
    )
}
