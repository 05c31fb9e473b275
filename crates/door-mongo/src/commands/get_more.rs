//! Fetches the next batch of a cursor.

use lapsedb_service::cursors::{self, GetMore};
use lapsedb_service::documents::{Fault, Namespace};
use lapsedb_value::Value;

use crate::answer::Answer;
use crate::call::Call;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let cursor = match fields.own(call) {
        Value::Int64(id) => id,
        other => return Err(fields.wrong("getMore", &other, "long")),
    };
    let Some(collection) = fields.text("collection")? else {
        return Err(fields.missing("collection"));
    };
    if collection.is_empty() {
        return Err(Fault::new(73, "Collection names cannot be empty"));
    }
    let batch_size = match fields.size("batchSize")? {
        Some(0) | None => None,
        Some(size) => Some(usize::try_from(size).unwrap_or(usize::MAX)),
    };
    fields.ignore(&["term", "lastKnownCommittedOpTime"]);
    fields.end()?;
    let namespace = Namespace::pseudo(&call.database, &collection);
    let more = GetMore {
        cursor,
        batch_size,
        is_timed: call.generic.is_timed,
    };
    let mut work = call.begin().await?;
    let batch = cursors::get_more(&mut work, &namespace, &more).await;
    let batch = work.end(batch).await?;
    Ok(Answer::Cursor {
        field: "nextBatch",
        batch,
    })
}
