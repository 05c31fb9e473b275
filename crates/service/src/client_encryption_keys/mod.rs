//! Client encryption keys of a database (Always Encrypted): keys that clients have wrapped with a key of their own.
//!
//! The server keeps them for the clients, and never needs what is wrapped in them.

mod create;
mod list;
mod read;
mod replace;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lapsedb_store::keys::{self, MetaKind};
use lapsedb_store::rid::{ClientEncryptionKeyRid, DatabaseRid};
use lapsedb_store::{Database, MetaChange, View};
use lapsedb_value::{Object, Value};

pub use create::create;
pub use list::list;
pub use read::read;
pub use replace::replace;

use crate::error::{Error, Result};
use crate::named::{InDatabase, Named, Shelf};
use crate::names;
use crate::resource::push_system;

/// What a client says of a key, beside its name.
const MEMBERS: [&str; 3] = [
    "encryptionAlgorithm",
    "wrappedDataEncryptionKey",
    "keyWrapMetadata",
];
/// What must be said of the key that wraps it, as texts that are not empty.
const METADATA_REQUIRED: [&str; 3] = ["type", "name", "value"];
/// The member of the record that holds what the client said.
const DEFINITION: &str = "definition";

/// Where a database's keys lie.
fn shelf(database: &Database) -> Shelf {
    Shelf {
        kind: MetaKind::ClientEncryptionKey,
        owner: u64::from(database.number),
    }
}

/// Removes all keys of a database.
pub(crate) fn forget_all(change: &mut MetaChange, database: u32) {
    let owner = u64::from(database);
    change.delete_prefix(keys::meta_owned(MetaKind::ClientEncryptionKey, owner));
}

/// Whether a database has a key of this name.
///
/// # Errors
/// When the engine fails.
pub(crate) async fn exists(view: &View, database: &Database, id: &str) -> Result<bool> {
    let found = shelf(database).find(view, id, None).await?;
    Ok(found.is_some())
}

/// A key as clients see it.
fn key_value(database: &Database, key: &Named) -> Value {
    let rid = ClientEncryptionKeyRid {
        db: database.number,
        key: key.number,
    }
    .text();
    let own = format!(
        "dbs/{}/clientencryptionkeys/{rid}/",
        DatabaseRid(database.number).text()
    );
    let mut object = Object::new();
    object.push("id", Value::String(key.id.clone()));
    let definition = key.body.get(DEFINITION).and_then(Value::as_object);
    for (name, value) in definition.into_iter().flat_map(Object::iter) {
        object.push(name.clone(), value.clone());
    }
    push_system(&mut object, rid, own, key.lsn, key.written);
    Value::Object(object)
}

/// Keys as resources of their database.
const KEYS: InDatabase = InDatabase {
    name: "ClientEncryptionKey",
    shelf,
    number: |database, id| {
        ClientEncryptionKeyRid::parse(id)
            .filter(|rid| rid.db == database.number)
            .map(|rid| rid.key)
    },
    value: key_value,
};

/// A record of a key that is about to be written.
fn record(number: u32, body: &Object) -> Result<Named> {
    let mut key = Named::new(number, names::id_of(body)?);
    key.body.push(DEFINITION, definition(body)?);
    Ok(key)
}

/// What a posted body says of a key.
fn definition(body: &Object) -> Result<Object> {
    let missing: Vec<&str> = MEMBERS
        .into_iter()
        .filter(|name| matches!(body.get(name), None | Some(Value::Undefined | Value::Null)))
        .collect();
    if !missing.is_empty() {
        return Err(names::missing(&missing));
    }
    let mut definition = Object::with_capacity(MEMBERS.len());
    for name in MEMBERS {
        let value = body.get(name).unwrap_or(Value::undefined());
        let sound = match name {
            "keyWrapMetadata" => METADATA_REQUIRED
                .iter()
                .all(|member| is_text(value.get(member))),
            "wrappedDataEncryptionKey" => is_text(value) && is_base64(value),
            _ => is_text(value),
        };
        if !sound {
            return Err(Error::bad_request(format!(
                "The property '{name}' of a client encryption key is invalid: {}.",
                match name {
                    "keyWrapMetadata" =>
                        "it must be an object with the texts 'type', 'name' and 'value'",
                    "wrappedDataEncryptionKey" => "it must be the wrapped key in base64",
                    _ => "it must be the name of an algorithm",
                }
            )));
        }
        definition.push(name, value.clone());
    }
    Ok(definition)
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

fn is_base64(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| STANDARD.decode(text).is_ok())
}
