//! Lists databases and collections: those of this door.

use lapsedb_store::{Collection, View};
use lapsedb_value::{Object, Value};

use crate::documents::fault::Result;
use crate::documents::kept::kind_of;
use crate::documents::views::SYSTEM_VIEWS;
use crate::documents::work::Work;
use crate::totals::DatabaseTotal;

/// A database that has collections of this door.
#[derive(Clone, Debug)]
pub struct ListedDatabase {
    /// Its name.
    pub name: String,
    /// Bytes of its living documents; none, if they were not asked for.
    pub bytes: Option<u64>,
}

/// A collection of this door.
#[derive(Clone, Debug)]
pub struct ListedCollection {
    /// Its name.
    pub name: String,
    /// `collection`, `view` or `timeseries`.
    pub kind: &'static str,
    /// What it was made with.
    pub options: Object,
    /// Its number, which no other collection ever has; a view has none.
    pub uuid: Option<Value>,
}

/// The databases, by name. Bytes are counted only where they are asked for.
///
/// # Errors
/// When who asks may not, or the engine fails.
pub async fn list_databases(work: &mut Work, counted: bool) -> Result<Vec<ListedDatabase>> {
    work.ctx.who.may_read_account()?;
    let totals = match counted {
        true => Some(work.ctx.service().database_totals(None).await?),
        false => None,
    };
    let view = work.ctx.view().await?;
    let catalog = view.catalog();
    let mut listed = Vec::new();
    for database in catalog.databases() {
        if !catalog.has_documents(database.number) {
            continue;
        }
        let bytes = totals.as_ref().map(|totals| {
            let total = totals.get(&database.number);
            total.map_or(0, |total| total.live.bytes)
        });
        listed.push(ListedDatabase {
            name: database.id.to_string(),
            bytes,
        });
    }
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(listed)
}

/// The figures of a database.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatabaseStats {
    /// What its collections hold; the one that shows the definitions of views is among them.
    pub total: DatabaseTotal,
    /// How many views it has.
    pub views: u64,
}

/// What a database holds; nothing, if it is not there.
///
/// # Errors
/// When who asks may not, or the engine fails.
pub async fn database_stats(work: &mut Work, database: &str) -> Result<DatabaseStats> {
    work.ctx.who.may_read_account()?;
    let view = work.ctx.view().await?;
    let Some(database) = view.catalog().database(database) else {
        return Ok(DatabaseStats::default());
    };
    let totals = work.ctx.service().database_totals(Some(database.number));
    let total = totals.await?.get(&database.number).copied();
    let mut total = total.unwrap_or_default();
    let views = view.catalog().views_in(database.number);
    if views > 0 {
        total.collections += 1;
        total.indexes += 1;
        total.live.items += u64::try_from(views).unwrap_or(u64::MAX);
    }
    Ok(DatabaseStats {
        total,
        views: u64::try_from(views).unwrap_or(u64::MAX),
    })
}

/// Which collections of a database are listed, and what is said of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listing<'a> {
    /// Only the one with this name.
    pub name: Option<&'a str>,
}

/// The collections of a database, in the order they were made.
///
/// # Errors
/// When who asks may not, or the engine fails.
pub async fn list_collections(
    work: &mut Work,
    database: &str,
    listing: Listing<'_>,
) -> Result<Vec<ListedCollection>> {
    work.ctx.who.may_read_account()?;
    let view = work.ctx.view().await?;
    let catalog = view.catalog();
    let Some(database) = catalog.database(database) else {
        return Ok(Vec::new());
    };
    let own = match listing.name {
        Some(name) => {
            let named = catalog.collection(database.number, name);
            let own = named.filter(|collection| collection.mongo.is_some());
            own.into_iter().cloned().collect()
        }
        None => own_collections(&view, database.number),
    };
    let mut listed = Vec::with_capacity(own.len());
    for collection in own {
        listed.push(shown(&collection));
    }
    let wanted = |name: &str| listing.name.is_none_or(|wanted| wanted == name);
    let views = catalog.views(database.number);
    if !views.is_empty() && wanted(SYSTEM_VIEWS) {
        listed.push(definitions(database.number));
    }
    for found in views.into_iter().filter(|view| wanted(&view.id)) {
        listed.push(ListedCollection {
            name: found.id.to_string(),
            kind: "view",
            options: found.definition.clone(),
            uuid: None,
        });
    }
    Ok(listed)
}

/// The collection that shows the definitions of views. It is stored nowhere; its number is made of its database's.
fn definitions(database: u32) -> ListedCollection {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&database.to_be_bytes());
    // Version 8, variant 1: a number by a rule of one's own.
    bytes[6] = 0x80;
    bytes[8] = 0x80;
    ListedCollection {
        name: SYSTEM_VIEWS.to_owned(),
        kind: "collection",
        options: Object::new(),
        uuid: Some(Value::Binary {
            subtype: 4,
            bytes: bytes.to_vec(),
        }),
    }
}

fn own_collections(view: &View, database: u32) -> Vec<std::sync::Arc<Collection>> {
    let mut all = view.catalog().collections(database);
    all.retain(|collection| collection.mongo.is_some());
    all
}

fn shown(collection: &Collection) -> ListedCollection {
    let kept = collection.mongo.as_deref().cloned().unwrap_or_default();
    let options = kept.get("options").and_then(Value::as_object).cloned();
    ListedCollection {
        name: collection.id.to_string(),
        kind: kind_of(collection),
        options: options.unwrap_or_default(),
        uuid: kept.get("uuid").cloned(),
    }
}
