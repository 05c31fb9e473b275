//! Tells the size of a database.

use lapsedb_service::documents::{self, Fault, Listing};
use lapsedb_value::{Object, Value};

use crate::answer::Answer;
use crate::call::Call;
use crate::codes;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    fields.own(call);
    let scale = fields.integer("scale")?.unwrap_or(1);
    if scale < 1 {
        return Err(Fault::new(codes::BAD_VALUE, "scale has to be > 0"));
    }
    fields.ignore(&["freeStorage"]);
    fields.end()?;
    let database = call.database.clone();
    let listing = Listing {
        counted: true,
        ..Listing::default()
    };
    let mut all = documents::list_collections(&mut call.work(), &database, listing).await?;
    let before = all.len();
    all.retain(|collection| collection.kind != "view");
    let views = u64::try_from(before - all.len()).unwrap_or(u64::MAX);
    let number = |n: u64| Value::Double(n as f64);
    let scaled = |n: u64| Value::Double((n / scale.unsigned_abs()) as f64);
    let objects: u64 = all.iter().map(|collection| collection.documents).sum();
    let bytes: u64 = all.iter().map(|collection| collection.bytes).sum();
    let collections = u64::try_from(all.len()).unwrap_or(u64::MAX);
    let mut reply = Object::with_capacity(16);
    reply.push("db", database);
    reply.push("collections", number(collections));
    reply.push("views", number(views));
    reply.push("objects", number(objects));
    reply.push(
        "avgObjSize",
        number(bytes.checked_div(objects).unwrap_or(0)),
    );
    reply.push("dataSize", scaled(bytes));
    reply.push("storageSize", scaled(bytes));
    let indexes: u64 = all.iter().map(|collection| collection.indexes).sum();
    reply.push("indexes", number(indexes));
    reply.push("indexSize", number(0));
    reply.push("totalSize", scaled(bytes));
    reply.push("scaleFactor", Value::Double(scale as f64));
    // A store that is kept in memory has no disk.
    if let Some((free, total)) = call.door.service.disk_room() {
        reply.push("fsUsedSize", scaled(total.saturating_sub(free)));
        reply.push("fsTotalSize", scaled(total));
    }
    Ok(Answer::Plain(reply))
}
