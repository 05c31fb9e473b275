//! Lists a database's collections.

use bytes::Bytes;
use lapsedb_service::cursors;
use lapsedb_service::documents::{self, Fault, ListedCollection, Listing, Namespace, Needs, Work};
use lapsedb_service::logins::action::Action;
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
    let authorized = fields.truth("authorizedCollections", false)?;
    fields.end()?;
    let shows = Shows {
        filter,
        name_only,
        authorized,
    };
    let namespace = Namespace::pseudo(&call.database, "$cmd.listCollections");
    let mut work = call.begin().await?;
    let batch = listed(&mut work, &call.database, &shows).await;
    let batch = batch.and_then(|shown| {
        let needs = shows.needs();
        cursors::list(&work, &namespace, needs, shown, size)
    });
    let batch = work.end(batch).await?;
    Ok(Answer::Cursor {
        field: "firstBatch",
        batch,
    })
}

/// Which collections are shown, and what of them.
struct Shows {
    filter: Object,
    /// Names and kinds alone, also to the filter.
    name_only: bool,
    /// Only collections that who asks may do something to.
    authorized: bool,
}

impl Shows {
    /// What fetching the rest needs. Names that were chosen by the rights of who asked are shown without further ones.
    const fn needs(&self) -> Needs {
        match self.name_only && self.authorized {
            true => Needs::Nothing,
            false => Needs::Own(Action::ListCollections),
        }
    }
}

async fn listed(work: &mut Work, database: &str, shows: &Shows) -> Result<Vec<Bytes>, Fault> {
    let mut shown = Vec::new();
    let filter = &shows.filter;
    // Clients ask so whether a collection is there.
    let listing = Listing {
        name: filter.get("name").and_then(Value::as_str),
    };
    for collection in documents::list_collections(work, database, listing).await? {
        if shows.authorized && !documents::knows(&work.ctx, database, &collection.name) {
            continue;
        }
        let mut one = describe(collection);
        if shows.name_only {
            one.retain(|name, _| name == "name" || name == "type");
        }
        if !documents::matches(filter, &one)? {
            continue;
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
