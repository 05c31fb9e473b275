//! Drops indexes.

use lapsedb_store::{Collection, StoreError};
use lapsedb_value::order::equal_bson;
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::id::ID;
use crate::documents::indexes::{
    ID_INDEX, TS_INDEX, default_ttl, listed, name_of, name_ttl_index, names, set_default_ttl,
    ttl_name,
};
use crate::documents::look::find_collection;
use crate::documents::namespace::Namespace;
use crate::documents::views;
use crate::documents::work::Work;
use crate::documents::writing::Tries;

/// Which indexes to drop.
#[derive(Clone, Debug)]
pub enum WhichIndexes {
    /// All but that on `_id`.
    All,
    /// Those of these names.
    Named(Vec<String>),
    /// That on these fields.
    Keyed(Object),
}

/// Drops indexes, and says how many there were. What a TTL index had ended stays so.
///
/// # Errors
/// When the collection or an index is not there, or it is that on `_id`, or who asks may not.
pub async fn drop_indexes(
    work: &mut Work,
    namespace: &Namespace,
    which: &WhichIndexes,
) -> Result<usize> {
    work.ctx.who.may_administer()?;
    let collection = current(work, namespace).await?;
    let before = listed(&collection).len();
    let chosen = choose(&collection, which)?;
    for name in chosen {
        drop_one(work, namespace, &name).await?;
    }
    work.catch_up().await?;
    Ok(before)
}

async fn current(work: &Work, namespace: &Namespace) -> Result<std::sync::Arc<Collection>> {
    let view = work.ctx.view().await?;
    views::refuse(&view, namespace)?;
    find_collection(&view, namespace).ok_or_else(|| {
        Fault::new(
            code::NAMESPACE_NOT_FOUND,
            format!("ns not found {namespace}"),
        )
    })
}

/// The names of the indexes that are meant.
fn choose(collection: &Collection, which: &WhichIndexes) -> Result<Vec<String>> {
    let on_id = names(collection).into_iter().next();
    let all: Vec<_> = listed(collection).iter().filter_map(name_of).collect();
    match which {
        WhichIndexes::All => {
            let droppable = |name: &String| on_id.as_ref() != Some(name);
            Ok(all.into_iter().filter(droppable).collect())
        }
        WhichIndexes::Named(wanted) => {
            for name in wanted {
                if name == ID_INDEX || on_id.as_ref() == Some(name) {
                    return Err(undroppable());
                }
                if !all.contains(name) {
                    return Err(Fault::new(
                        code::INDEX_NOT_FOUND,
                        format!("index not found with name [{name}]"),
                    ));
                }
            }
            Ok(wanted.clone())
        }
        WhichIndexes::Keyed(key) => {
            if key.len() == 1 && key.contains_key(ID) {
                return Err(undroppable());
            }
            let same = |index: &Object| {
                let own = index.get("key").cloned().unwrap_or_default();
                equal_bson(&own, &Value::Object(key.clone()))
            };
            let found: Vec<_> = listed(collection).into_iter().filter(same).collect();
            match found.as_slice() {
                [] => Err(Fault::new(
                    code::INDEX_NOT_FOUND,
                    format!(
                        "can't find index with key: {}",
                        crate::documents::shell::text(&Value::Object(key.clone()))
                    ),
                )),
                [one] => Ok(name_of(one).into_iter().collect()),
                [_, _, ..] => Err(Fault::new(
                    181,
                    "several indexes have this key; drop one by its name",
                )),
            }
        }
    }
}

fn undroppable() -> Fault {
    Fault::new(code::INVALID_OPTIONS, "cannot drop _id index")
}

async fn drop_one(work: &Work, namespace: &Namespace, name: &str) -> Result<()> {
    let mut tries = Tries::default();
    loop {
        let view = work.ctx.view().await?;
        let Some(collection) = find_collection(&view, namespace) else {
            return Ok(());
        };
        if name == ttl_name(&collection) && default_ttl(&collection).is_some() {
            if set_default_ttl(&work.ctx, namespace, &collection, None).await? {
                name_ttl_index(&work.ctx, namespace, TS_INDEX).await?;
            } else {
                tries.again().await?;
            }
            continue;
        }
        let Some(index) = collection.indexes.named(name) else {
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
