//! Makes a collection.

use std::sync::Arc;

use lapsedb_record::Policy;
use lapsedb_store::catalog::{CollectionBody, FIRST_INDEX_GENERATION, offer_body};
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::rid::{CHILD_OF_DATABASE_MAX, OFFER_MAX};
use lapsedb_store::{
    Catalog, Collection, CollectionId, Database, History, MetaChange, NamedIndexes, View,
};
use lapsedb_value::Value;

use crate::attempts::{Attempts, Numbers};
use crate::client_encryption_keys;
use crate::collections::{Definition, client_encryption, setting_of};
use crate::ctx::{Ctx, find_database};
use crate::error::{Error, Result};
use crate::limits::{COLLECTIONS_MAX, SHARED_COLLECTIONS_MAX};
use crate::names;
use crate::offers::Wanted;
use crate::reply::{Outcome, Owner, Reply};
use crate::resource;

/// Makes a collection, with throughput of its own if some is wanted.
///
/// # Errors
/// When the database is not there, the definition is not allowed, the name is taken, there are too many, or who asks
/// may not.
pub async fn create(ctx: &Ctx, db: &str, body: &Value, wanted: Option<&Wanted>) -> Result<Reply> {
    ctx.who.may_administer()?;
    let definition = Definition::parse(body)?;
    let policy = Policy::new(setting_of(definition.default_ttl));
    let mut attempts = Attempts::default();
    loop {
        let view = ctx.view().await?;
        let catalog = view.catalog();
        let database = find_database(&view, db).ok_or_else(Error::owner_not_found)?;
        check_name(catalog, &database, &definition.id)?;
        check_room(catalog, &database, wanted.is_some())?;
        check_keys(&view, &database, &definition).await?;
        let mut change = MetaChange::default();
        let mut numbers = Numbers::of(&view);
        let cid = CollectionId(numbers.take(CHILD_OF_DATABASE_MAX)?);
        let ttl = (policy.setting, definition.ttl_path.as_ref());
        let indexes = NamedIndexes::default().with_ttl(policy.setting, ttl, 0, true);
        let record = CollectionBody {
            cid,
            database: database.number,
            id: &definition.id,
            document: definition.document.clone(),
            index_generation: FIRST_INDEX_GENERATION,
            policy,
            mongo: None,
            history: History::of_new(&definition.document),
            indexes: Some(&indexes),
        };
        change.put(
            keys::meta_numbered(MetaKind::Collection, cid.0),
            record.into_object(),
        );
        if let Some(wanted) = wanted {
            let offer = numbers.take(OFFER_MAX)?;
            change.put(
                keys::meta_numbered(MetaKind::Offer, offer),
                offer_body(offer, database.number, Some(cid), wanted.content(None)),
            );
        }
        numbers.write(&mut change);
        if let Some(done) = attempts.commit(ctx, &view, change).await? {
            let collection = Collection {
                cid,
                database: database.number,
                id: definition.id,
                lsn: done.lsn,
                written: done.now.secs(),
                version: done.lsn,
                history: History::of_new(&definition.document),
                document: definition.document,
                partition_key: definition.partition_key,
                index: definition.index,
                index_generation: FIRST_INDEX_GENERATION,
                index_ready_generation: FIRST_INDEX_GENERATION,
                unique_keys: definition.unique_keys,
                policy,
                mongo: None,
                indexes: Arc::new(indexes),
            };
            let value = resource::collection_value(&collection);
            let owner = Owner::database(&database);
            return Ok(Reply::written(Outcome::Created, &done, owner, value));
        }
    }
}

/// Refuses a name that a collection or a view of the database has.
fn check_name(catalog: &Catalog, database: &Database, id: &str) -> Result<()> {
    let is_collection = catalog.collection(database.number, id).is_some();
    if is_collection || catalog.view(database.number, id).is_some() {
        return Err(names::taken("Collection"));
    }
    Ok(())
}

/// Refuses a collection whose items would be encrypted with keys that are not there.
async fn check_keys(view: &View, database: &Database, definition: &Definition) -> Result<()> {
    for key in client_encryption::keys(&definition.document) {
        if !client_encryption_keys::exists(view, database, key).await? {
            return Err(Error::bad_request(format!(
                "The client encryption policy names the client encryption key '{key}', which does not exist in the database."
            )));
        }
    }
    Ok(())
}

/// Refuses one collection more than an account, or a database's shared throughput, may have.
fn check_room(catalog: &Catalog, database: &Database, dedicated: bool) -> Result<()> {
    if catalog.collections_count() >= COLLECTIONS_MAX {
        return Err(Error::bad_request(format!(
            "The account has {COLLECTIONS_MAX} containers, which is the most it may have."
        )));
    }
    if dedicated || catalog.offer_of(database.number, None).is_none() {
        return Ok(());
    }
    let dedicated = catalog.dedicated_in(database.number);
    let sharing = catalog
        .collections_in(database.number)
        .saturating_sub(dedicated);
    if sharing >= SHARED_COLLECTIONS_MAX {
        return Err(Error::bad_request(format!(
            "{SHARED_COLLECTIONS_MAX} containers share the throughput of the database, which is the most that may; give the new one throughput of its own."
        )));
    }
    Ok(())
}
