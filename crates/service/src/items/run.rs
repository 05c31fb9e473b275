//! Runs operations against one collection: one, a batch that is all or nothing, or a bulk of independent ones.

use std::sync::Arc;

use bytes::Bytes;
use lapsedb_record::Live;
use lapsedb_store::{Collection, Database, Done, StoreError, Txn};

use crate::charge;
use crate::ctx::{Ctx, Scope};
use crate::documents::kept::cap_of;
use crate::error::{Error, Kind, Result};
use crate::items::apply::{Applied, apply, item};
use crate::items::body::given_partition;
use crate::items::{Action, Item, ItemOp, OpDone, Outcome};
use crate::limits::RETRIES_MAX;
use crate::service::always_slower;

/// How operations hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All or nothing.
    Atomic,
    /// Each by itself.
    Each,
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
    if ops
        .iter()
        .any(|op| !matches!(op.action, Action::Read { .. }))
    {
        ctx.who.may_write_at_all()?;
    }
    for _ in 0..RETRIES_MAX {
        let scope = ctx.scope(address.0, address.1).await?;
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
        Mode::Each => {}
    }
    Ok(())
}

/// One attempt; nothing if the store has changed under it.
async fn attempt(ctx: &Ctx, scope: &Scope, ops: &[ItemOp], mode: Mode) -> Result<Option<Ran>> {
    let mut txn = Txn::new(&scope.view, &scope.collection);
    let mut applied = Vec::with_capacity(ops.len());
    for op in ops {
        let result = apply(&ctx.who, &mut txn, op).await;
        let failed = result.is_err();
        applied.push(result);
        if failed && mode == Mode::Atomic {
            return Ok(Some(refused(scope, ops.len(), applied)));
        }
    }
    if txn.is_empty() {
        let results = applied
            .into_iter()
            .map(|applied| applied.map(unwritten))
            .collect();
        return Ok(Some(ran(scope, scope.view.lsn(), results)));
    }
    if let Some(cap) = cap_of(&scope.collection) {
        txn.make_room(cap).await?;
    }
    match txn.commit(ctx.service().store()).await {
        Ok(done) => {
            let again = written_again(&applied);
            let results = applied
                .into_iter()
                .zip(again)
                .map(|(applied, again)| finish(applied?, &done, again))
                .collect();
            Ok(Some(ran(scope, done.lsn, results)))
        }
        Err(StoreError::Retry) => Ok(None),
        Err(error) => Err(error.into()),
    }
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
        Err(error) => error.charge.unwrap_or(charge::FAILED),
    }
}

/// A batch of which one operation failed: that one's failure, and 424 for all others.
fn refused(scope: &Scope, count: usize, mut applied: Vec<Result<Applied>>) -> Ran {
    let failed = applied.len() - 1;
    let failure = match applied.pop() {
        Some(Err(error)) => error,
        Some(Ok(_)) | None => Error::new(Kind::Internal, "A batch was refused without a reason."),
    };
    let results = (0..count)
        .map(|at| {
            if at == failed {
                Err(failure.clone())
            } else {
                Err(Error::new(
                    Kind::FailedDependency,
                    "Another operation of the batch failed.",
                )
                .charged(0.0))
            }
        })
        .collect();
    ran(scope, scope.view.lsn(), results)
}

fn unwritten(applied: Applied) -> OpDone {
    OpDone {
        outcome: applied.outcome,
        item: applied.read,
        charge: applied.charge,
    }
}

/// For each operation, whether a later one touches what it has written.
fn written_again(applied: &[Result<Applied>]) -> Vec<bool> {
    let keys: Vec<_> = applied
        .iter()
        .map(|applied| applied.as_ref().ok().map(|applied| &applied.key))
        .collect();
    (0..keys.len())
        .map(|at| keys[at].is_some() && keys[at + 1..].contains(&keys[at]))
        .collect()
}

/// What an operation answers. One whose item is written again later in the batch shows its own version of it; one whose
/// item is gone at the end shows none.
fn finish(applied: Applied, done: &Done, again: bool) -> Result<OpDone> {
    let item = match (applied.outcome, applied.read, applied.wrote) {
        (Outcome::Deleted | Outcome::NotModified, _, _) => None,
        (Outcome::Created | Outcome::Ok, Some(item), _) => Some(item),
        (Outcome::Created | Outcome::Ok, None, Some(document)) if again => done
            .item(&applied.key)?
            .map(|live| item(live.header().clone(), &document)),
        (Outcome::Created | Outcome::Ok, None, _) => done.item(&applied.key)?.map(shown),
    };
    Ok(OpDone {
        outcome: applied.outcome,
        item,
        charge: applied.charge,
    })
}

fn shown(live: Live<Vec<u8>>) -> Item {
    Item {
        header: live.header().clone(),
        body: Bytes::copy_from_slice(live.body()),
    }
}
