//! Lists a collection's indexes.

use bytes::Bytes;
use lapsedb_service::cursors;
use lapsedb_service::documents::{self, Fault, Needs};
use lapsedb_service::logins::action::Action;

use crate::answer::{self, Answer};
use crate::call::Call;
use crate::commands::batch_size;
use crate::fields::Fields;

pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Fault> {
    let mut fields = Fields::of(call);
    let namespace = fields.namespace(call)?;
    let size = batch_size(&mut fields, "listIndexes.cursor")?;
    fields.ignore(&["includeBuildUUIDs", "includeIndexBuildInfo"]);
    fields.end()?;
    let mut work = call.begin().await?;
    let listed = documents::list_indexes(&mut work, &namespace).await;
    let batch = listed.and_then(|all| {
        let all = all.iter().map(|index| Bytes::from(answer::encode(index)));
        let needs = Needs::Own(Action::ListIndexes);
        cursors::list(&work, &namespace, needs, all.collect(), size)
    });
    let batch = work.end(batch).await?;
    Ok(Answer::Cursor {
        field: "firstBatch",
        batch,
    })
}
