//! What a permission is for: read from a request once, kept as numbers, so that no later resource of the same name is meant.

use lapsedb_store::partition_key::{Component, PartitionKey};
use lapsedb_store::rid::{ChildKind, DocumentRid};
use lapsedb_store::{Collection, CollectionId, Database, ItemKey, StoreError, View};
use lapsedb_value::{Object, Str, Value};

use crate::access::Grant;
use crate::ctx::{find_collection, find_database};
use crate::error::{Error, Kind, Result};
use crate::named::Named;
use crate::names;
use crate::resource;
use crate::scripts::ScriptKind;

const ALL: &str = "All";
const READ: &str = "Read";

/// What a posted permission says.
pub(super) struct Wanted {
    /// Its name.
    pub id: Str,
    /// As it was sent: clients differ in its letters and expect their own back.
    mode: Str,
    resource: Str,
    partition: Option<(Value, PartitionKey)>,
}

impl Wanted {
    /// Reads a posted permission.
    pub(super) fn of_body(body: &Object) -> Result<Wanted> {
        let id = names::id_of(body)?;
        let lacking: Vec<&str> = ["permissionMode", "resource"]
            .into_iter()
            .filter(|name| body.get(name).is_none_or(Value::is_null))
            .collect();
        if !lacking.is_empty() {
            return Err(names::missing(&lacking));
        }
        let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
        let mode = Str::new(text("permissionMode"));
        if ![ALL, READ]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(&mode))
        {
            return Err(Error::bad_request(
                "The permissionMode of a permission must be 'Read' or 'All'.",
            ));
        }
        let partition = match body.get("resourcePartitionKey") {
            None | Some(Value::Null | Value::Undefined) => None,
            // Some clients send a single value without its array.
            Some(value @ Value::String(text)) => {
                let key = PartitionKey::new([Component::String(text.clone())]);
                Some((value.clone(), key))
            }
            Some(value) => {
                let key = PartitionKey::from_value(value)
                    .map_err(|error| Error::bad_request(error.to_string()))?;
                Some((value.clone(), key))
            }
        };
        Ok(Wanted {
            id,
            mode,
            resource: Str::new(text("resource")),
            partition,
        })
    }

    /// The record of the permission, with the resource found.
    pub(super) async fn record(
        &self,
        view: &View,
        database: &Database,
        number: u32,
    ) -> Result<Named> {
        let found = self.find(view, database).await?;
        let mut named = Named::new(number, self.id.clone());
        let body = &mut named.body;
        body.push("permissionMode", Value::String(self.mode.clone()));
        body.push("resource", Value::String(self.resource.clone()));
        if let Some((given, key)) = &self.partition {
            body.push("resourcePartitionKey", given.clone());
            body.push("partition", Value::from(key.to_json()));
        }
        body.push("database", Value::from(i64::from(database.number)));
        if let Some(cid) = found.collection {
            body.push("collection", Value::from(i64::from(cid.0)));
        }
        if let Some(item) = found.item {
            // As text, because not all of its 64 bits fit into a number.
            body.push("item", Value::from(item.to_string()));
        }
        Ok(named)
    }

    async fn find(&self, view: &View, database: &Database) -> Result<Found> {
        let link: Vec<&str> = self
            .resource
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        let (db, rest) = match link.as_slice() {
            ["dbs", db, rest @ ..] => (*db, rest),
            _ => return Err(self.malformed()),
        };
        match find_database(view, db) {
            Some(named) if named.number == database.number => {}
            Some(_) => {
                return Err(Error::bad_request(
                    "The resource of a permission must lie in the database of its user.",
                ));
            }
            None => return Ok(Found::NOTHING),
        }
        if rest.is_empty() && self.partition.is_none() {
            return Ok(Found::default());
        }
        let ["colls", coll, rest @ ..] = rest else {
            return Err(self.malformed());
        };
        let Some(collection) = find_collection(view, database, coll) else {
            return Ok(Found::NOTHING);
        };
        if let Some((_, key)) = &self.partition {
            let checked = collection.partition_key.prefix(key.clone());
            checked.map_err(|error| Error::bad_request(error.to_string()))?;
        }
        let item = match rest {
            [] => None,
            ["docs", id] => Some(self.item(view, &collection, id).await?),
            ["sprocs", id] => Some(
                self.script(view, &collection, ScriptKind::StoredProcedure, id)
                    .await?,
            ),
            ["triggers", id] => Some(
                self.script(view, &collection, ScriptKind::Trigger, id)
                    .await?,
            ),
            ["udfs", id] => Some(
                self.script(view, &collection, ScriptKind::UserDefinedFunction, id)
                    .await?,
            ),
            _ => return Err(self.malformed()),
        };
        Ok(Found {
            collection: Some(collection.cid),
            item,
        })
    }

    /// The ordinal of the item of a name, or else of a rid.
    async fn item(&self, view: &View, collection: &Collection, id: &str) -> Result<u64> {
        if let Some(partition) = self.partition_of(collection, id) {
            let key = ItemKey::new(collection, &partition, id);
            if let Some(item) = view.get(collection, &key).await? {
                return Ok(item.header().ordinal);
            }
        }
        let own = resource::rid_of(collection);
        let rid = DocumentRid::parse(id).filter(|rid| rid.collection() == own);
        match rid {
            Some(rid) if view.key_of(collection, rid.ordinal).await?.is_some() => Ok(rid.ordinal),
            Some(_) => Err(self.absent()),
            None if self.partition.is_none() => Err(Error::bad_request(
                "A permission for an item that is named by its id needs its resourcePartitionKey.",
            )),
            None => Err(self.absent()),
        }
    }

    /// The partition of the item of an id: what the permission says, or the id itself where that is the key. Otherwise an item
    /// without the key's properties is meant.
    fn partition_of(&self, collection: &Collection, id: &str) -> Option<PartitionKey> {
        let given = match (&self.partition, collection.partition_key.paths.as_slice()) {
            (Some((_, key)), _) => key.clone(),
            (None, [path]) if path.members().as_deref() == Some(&["id"]) => {
                PartitionKey::new([Component::String(Str::new(id))])
            }
            (None, _) => PartitionKey::new([]),
        };
        collection.partition_key.whole(given).ok()
    }

    /// A number that stands for a script and is no item's: the kind fills bits that ordinals leave free.
    async fn script(
        &self,
        view: &View,
        collection: &Collection,
        kind: ScriptKind,
        id: &str,
    ) -> Result<u64> {
        let script = crate::scripts::find(view, collection, kind, id).await?;
        let script = script.ok_or_else(|| self.absent())?;
        let nibble: u64 = match kind.child() {
            ChildKind::Conflict => 4,
            ChildKind::PartitionKeyRange => 5,
            ChildKind::UserDefinedFunction => 6,
            ChildKind::Trigger => 7,
            ChildKind::StoredProcedure => 8,
        };
        Ok(nibble << 60 | u64::from(script.number))
    }

    fn malformed(&self) -> Error {
        Error::bad_request(format!(
            "The resource '{}' of the permission is invalid; a link such as 'dbs/db/colls/coll' or 'dbs/db/colls/coll/docs/id' is allowed.",
            self.resource
        ))
    }

    fn absent(&self) -> Error {
        Error::new(
            Kind::NotFound,
            format!(
                "The resource '{}' of the permission does not exist.",
                self.resource
            ),
        )
    }
}

/// What a link leads to.
#[derive(Default)]
struct Found {
    collection: Option<CollectionId>,
    item: Option<u64>,
}

impl Found {
    /// A link that leads nowhere: the permission is kept, and its token opens nothing, whatever gets that name later.
    /// No collection ever has the last number, and a token writes 0 for "any".
    const NOTHING: Found = Found {
        collection: Some(CollectionId(u32::MAX)),
        item: None,
    };
}

/// What a stored permission grants.
pub(super) fn grant_of(body: &Object) -> Result<Grant> {
    let damaged = || StoreError::Corrupt("a permission cannot be read".into());
    let number = |name: &str| {
        let number = body.get(name)?.as_i64()?;
        u32::try_from(number).ok()
    };
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let item = text("item").map(str::parse).transpose();
    let partition = text("partition").map(PartitionKey::parse).transpose();
    Ok(Grant {
        database: number("database").ok_or_else(damaged)?,
        collection: number("collection").map(CollectionId),
        item: item.map_err(|_| damaged())?,
        partition: partition.map_err(|_| damaged())?,
        write: text("permissionMode")
            .ok_or_else(damaged)?
            .eq_ignore_ascii_case(ALL),
    })
}
