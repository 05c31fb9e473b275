//! Changes an index: how long documents live after their dates, and whether queries see it.

use lapsedb_store::StoreError;
use lapsedb_store::index::named::NamedIndex;
use lapsedb_store::index::named::build::Built;
use lapsedb_value::order::equal_bson;
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::id::ID;
use crate::documents::indexes::definition::{date_seconds, default_seconds, wildcard_ttl};
use crate::documents::indexes::{
    default_ttl, is_on_ts, name_ttl_index, set_default_ttl, shown, ttl_name,
};
use crate::documents::kept::cap_of;
use crate::documents::look::find_collection;
use crate::documents::namespace::Namespace;
use crate::documents::work::Work;
use crate::documents::writing::{Tries, refusal};

/// What to change.
#[derive(Clone, Debug, Default)]
pub struct IndexChange {
    /// The index by name.
    pub name: Option<String>,
    /// The index by its fields.
    pub key: Option<Object>,
    /// How long documents live after their dates.
    pub expire_after: Option<Value>,
    /// Whether queries pass it over.
    pub hidden: Option<bool>,
}

/// What was changed.
#[derive(Clone, Debug, Default)]
pub struct ChangedIndex {
    /// The seconds before, if there were any.
    pub expire_old: Option<i64>,
    /// The seconds now, if they were asked for.
    pub expire_new: Option<i64>,
    /// Whether queries passed it over, and do now.
    pub hidden: Option<(bool, bool)>,
    /// The index's name, if it ends documents from now on and none of those that are there has a date in its field.
    pub dateless: Option<String>,
    /// The index's name, if it is of a kind that holds no dates, whatever documents have.
    pub not_by_value: Option<String>,
}

/// Changes one index. What had ended stays so.
///
/// # Errors
/// When the collection or the index is not there, the change is not allowed, or who asks may not.
pub async fn change_index(
    work: &mut Work,
    namespace: &Namespace,
    asked: &IndexChange,
) -> Result<ChangedIndex> {
    work.ctx.who.may_administer()?;
    let mut tries = Tries::default();
    loop {
        if let Some(changed) = attempt(work, namespace, asked).await? {
            return Ok(changed);
        }
        tries.again().await?;
    }
}

/// One attempt; nothing, if the catalog has changed meanwhile.
async fn attempt(
    work: &mut Work,
    namespace: &Namespace,
    asked: &IndexChange,
) -> Result<Option<ChangedIndex>> {
    let view = work.ctx.view().await?;
    let gone = || {
        Fault::new(
            code::NAMESPACE_NOT_FOUND,
            format!("ns does not exist: {namespace}"),
        )
    };
    let collection = find_collection(&view, namespace).ok_or_else(gone)?;
    let name = name_of(&collection, asked)?;
    if asked.expire_after.is_some() && cap_of(&collection).is_some() {
        return Err(invalid(
            "TTL indexes are not supported for capped collections.",
        ));
    }
    if name == ttl_name(&collection) && default_ttl(&collection).is_some() {
        return default(work, namespace, &collection, asked).await;
    }
    let Some(index) = collection.indexes.named(&name) else {
        return Err(invalid(
            "the _id field does not support a secondary property",
        ));
    };
    let index = index.clone();
    if asked.expire_after.is_some() && is_on_ts(&index) {
        // The default takes the place of the ordinary index: clients call both by one name.
        let changed = default(work, namespace, &collection, asked).await?;
        if changed.is_some() {
            name_ttl_index(&work.ctx, namespace, &index.name).await?;
            drop_named(work, namespace, &index).await?;
        }
        return Ok(changed);
    }
    let mut changed = ChangedIndex::default();
    if let Some(hidden) = asked.hidden
        && hidden != index.hidden
    {
        let store = work.ctx.service().store();
        let set = store.set_hidden(&view, &collection, index.number, hidden);
        match set.await {
            Ok(()) => changed.hidden = Some((index.hidden, hidden)),
            Err(StoreError::Retry) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(expire) = &asked.expire_after
        && !expire_after(work, namespace, &index, (expire, &mut changed)).await?
    {
        return Ok(None);
    }
    work.catch_up().await?;
    Ok(Some(changed))
}

/// Changes how long documents live after their dates; false, if the catalog has changed meanwhile.
async fn expire_after(
    work: &Work,
    namespace: &Namespace,
    index: &NamedIndex,
    (expire, changed): (&Value, &mut ChangedIndex),
) -> Result<bool> {
    if index.parts.len() != 1 {
        return Err(invalid(
            "TTL indexes are single-field indexes, compound indexes do not support TTL",
        ));
    }
    if index.wildcard.is_some() {
        return Err(as_invalid(wildcard_ttl()));
    }
    let life = date_seconds(expire).map_err(as_invalid)?;
    let view = work.ctx.view().await?;
    let Some(collection) = find_collection(&view, namespace) else {
        return Ok(false);
    };
    let store = work.ctx.service().store();
    match store
        .set_expire_after(&view, &collection, index.number, life)
        .await
    {
        Ok(()) => {}
        Err(StoreError::Retry) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    let seconds = |secs: lapsedb_record::Secs| i64::try_from(secs.0).unwrap_or(i64::MAX);
    changed.expire_old = index.expire_after.map(seconds);
    changed.expire_new = Some(seconds(life));
    if !index.holds_dates() && index.dates.is_empty() {
        changed.not_by_value = Some(index.name.to_string());
    } else if index.expire_after.is_none() && index.holds_dates() {
        // Documents that were there before have to tell their dates first.
        match store
            .build_named_index(collection.cid, index.number)
            .await?
        {
            Built::Refused(refused) => return Err(refusal(namespace, refused, &Object::new())),
            Built::Whole { documents, dated } => {
                let dateless = documents > 0 && dated == 0;
                changed.dateless = dateless.then(|| index.name.to_string());
            }
            Built::Gone | Built::Elsewhere => {}
        }
    }
    Ok(true)
}

/// The name of the index that is meant.
fn name_of(collection: &lapsedb_store::Collection, asked: &IndexChange) -> Result<String> {
    let fits = |index: &Object| match (&asked.name, &asked.key) {
        (Some(name), _) => index.get("name").and_then(Value::as_str) == Some(name),
        (None, Some(key)) => {
            let own = index.get("key").cloned().unwrap_or_default();
            equal_bson(&own, &Value::Object(key.clone()))
        }
        (None, None) => false,
    };
    match (&asked.name, &asked.key) {
        (Some(_), Some(_)) => return Err(invalid("Cannot specify both key pattern and name.")),
        (None, None) => return Err(invalid("Must specify either index name or key pattern.")),
        (Some(_), None) | (None, Some(_)) => {}
    }
    if asked.expire_after.is_none() && asked.hidden.is_none() {
        return Err(invalid(
            "no expireAfterSeconds, hidden, unique, or prepareUnique field",
        ));
    }
    let found = shown(collection).into_iter().find(fits);
    let found = found.ok_or_else(|| {
        Fault::new(
            code::INDEX_NOT_FOUND,
            format!("cannot find index for ns {}", collection.id),
        )
    })?;
    let on_id = found.get("key").is_some_and(|key| key.get(ID).is_number());
    if on_id
        && found
            .get("key")
            .and_then(Value::as_object)
            .is_some_and(|key| key.len() == 1)
    {
        return Err(invalid("the _id index cannot be changed"));
    }
    Ok(found
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned())
}

async fn drop_named(work: &Work, namespace: &Namespace, index: &NamedIndex) -> Result<()> {
    let mut tries = Tries::default();
    loop {
        let view = work.ctx.view().await?;
        let Some(collection) = find_collection(&view, namespace) else {
            return Ok(());
        };
        let store = work.ctx.service().store();
        match store
            .drop_named_index(&view, &collection, index.number)
            .await
        {
            Ok(_) => return Ok(()),
            Err(StoreError::Retry) => tries.again().await?,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Changes the default TTL; nothing, if the definition has changed since it was seen.
async fn default(
    work: &Work,
    namespace: &Namespace,
    collection: &lapsedb_store::Collection,
    asked: &IndexChange,
) -> Result<Option<ChangedIndex>> {
    let Some(expire) = &asked.expire_after else {
        return Err(invalid(
            "the TTL index on '_ts' cannot be hidden: no query uses it",
        ));
    };
    let seconds = default_seconds(expire).map_err(as_invalid)?;
    let old = default_ttl(collection);
    let is_set = set_default_ttl(&work.ctx, namespace, collection, Some(seconds)).await?;
    Ok(is_set.then(|| ChangedIndex {
        expire_old: old,
        expire_new: Some(seconds),
        ..ChangedIndex::default()
    }))
}

fn invalid(message: &str) -> Fault {
    Fault::new(code::INVALID_OPTIONS, message)
}

/// The same refusal with the code that a change has.
fn as_invalid(fault: Fault) -> Fault {
    match fault {
        Fault::Said { message, .. } => Fault::new(code::INVALID_OPTIONS, message),
        other => other,
    }
}
