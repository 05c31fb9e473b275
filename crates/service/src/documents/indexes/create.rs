//! Makes indexes.

use std::sync::Arc;

use lapsedb_mql::collation::Collation;
use lapsedb_store::index::named::build::Built;
use lapsedb_store::index::named::{IndexDefinition, IndexPart, NamedIndex, PartKind};
use lapsedb_store::{Collection, CollectionId, StoreError};
use lapsedb_value::bson::type_name;
use lapsedb_value::order::equal_bson;
use lapsedb_value::{Object, Value};

use crate::documents::fault::{Fault, Result, code};
use crate::documents::indexes::definition::{Wanted, no_collation, read};
use crate::documents::indexes::in_transaction::in_transaction;
use crate::documents::indexes::{
    ID_INDEX, TS, default_ttl, is_on_ts, listed, name_ttl_index, names, set_default_ttl, ttl_name,
};
use crate::documents::kept::cap_of;
use crate::documents::look::{find_collection, not_foreign};
use crate::documents::make::make;
use crate::documents::namespace::Namespace;
use crate::documents::work::Work;
use crate::documents::writable::Writable;
use crate::documents::writing::{Tries, refusal};

/// Indexes of a collection at most.
const INDEXES_MAX: usize = 64;

/// What was made.
#[derive(Clone, Debug, Default)]
pub struct CreatedIndexes {
    /// Indexes before.
    pub before: usize,
    /// Indexes afterwards.
    pub after: usize,
    /// Whether the collection was made too.
    pub made_collection: bool,
    /// Names of TTL indexes whose field holds no date in any document.
    pub dateless: Vec<String>,
    /// Names of TTL indexes of a kind that holds no dates, whatever documents have.
    pub not_by_value: Vec<String>,
}

/// Makes indexes, and the collection, if it is not there. Returns when they are built.
///
/// # Errors
/// When a definition is wrong or clashes with another, documents cannot stand in it, or who asks may not.
pub async fn create_indexes(
    work: &mut Work,
    namespace: &Namespace,
    specs: Vec<Object>,
) -> Result<CreatedIndexes> {
    work.ctx.who.may_administer()?;
    if specs.is_empty() {
        return Err(Fault::new(
            code::BAD_VALUE,
            "Must specify at least one index to create",
        ));
    }
    let target = Writable::for_documents(namespace)?;
    let wanted = specs.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    if let Some(transaction) = work.transaction() {
        return in_transaction(work, transaction, target, wanted).await;
    }
    let made_collection = make(&work.ctx, target, &Object::new()).await?;
    let mut created = CreatedIndexes {
        made_collection,
        ..CreatedIndexes::default()
    };
    let (_, collection) = current(work, namespace).await?;
    created.before = listed(&collection).len();
    check_capped(&collection, &wanted)?;
    created.dateless = named(work, namespace, &wanted).await?;
    created.not_by_value = not_by_value(&collection, &wanted);
    for one in &wanted {
        match one {
            Wanted::Id | Wanted::Named(_) => {}
            Wanted::DefaultTtl(seconds, name) => ttl(work, namespace, *seconds, name).await?,
        }
    }
    created.after = listed(&current(work, namespace).await?.1).len();
    work.catch_up().await?;
    Ok(created)
}

/// Refuses that documents of a capped collection expire: they go in the order they came.
pub(super) fn check_capped(collection: &Collection, wanted: &[Wanted]) -> Result<()> {
    let expires = |one: &Wanted| match one {
        Wanted::Id => false,
        Wanted::DefaultTtl(..) => true,
        Wanted::Named(definition) => definition.expire_after.is_some(),
    };
    if cap_of(collection).is_some() && wanted.iter().any(expires) {
        return Err(Fault::new(
            code::CANNOT_CREATE_INDEX,
            "Cannot create TTL index on a capped collection",
        ));
    }
    Ok(())
}

/// The TTL indexes among them that the collection does not have yet and by which nothing expires, for their kind holds no dates.
pub(super) fn not_by_value(collection: &Collection, wanted: &[Wanted]) -> Vec<String> {
    let is_new = |name: &str| {
        collection
            .indexes
            .all()
            .iter()
            .all(|index| index.name != *name)
    };
    let not_by_value = |one: &Wanted| match one {
        Wanted::Named(index) if index.expire_after.is_some() && !index.holds_dates() => {
            is_new(&index.name).then(|| index.name.to_string())
        }
        Wanted::Id | Wanted::DefaultTtl(..) | Wanted::Named(_) => None,
    };
    wanted.iter().filter_map(not_by_value).collect()
}

async fn current(
    work: &Work,
    namespace: &Namespace,
) -> Result<(lapsedb_store::View, Arc<Collection>)> {
    let view = work.ctx.view().await?;
    not_foreign(&view, namespace)?;
    let gone = || {
        Fault::new(
            code::NAMESPACE_NOT_FOUND,
            format!("ns does not exist: {namespace}"),
        )
    };
    let collection = find_collection(&view, namespace).ok_or_else(gone)?;
    Ok((view, collection))
}

/// Makes the TTL index on `_ts`.
async fn ttl(work: &Work, namespace: &Namespace, seconds: i64, name: &str) -> Result<()> {
    let mut tries = Tries::default();
    loop {
        let (_, collection) = current(work, namespace).await?;
        match default_ttl(&collection) {
            None if collection.indexes.all().iter().any(is_on_ts) => return Err(conflict(name)),
            None if names(&collection).iter().any(|known| known == name) => {
                return Err(same_name(name));
            }
            None if ttl_name(&collection) != name => {
                name_ttl_index(&work.ctx, namespace, name).await?;
            }
            None => {
                let default = Some(seconds);
                if set_default_ttl(&work.ctx, namespace, &collection, default).await? {
                    return Ok(());
                }
            }
            Some(same) if same == seconds && ttl_name(&collection) == name => return Ok(()),
            Some(_) => return Err(conflict(name)),
        }
        tries.again().await?;
    }
}

/// An index that has been begun.
type Begun<'a> = (CollectionId, u32, &'a IndexDefinition);

/// Makes all other indexes, or none; says which TTL indexes found documents but no date in any.
async fn named(work: &Work, namespace: &Namespace, wanted: &[Wanted]) -> Result<Vec<String>> {
    let mut begun: Vec<Begun<'_>> = Vec::new();
    for one in wanted {
        let Wanted::Named(definition) = one else {
            continue;
        };
        match begin(work, namespace, definition).await {
            Ok(Some((cid, number))) => begun.push((cid, number, definition)),
            Ok(None) => {}
            Err(fault) => return Err(given_up(work, &begun, fault).await),
        }
    }
    let Some((cid, ..)) = begun.first() else {
        return Ok(Vec::new());
    };
    let numbers: Vec<u32> = begun.iter().map(|(_, number, _)| *number).collect();
    let store = work.ctx.service().store();
    let mut dateless = Vec::new();
    let built = store.build_named_indexes(*cid, &numbers).await?;
    for (built, (_, _, definition)) in built.into_iter().zip(&begun) {
        match built {
            Built::Whole { documents, dated } => {
                let ends = definition.expire_after.is_some() && definition.holds_dates();
                if ends && documents > 0 && dated == 0 {
                    dateless.push(definition.name.to_string());
                }
            }
            Built::Elsewhere => {}
            Built::Gone => {
                return Err(Fault::new(276, "The index was dropped while it was built"));
            }
            Built::Refused(refused) => return Err(refusal(namespace, refused, &Object::new())),
        }
    }
    Ok(dateless)
}

/// A failure, after which nothing of the indexes that were begun is left.
async fn given_up(work: &Work, begun: &[Begun<'_>], fault: Fault) -> Fault {
    for (cid, number, _) in begun {
        if let Err(error) = work.ctx.service().store().give_up(*cid, *number).await {
            return error.into();
        }
    }
    fault
}

/// Begins an index; nothing, if it is there already.
async fn begin(
    work: &Work,
    namespace: &Namespace,
    definition: &IndexDefinition,
) -> Result<Option<(CollectionId, u32)>> {
    let mut tries = Tries::default();
    loop {
        let (view, collection) = current(work, namespace).await?;
        let definition = &collated(&collection, definition)?;
        if clashes(&collection, definition)? {
            return Ok(None);
        }
        let store = work.ctx.service().store();
        match store
            .create_named_index(&view, &collection, definition.clone())
            .await
        {
            Ok(number) => return Ok(Some((collection.cid, number))),
            Err(StoreError::Retry) => tries.again().await?,
            Err(error) => return Err(error.into()),
        }
    }
}

/// The definition with its collation in full: its own, or that of the collection; none of one that compares by bytes.
pub(super) fn collated(
    collection: &Collection,
    definition: &IndexDefinition,
) -> Result<IndexDefinition> {
    let own = definition.options.get("collation");
    if let Some(other) = own.filter(|own| own.as_object().is_none()) {
        let found = type_name(other);
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            format!("The field 'collation' must be an object, but got {found}"),
        ));
    }
    let kept = collection
        .mongo
        .as_ref()
        .and_then(|kept| kept.get("options"));
    let inherited = kept.map(|options| options.get("collation"));
    let collation = own.or(inherited).and_then(Value::as_object);
    let collation = match collation {
        Some(collation) => Collation::parse(collation)?,
        None => None,
    };
    let mut definition = definition.clone();
    let plain = |part: &IndexPart| !matches!(part.kind, PartKind::Other(_));
    if own.is_none() && !definition.parts.iter().all(plain) {
        // A text or 2d index has none: where the collection has one, the client says that it means none.
        return match (uncollated(&definition), &collation) {
            (Some(kind), Some(collation)) => Err(no_collation(kind, collation)),
            _ => Ok(definition),
        };
    }
    definition.options.remove("collation");
    if let Some(collation) = collation {
        let collation = Value::Object(collation.to_object());
        definition.options.push("collation", collation);
    }
    Ok(definition)
}

/// The kind of an index that compares no texts by a collation.
fn uncollated(definition: &IndexDefinition) -> Option<&'static str> {
    definition.parts.iter().find_map(|part| match &part.kind {
        PartKind::Other(kind) => match kind.as_str() {
            Some("text") => Some("text"),
            Some("2d") => Some("2d"),
            _ => None,
        },
        PartKind::Ascending | PartKind::Descending | PartKind::Hashed => None,
    })
}

/// Whether the very same index is there already.
pub(super) fn clashes(collection: &Collection, wanted: &IndexDefinition) -> Result<bool> {
    let pattern = pattern_of(wanted);
    if default_ttl(collection).is_some() {
        if pattern.len() == 1 && pattern.get(TS).and_then(Value::as_f64) == Some(1.0) {
            return Err(conflict(&wanted.name));
        }
        if wanted.name == ttl_name(collection) {
            return Err(same_name(&wanted.name));
        }
    }
    let others = collection.indexes.all().iter();
    for index in others.filter(|index| index.name != ID_INDEX) {
        let same_key = equal_bson(
            &Value::Object(index.pattern()),
            &Value::Object(pattern.clone()),
        ) && index.pattern().keys().eq(pattern.keys());
        let same_name = index.name == wanted.name;
        if same_key && same_terms(index, wanted) {
            if same_name && same_options(index, wanted) {
                return Ok(true);
            }
            return Err(conflict(&wanted.name));
        }
        if same_name {
            return Err(self::same_name(&wanted.name));
        }
    }
    if names(collection).iter().any(|name| *name == wanted.name) {
        return Err(same_name(&wanted.name));
    }
    if names(collection).len() >= INDEXES_MAX {
        return Err(Fault::new(
            code::CANNOT_CREATE_INDEX,
            format!("add index fails, too many indexes; at most {INDEXES_MAX} are allowed"),
        ));
    }
    Ok(false)
}

/// The key of an index that is not there yet.
fn pattern_of(definition: &IndexDefinition) -> Object {
    let mut pattern = Object::with_capacity(definition.parts.len());
    for part in &definition.parts {
        let kind = match &part.kind {
            PartKind::Ascending => Value::Int32(1),
            PartKind::Descending => Value::Int32(-1),
            PartKind::Hashed => Value::from("hashed"),
            PartKind::Other(kind) => kind.clone(),
        };
        pattern.push(part.path.as_str(), kind);
    }
    pattern
}

/// Whether both hold the same documents in the same order: two indexes that differ in that may share a key.
fn same_terms(index: &NamedIndex, wanted: &IndexDefinition) -> bool {
    let of = |filter: Option<&Object>| filter.cloned().map_or(Value::Null, Value::Object);
    let own = index.filter.as_ref().map(|filter| &filter.expression);
    let collation = |options: &Object| options.get("collation").cloned().unwrap_or(Value::Null);
    equal_bson(&of(own), &of(wanted.filter.as_ref()))
        && equal_bson(&collation(&index.options), &collation(&wanted.options))
}

fn same_options(index: &NamedIndex, wanted: &IndexDefinition) -> bool {
    index.unique == wanted.unique
        && index.sparse == wanted.sparse
        && index.expire_after == wanted.expire_after
        && SEARCHED.iter().all(|name| {
            let own = |options: &Object| options.get(name).cloned().unwrap_or(Value::Null);
            equal_bson(&own(&index.options), &own(&wanted.options))
        })
}

fn same_name(name: &str) -> Fault {
    Fault::new(
        code::INDEX_KEY_SPECS_CONFLICT,
        format!(
            "An existing index has the same name as the requested index. Requested index: {name}"
        ),
    )
}

/// Options that change what an index over words or places holds.
const SEARCHED: [&str; 6] = [
    "weights",
    "default_language",
    "language_override",
    "bits",
    "min",
    "max",
];

pub(super) fn conflict(name: &str) -> Fault {
    Fault::new(
        code::INDEX_OPTIONS_CONFLICT,
        format!(
            "An equivalent index already exists with a different name or other options. Requested index: {name}"
        ),
    )
}
