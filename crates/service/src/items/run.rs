//! Runs operations against one collection: one, a batch that is all or nothing, or a bulk of independent ones.

use std::sync::Arc;

use bytes::Bytes;
use lapsedb_record::Live;
use lapsedb_store::{Collection, Database, Done, StoreError, Txn};

use crate::ctx::{Ctx, Scope};
use crate::documents::kept::cap_of;
use crate::error::{Error, Kind, Result};
use crate::items::apply::{AnswerRoom, Applied, Shows, apply};
use crate::items::body::given_partition;
use crate::items::{Action, Item, ItemOp, OpDone};
use crate::limits::RETRIES_MAX;
use crate::service::always_slower;

/// How operations hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All or nothing.
    Atomic,
    /// Each by itself.
    Each,
    /// Each by itself, up to the first that fails; the others are not executed.
    UntilFailure,
}

/// What a run has done.
pub struct Ran {
    /// The database.
    pub database: Arc<Database>,
    /// The collection.
    pub collection: Arc<Collection>,
    /// How far the log has come.
    pub lsn: u64,
    /// A result for each operation, in order.
    pub results: Vec<Result<OpDone>>,
    /// What all of it cost.
    pub charge: f64,
}

/// Runs operations; runs them again while other writers get in between.
///
/// # Errors
/// When the collection is not there, or not the intended one, or over its throughput, or the engine fails.
pub async fn run(
    ctx: &Ctx,
    address: (&str, &str),
    intended: Option<&str>,
    ops: &[ItemOp],
    mode: Mode,
) -> Result<Ran> {
    let is_read = |op: &ItemOp| matches!(op.action, Action::Read { .. });
    if !ops.iter().all(is_read) {
        ctx.who.may_write_at_all()?;
    }
    let reads = ops.iter().any(is_read);
    for _ in 0..RETRIES_MAX {
        let scope = match reads {
            true => ctx.scope(address.0, address.1).await?,
            // Writes are made wherever the log has come to, one by one or together.
            false => ctx.scope_of_writes(address.0, address.1).await?,
        };
        scope.expect_rid(intended)?;
        expect_partition(&scope, ops, mode)?;
        let throughputs = ctx.service().throughputs();
        throughputs.admit(&scope.view, &scope.collection)?;
        match attempt(ctx, &scope, ops, mode).await? {
            Some(ran) => {
                throughputs.spend(&scope.view, &scope.collection, ran.charge);
                return Ok(ran);
            }
            None => tokio::task::yield_now().await,
        }
    }
    Err(always_slower())
}

/// Refuses a batch as a whole whose partition is none of the collection's.
fn expect_partition(scope: &Scope, ops: &[ItemOp], mode: Mode) -> Result<()> {
    match mode {
        // All operations have the partition of the request.
        Mode::Atomic => {
            for op in ops.iter().take(1) {
                given_partition(&scope.collection, op.partition.as_ref())?;
            }
        }
        Mode::Each | Mode::UntilFailure => {}
    }
    Ok(())
}

/// One attempt; nothing if the store has changed under it.
async fn attempt(ctx: &Ctx, scope: &Scope, ops: &[ItemOp], mode: Mode) -> Result<Option<Ran>> {
    let mut txn = Txn::new(&scope.view, &scope.collection);
    let mut applied = Vec::with_capacity(ops.len());
    let mut room = AnswerRoom::for_operations(ops.len());
    for op in ops {
        match (apply(&ctx.who, &mut txn, op, &mut room).await, mode) {
            (Err(error), Mode::Atomic) => {
                // An answer that is too large as a whole is the failure of the last operation, as in the service.
                let failed = match room.exceeded {
                    true => ops.len() - 1,
                    false => applied.len(),
                };
                let results = refused(ops.len(), &applied, failed, &error);
                return Ok(Some(ran(scope, scope.view.lsn(), results)));
            }
            (Err(error), Mode::UntilFailure) => {
                applied.push(Err(error));
                applied.resize_with(ops.len(), || Err(dependent(0.0)));
                break;
            }
            (result, Mode::Atomic | Mode::Each | Mode::UntilFailure) => applied.push(result),
        }
    }
    let written = match txn.is_empty() {
        true => None,
        false => {
            if let Some(cap) = cap_of(&scope.collection) {
                txn.make_room(cap).await?;
            }
            match txn.commit(ctx.service().store()).await {
                Ok(done) => Some(done),
                Err(StoreError::Retry) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    };
    let lsn = written.as_ref().map_or(scope.view.lsn(), |done| done.lsn);
    let finish = |(applied, op): (Result<Applied>, &ItemOp)| finish(applied?, op, written.as_ref());
    let results = applied.into_iter().zip(ops).map(finish).collect();
    Ok(Some(ran(scope, lsn, results)))
}

fn ran(scope: &Scope, lsn: u64, results: Vec<Result<OpDone>>) -> Ran {
    let charge = results.iter().map(cost).sum();
    Ran {
        database: Arc::clone(&scope.database),
        collection: Arc::clone(&scope.collection),
        lsn,
        results,
        charge,
    }
}

fn cost(result: &Result<OpDone>) -> f64 {
    match result {
        Ok(done) => done.charge,
        Err(error) => error.cost(),
    }
}

/// A batch of which one operation failed: that one's failure, and 424 for all others. Those that were executed before it cost
/// what that took.
fn refused(
    count: usize,
    applied: &[Result<Applied>],
    failed: usize,
    failure: &Error,
) -> Vec<Result<OpDone>> {
    let spent = |at: usize| match applied.get(at) {
        Some(Ok(applied)) => applied.charge,
        Some(Err(error)) => error.cost(),
        None => 0.0,
    };
    let result = |at: usize| match at == failed {
        true => Err(failure.clone()),
        false => Err(dependent(spent(at))),
    };
    (0..count).map(result).collect()
}

/// The failure of an operation that is not executed, or undone, because of another's.
fn dependent(spent: f64) -> Error {
    Error::new(
        Kind::FailedDependency,
        "Another operation of the batch failed.",
    )
    .charged(spent)
}

/// What an operation answers: the item as it was right after it, whatever later ones did with it.
fn finish(applied: Applied, op: &ItemOp, written: Option<&Done>) -> Result<OpDone> {
    let (lsn, item) = match applied.shows {
        Shows::Nothing => (None, None),
        Shows::Known(lsn) => (Some(lsn), None),
        Shows::Read(item) => (Some(item.header.lsn), Some(item).filter(|_| !op.minimal)),
        Shows::Version(..) if op.minimal => (written.map(|done| done.lsn), None),
        Shows::Version(version, _) => {
            let item = match written {
                Some(done) => done.version(version)?.map(shown),
                None => None,
            };
            (item.as_ref().map(|item| item.header.lsn), item)
        }
    };
    Ok(OpDone {
        outcome: applied.outcome,
        lsn,
        item,
        charge: applied.charge,
    })
}

fn shown(live: Live<Vec<u8>>) -> Item {
    let header = live.header().clone();
    let (bytes, begin) = live.into_bytes();
    let bytes = Bytes::from(bytes);
    Item {
        header,
        body: bytes.slice(begin.min(bytes.len())..),
    }
}
