//! Lists a database's collections.

use bytes::Bytes;
use lapsedb_service::cursors::Batch;
use lapsedb_service::documents::{self, Fault, ListedCollection, Namespace};
use lapsedb_value::{Object, Value};

use crate::answer::{self, Answer};
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    let name_only = fields.truth("nameOnly", false)?;
    let filter = fields.document("filter")?;
    fields.ignore(&["authorizedCollections", "cursor"]);
    fields.end()?;
    let database = call.database.clone();
    let mut shown = Vec::new();
    for collection in documents::list_collections(&mut call.work(), &database).await? {
        let mut one = describe(collection);
        if !documents::matches(&filter, &one)? {
            continue;
        }
        if name_only {
            one.retain(|name, _| name == "name" || name == "type");
        }
        shown.push(Bytes::from(answer::encode(&one)));
    }
    let batch = Batch {
        cursor: 0,
        namespace: Namespace::pseudo(&database, "$cmd.listCollections"),
        documents: shown,
        resume_token: None,
        read_at: None,
    };
    Ok(Answer::Cursor {
        field: "firstBatch",
        batch,
    })
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
