//! Makes indexes in a transaction: of a collection that it makes itself, while that is empty.

use std::sync::Arc;

use lapsedb_record::{Policy, Secs, Setting};
use lapsedb_store::Collection;
use lapsedb_value::Value;

use crate::documents::fault::{Fault, Result, code};
use crate::documents::indexes::create::{
    CreatedIndexes, check_capped, clashes, collated, conflict, not_by_value,
};
use crate::documents::indexes::definition::Wanted;
use crate::documents::indexes::ttl_name::with_ttl_name;
use crate::documents::indexes::{default_ttl, names, ttl_name};
use crate::documents::make::make_in;
use crate::documents::namespace::Namespace;
use crate::documents::work::Work;
use crate::documents::writable::Writable;
use crate::sessions::{Transaction, write_conflict};

/// Makes indexes, and the collection, if it is not there: both are there for others once the transaction is committed.
///
/// # Errors
/// When the collection is there or not empty, or a definition clashes with another.
pub(super) async fn in_transaction(
    work: &Work,
    transaction: &Transaction,
    target: Writable<'_>,
    wanted: Vec<Wanted>,
) -> Result<CreatedIndexes> {
    let namespace = target.namespace();
    let Some(view) = &transaction.view else {
        return Err(write_conflict());
    };
    if let Some(existing) = crate::documents::look::find_collection(view, namespace) {
        return existing_collection(&existing, namespace, &wanted);
    }
    let mut collection = match transaction.made(namespace) {
        Some(collection) => collection,
        None => {
            make_in(
                &work.ctx,
                transaction,
                target,
                &lapsedb_value::Object::new(),
            )
            .await?
        }
    };
    check_capped(&collection, &wanted)?;
    let before = names(&collection).len();
    let not_by_value = not_by_value(&collection, &wanted);
    for one in wanted {
        if let Some(changed) = with(work, &collection, one)? {
            if transaction.overlay(namespace).is_some() {
                return Err(refused("non-empty", namespace));
            }
            collection = Arc::new(changed);
        }
    }
    let after = names(&collection).len();
    transaction.make(namespace, collection);
    Ok(CreatedIndexes {
        before,
        after,
        made_collection: true,
        dateless: Vec::new(),
        not_by_value,
    })
}

/// A collection that was there before may be asked for indexes that it has.
fn existing_collection(
    collection: &Collection,
    namespace: &Namespace,
    wanted: &[Wanted],
) -> Result<CreatedIndexes> {
    for one in wanted {
        let there = match one {
            Wanted::Id => true,
            Wanted::DefaultTtl(seconds, name) => {
                default_ttl(collection) == Some(*seconds) && ttl_name(collection) == *name
            }
            Wanted::Named(definition) => clashes(collection, &collated(collection, definition)?)?,
        };
        if !there {
            return Err(refused("existing", namespace));
        }
    }
    let count = names(collection).len();
    Ok(CreatedIndexes {
        before: count,
        after: count,
        ..CreatedIndexes::default()
    })
}

fn refused(what: &str, namespace: &Namespace) -> Fault {
    Fault::new(
        code::NOT_SUPPORTED_IN_TRANSACTION,
        format!(
            "Cannot create new indexes on {what} collection {namespace} in a multi-document transaction."
        ),
    )
}

/// The collection with one more index; nothing, if it has it already.
fn with(work: &Work, collection: &Collection, wanted: Wanted) -> Result<Option<Collection>> {
    match wanted {
        Wanted::Id => Ok(None),
        Wanted::Named(definition) => {
            let definition = collated(collection, &definition)?;
            if clashes(collection, &definition)? {
                return Ok(None);
            }
            let store = work.ctx.service().store();
            Ok(Some(store.with_index(collection, definition)?))
        }
        Wanted::DefaultTtl(seconds, name) => match default_ttl(collection) {
            Some(same) if same == seconds && ttl_name(collection) == name => Ok(None),
            Some(_) => Err(conflict(&name)),
            None => {
                let mut changed = with_ttl_name(collection, &name);
                changed.document.push("defaultTtl", Value::from(seconds));
                changed.policy = Policy::new(match u64::try_from(seconds) {
                    Ok(seconds) => Setting::OnWithDefault(Secs(seconds)),
                    Err(_) => Setting::On,
                });
                Ok(Some(changed))
            }
        },
    }
}
