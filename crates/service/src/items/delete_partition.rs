//! Deletes all items of one logical partition.

use lapsedb_store::partition_key::PartitionKey;
use lapsedb_store::{ItemRange, ScanLimits, StoreError, Txn};

use crate::charge;
use crate::ctx::{Ctx, Scope};
use crate::documents::writable::check_items;
use crate::error::Result;
use crate::items::body::given_partition;
use crate::limits::RETRIES_MAX;
use crate::service::always_slower;

/// Items removed in one commit.
const STEP_ITEMS: usize = 200;
/// Bytes looked at in one step.
const STEP_BYTES: usize = 8 << 20;

/// What a deletion has done.
pub struct Deleted {
    /// Where, as it is behind the last commit.
    pub scope: Scope,
    /// Items removed.
    pub items: u64,
    /// Request units.
    pub charge: f64,
}

/// Deletes what the partition holds when the request begins, and what is added while it runs, step by step.
///
/// # Errors
/// When the collection is not there, or who asks may not write to it.
pub async fn delete_partition(
    ctx: &Ctx,
    address: (&str, &str),
    intended: Option<&str>,
    partition: Option<&PartitionKey>,
) -> Result<Deleted> {
    let (mut items, mut retries) = (0, 0);
    loop {
        let scope = ctx.scope(address.0, address.1).await?;
        scope.expect_rid(intended)?;
        let partition = given_partition(&scope.collection, partition)?;
        ctx.who
            .may_write_items(&scope.collection, Some(&partition))?;
        check_items(scope.view.catalog(), &scope.collection)?;
        let range = ItemRange::Partition(partition.clone());
        let limits = ScanLimits {
            items_max: STEP_ITEMS,
            bytes_max: STEP_BYTES,
        };
        let page = scope
            .view
            .scan(&scope.collection, &range, None, limits)
            .await?;
        if page.items.is_empty() {
            return Ok(Deleted {
                scope,
                items,
                charge: charge::METADATA_WRITE,
            });
        }
        let mut txn = Txn::new(&scope.view, &scope.collection);
        for (key, _) in &page.items {
            txn.delete(key, &partition).await?;
        }
        match txn.commit(ctx.service().store()).await {
            Ok(_) => items += page.items.len() as u64,
            Err(StoreError::Retry) if retries < RETRIES_MAX => retries += 1,
            Err(StoreError::Retry) => return Err(always_slower()),
            Err(error) => return Err(error.into()),
        }
    }
}
