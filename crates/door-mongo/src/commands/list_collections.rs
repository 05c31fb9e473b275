//! Lists a database's collections.

use bytes::Bytes;
use lapsedb_service::cursors;
use lapsedb_service::documents::{self, Fault, ListedCollection, Listing, Namespace, Work};
use lapsedb_value::{Object, Value};

use crate::answer::{self, Answer};
use crate::call::Call;
use crate::commands::batch_size;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    let name_only = fields.truth("nameOnly", false)?;
    let filter = fields.document("filter")?;
    let size = batch_size(&mut fields, "listCollections.cursor")?;
    fields.ignore(&["authorizedCollections"]);
    fields.end()?;
    let namespace = Namespace::pseudo(&call.database, "$cmd.listCollections");
    let mut work = call.begin().await?;
    let batch = listed(&mut work, &call.database, &filter, name_only).await;
    let batch = batch.and_then(|shown| cursors::list(&work, &namespace, shown, size));
    let batch = work.end(batch).await?;
    Ok(Answer::Cursor {
        field: "firstBatch",
        batch,
    })
}

async fn listed(
    work: &mut Work,
    database: &str,
    filter: &Object,
    name_only: bool,
) -> Result<Vec<Bytes>, Fault> {
    let mut shown = Vec::new();
    // Clients ask so whether a collection is there.
    let listing = Listing {
        name: filter.get("name").and_then(Value::as_str),
        counted: false,
    };
    for collection in documents::list_collections(work, database, listing).await? {
        let mut one = describe(collection);
        if !documents::matches(filter, &one)? {
            continue;
        }
        if name_only {
            one.retain(|name, _| name == "name" || name == "type");
        }
        shown.push(Bytes::from(answer::encode(&one)));
    }
    Ok(shown)
}

fn describe(collection: ListedCollection) -> Object {
    let mut info = Object::with_capacity(2);
    info.push("readOnly", collection.kind == "view");
    if let Some(uuid) = collection.uuid {
        info.push("uuid", uuid);
    }
    let mut key = Object::with_capacity(1);
    key.push("_id", 1);
    let mut index = Object::with_capacity(3);
    index.push("v", 2);
    index.push("key", Value::Object(key));
    index.push("name", "_id_");
    let clustered = collection.options.contains_key("clusteredIndex");
    let mut one = Object::with_capacity(5);
    one.push("name", collection.name);
    one.push("type", collection.kind);
    one.push("options", Value::Object(collection.options));
    one.push("info", Value::Object(info));
    if collection.kind == "collection" && !clustered {
        one.push("idIndex", Value::Object(index));
    }
    one
}
