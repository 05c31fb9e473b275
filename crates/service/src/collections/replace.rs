//! Replaces a collection's definition.

use std::sync::Arc;
use std::time::Duration;

use lapsedb_record::Secs;
use lapsedb_store::catalog::CollectionBody;
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::{
    Collection, CollectionId, History, MetaChange, Rebased, View, policy_retention,
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
        let new = replaced(&view, &old, definition, &mut change);
        if new.history.kept && !old.history.kept {
            change.begin_versions(&view, &old).await?;
        }
        let record = CollectionBody {
            cid: new.cid,
            database: new.database,
            id: &new.id,
            document: new.document.clone(),
            index_generation: new.index_generation,
            policy: new.policy,
            mongo: new.mongo.as_deref(),
            history: new.history.clone(),
            indexes: Some(&new.indexes),
        };
        change.put(
            keys::meta_numbered(MetaKind::Collection, new.cid.0),
            record.into_object(),
        );
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
fn replaced(
    view: &View,
    old: &Collection,
    definition: Definition,
    change: &mut MetaChange,
) -> Collection {
    let setting = setting_of(definition.default_ttl);
    let mut policy = old.policy;
    let mut history = History {
        // Versions that are kept stay so: a reader may be following them. Without a policy they end when none comes.
        kept: old.history.kept || policy_retention(&definition.document).is_some(),
        eras: old.history.eras.clone(),
        shown: None,
        retention: old.history.retention,
    };
    let now = view.now().secs();
    let ttl = (setting, definition.ttl_path.as_ref());
    let indexes = old.indexes.with_ttl(policy.setting, ttl, now, false);
    let setting = indexes.in_force(setting);
    if indexes.buries() {
        change.hold_readers();
    }
    if setting != policy.setting || indexes.is_rebasing() {
        policy = policy.changed(setting, view.now());
        history.eras = history.eras.changed(old.policy.setting, now);
        // The burial marks are those of the view's second. An item that ends later, but before the commit, would come
        // back to life: so the commit must fall into the same second, or all is decided anew.
        change.not_after(now.plus(Secs(1)).millis());
    }
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
        policy,
        mongo: old.mongo.clone(),
        indexes: Arc::new(indexes),
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
