//! Reads one item.

use std::sync::Arc;

use lapsedb_store::partition_key::PartitionKey;
use lapsedb_store::rid::Rid;
use lapsedb_store::{Collection, ItemKey, LiveItem, View};

use crate::charge;
use crate::ctx::{Ctx, Scope};
use crate::documents::id::candidates;
use crate::documents::other_door;
use crate::error::{Error, Result};
use crate::items::body::given_partition;

/// An item that was found.
pub struct Found {
    /// Where it was found.
    pub scope: Scope,
    /// The item, in the engine's own bytes.
    pub item: LiveItem,
    /// What it cost.
    pub charge: f64,
}

/// The item, if it exists and is alive at the time of the request.
///
/// # Errors
/// When it is not there, or who asks may not read it.
pub async fn read(
    ctx: &Ctx,
    address: (&str, &str),
    intended: Option<&str>,
    partition: Option<&PartitionKey>,
    id: &str,
) -> Result<Found> {
    let scope = ctx.scope(address.0, address.1).await?;
    scope.expect_rid(intended)?;
    ctx.service()
        .throughputs()
        .admit(&scope.view, &scope.collection)?;
    let partition = given_partition(&scope.collection, partition)?;
    ctx.who.may_look(&scope.collection, &partition)?;
    let key = ItemKey::new(&scope.collection, &partition, id);
    let mut item = scope.view.get(&scope.collection, &key).await?;
    if other_door::is_foreign(&scope.collection) {
        for candidate in candidates(&partition, id) {
            if item.is_none() {
                let key = candidate.key(&scope.collection);
                item = scope.view.get(&scope.collection, &key).await?;
            }
        }
    }
    if item.is_none()
        && let Some(key) = key_by_rid(&scope.view, &scope.collection, &partition, id).await?
    {
        item = scope.view.get(&scope.collection, &key).await?;
    }
    let spend = |charge| {
        ctx.service()
            .throughputs()
            .spend(&scope.view, &scope.collection, charge)
    };
    let Some(item) = item else {
        spend(charge::read(0));
        return Err(Error::item_not_found().charged(charge::read(0)));
    };
    ctx.who
        .may_read_item(&scope.collection, &partition, item.header().ordinal)?;
    let charge = charge::read(usize::try_from(item.header().charged).unwrap_or(usize::MAX));
    spend(charge);
    Ok(Found {
        scope,
        item,
        charge,
    })
}

/// The key of the item a `_rid` names, if the text is one of this collection and the item lies in the partition.
pub(crate) async fn key_by_rid(
    view: &View,
    collection: &Arc<Collection>,
    partition: &PartitionKey,
    text: &str,
) -> Result<Option<ItemKey>> {
    let key = match Rid::parse(text) {
        Some(Rid::Document(rid)) if rid.collection() == crate::resource::rid_of(collection) => {
            view.key_of(collection, rid.ordinal).await?
        }
        _ => None,
    };
    // Rights are judged by the partition the request named: an item of another must not be found through it.
    let within = ItemKey::new(collection, partition, "");
    Ok(key.filter(|key| key.as_bytes().starts_with(within.as_bytes())))
}
