//! Replaces a collection's definition.

use std::sync::Arc;
use std::time::Duration;

use lapsedb_store::catalog::CollectionBody;
use lapsedb_store::{
    Collection, CollectionId, History, MetaChange, Rebased, TtlChange, policy_retention,
};
use lapsedb_value::{Object, Value, order};

use crate::attempts::Attempts;
use crate::collections::{CollectionRead, Definition, index, setting_of};
use crate::ctx::{Ctx, find_collection, find_database};
use crate::error::{Error, Result};
use crate::reply::{Conditions, Outcome, Owner, Reply};
use crate::resource;

/// How often it looks whether somebody else has given all items their bases.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Replaces a collection's definition by another: what the body leaves out is taken away, but for the partition key and
/// the unique keys, which cannot be changed.
///
/// A changed TTL acts on all items at once, and what had expired before stays so. A changed path of their base acts on each as
/// the items are gone through, which the answer waits for; if the default is changed with it, nothing expires meanwhile. A changed index policy begins a new
/// index, which is built in the background if there is much to do.
///
/// # Errors
/// When the collection is not there or not as the client knows it, the definition is not allowed, or who asks may not.
pub async fn replace(
    ctx: &Ctx,
    (db, coll): (&str, &str),
    body: &Value,
    conditions: &Conditions,
) -> Result<CollectionRead> {
    ctx.who.may_administer()?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let database = find_database(&view, db).ok_or_else(Error::owner_not_found)?;
        let old = find_collection(&view, &database, coll).ok_or_else(Error::not_found)?;
        conditions.allow_change(old.lsn)?;
        let definition = Definition::parse_replacement(body, &old.document)?;
        let mut change = MetaChange::default();
        let path = definition.ttl_path.as_ref();
        let ttl = old.ttl_changed(setting_of(definition.default_ttl), path, view.now());
        let new = replaced(&old, definition, &ttl);
        if new.history.kept && !old.history.kept {
            change.begin_versions(&view, &old).await?;
        }
        let record = CollectionBody {
            history: new.history.clone(),
            ..new.body()
        };
        ttl.put(record, &mut change);
        if let Some(done) = attempts.commit(ctx, &view, change).await? {
            if new.indexes.is_rebasing() {
                drop(view);
                rebase(ctx, new.cid).await?;
            }
            let index_progress = match new.index_is_whole() {
                true => 100,
                false => index::begin(ctx.service(), &new).await,
            };
            let new = Collection {
                lsn: done.lsn,
                written: done.now.secs(),
                version: done.lsn,
                ..new
            };
            let value = resource::collection_value(&new);
            let owner = Owner::database(&database);
            let reply = Reply::written(Outcome::Replaced, &done, owner, value);
            return Ok(CollectionRead {
                reply,
                usage: None,
                index_progress,
            });
        }
    }
}

/// The collection as the definition makes it.
fn replaced(old: &Collection, definition: Definition, ttl: &TtlChange) -> Collection {
    let history = History {
        // Versions that are kept stay so: a reader may be following them. Without a policy they end when none comes.
        kept: old.history.kept || policy_retention(&definition.document).is_some(),
        eras: ttl.eras.clone(),
        shown: None,
        retention: old.history.retention,
    };
    let same_index = order::deep_equal(index_of(&old.document), index_of(&definition.document));
    Collection {
        cid: old.cid,
        database: old.database,
        id: definition.id,
        lsn: old.lsn,
        written: old.written,
        version: old.version,
        document: definition.document,
        partition_key: definition.partition_key,
        index: definition.index,
        index_generation: old.index_generation + u32::from(!same_index),
        index_ready_generation: old.index_ready_generation,
        unique_keys: definition.unique_keys,
        policy: ttl.policy,
        mongo: old.mongo.clone(),
        indexes: Arc::new(ttl.indexes.clone()),
        history,
    }
}

/// Waits until all items are judged by the base that the new path gives them.
async fn rebase(ctx: &Ctx, cid: CollectionId) -> Result<()> {
    while ctx.service().store().rebase(cid).await? == Rebased::Elsewhere {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

fn index_of(document: &Object) -> &Value {
    document.get("indexingPolicy").unwrap_or(Value::undefined())
}
