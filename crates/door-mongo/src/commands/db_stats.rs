//! Tells the size of a database.

use lapsedb_service::documents::{self, Fault};
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
    let stats = documents::database_stats(&mut call.work(), &database).await?;
    let number = |n: u64| Value::Double(n as f64);
    let scaled = |n: u64| Value::Double((n / scale.unsigned_abs()) as f64);
    let total = stats.total;
    let (objects, bytes) = (total.live.items, total.live.bytes);
    let mut reply = Object::with_capacity(16);
    reply.push("db", database);
    reply.push("collections", number(total.collections));
    reply.push("views", number(stats.views));
    reply.push("objects", number(objects));
    reply.push(
        "avgObjSize",
        number(bytes.checked_div(objects).unwrap_or(0)),
    );
    reply.push("dataSize", scaled(bytes));
    reply.push("storageSize", scaled(bytes));
    reply.push("indexes", number(total.indexes));
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
