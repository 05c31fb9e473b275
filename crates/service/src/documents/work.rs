//! One command under way: who asks, until when, within which session.

use std::time::{Duration, Instant};

use lapsedb_record::Clock;
use lapsedb_value::{Object, Value};
use tokio::sync::OwnedMutexGuard;

use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::make::make;
use crate::documents::namespace::Namespace;
use crate::documents::writing::Wrote;
use crate::error::Kind;
use crate::sessions::{Retry, Session, SessionId, Transaction, write_conflict};

/// Where a command stands in its session.
pub(crate) enum Place {
    /// It has none, or needs none.
    Alone,
    /// It is a write that may be sent again; the session is held so that nothing else happens in it meanwhile.
    Retryable {
        retry: Retry,
        _held: OwnedMutexGuard<Session>,
    },
    /// It belongs to a transaction.
    Transaction(SessionId, OwnedMutexGuard<Session>),
}

/// One command.
pub struct Work {
    /// Who asks.
    pub ctx: Ctx,
    deadline: Option<Instant>,
    limit: Option<Duration>,
    place: Place,
    bypass: bool,
}

impl Work {
    /// A command outside of any session.
    #[must_use]
    pub const fn new(ctx: Ctx) -> Work {
        Work {
            ctx,
            deadline: None,
            limit: None,
            place: Place::Alone,
            bypass: false,
        }
    }

    /// The same, held to no validator if that is wanted.
    #[must_use]
    pub const fn bypassing_validation(mut self, bypass: bool) -> Work {
        self.bypass = bypass;
        self
    }

    /// Whether what it writes is held to no validator.
    pub(crate) const fn bypasses_validation(&self) -> bool {
        self.bypass
    }

    /// The same at its place in a session.
    pub(crate) fn placed(mut self, place: Place) -> Work {
        self.place = place;
        self
    }

    /// The same with a time it may take.
    #[must_use]
    pub fn within(mut self, limit: Option<Duration>) -> Work {
        self.limit = limit;
        self.deadline = limit.map(|limit| Clock::monotonic() + limit);
        self
    }

    /// The same without an end: the time it was given is for waiting.
    pub(crate) const fn without_deadline(&mut self) {
        self.deadline = None;
    }

    /// How long it may take, or wait.
    pub(crate) const fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// Whether it belongs to a transaction.
    pub(crate) const fn in_transaction(&self) -> bool {
        matches!(self.place, Place::Transaction(..))
    }

    /// The transaction it belongs to.
    pub(crate) fn transaction(&self) -> Option<&Transaction> {
        match &self.place {
            Place::Transaction(_, session) => session.transaction.as_ref(),
            Place::Alone | Place::Retryable { .. } => None,
        }
    }

    /// The session whose transaction it belongs to.
    pub(crate) const fn session(&self) -> Option<&SessionId> {
        match &self.place {
            Place::Transaction(id, _) => Some(id),
            Place::Alone | Place::Retryable { .. } => None,
        }
    }

    /// What the session has done, as a view has it, if this is a retryable write.
    pub(crate) async fn retry_in(&self, view: &lapsedb_store::View) -> Result<Option<Retry>> {
        match &self.place {
            Place::Retryable { retry, .. } => Ok(Some(retry.loaded(view).await?)),
            Place::Alone | Place::Transaction(..) => Ok(None),
        }
    }

    /// Whether it is a retryable write.
    pub(crate) const fn is_retryable(&self) -> bool {
        matches!(self.place, Place::Retryable { .. })
    }

    /// Makes a collection that a write needs.
    pub(crate) async fn make(&mut self, namespace: &Namespace) -> Result<()> {
        if self
            .transaction()
            .is_some_and(|transaction| transaction.begun)
        {
            // Its view is older than the collection: the whole transaction must see it from its beginning.
            make(&self.ctx, namespace, &Object::new()).await?;
            return Err(write_conflict());
        }
        let made = make(&self.ctx, namespace, &Object::new()).await?;
        let view = self.ctx.view().await?;
        if let Place::Transaction(_, session) = &mut self.place
            && let Some(transaction) = &mut session.transaction
        {
            transaction.view = Some(view);
            if made {
                transaction.made.push(namespace.clone());
            }
        }
        Ok(())
    }

    /// The time as the language's time stamps say it: the second, and a number that grows with every commit.
    #[must_use]
    pub fn stamp(&self) -> u64 {
        let service = self.ctx.service();
        service.documents_state().stamp(service.clock().now())
    }

    /// Goes on, if there is still time.
    ///
    /// # Errors
    /// When its time is up.
    pub fn in_time(&self) -> Result<()> {
        match self.deadline {
            Some(deadline) if Clock::monotonic() >= deadline => Err(Fault::new(
                code::MAX_TIME_MS_EXPIRED,
                "operation exceeded time limit",
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Ends a command: one that failed in a transaction ends the transaction too.
    ///
    /// # Errors
    /// As the command did; a conflict in a transaction says that the whole of it may be tried again.
    pub async fn end<T>(self, result: Result<T>) -> Result<T> {
        let failed = result.is_err();
        let in_transaction = self.settle(failed).await;
        match result {
            Err(fault) if in_transaction => Err(transient(fault)),
            result => result,
        }
    }

    /// Ends a command that writes.
    ///
    /// # Errors
    /// As [`Work::end`]; in a transaction a conflict is the whole command's failure.
    pub async fn end_writes(self, result: Result<Wrote>) -> Result<Wrote> {
        let failed = match &result {
            Ok(wrote) => !wrote.faults.is_empty(),
            Err(_) => true,
        };
        if !self.settle(failed).await {
            return result;
        }
        match result {
            Err(fault) => Err(transient(fault)),
            Ok(mut wrote) => match wrote.faults.pop() {
                Some(last) if is_conflict(&last.fault) => Err(transient(last.fault)),
                Some(last) => {
                    wrote.faults.push(last);
                    Ok(wrote)
                }
                None => Ok(wrote),
            },
        }
    }

    /// Says whether it was in a transaction.
    async fn settle(self, failed: bool) -> bool {
        let Place::Transaction(id, mut session) = self.place else {
            return false;
        };
        let Some(transaction) = &mut session.transaction else {
            return true;
        };
        transaction.begun = true;
        transaction.used = Clock::monotonic();
        if failed {
            transaction.abort();
            let made = std::mem::take(&mut transaction.made);
            self.ctx.service().documents_state().sessions.release(&id);
            drop(session);
            if let Err(fault) = crate::sessions::unmake(&self.ctx, &made).await {
                tracing::warn!(?fault, "a collection that a transaction has made stays");
            }
        }
        true
    }
}

fn is_conflict(fault: &Fault) -> bool {
    match fault {
        Fault::Said { code, .. } => {
            [code::WRITE_CONFLICT, code::NO_SUCH_TRANSACTION].contains(code)
        }
        Fault::Other(error) => matches!(error.kind, Kind::RetryWith | Kind::Unavailable),
    }
}

/// A conflict with the label that makes drivers try the whole transaction again.
fn transient(fault: Fault) -> Fault {
    if !is_conflict(&fault) {
        return fault;
    }
    let label = Value::Array(vec![Value::from("TransientTransactionError")]);
    match fault {
        Fault::Said {
            code,
            message,
            mut info,
        } => {
            info.insert("errorLabels", label);
            Fault::with(code, message, info)
        }
        Fault::Other(error) => {
            let mut info = Object::with_capacity(1);
            info.push("errorLabels", label);
            Fault::with(code::WRITE_CONFLICT, error.message, info)
        }
    }
}
