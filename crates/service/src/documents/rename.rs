//! Gives a collection another name.

use std::sync::Arc;

use lapsedb_record::Secs;
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::{Collection, History, MetaChange, View, Watched};
use lapsedb_value::{Object, Value};

use crate::attempts::Attempts;
use crate::changes::last_words;
use crate::collections;
use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::look::{find_collection, not_foreign};
use crate::documents::make::make;
use crate::documents::namespace::Namespace;
use crate::documents::views::find_view;
use crate::documents::work::Work;
use crate::documents::writable::{Writable, is_reserved};
use crate::reply::Conditions;

/// Gives a collection another name in the same database; one that has the name already goes first, if that is wanted.
///
/// # Errors
/// When the collection is not there, the name is taken, it is in another database, or who asks may not.
pub async fn rename(
    work: &mut Work,
    from: &Namespace,
    to: &Namespace,
    drop_target: bool,
) -> Result<()> {
    let ctx = &work.ctx;
    ctx.who.may_administer()?;
    let to = Writable::for_rename(from, to)?.namespace();
    if from == to {
        return Err(Fault::new(
            code::ILLEGAL_OPERATION,
            "Can't rename a collection to itself",
        ));
    }
    if from.database != to.database {
        return Err(Fault::new(
            code::COMMAND_NOT_SUPPORTED,
            "renaming a collection into another database is not supported",
        ));
    }
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        no_views(&view, from, to)?;
        not_foreign(&view, to)?;
        let Some(collection) = find_collection(&view, from) else {
            return Err(Fault::new(
                code::NAMESPACE_NOT_FOUND,
                format!("Source collection {from} does not exist"),
            ));
        };
        let mut change = MetaChange::default();
        if let Some(target) = find_collection(&view, to) {
            if !drop_target {
                return Err(Fault::new(
                    code::NAMESPACE_EXISTS,
                    "target namespace exists",
                ));
            }
            if is_reserved(&to.collection) {
                return Err(Fault::new(
                    code::ILLEGAL_OPERATION,
                    format!("can't drop system collection {to}"),
                ));
            }
            if !last_words(ctx, &view, &target, &mut change).await? {
                continue;
            }
            forget(&view, &target, &mut change);
        }
        let mut body = collection.body();
        body.id = &to.collection;
        body.document.insert("id", to.collection.as_str());
        body.history = History {
            shown: None,
            ..body.history
        };
        // Who watches the new name wants what happens under it from now on.
        if let Some(retention) = begin_to_keep(&view, to, &collection, &mut change).await? {
            body.history.kept = true;
            body.history.retention = Some(retention);
        }
        let key = keys::meta_numbered(MetaKind::Collection, collection.cid.0);
        change.put(key, body.into_object());
        if attempts.commit(ctx, &view, change).await?.is_some() {
            return Ok(());
        }
    }
}

/// Refuses to rename a view, and to take the name of one.
fn no_views(view: &View, from: &Namespace, to: &Namespace) -> Result<()> {
    if find_view(view, from).is_some() {
        return Err(Fault::new(
            code::COMMAND_NOT_SUPPORTED_ON_VIEW,
            format!("cannot rename view: {from}"),
        ));
    }
    if find_view(view, to).is_some() {
        return Err(Fault::new(
            code::NAMESPACE_EXISTS,
            format!("a view already exists with that name: {to}"),
        ));
    }
    Ok(())
}

/// How long the changes of a collection are kept from now on, if somebody watches its new name and they were not kept.
async fn begin_to_keep(
    view: &View,
    to: &Namespace,
    collection: &Collection,
    change: &mut MetaChange,
) -> Result<Option<Secs>> {
    let watched = Watched::Collection(&to.database, &to.collection);
    let retention = view.catalog().watch_retention(watched);
    let retention = retention.filter(|_| !collection.history.kept);
    if retention.is_some() {
        change.begin_versions(view, collection).await?;
    }
    Ok(retention)
}

fn forget(view: &View, target: &Arc<Collection>, change: &mut MetaChange) {
    if let Some(offer) = view.catalog().offer_of(target.database, Some(target.cid)) {
        change.delete(keys::meta_numbered(MetaKind::Offer, offer.number));
    }
    change.drop_collection(target.cid);
}

/// Makes a collection with the options and indexes of another; plain, if there is no such.
pub(crate) async fn like(work: &mut Work, model: &Namespace, new: &Namespace) -> Result<()> {
    let view = work.ctx.view().await?;
    let model = find_collection(&view, model);
    let kept = model.as_ref().and_then(|model| model.mongo.clone());
    let options = kept.and_then(|kept| kept.get("options").and_then(Value::as_object).cloned());
    make(
        &work.ctx,
        Writable::for_documents(new)?,
        &options.unwrap_or_default(),
    )
    .await?;
    let Some(model) = model else {
        return Ok(());
    };
    let specs: Vec<Object> = crate::documents::indexes::shown(&model)
        .into_iter()
        .skip(1)
        .map(|mut index| {
            index.remove("v");
            index
        })
        .collect();
    if !specs.is_empty() {
        crate::documents::indexes::create_indexes(work, new, specs).await?;
    }
    keep_ttl_path(&work.ctx, &model, new).await
}

/// Counts times to live in a new collection from where another one does.
async fn keep_ttl_path(ctx: &Ctx, model: &Collection, new: &Namespace) -> Result<()> {
    let view = ctx.view().await?;
    let (Some(path), Some(made)) = (
        model.document.get("ttlPropertyPath"),
        find_collection(&view, new),
    ) else {
        return Ok(());
    };
    let mut document = made.document.clone();
    document.insert("ttlPropertyPath", path.clone());
    drop(view);
    let address = (new.database.as_str(), new.collection.as_str());
    let body = Value::Object(document);
    collections::replace(ctx, address, &body, &Conditions::default()).await?;
    Ok(())
}
