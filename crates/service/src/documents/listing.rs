//! Lists databases and collections: those of this door.

use lapsedb_store::{Collection, Usage, View};
use lapsedb_value::{Object, Value};

use crate::documents::fault::Result;
use crate::documents::work::Work;

/// A database that has collections of this door.
#[derive(Clone, Debug)]
pub struct ListedDatabase {
    /// Its name.
    pub name: String,
    /// Bytes of its living documents.
    pub bytes: u64,
}

/// A collection of this door.
#[derive(Clone, Debug)]
pub struct ListedCollection {
    /// Its name.
    pub name: String,
    /// What it was made with.
    pub options: Object,
    /// Its number, which no other collection ever has.
    pub uuid: Value,
    /// Its living documents.
    pub documents: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The databases, by name.
///
/// # Errors
/// When who asks may not, or the engine fails.
pub async fn list_databases(work: &mut Work) -> Result<Vec<ListedDatabase>> {
    work.ctx.who.may_read_account()?;
    let view = work.ctx.view().await?;
    let mut listed = Vec::new();
    for database in view.catalog().databases() {
        let own: Vec<_> = own_collections(&view, database.number);
        if own.is_empty() {
            continue;
        }
        let mut bytes = 0;
        for collection in own {
            bytes += usage(&view, &collection).await?.live.bytes;
        }
        listed.push(ListedDatabase {
            name: database.id.to_string(),
            bytes,
        });
    }
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(listed)
}

/// The collections of a database, in the order they were made.
///
/// # Errors
/// When who asks may not, or the engine fails.
pub async fn list_collections(work: &mut Work, database: &str) -> Result<Vec<ListedCollection>> {
    work.ctx.who.may_read_account()?;
    let view = work.ctx.view().await?;
    let Some(database) = view.catalog().database(database) else {
        return Ok(Vec::new());
    };
    let mut listed = Vec::new();
    for collection in own_collections(&view, database.number) {
        let live = usage(&view, &collection).await?.live;
        listed.push(shown(&collection, live.items, live.bytes));
    }
    Ok(listed)
}

fn own_collections(view: &View, database: u32) -> Vec<std::sync::Arc<Collection>> {
    let mut all = view.catalog().collections(database);
    all.retain(|collection| collection.mongo.is_some());
    all
}

async fn usage(view: &View, collection: &Collection) -> Result<Usage> {
    Ok(view.usage(collection).await?)
}

fn shown(collection: &Collection, documents: u64, bytes: u64) -> ListedCollection {
    let kept = collection.mongo.as_deref().cloned().unwrap_or_default();
    let options = kept.get("options").and_then(Value::as_object).cloned();
    ListedCollection {
        name: collection.id.to_string(),
        options: options.unwrap_or_default(),
        uuid: kept.get("uuid").cloned().unwrap_or(Value::Null),
        documents,
        bytes,
    }
}
