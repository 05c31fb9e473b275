//! The name of the TTL index on `_ts`: what the client gave is kept with the collection.

use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::{Collection, MetaChange};
use lapsedb_value::Value;

use crate::attempts::Attempts;
use crate::ctx::Ctx;
use crate::documents::fault::Result;
use crate::documents::indexes::TS_INDEX;
use crate::documents::look::find_collection;
use crate::documents::namespace::Namespace;

/// Where the name is kept.
const KEPT: &str = "ttlIndex";

/// The name of the TTL index on `_ts`.
pub(crate) fn ttl_name(collection: &Collection) -> String {
    let kept = collection.mongo.as_ref().and_then(|kept| kept.get(KEPT));
    let name = kept.and_then(Value::as_str).unwrap_or(TS_INDEX);
    name.to_owned()
}

/// A collection that is not made yet, with this name for the index.
pub(super) fn with_ttl_name(collection: &Collection, name: &str) -> Collection {
    let mut kept = collection.mongo.as_deref().cloned().unwrap_or_default();
    kept.insert(KEPT, Value::from(name));
    Collection {
        mongo: Some(kept.into()),
        ..collection.clone()
    }
}

/// Keeps the name that a client gave the TTL index on `_ts`.
pub(crate) async fn name_ttl_index(ctx: &Ctx, namespace: &Namespace, name: &str) -> Result<()> {
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let Some(collection) = find_collection(&view, namespace) else {
            return Ok(());
        };
        if ttl_name(&collection) == name {
            return Ok(());
        }
        let mut kept = collection.mongo.as_deref().cloned().unwrap_or_default();
        kept.insert(KEPT, Value::from(name));
        let mut body = collection.body();
        body.mongo = Some(&kept);
        let mut change = MetaChange::default();
        let key = keys::meta_numbered(MetaKind::Collection, collection.cid.0);
        change.put(key, body.into_object());
        if attempts.commit(ctx, &view, change).await?.is_some() {
            return Ok(());
        }
    }
}
