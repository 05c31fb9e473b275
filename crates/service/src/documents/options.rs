//! Changes what a collection was made with.

use lapsedb_store::MetaChange;
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_value::{Object, Value};

use crate::attempts::Attempts;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::look::find_collection;
use crate::documents::namespace::Namespace;
use crate::documents::work::Work;

/// Sets one option of a collection.
///
/// # Errors
/// When the collection is not there, or who asks may not.
pub async fn set_option(
    work: &mut Work,
    namespace: &Namespace,
    name: &str,
    value: Value,
) -> Result<()> {
    let ctx = &work.ctx;
    ctx.who.may_administer()?;
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let Some(collection) = find_collection(&view, namespace) else {
            return Err(Fault::new(
                code::NAMESPACE_NOT_FOUND,
                format!("ns does not exist: {namespace}"),
            ));
        };
        let mut kept = collection.mongo.as_deref().cloned().unwrap_or_default();
        let mut options = kept
            .get("options")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_else(Object::new);
        options.insert(name, value.clone());
        kept.insert("options", Value::Object(options));
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
