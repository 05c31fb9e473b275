//! One command under way: who asks, until when, within which session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lapsedb_record::Clock;
use lapsedb_store::Collection;
use lapsedb_value::budget::Stop;
use lapsedb_value::{Budget, Object, Value};
use tokio::sync::OwnedMutexGuard;

use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::look::find_collection;
use crate::documents::make::{make, make_in};
use crate::documents::namespace::Namespace;
use crate::documents::writable::Writable;
use crate::documents::writing::Wrote;
use crate::error::Kind;
use crate::operations::Line;
use crate::sessions::{Kept, Retry, Session, SessionId, Transaction};
use crate::turns::{give_way, pass_on};

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
    /// When it ends if it has no deadline of its own.
    ends: Option<Instant>,
    limit: Option<Duration>,
    /// A test wants its time to be up, if it was given any.
    runs_out: bool,
    place: Place,
    bypass: bool,
    keeps_empty_stamps: bool,
    kept: Option<Kept>,
    session: Option<SessionId>,
    halt: Option<Arc<AtomicBool>>,
    /// Where the command is shown to who asks what is running.
    line: Option<Arc<Line>>,
    gone: Option<Gone>,
    budget: Arc<Budget>,
    /// What counts the message that the command came with.
    received: Option<Arc<Budget>>,
}

/// Says whether the client has gone, so that nobody waits for the answer.
pub type Gone = Arc<dyn Fn() -> bool + Send + Sync>;

impl Work {
    /// A command outside of any session, with the time that any request may take.
    #[must_use]
    pub fn new(ctx: Ctx) -> Work {
        let time_max = ctx.service().config().request_time_max;
        Work {
            ends: time_max.map(|limit| Clock::monotonic() + limit),
            budget: Arc::new(ctx.service().budget()),
            received: None,
            ctx,
            deadline: None,
            limit: None,
            runs_out: false,
            place: Place::Alone,
            bypass: false,
            keeps_empty_stamps: false,
            kept: None,
            session: None,
            halt: None,
            line: None,
            gone: None,
        }
    }

    /// The same, to be ended when its client has gone.
    #[must_use]
    pub fn while_connected(mut self, gone: Option<Gone>) -> Work {
        self.gone = gone;
        self
    }

    /// The same, to be ended when what counts its message is stopped.
    #[must_use]
    pub fn received_within(mut self, received: Arc<Budget>) -> Work {
        self.received = Some(received);
        self
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

    /// The same, leaving empty time stamps as they are if that is wanted.
    #[must_use]
    pub const fn keeping_empty_stamps(mut self, keeps: bool) -> Work {
        self.keeps_empty_stamps = keeps;
        self
    }

    /// Whether empty time stamps stay as they are.
    pub(crate) const fn keeps_empty_stamps(&self) -> bool {
        self.keeps_empty_stamps
    }

    /// The same, reading a state of the store that is kept.
    pub(crate) fn reading(mut self, kept: Option<Kept>) -> Work {
        self.kept = kept;
        self
    }

    /// From now on it reads what another command has read.
    pub(crate) fn read_as(&mut self, kept: Option<Kept>) {
        self.kept = kept;
    }

    /// The same in a session of which it needs nothing.
    pub(crate) fn of(mut self, session: Option<SessionId>) -> Work {
        self.session = session;
        self
    }

    /// The state of the store that it reads, if it is not the newest.
    pub(crate) const fn kept(&self) -> Option<&Kept> {
        self.kept.as_ref()
    }

    /// The time stamp of the state that it reads, if others may come back to it.
    #[must_use]
    pub fn read_stamp(&self) -> Option<u64> {
        self.kept.as_ref().map(|kept| kept.stamp)
    }

    /// Until when it has time.
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.deadline
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

    /// What its evaluation may use, until its time is up or somebody ends it.
    pub(crate) fn budget(&self) -> &Arc<Budget> {
        self.limit_budget(&self.budget);
        &self.budget
    }

    /// The same to count what it holds, where nothing is evaluated.
    pub(crate) const fn memory(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// What counts its message, and whatever is read from it.
    pub(crate) fn received(&self) -> &Arc<Budget> {
        self.received.as_ref().unwrap_or(&self.budget)
    }

    /// From now on what was begun by another command, such as a cursor, ends with this one.
    pub(crate) fn limit_budget(&self, budget: &Budget) {
        let (end, runs_out) = (self.latest_end(), self.deadline.is_some() && self.runs_out);
        let (halt, gone) = (self.halt.clone(), self.gone.clone());
        let received = self.received.clone();
        let stopping = self.ctx.service().stopping();
        let stop = move || {
            if stopping.load(Ordering::Relaxed) {
                return Some(Stop::Shutdown);
            }
            if gone.as_ref().is_some_and(|gone| gone()) {
                return Some(Stop::Interrupted);
            }
            if let Some(stop) = received.as_ref().and_then(|received| received.stopped()) {
                return Some(stop);
            }
            stopped(halt.as_deref(), end, runs_out)
        };
        budget.set_probe(Arc::new(move || {
            let busy = give_way(|| stop().is_some()).err();
            busy.or_else(&stop)
        }));
    }

    /// When it ends at the latest: when its own time is up, or else that of any request.
    fn latest_end(&self) -> Option<Instant> {
        self.deadline.or(self.ends)
    }

    /// The same with the end of another command, of which it is a part.
    pub(crate) fn ending_with(mut self, whole: &Work) -> Work {
        self.deadline = whole.deadline;
        self.ends = whole.ends;
        self.halt.clone_from(&whole.halt);
        self.gone.clone_from(&whole.gone);
        self.received.clone_from(&whole.received);
        self.budget = Arc::clone(&whole.budget);
        self
    }

    /// The same for a command that is listed, and may be ended, on a line.
    #[must_use]
    pub fn on_line(mut self, line: &Arc<Line>) -> Work {
        self.halt = Some(line.halted());
        self.line = Some(Arc::clone(line));
        self
    }

    /// Where how it finds documents is kept, while commands are recorded.
    fn recorded(&self) -> Option<&Line> {
        let line = self.line.as_deref()?;
        let operations = &self.ctx.service().documents_state().operations;
        operations.profiler.is_on().then_some(line)
    }

    /// It has looked at so many entries of indexes and documents.
    pub(crate) fn examined(&self, keys: u64, documents: u64) {
        if let Some(line) = self.recorded() {
            line.examined(keys, documents);
        }
    }

    /// It finds documents in this way, for which it has looked at so many entries already.
    pub(crate) fn planned(&self, plan: impl FnOnce() -> String, keys: u64) {
        if let Some(line) = self.recorded() {
            line.planned(plan(), keys);
        }
    }

    /// The command as it is shown to who asks what is running; empty, if it is not listed.
    pub(crate) fn shown_command(&self) -> Box<[u8]> {
        let line = self.line.as_ref();
        line.map_or_else(Box::default, |line| line.command())
    }

    /// The same without an end: the time it was given is for waiting.
    pub(crate) const fn without_deadline(&mut self) {
        self.deadline = None;
        self.ends = None;
    }

    /// The same, with no time left of what it is given, if that is wanted.
    #[must_use]
    pub const fn running_out(mut self, runs_out: bool) -> Work {
        self.runs_out = runs_out;
        self
    }

    /// From now on it has the time that another command has left over.
    pub(crate) fn go_on_within(&mut self, left: Option<Duration>) {
        self.deadline = left.map(|left| Clock::monotonic() + left);
    }

    /// How much it has left of its time.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let deadline = self.deadline?;
        Some(deadline.saturating_duration_since(Clock::monotonic()))
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

    /// The session it belongs to, and the number of its transaction, if it is in one.
    pub(crate) fn owner(&self) -> Option<(SessionId, Option<i64>)> {
        match &self.place {
            Place::Transaction(id, session) => Some((id.clone(), Some(session.number))),
            Place::Alone | Place::Retryable { .. } => Some((self.session.clone()?, None)),
        }
    }

    /// A collection as it sees it: also one that its own transaction makes.
    pub(crate) fn collection(
        &self,
        view: &lapsedb_store::View,
        namespace: &Namespace,
    ) -> Option<Arc<Collection>> {
        let made = |transaction: &Transaction| transaction.made(namespace);
        find_collection(view, namespace).or_else(|| self.transaction().and_then(made))
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

    /// Makes a collection that a write needs; in a transaction, for the transaction alone until it commits.
    pub(crate) async fn make(&mut self, target: Writable<'_>) -> Result<()> {
        match self.transaction() {
            Some(transaction) => {
                make_in(&self.ctx, transaction, target, &Object::new()).await?;
            }
            None => {
                make(&self.ctx, target, &Object::new()).await?;
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

    /// What empty time stamps become; none, if they stay as they are.
    pub(crate) fn stamp_for_empty(&self) -> Option<u64> {
        (!self.keeps_empty_stamps).then(|| self.stamp())
    }

    /// Notes how far the store has come, so that the time clients are told of is not before what was just done.
    ///
    /// # Errors
    /// When the engine fails.
    pub(crate) async fn catch_up(&self) -> Result<()> {
        let view = self.ctx.view().await?;
        self.ctx.service().documents_state().seen(view.lsn());
        Ok(())
    }

    /// Goes on, if there is still time and nobody has ended it.
    ///
    /// # Errors
    /// When its time is up, or it was ended.
    pub async fn in_time(&self) -> Result<()> {
        pass_on(|| self.stop().is_some()).await;
        match self.stop() {
            Some(stop) => Err(stop.into()),
            None => Ok(()),
        }
    }

    /// Why it has to stop, if it has to.
    fn stop(&self) -> Option<Stop> {
        if self.ctx.service().is_stopping() {
            return Some(Stop::Shutdown);
        }
        // Whether the client is still there is looked at by evaluations alone: a write goes on without it, as in MongoDB.
        let received = self.received.as_ref();
        let stop = received.and_then(|received| received.stopped());
        stop.or_else(|| self.budget.stopped()).or_else(|| {
            let runs_out = self.deadline.is_some() && self.runs_out;
            stopped(self.halt.as_deref(), self.latest_end(), runs_out)
        })
    }

    /// Ends a command: one that failed in a transaction ends the transaction too.
    ///
    /// # Errors
    /// As the command did; a conflict in a transaction says that the whole of it may be tried again.
    pub async fn end<T>(self, result: Result<T>) -> Result<T> {
        let failed = result.is_err();
        let in_transaction = self.settle(failed);
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
        if !self.settle(failed) {
            return unless_unknown(result);
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
    fn settle(self, failed: bool) -> bool {
        let Place::Transaction(_, mut session) = self.place else {
            return false;
        };
        let killed = session.doomed.swap(false, Ordering::SeqCst);
        if let Some(transaction) = &mut session.transaction
            && (failed || killed)
        {
            transaction.abort();
        }
        true
    }
}

/// A statement that failed was not executed; of one that may have been, the whole command speaks.
fn unless_unknown(result: Result<Wrote>) -> Result<Wrote> {
    let mut wrote = result?;
    match wrote
        .faults
        .iter()
        .position(|failed| failed.fault.is_unknown())
    {
        Some(at) => Err(wrote.faults.swap_remove(at).fault),
        None => Ok(wrote),
    }
}

/// Why a command has to stop: somebody ended it, or its time is up.
fn stopped(halt: Option<&AtomicBool>, deadline: Option<Instant>, runs_out: bool) -> Option<Stop> {
    if halt.is_some_and(|halt| halt.load(Ordering::Relaxed)) {
        return Some(Stop::Interrupted);
    }
    let deadline = deadline?;
    (runs_out || Clock::monotonic() >= deadline).then_some(Stop::Time)
}

fn is_conflict(fault: &Fault) -> bool {
    match fault {
        Fault::Said { code, .. } => {
            let codes = [
                code::WRITE_CONFLICT,
                code::SNAPSHOT_UNAVAILABLE,
                code::NO_SUCH_TRANSACTION,
            ];
            codes.contains(code)
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
