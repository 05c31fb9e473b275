//! Makes a collection, and its database with it.

use std::collections::HashMap;
use std::sync::Arc;

use lapsedb_record::{Policy, Secs, Setting};
use lapsedb_store::catalog::{CollectionBody, FIRST_INDEX_GENERATION, database_body};
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::rid::CHILD_OF_DATABASE_MAX;
use lapsedb_store::{Collection, CollectionId, History, MetaChange, NamedIndexes, View, Watched};
use lapsedb_value::{Object, Value};

use crate::attempts::{Attempts, Numbers};
use crate::collections::Definition;
use crate::ctx::Ctx;
use crate::documents::fault::{Fault, Result, code};
use crate::documents::id::ID;
use crate::documents::indexes::ID_INDEX;
use crate::documents::look::{find_collection, not_foreign};
use crate::documents::namespace::Namespace;
use crate::documents::writable::Writable;
use crate::error::{Error, Kind};
use crate::limits::{COLLECTIONS_MAX, DATABASES_MAX};
use crate::sessions::{Transaction, write_conflict};

/// Makes a collection with options as the client gave them; says whether it is new.
///
/// # Errors
/// When the name is taken by the other door, there are too many, or who asks may not.
pub(crate) async fn make(ctx: &Ctx, target: Writable<'_>, options: &Object) -> Result<bool> {
    ctx.who.may_administer()?;
    let namespace = target.namespace();
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        not_foreign(&view, namespace)?;
        if find_collection(&view, namespace).is_some() {
            return Ok(false);
        }
        let change = plan(&view, namespace, options)?;
        if attempts.commit(ctx, &view, change).await?.is_some() {
            return Ok(true);
        }
    }
}

fn plan(view: &View, namespace: &Namespace, options: &Object) -> Result<MetaChange> {
    let mut change = MetaChange::default();
    let mut places = Places::of(view)?;
    let (database, cid) = places.next(&mut change, namespace)?;
    let retention = kept_for(view, namespace, cid, &mut change);
    let body = body(namespace, options, retention, (database, cid))?;
    change.put(keys::meta_numbered(MetaKind::Collection, cid.0), body);
    places.numbers.write(&mut change);
    Ok(change)
}

/// How long the changes of a new collection are kept, if somebody watches: who does wants every change, the first included.
fn kept_for(
    view: &View,
    namespace: &Namespace,
    cid: CollectionId,
    change: &mut MetaChange,
) -> Option<Secs> {
    let watched = Watched::Collection(&namespace.database, &namespace.collection);
    let retention = view.catalog().watch_retention(watched)?;
    change.keep_from_start(cid, view.now().secs());
    Some(retention)
}

/// What the record of a new collection says.
fn body(
    namespace: &Namespace,
    options: &Object,
    retention: Option<Secs>,
    (database, cid): (u32, CollectionId),
) -> Result<Object> {
    let document = definition(&namespace.collection)?;
    let body = CollectionBody {
        cid,
        database,
        id: &namespace.collection,
        history: History {
            kept: retention.is_some(),
            retention,
            ..History::of_new(&document)
        },
        document,
        index_generation: FIRST_INDEX_GENERATION,
        policy: Policy::new(Setting::Off),
        mongo: Some(&kept(options)),
        indexes: Some(&NamedIndexes::on(ID_INDEX, ID)),
    };
    Ok(body.into_object())
}

/// Numbers for new collections, and for the databases they need.
struct Places<'a> {
    view: &'a View,
    numbers: Numbers,
    databases: HashMap<String, u32>,
    collections: usize,
}

impl<'a> Places<'a> {
    fn of(view: &'a View) -> Result<Places<'a>> {
        Ok(Places {
            view,
            numbers: Numbers::of(view),
            databases: HashMap::new(),
            collections: view.catalog().collections_count(),
        })
    }

    /// The place of one more collection.
    fn next(
        &mut self,
        change: &mut MetaChange,
        namespace: &Namespace,
    ) -> Result<(u32, CollectionId)> {
        if self.collections >= COLLECTIONS_MAX {
            return Err(too_many(COLLECTIONS_MAX, "collections"));
        }
        self.collections += 1;
        let name = &namespace.database;
        let database = match self.databases.get(name) {
            Some(number) => *number,
            None => database_for(self.view, name, change, &mut self.numbers)?,
        };
        self.databases.insert(name.clone(), database);
        let cid = CollectionId(self.numbers.take(CHILD_OF_DATABASE_MAX)?);
        Ok((database, cid))
    }
}

/// Makes a collection that only its transaction sees until that commits.
///
/// # Errors
/// When another has made it since the transaction began, its name is taken by the other door, or who asks may not.
pub(crate) async fn make_in(
    ctx: &Ctx,
    transaction: &Transaction,
    target: Writable<'_>,
    options: &Object,
) -> Result<Arc<Collection>> {
    ctx.who.may_administer()?;
    let namespace = target.namespace();
    let view = ctx.view().await?;
    not_foreign(&view, namespace)?;
    if find_collection(&view, namespace).is_some() {
        return Err(write_conflict());
    }
    check_case(&view, &namespace.database).or_else(|fault| {
        let known = view.catalog().database(&namespace.database);
        known.map(|_| ()).ok_or(fault)
    })?;
    // Its real number is known at the commit; until then one from the far end keeps it apart from all others.
    let behind = u32::try_from(transaction.all_made().len()).unwrap_or(0);
    let place = (u32::MAX, CollectionId(u32::MAX - behind));
    let body = body(namespace, options, None, place)?;
    let collection = Arc::new(ctx.service().store().unmade(body)?);
    transaction.make(namespace, Arc::clone(&collection));
    Ok(collection)
}

/// Makes a plain collection, if it is not there; says whether it is new.
///
/// # Errors
/// When the name is reserved or taken by the other door, there are too many, or who asks may not.
pub async fn make_plain(ctx: &Ctx, namespace: &Namespace) -> Result<bool> {
    make(ctx, Writable::for_documents(namespace)?, &Object::new()).await
}

/// The collections that a transaction makes, with their real numbers.
pub(crate) struct Planned {
    pub(crate) change: MetaChange,
    pub(crate) collections: HashMap<Namespace, Arc<Collection>>,
}

/// Plans the collections that a transaction makes, as the newest view has the catalog.
///
/// # Errors
/// When one of them was made by another meanwhile, or there are too many.
pub(crate) fn plan_made(
    ctx: &Ctx,
    view: &View,
    made: &[(Namespace, Arc<Collection>)],
) -> Result<Planned> {
    let mut change = MetaChange::default();
    let mut places = Places::of(view)?;
    let mut collections = HashMap::with_capacity(made.len());
    for (namespace, own) in made {
        if find_collection(view, namespace).is_some() {
            return Err(write_conflict());
        }
        not_foreign(view, namespace)?;
        let (database, cid) = places.next(&mut change, namespace)?;
        let retention = kept_for(view, namespace, cid, &mut change);
        let body = CollectionBody {
            cid,
            database,
            history: History {
                kept: retention.is_some(),
                retention,
                ..own.history.clone()
            },
            ..own.body()
        };
        let body = body.into_object();
        let collection = ctx.service().store().unmade(body.clone())?;
        change.put(keys::meta_numbered(MetaKind::Collection, cid.0), body);
        collections.insert(namespace.clone(), Arc::new(collection));
    }
    places.numbers.write(&mut change);
    Ok(Planned {
        change,
        collections,
    })
}

/// The number of a database, which is made if it is not there.
pub(crate) fn database_for(
    view: &View,
    name: &str,
    change: &mut MetaChange,
    numbers: &mut Numbers,
) -> Result<u32> {
    let catalog = view.catalog();
    if let Some(database) = catalog.database(name) {
        return Ok(database.number);
    }
    check_case(view, name)?;
    if catalog.databases_count() >= DATABASES_MAX {
        return Err(too_many(DATABASES_MAX, "databases"));
    }
    let number = numbers.take(u32::MAX)?;
    change.put(
        keys::meta_numbered(MetaKind::Database, number),
        database_body(number, name),
    );
    Ok(number)
}

/// What only this door knows of the collection.
fn kept(options: &Object) -> Object {
    let mut kept = Object::with_capacity(2);
    kept.push("options", Value::Object(options.clone()));
    kept.push(
        "uuid",
        Value::Binary {
            subtype: 4,
            bytes: uuid::Uuid::new_v4().as_bytes().to_vec(),
        },
    );
    kept
}

/// The collection as the NoSQL door shows it. Its own index policy covers nothing: this door's indexes are made one by one.
fn definition(id: &str) -> Result<Object> {
    let text = br#"{"id":"c","partitionKey":{"paths":["/_id"],"kind":"Hash","version":2},
        "indexingPolicy":{"indexingMode":"consistent","automatic":true,"includedPaths":[],"excludedPaths":[{"path":"/*"}]}}"#;
    let body = lapsedb_value::json::parse(text, &lapsedb_value::json::Limits::DEFAULT)
        .map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
    let mut document = Definition::parse(&body).map_err(Error::from)?.document;
    document.insert("id", id);
    Ok(document)
}

/// Two databases whose names differ only in case are one too many: file systems and users mix them up.
fn check_case(view: &View, name: &str) -> Result<()> {
    match view.catalog().database_in_any_case(name) {
        Some(other) => Err(Fault::new(
            code::DATABASE_DIFFER_CASE,
            format!(
                "db already exists with different case already have: [{}] trying to create [{name}]",
                other.id
            ),
        )),
        None => Ok(()),
    }
}

fn too_many(max: usize, what: &str) -> Fault {
    Fault::new(
        code::BAD_VALUE,
        format!("There are {max} {what}, which is the most there may be."),
    )
}
