//! A document a client wants stored: checked before anything is touched.

use std::sync::Arc;

use lapsedb_record::{Setting, ttl};
use lapsedb_store::Collection;
use lapsedb_store::partition_key::{PartitionKey, PartitionKeyError};
use lapsedb_value::{Object, Value, json};

use crate::documents::other_door;
use crate::error::{Error, Kind, Result};
use crate::limits::{BODY_BYTES_MAX, ITEM_ID_BYTES_MAX, NESTING_LEVELS_MAX};
use crate::resource::SYSTEM_PROPERTIES;

/// Bodies below this cannot reach the item limit as JSON text, whatever they hold: they are not measured.
const UNMEASURED_BYTES_MAX: usize = BODY_BYTES_MAX / 8;

/// A document without system properties, with its id.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its id.
    pub id: String,
    /// All of it.
    pub object: Arc<Object>,
}

impl Document {
    /// Takes a client's object: its id must be in order; system properties it brings are dropped.
    ///
    /// # Errors
    /// When the id is missing or not allowed.
    pub fn new(mut object: Object) -> Result<Document> {
        object.retain(|name, _| !SYSTEM_PROPERTIES.contains(&name));
        let id = match object.get("id") {
            None | Some(Value::Undefined) => {
                return Err(Error::bad_request(
                    "The input content is invalid because the required properties - 'id; ' - are missing",
                ));
            }
            Some(Value::String(id)) => check_id(id)?.to_owned(),
            Some(other) => {
                return Err(Error::bad_request(format!(
                    "The input content is invalid because the property 'id' is {}; it must be a string",
                    json::to_string(other)
                )));
            }
        };
        Ok(Document {
            id,
            object: Arc::new(object),
        })
    }

    /// The partition this document belongs to, which must be the one the request named.
    ///
    /// # Errors
    /// When the request named none, or another.
    pub fn partition(
        &self,
        collection: &Collection,
        given: Option<&PartitionKey>,
    ) -> Result<PartitionKey> {
        let own = if other_door::is_foreign(collection) {
            other_door::taken(&self.object)?.0.partition().clone()
        } else {
            collection.partition_key.extract(&self.object)
        };
        collection
            .partition_key
            .check_size(&own)
            .map_err(|error| Error::bad_request(error.to_string()))?;
        let given = given_partition(collection, given)?;
        if given != own {
            return Err(Error::new(
                Kind::PartitionKeyMismatch,
                "PartitionKey extracted from document doesn't match the one specified in the header. \
                 Learn more: https://aka.ms/CosmosDB/sql/errors/wrong-pk-value",
            ));
        }
        Ok(own)
    }

    /// Refuses a ttl that means nothing, whether the collection's TTL is on or not. In a Mongo-owned collection without TTL it
    /// is a name like any other.
    ///
    /// # Errors
    /// When the document's `ttl` is not -1 or a positive whole number.
    pub fn check_ttl(&self, collection: &Collection) -> Result<()> {
        match collection.policy.setting {
            Setting::Off if other_door::is_foreign(collection) => return Ok(()),
            Setting::Off | Setting::On | Setting::OnWithDefault(_) => {}
        }
        match self.object.get("ttl") {
            Some(value) if ttl::meaningful(value).is_none() => Err(Error::bad_request(format!(
                "The input ttl '{}' is invalid. Ensure to provide a nonzero positive integer less than or equal to \
                 '2147483647', or '-1' which means never expire.",
                value
                    .as_str()
                    .map_or_else(|| json::to_string(value), str::to_owned)
            ))),
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses a document that a patch has made too large or too deep.
    ///
    /// # Errors
    /// When it is.
    pub fn check_size(&self) -> Result<()> {
        let mut bson = Vec::new();
        lapsedb_value::bson::write_document(&self.object, &mut bson);
        if bson.len() > UNMEASURED_BYTES_MAX {
            let mut text = Vec::new();
            json::write(&Value::Object(Object::clone(&self.object)), &mut text);
            if text.len() > BODY_BYTES_MAX {
                return Err(too_large());
            }
        }
        if self
            .object
            .values()
            .any(|value| deeper_than(value, NESTING_LEVELS_MAX - 1))
        {
            return Err(Error::bad_request(format!(
                "The document nests deeper than {NESTING_LEVELS_MAX} levels."
            )));
        }
        Ok(())
    }
}

/// The answer to what has more than [`BODY_BYTES_MAX`]: in the service's words and no others, which clients compare.
#[must_use]
pub fn too_large() -> Error {
    Error::new(Kind::TooLarge, "Request size is too large")
}

/// The one logical partition a request named.
///
/// # Errors
/// When it named none, or the key does not fit the collection.
pub fn given_partition(
    collection: &Collection,
    given: Option<&PartitionKey>,
) -> Result<PartitionKey> {
    let Some(given) = given else {
        return Err(Error::bad_request(
            "PartitionKey value must be supplied for this operation.",
        ));
    };
    collection.partition_key.whole(given.clone()).map_err(|error| match error {
        PartitionKeyError::TooMany | PartitionKeyError::TooFew => Error::new(
            Kind::PartitionKeyMismatch,
            format!(
                "Partition key provided either doesn't correspond to definition in the collection or doesn't match \
                 partition key field values specified in the document. {error}"
            ),
        ),
        PartitionKeyError::Malformed | PartitionKeyError::TooLong(_) => Error::bad_request(error.to_string()),
    })
}

/// Checks an item's id. Characters that an address must escape are allowed, as in the service.
///
/// # Errors
/// When it is empty, too long, or has the character 0, which ends an id in a key.
pub fn check_id(id: &str) -> Result<&str> {
    let allowed = !id.is_empty() && id.len() <= ITEM_ID_BYTES_MAX && !id.contains('\0');
    if allowed {
        return Ok(id);
    }
    let shown: String = id.chars().take(64).collect();
    Err(Error::bad_request(format!(
        "The input name '{shown}' is invalid. Ensure to provide a unique non-empty string less than '1024' characters."
    )))
}

fn deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(elements) => {
            levels == 0
                || elements
                    .iter()
                    .any(|element| deeper_than(element, levels - 1))
        }
        Value::Object(object) => {
            levels == 0
                || object
                    .values()
                    .any(|member| deeper_than(member, levels - 1))
        }
        _ => false,
    }
}
